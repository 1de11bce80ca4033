"""Where networks come from: data sets by name, folders, files in many formats, standard input.

    read_network("concepts")           a data set
    read_network("./cora")             a folder of data.txt and graph.txt, the layout of CANE
    read_network("./notes")            any other folder: its Markdown files and their links
    read_network("pages.jsonl")        a file by its suffix, also packed: pages.jsonl.gz
    read_network("-")                  standard input, JSON Lines unless a format is named
    read_tables("v.csv", "e.csv")      a table of vertices and a table of edges

Whether edges lead one way only is the reader's argument, whatever is on disk.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.resources import as_file, files
from pathlib import Path
from types import MappingProxyType

from dmte.errors import NetworkError, NoTextsWarning, warn
from dmte.network.datasets import DATASETS, find_dataset, holds
from dmte.network.formats.build import labels_from_table, network_from_tables
from dmte.network.formats.cane_folder import GRAPH, TEXTS, read_folder
from dmte.network.formats.columns import (
    GUESSED,
    VERTEX_GUESSES,
    Columns,
    find_edge_columns,
    guess_column,
)
from dmte.network.formats.graphml import read_graphml
from dmte.network.formats.markdown_folder import SUFFIXES, find_notes, is_model, read_notes
from dmte.network.formats.source import Content, is_standard_input, kind_of, read_content
from dmte.network.formats.table import Table
from dmte.network.formats.tabular import READERS, read_table
from dmte.network.textual_network import TextualNetwork
from dmte.runtime.formatting import plural
from dmte.runtime.spelling import close_names

Pair = tuple[Table | None, Table | None]
"""A table of vertices and a table of edges, either of which may be missing."""


def read_network(
    source: str | Path,
    *,
    directed: bool = False,
    columns: Columns = GUESSED,
    format: str | None = None,  # noqa: A002
    known: Sequence[str] = (),
) -> TextualNetwork:
    """Return a data set by its name, or the network in a folder, a file or standard input.

    A bare name such as ``"cora"`` is the data set even beside a folder called so; write
    ``"./cora"`` or give a ``Path`` for the folder. A format, such as ``"csv"`` or ``"csv.gz"``, is
    what the name of a file would end in. Links may also lead to ``known`` ids, such as those of a
    model that is to embed what is new; these become vertices without texts.

    >>> read_network("concepts")
    TextualNetwork(432 vertices, 1,393 undirected edges, 12 labels)

    Raises:
        NetworkError: There is no such thing, or it cannot be read.
    """
    path, kind = Path(source), kind_of(Path(source), format)
    if str(source) in DATASETS and not (isinstance(source, Path) and holds(path.is_dir)):
        _refuse_columns(f"{source} is a data set", columns, format)
        return _read_dataset(str(source), directed=directed)
    if str(source) and holds(path.is_dir):
        _refuse_columns(f"{source} is a folder", columns, format)
        network = _read_place(path, directed=directed, known=known)
    elif kind in FORMATS:
        pair = FORMATS[kind](read_content(path, format), columns)
        network = network_from_tables(*pair, columns=columns, directed=directed, known=known)
    else:
        raise _refusal(source, format)
    if not known:
        _warn_of_gaps(str(source), network)
    return network


def _refusal(source: str | Path, format: str | None) -> NetworkError:  # noqa: A002
    """Return what is wrong with something that is nothing to read a network from."""
    path = Path(source)
    if format is None and ("/" in str(source) or path.suffix) and not holds(path.exists):
        return NetworkError(f"{source} does not exist{_sibling_like(path)}")
    if format is None and path.suffix.lower() in SUFFIXES:
        return NetworkError(
            f"{source} is a single Markdown file, and a network is a folder of them; give "
            f"{path.parent} for the folder that it is in"
        )
    wrong = f"{str(source)!r}" if format is None else f"the format {format!r} of {source}"
    close = close_names(str(source), DATASETS, 1)
    hint = f"; did you mean {close[0]}?" if close else _sibling_like(path)
    return NetworkError(
        f"{wrong} is neither a data set ({', '.join(DATASETS)}) nor a folder that holds "
        f"{TEXTS} and {GRAPH} or Markdown files nor a file of vertices with a column of links "
        f"or of edges ({', '.join(FORMATS)}){hint}"
    )


def _sibling_like(path: Path) -> str:
    """Return a hint at a file or folder beside ``path`` whose name comes close."""
    try:
        names = [sibling.name for sibling in path.parent.iterdir()]
    except OSError:
        return ""
    close = close_names(path.name, names, 1)
    return f"; did you mean {path.with_name(close[0])}?" if close else ""


def read_tables(
    vertices: Path | str | None,
    edges: Path | str | None = None,
    *,
    columns: Columns = GUESSED,
    directed: bool = False,
    format: str | None = None,  # noqa: A002
    known: Sequence[str] = (),
) -> TextualNetwork:
    r"""Return the network of two tables, each in a format by its suffix; one may be ``"-"``.

    Without vertices, they are the ends of the edges, with empty texts. Without edges, they come
    from a column of links in the vertices, if there is one. A format is that of standard input, or
    of both tables when neither is it. Edges may also lead to ``known`` ids.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     papers, citations = Path(folder, "papers.csv"), Path(folder, "citations.csv")
    ...     _ = papers.write_text("id,title\nlin04,Walks\noak05,Clusters\n")
    ...     _ = citations.write_text("source,target\noak05,lin04\n")
    ...     read_tables(papers, citations, directed=True)
    TextualNetwork(2 vertices, 1 directed edge, no labels)

    Raises:
        NetworkError: A table cannot be read, or is not what it should be; says file and line.
    """
    if is_standard_input(vertices) and is_standard_input(edges):
        raise NetworkError("standard input can be read once only; give vertices or edges as a file")
    piped = is_standard_input(vertices) or is_standard_input(edges)

    def read(path: Path | str | None) -> Table | None:
        if path is None:
            return None
        return read_table(Path(path), None if piped and not is_standard_input(path) else format)

    network = network_from_tables(
        read(vertices), read(edges), columns=columns, directed=directed, known=known
    )
    if not known:
        _warn_of_gaps(str(edges if vertices is None else vertices), network)
    return network


def read_labels(
    path: Path | str,
    ids: Sequence[str],
    *,
    columns: Columns = GUESSED,
    format: str | None = None,  # noqa: A002
) -> tuple[frozenset[str], ...]:
    r"""Return the labels that a table of ids and labels, such as a CSV, gives to these vertices.

    A vertex that is not in the table, or has nothing in its cell, has no label.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     table = Path(folder, "fields.csv")
    ...     _ = table.write_text("id,field\noak05,graphs\n")
    ...     read_labels(table, ["lin04", "oak05"])
    (frozenset(), frozenset({'graphs'}))

    Raises:
        NetworkError: It cannot be read, or names a vertex that is not there; says file and line.
    """
    return labels_from_table(read_table(Path(path), format), ids, columns)


def _read_dataset(name: str, *, directed: bool) -> TextualNetwork:
    if not DATASETS[name].bundled:
        return read_folder(find_dataset(name), directed=directed)
    with as_file(files("dmte") / "data" / f"{name}.jsonl") as path:
        return network_from_tables(read_table(path), None, directed=directed)


def _read_place(folder: Path, *, directed: bool, known: Sequence[str]) -> TextualNetwork:
    """Return the network of a folder: of CANE's two files, or else of its Markdown files."""
    if is_model(folder):
        raise NetworkError(f"{folder} holds a model, not a network; give what it was trained on")
    there = [name for name in (TEXTS, GRAPH) if holds((folder / name).exists)]
    if len(there) == 2:
        return read_folder(folder, directed=directed)
    if next(find_notes(folder), None) is not None:
        notes = read_notes(folder, known)
        return network_from_tables(notes, None, directed=directed, known=known)
    if there:
        return read_folder(folder, directed=directed)
    raise NetworkError(
        f"{folder} holds neither {TEXTS} and {GRAPH} nor a Markdown file; give the folder of a "
        "network or of notes"
    )


