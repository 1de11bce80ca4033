"""Networks on disk: tables, folders in the layout of CANE, and data sets by name.

    read_network("concepts")                  a data set
    read_network("./cora")                    a folder: data.txt, graph.txt and maybe group.txt
    read_network("pages.jsonl")               a table of vertices with a column of links
    read_tables(Path("v.csv"), Path("e.csv")) a table of vertices and a table of edges

The folder is how the papers' data sets are published: line i of data.txt is t_i, a line of
graph.txt is an edge, and line i of group.txt holds the labels of v_i. Nothing on disk says whether
edges lead one way only: that is the reader's argument.
"""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from importlib.resources import as_file, files
from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dmte.errors import NetworkError
from dmte.network.columns import GUESSED, VERTEX_GUESSES, Columns, find_vertex_columns
from dmte.network.datasets import DATASETS, find_dataset, holds
from dmte.network.table_files import READERS, read_table, read_text
from dmte.network.tables import network_from_tables, parse_weight
from dmte.network.textual_network import TextualNetwork

TEXTS, GRAPH, GROUPS = "data.txt", "graph.txt", "group.txt"


def read_network(source: str | Path, *, directed: bool = False) -> TextualNetwork:
    """Return a data set by its name, a folder, or a table of vertices with a column of links.

    A bare name such as ``"cora"`` is the data set even beside a folder called so; write
    ``"./cora"`` or give a ``Path`` for the folder.

    Raises:
        NetworkError: There is no such thing, or it cannot be read.
    """
    path = Path(source)
    if str(source) in DATASETS and not (isinstance(source, Path) and holds(path.is_dir)):
        return _read_dataset(str(source), directed=directed)
    if str(source) and holds(path.is_dir):
        return read_folder(path, directed=directed)
    if path.suffix.lower() in READERS:
        return _read_linked_table(path, directed=directed)
    raise NetworkError(
        f"{str(source)!r} is neither a data set ({', '.join(DATASETS)}) nor a folder that holds "
        f"{TEXTS} and {GRAPH} nor a table of vertices ({', '.join(READERS)}) with a links column"
    )


def read_tables(
    vertices: Path | str | None,
    edges: Path | str | None = None,
    *,
    columns: Columns = GUESSED,
    directed: bool = False,
) -> TextualNetwork:
    """Return the network of two tables: CSV, TSV, Parquet or JSON Lines by their suffix.

    Without vertices, they are the ends of the edges, with empty texts. Without edges, they come
    from a column of links in the vertices, if there is one.

    Raises:
        NetworkError: A table cannot be read, or is not what it should be; says file and line.
    """
    return network_from_tables(
        None if vertices is None else read_table(Path(vertices)),
        None if edges is None else read_table(Path(edges)),
        columns=columns,
        directed=directed,
    )


def read_folder(folder: Path | str, *, directed: bool = False) -> TextualNetwork:
    """Return the network of a folder that holds data.txt, graph.txt and maybe group.txt.

    Raises:
        NetworkError: A file is missing, or a line of it is wrong; says file and line.
    """
    folder = Path(folder)
    for name in (TEXTS, GRAPH):
        if not holds((folder / name).exists):
            raise NetworkError(
                f"{folder} holds no {name}; a network's folder has {TEXTS} with a text per line "
                f"and {GRAPH} with two vertex numbers per line"
            )
    texts = _lines(read_text(folder / TEXTS))
    if not texts:
        raise NetworkError(f"{folder / TEXTS} is empty; it needs a line per vertex")
    edges, weights = _read_graph(folder / GRAPH, len(texts))
    return TextualNetwork(
        ids=tuple(map(str, range(len(texts)))),
        texts=tuple(texts),
        edges=edges,
        weights=weights,
        directed=directed,
        labels=_read_groups(folder / GROUPS, len(texts)),
    )


def write_tables(network: TextualNetwork, vertices: Path | str, edges: Path | str) -> None:
    """Write a network as two JSON Lines files, which ``read_tables`` reads back as they are.

    Raises:
        NetworkError: A file exists already, or an id or label would not be read back the same.
    """
    vertices, edges = Path(vertices), Path(edges)
    for path in (vertices, edges):
        if path.suffix.lower() not in (".jsonl", ".ndjson"):
            raise NetworkError(f"{path} must end in .jsonl or .ndjson: it becomes JSON Lines")
    if vertices == edges:
        raise NetworkError(f"{vertices} cannot hold both tables; give two files")
    labels = network.labels or ()
    for name in [*network.ids, *(label for classes in labels for label in classes)]:
        if not name or name != name.strip():
            raise NetworkError(
                f"{name!r} is an id or label that is empty or begins or ends in white space, "
                "which no reader keeps; rename it"
            )
    _write_new({vertices: _vertex_lines(network), edges: _edge_lines(network)})


