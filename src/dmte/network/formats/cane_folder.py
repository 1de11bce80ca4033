"""Read and write folders in the layout of CANE, in which the paper's data sets are published.

Line i of data.txt is the text t_i, a line of graph.txt is an edge, and line i of the optional
group.txt holds the labels of v_i.
"""

import re
from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dmte.errors import NetworkError
from dmte.network.datasets import holds
from dmte.network.formats.source import open_source
from dmte.network.formats.table import parse_weight
from dmte.network.formats.write import write_new
from dmte.network.textual_network import TextualNetwork

TEXTS, GRAPH, GROUPS = "data.txt", "graph.txt", "group.txt"


def read_folder(folder: Path | str, *, directed: bool = False) -> TextualNetwork:
    r"""Read the network of a folder with data.txt, graph.txt and an optional group.txt.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "data.txt").write_text("trees on disk\nwalks on graphs\n")
    ...     _ = Path(folder, "graph.txt").write_text("0 1\n")
    ...     read_folder(folder)
    TextualNetwork(2 vertices, 1 undirected edge, no labels)

    Raises:
        NetworkError: A file is missing, or one of its lines is wrong.
    """
    folder = Path(folder)
    for name in (TEXTS, GRAPH):
        if not holds((folder / name).exists):
            raise NetworkError(
                f"{folder} does not contain {name}; it needs {TEXTS} with a text "
                f"per line and {GRAPH} with two vertex numbers per line"
            )
    texts = _lines(open_source(folder / TEXTS).text())
    if not texts:
        raise NetworkError(f"{folder / TEXTS} is empty; it must have one line per vertex")
    edges, weights = _read_graph(folder / GRAPH, len(texts))
    return TextualNetwork(
        ids=tuple(map(str, range(len(texts)))),
        texts=tuple(texts),
        edges=edges,
        weights=weights,
        directed=directed,
        labels=_read_groups(folder / GROUPS, len(texts)),
    )


def write_folder(network: TextualNetwork, folder: Path | str) -> None:
    """Write a network as data.txt, graph.txt and, if it has labels, group.txt.

    A line break, NUL or byte order mark in a text becomes a space; all else is read back unchanged.

    >>> from tempfile import TemporaryDirectory
    >>> edges = torch.tensor([[0, 1]])
    >>> network = TextualNetwork(ids=("0", "1"), texts=("trees", "walks"), edges=edges)
    >>> with TemporaryDirectory() as folder:
    ...     write_folder(network, folder)
    ...     read_folder(folder).texts
    ('trees', 'walks')

    Raises:
        NetworkError: A file already exists, or an id or label does not fit the layout.
    """
    for position, name in enumerate(network.ids):
        if name != str(position):
            raise NetworkError(
                f"vertex {position} has the id {name!r}, but in this layout the ids "
                "must be 0, 1, 2, ...; write tables instead"
            )
    contents = {
        TEXTS: [re.sub("\r\n|[\r\n\0\ufeff]", " ", text) for text in network.texts],
        GRAPH: _graph_lines(network),
    }
    if network.labels is not None:
        contents[GROUPS] = [_group_line(classes) for classes in network.labels]
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NetworkError(f"{folder} cannot be created: {error.strerror}") from None
    write_new({folder / name: lines for name, lines in contents.items()})


def _lines(text: str) -> list[str]:
    r"""Lines of a text; only a line feed ends a line.

    >>> _lines("one\r\n\ntwo\u2028two")
    ['one', '', 'two\u2028two']
    """
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _read_graph(
    path: Path, num_vertices: int
) -> tuple[Int[Tensor, "edges 2"], Float[Tensor, " edges"] | None]:
    pairs, weights, width = [], [], 0
    for number, line in enumerate(_lines(open_source(path).text()), start=1):
        fields = line.split()
        if not fields:
            continue
        width = width or len(fields)
        if len(fields) != width or width not in (2, 3):
            raise NetworkError(
                f"{path}, line {number}: found {len(fields)} fields where "
                f"{width if width in (2, 3) else '2 or 3'} are expected; "
                "a line is two vertex numbers and, on every line or on none, a weight"
            )
        pairs.append([_read_vertex(path, number, field, num_vertices) for field in fields[:2]])
        if width == 3:
            weights.append(parse_weight(fields[2], f"{path}, line {{}}".format, number))
    return (
        torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2),
        torch.tensor(weights, dtype=torch.float64) if weights else None,
    )


def _read_vertex(path: Path, line: int, field: str, num_vertices: int) -> int:
    digits = field.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()):
        problem = f"{field[:40]!r} is not a vertex number; vertices are numbered from 0"
    elif digits != field:
        problem = f"the vertex {field[:40]} is negative; vertices are numbered from 0"
    elif len(digits) > 18 or int(digits) >= num_vertices:
        problem = (
            f"the vertex {field[:40]} is out of range: {TEXTS} has {num_vertices} texts, for "
            f"vertices 0 to {num_vertices - 1}; every vertex needs a text, which may be empty"
        )
    else:
        return int(digits)
    raise NetworkError(f"{path}, line {line}: {problem}")


def _read_groups(path: Path, num_vertices: int) -> tuple[frozenset[str], ...] | None:
    if not holds(path.exists):
        return None
    # A last line may be blank without a line feed, so "1\n2\n" can be two lines or three.
    text = open_source(path).text()
    lines = text.split("\n")
    if len(lines) == num_vertices + 1 and not lines[-1]:
        lines.pop()
    if len(lines) != num_vertices:
        raise NetworkError(
            f"{path} has {len(_lines(text))} lines, but {TEXTS} has {num_vertices} texts; "
            "write one line per vertex, a blank one for a vertex without a label"
        )
    labels = tuple(frozenset(line.split()) for line in lines)
    return labels if any(labels) else None


def _graph_lines(network: TextualNetwork) -> list[str]:
    rows = network.edges.tolist()
    if network.weights is not None:
        weights = network.edge_weights.tolist()
        rows = [[*pair, weight] for pair, weight in zip(rows, weights, strict=True)]
    return ["\t".join(map(str, row)) for row in rows]


def _group_line(classes: frozenset[str]) -> str:
    spaced = next((label for label in sorted(classes) if label.split() != [label]), None)
    if spaced is not None:
        raise NetworkError(
            f"the label {spaced!r} is empty or contains white space, which separates labels in "
            f"{GROUPS}; write tables instead"
        )
    return " ".join(sorted(classes))