def _refuse_columns(what: str, columns: Columns, format: str | None) -> None:  # noqa: A002
    if columns != GUESSED or format is not None:
        raise NetworkError(f"{what}, which has neither columns nor a format to name")


def _alone(read: Callable[[Content], Table], content: Content, columns: Columns) -> Pair:
    """Return a table that is alone as what it is: of vertices, or of edges."""
    table = read(content)
    return (None, table) if _is_of_edges(table, columns) else (table, None)


def _is_of_edges(table: Table, columns: Columns) -> bool:
    """Return whether a table has the ends of edges and nothing that a vertex has."""
    if any(getattr(columns, role) is not None for role in VERTEX_GUESSES):
        return False
    if any(name is not None for name in (columns.source, columns.target, columns.weight)):
        return True
    try:
        by_place = find_edge_columns(table.name, table.columns, columns).by_place
    except NetworkError:
        return False
    # An edge may have an id, and a label too; what was found by place may be anything.
    vertex_roles = VERTEX_GUESSES if by_place else ("text", "title", "links")
    return not any(guess_column(table.columns, role) for role in vertex_roles)


def _warn_of_gaps(name: str, network: TextualNetwork) -> None:
    """Say what it means that a network has links alone, or texts alone."""
    size = f"{network.num_vertices:,} {plural(network.num_vertices, 'vertex')}"
    if not len(network.edges):
        warn(
            f"{name} has no links for its {size}: nothing can be learned, and vectors are those of "
            "the texts alone; add a column of links or a table of edges"
        )
    elif not any(network.texts):
        warn(
            f"{name} has no texts for its {size}: only the paper's recipe ('dmte train --recipe "
            "paper', the method dmte-paper) learns from links alone, and no text can be searched "
            "for; add a column of texts or a table of vertices",
            NoTextsWarning,
        )


FORMATS: Mapping[str, Callable[[Content, Columns], Pair]] = MappingProxyType(
    {suffix: partial(_alone, reader) for suffix, reader in READERS.items()}
    | {".graphml": lambda content, _: read_graphml(content)}
)
"""How a file that is a network by itself is read, by its suffix."""