def write_folder(network: TextualNetwork, folder: Path | str) -> None:
    """Write a network as data.txt, graph.txt and, if anything is labelled, group.txt.

    A line break, NUL or byte order mark within a text becomes a space; everything else is read
    back as it is.

    Raises:
        NetworkError: A file exists already, or ids or labels do not fit the layout.
    """
    for position, name in enumerate(network.ids):
        if name != str(position):
            raise NetworkError(
                f"vertex {position} has the id {name!r}, but a folder can only number its "
                "vertices 0, 1, 2, ...; write tables instead"
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
        raise NetworkError(f"{folder} cannot be made: {error.strerror}") from None
    _write_new({folder / name: lines for name, lines in contents.items()})


def _read_dataset(name: str, *, directed: bool) -> TextualNetwork:
    if not DATASETS[name].bundled:
        return read_folder(find_dataset(name), directed=directed)
    with as_file(files("dmte") / "data" / f"{name}.jsonl") as path:
        return _read_linked_table(path, directed=directed)


def _read_linked_table(path: Path, *, directed: bool) -> TextualNetwork:
    table = read_table(path)
    if find_vertex_columns(table.name, table.columns, GUESSED).links is None:
        raise NetworkError(
            f"{path} has no column of links ({' or '.join(VERTEX_GUESSES['links'])}) to take the "
            "edges from; add one, or give the edges as a second table"
        )
    return network_from_tables(table, None, directed=directed)


def _lines(text: str) -> list[str]:
    r"""Return the lines of a text, which end in a line feed and in nothing else.

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
    for number, line in enumerate(_lines(read_text(path)), start=1):
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
        problem = f"{field[:40]!r} is not a vertex number; vertices are the whole numbers from 0"
    elif digits != field:
        problem = f"the vertex {field[:40]} is negative; vertices are counted from 0"
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
    # The last line may be blank and lack its line feed, so "1\n2\n" can be two lines or three.
    text = read_text(path)
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


def _vertex_lines(network: TextualNetwork) -> list[str]:
    rows: list[dict[str, object]] = [
        {"id": name, "text": text} for name, text in zip(network.ids, network.texts, strict=True)
    ]
    for row, classes in zip(rows, network.labels or (), strict=False):
        row["label"] = sorted(classes)
    return [json.dumps(row, ensure_ascii=False) for row in rows]


def _edge_lines(network: TextualNetwork) -> list[str]:
    ids, pairs = network.ids, network.edges.tolist()
    rows: list[dict[str, object]] = [{"source": ids[i], "target": ids[j]} for i, j in pairs]
    if network.weights is not None:
        for row, weight in zip(rows, network.edge_weights.tolist(), strict=True):
            row["weight"] = weight
    return [json.dumps(row, ensure_ascii=False) for row in rows]


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
            f"the label {spaced!r} is empty or holds white space, which separates labels in "
            f"{GROUPS}; write tables instead"
        )
    return " ".join(sorted(classes))


def _write_new(contents: Mapping[Path, list[str]]) -> None:
    """Write files that must not exist yet: all of them, or none."""
    encoded = {path: _encode(path, lines) for path, lines in contents.items()}
    written: list[Path] = []
    for path, content in encoded.items():
        try:
            with path.open("xb") as file:
                written.append(path)
                file.write(content)
        except OSError as error:
            for begun in written:
                with suppress(OSError):
                    begun.unlink()
            if isinstance(error, FileExistsError):
                raise NetworkError(
                    f"{path} exists already and is not overwritten; give another place"
                ) from None
            raise NetworkError(f"{path} cannot be written: {error.strerror}") from None


def _encode(path: Path, lines: list[str]) -> bytes:
    try:
        return "".join(f"{line}\n" for line in lines).encode()
    except UnicodeEncodeError as error:
        raise NetworkError(
            f"{path} cannot be written: {error.object[error.start]!r} is half a character, which "
            "UTF-8 has no bytes for; replace it"
        ) from None
