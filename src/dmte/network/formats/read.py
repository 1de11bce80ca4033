"""Read networks: data sets by name, folders, files in many formats, standard input.

    read_network("concepts")           a data set
    read_network("./cora")             a folder of data.txt and graph.txt, the layout of CANE
    read_network("./notes")            any other folder: its Markdown files and their links
    read_network("pages.jsonl")        a file by its suffix, also compressed: pages.jsonl.gz
    read_network("-")                  standard input, JSON Lines by default
    read_tables("v.csv", "e.csv")      a table of vertices and a table of edges

Edges are undirected unless the caller passes ``directed=True``, whatever a file says.
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
from dmte.network.formats.source import Source, is_standard_input, kind_of, open_source
from dmte.network.formats.table import Table
from dmte.network.formats.tabular import READERS, read_table
from dmte.network.textual_network import TextualNetwork
from dmte.runtime.formatting import plural
from dmte.runtime.spelling import close_names

Pair = tuple[Table | None, Table | None]
"""A table of vertices and a table of edges; either may be ``None``."""


def read_network(
    source: str | Path,
    *,
    directed: bool = False,
    columns: Columns = GUESSED,
    format: str | None = None,  # noqa: A002
    known: Sequence[str] = (),
) -> TextualNetwork:
    """Read a data set by its name, or the network in a folder, a file or standard input.

    A bare name such as ``"cora"`` is the data set even if a folder has the same name; write
    ``"./cora"`` or pass a ``Path`` for the folder. ``format`` overrides the suffix of a file, as in
    ``"csv"`` or ``"csv.gz"``. Links may also lead to ``known`` ids, such as those of a model that
    embeds new vertices; these ids become vertices without texts.

    >>> read_network("concepts")
    TextualNetwork(432 vertices, 1,393 undirected edges, 12 labels)

    Raises:
        NetworkError: The source does not exist or cannot be read.
    """
    path, kind = Path(source), kind_of(Path(source), format)
    if str(source) in DATASETS and not (isinstance(source, Path) and holds(path.is_dir)):
        _check_no_columns(f"{source} is a data set", columns, format)
        return _read_dataset(str(source), directed=directed)
    if str(source) and holds(path.is_dir):
        _check_no_columns(f"{source} is a folder", columns, format)
        network = _read_place(path, directed=directed, known=known)
    elif kind in FORMATS:
        pair = FORMATS[kind](open_source(path, format), columns)
        network = network_from_tables(*pair, columns=columns, directed=directed, known=known)
    else:
        raise _unreadable(source, format)
    if not known:
        _warn_of_gaps(str(source), network)
    return network


def _unreadable(source: str | Path, format: str | None) -> NetworkError:  # noqa: A002
    """Error for a source that is not a data set, a folder or a file of a known format."""
    path = Path(source)
    if format is None and ("/" in str(source) or path.suffix) and not holds(path.exists):
        return NetworkError(f"{source} does not exist{_sibling_like(path)}")
    if format is None and path.suffix.lower() in SUFFIXES:
        return NetworkError(
            f"{source} is a single Markdown file, but a network is a folder of them; give the "
            f"folder {path.parent}"
        )
    wrong = f"{str(source)!r}" if format is None else f"the format {format!r} of {source}"
    close = close_names(str(source), DATASETS, 1)
    hint = f"; did you mean {close[0]}?" if close else _sibling_like(path)
    return NetworkError(
        f"{wrong} is not a data set ({', '.join(DATASETS)}), a folder with {TEXTS} and {GRAPH} or "
        f"with Markdown files, or a file of vertices with a column of links or of edges "
        f"({', '.join(FORMATS)}){hint}"
    )


def _sibling_like(path: Path) -> str:
    """Hint at a file or folder next to ``path`` with a similar name."""
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
    r"""Read a network from two tables in formats given by their suffixes; one may be ``"-"``.

    Without a vertex table, the vertices are the ends of the edges, with empty texts. Without an
    edge table, the edges come from a column of links in the vertices, if there is one. ``format``
    applies to standard input if one table is ``"-"``, else to both. Edges may also lead to
    ``known`` ids.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     papers, citations = Path(folder, "papers.csv"), Path(folder, "citations.csv")
    ...     _ = papers.write_text("id,title\nlin04,Walks\noak05,Clusters\n")
    ...     _ = citations.write_text("source,target\noak05,lin04\n")
    ...     read_tables(papers, citations, directed=True)
    TextualNetwork(2 vertices, 1 directed edge, no labels)

    Raises:
        NetworkError: A table cannot be read, or one of its rows is wrong.
    """
    if is_standard_input(vertices) and is_standard_input(edges):
        raise NetworkError("only one table can come from standard input; give the other as a file")
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
    r"""Read labels of the vertices ``ids`` from a table of ids and labels, such as a CSV file.

    A vertex has no label if it is not in the table or its cell is empty.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     table = Path(folder, "fields.csv")
    ...     _ = table.write_text("id,field\noak05,graphs\n")
    ...     read_labels(table, ["lin04", "oak05"])
    (frozenset(), frozenset({'graphs'}))

    Raises:
        NetworkError: The table cannot be read, or contains an unknown id.
    """
    return labels_from_table(read_table(Path(path), format), ids, columns)


def _read_dataset(name: str, *, directed: bool) -> TextualNetwork:
    if not DATASETS[name].bundled:
        return read_folder(find_dataset(name), directed=directed)
    with as_file(files("dmte") / "data" / f"{name}.jsonl") as path:
        return network_from_tables(read_table(path), None, directed=directed)


def _read_place(folder: Path, *, directed: bool, known: Sequence[str]) -> TextualNetwork:
    """Read a folder: the two files of CANE if both exist, else its Markdown files."""
    if is_model(folder):
        raise NetworkError(f"{folder} holds a model, not a network; give its network instead")
    found = [name for name in (TEXTS, GRAPH) if holds((folder / name).exists)]
    if len(found) == 2:
        return read_folder(folder, directed=directed)
    if next(find_notes(folder), None) is not None:
        notes = read_notes(folder, known)
        return network_from_tables(notes, None, directed=directed, known=known)
    if found:
        return read_folder(folder, directed=directed)
    raise NetworkError(
        f"{folder} holds neither {TEXTS} and {GRAPH} nor Markdown files; give the folder of a "
        "network or of notes"
    )


def _check_no_columns(what: str, columns: Columns, format: str | None) -> None:  # noqa: A002
    if columns != GUESSED or format is not None:
        raise NetworkError(
            f"{what}; columns and --format apply only to files and standard input, leave them out"
        )


def _single_table(read: Callable[[Source], Table], source: Source, columns: Columns) -> Pair:
    """Read a file with one table, of vertices or of edges."""
    table = read(source)
    return (None, table) if _has_edges_only(table, columns) else (table, None)


def _has_edges_only(table: Table, columns: Columns) -> bool:
    """Whether a table has columns for the ends of edges, and none that only a vertex has."""
    if any(getattr(columns, role) is not None for role in VERTEX_GUESSES):
        return False
    if any(name is not None for name in (columns.source, columns.target, columns.weight)):
        return True
    try:
        by_place = find_edge_columns(table.name, table.columns, columns).by_place
    except NetworkError:
        return False
    # An edge may have an id and a label too. Ends found by their order may be any columns.
    vertex_roles = VERTEX_GUESSES if by_place else ("text", "title", "links")
    return not any(guess_column(table.columns, role) for role in vertex_roles)


def _warn_of_gaps(name: str, network: TextualNetwork) -> None:
    """Warn about a network without links or without texts."""
    size = f"{network.num_vertices:,} {plural(network.num_vertices, 'vertex')}"
    if not len(network.edges):
        warn(
            f"{name} has no links for its {size}: nothing can be learned, and vectors depend on "
            "the texts alone; add a column of links or a table of edges"
        )
    elif not any(network.texts):
        warn(
            f"{name} has no texts for its {size}: only the paper's recipe ('dmte train --recipe "
            "paper', the method dmte-paper) learns from links alone, and search by text is not "
            "possible; add a column of texts or a table of vertices",
            NoTextsWarning,
        )


FORMATS: Mapping[str, Callable[[Source, Columns], Pair]] = MappingProxyType(
    {suffix: partial(_single_table, reader) for suffix, reader in READERS.items()}
    | {".graphml": lambda source, _: read_graphml(source)}
)
"""Readers of files that hold a whole network, by suffix."""
