"""Two tables to one network: the one path that every reader of rows takes.

A vertex table gives every vertex v_i its id, text t_i and labels; an edge table gives pairs of ids
and weights s_ij. A vertex table may bring its edges along in a column of links. The paper numbers
its vertices; here an id is any string.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dmte.errors import NetworkError, UnknownVertexError, warn
from dmte.network.formats.columns import (
    GUESSED,
    Columns,
    EdgeColumns,
    VertexColumns,
    find_edge_columns,
    find_vertex_columns,
    listed,
)
from dmte.network.formats.table import (
    Table,
    is_list,
    name_in,
    names_in,
    names_of_cells,
    parse_weight,
    several,
    shown,
)
from dmte.network.textual_network import TextualNetwork
from dmte.runtime.spelling import find_position

SENTENCE_ENDS = (".", "!", "?", "…", ":", ";", "。", "！", "？")
LONGEST_HINTED = 50  # Comparing texts that were taken for ids with each other takes minutes.


def network_from_tables(
    vertices: Table | None,
    edges: Table | None,
    *,
    columns: Columns = GUESSED,
    directed: bool = False,
    known: Sequence[str] = (),
) -> TextualNetwork:
    """Return the network of a vertex table and an edge table, either of which may be missing.

    Without vertices, they are the ends of the edges in order of appearance, with empty texts.
    Without edges, a column of links in the vertex table supplies them, if there is one. Edges may
    also lead to ``known`` ids, those of a model; the ones they do lead to come last, without texts.

    >>> edges = {"source": ["a", "b"], "target": ["b", 7.0]}
    >>> table = Table(name="edges", columns=edges, place="row {} of the edges".format)
    >>> network_from_tables(None, table).ids
    ('a', 'b', '7')

    Raises:
        NetworkError: A table is not one; the message says where, what was found and what to do.
    """
    columns.check_tables(vertices=vertices is not None, edges=edges is not None)
    if vertices is None:
        vertices = _ends_as_vertices(edges, columns)
    if vertices.num_rows == 0:
        raise NetworkError(f"{vertices.name} holds no vertices; a network needs at least one")
    found = find_vertex_columns(vertices.name, vertices.columns, columns)
    own = _positions(vertices, found.id)
    others = [name for name in known if name not in own]
    further = {name: at for at, name in enumerate(others, start=len(own))}
    positions = own | further if further else own
    listed = f"{vertices.name} or of the model" if known else vertices.name
    if edges is None:
        pairs = _links(vertices, found.links, positions, listed, columns, directed=directed)
        weights = None
    else:
        pairs, weights = _edges(edges, columns, positions, listed)
    labels = _labels(vertices, found.label)
    network = TextualNetwork(
        ids=tuple(positions),
        texts=(*_texts(vertices, found), *("" for _ in others)),
        edges=pairs,
        weights=weights,
        directed=directed,
        labels=None if labels is None else (*labels, *(frozenset[str]() for _ in others)),
    )
    return _without_unlinked(network, first=len(own)) if others else network


def _without_unlinked(network: TextualNetwork, first: int) -> TextualNetwork:
    """Return the network without those vertices from ``first`` on that no edge touches."""
    linked = network.edges.unique()
    kept = torch.cat([torch.arange(first), linked[linked >= first]])
    labels = network.labels
    return replace(
        network,
        ids=[network.ids[at] for at in kept.tolist()],
        texts=[network.texts[at] for at in kept.tolist()],
        edges=torch.searchsorted(kept, network.edges),
        labels=None if labels is None else [labels[at] for at in kept.tolist()],
    )


def labels_from_table(
    table: Table, ids: Sequence[str], columns: Columns = GUESSED
) -> tuple[frozenset[str], ...]:
    """Return the labels that a table gives to vertices, an empty set for those not in it.

    Of two columns, that which is not the id holds the labels, whatever its name.

    >>> table = Table(name="t", columns={"id": ["b"], "topic": ["x"]}, place="row {}".format)
    >>> labels_from_table(table, ["a", "b"])
    (frozenset(), frozenset({'x'}))

    Raises:
        NetworkError: An id is not among ``ids`` or occurs twice, or no column is obvious.
    """
    found = find_vertex_columns(table.name, table.columns, columns)
    others = [name for name in table.columns if name != found.id]
    column = others[0] if found.label is None and len(others) == 1 else found.label
    if column is None:
        raise NetworkError(
            f"{table.name} has no column that is obviously the label, only "
            f"{listed(table.columns)}; name one of them 'label', or say which it is"
        )
    rows, cells = _positions(table, found.id), table.columns[column]
    positions = {name: position for position, name in enumerate(ids)}
    labels: list[frozenset[str]] = [frozenset()] * len(ids)
    for name, row in rows.items():
        position = _find(positions, name, table.place(row), "id", "the network")
        labels[position] = frozenset(several(table, row, "label", cells[row]))
    return tuple(labels)


def _ends_as_vertices(edges: Table | None, columns: Columns) -> Table:
    if edges is None:
        raise NetworkError("there is neither a vertex table nor an edge table; give one of them")
    if edges.num_rows == 0:
        raise NetworkError(f"{edges.name} holds no edges; without vertices it needs some")
    found = find_edge_columns(edges.name, edges.columns, columns)
    ends = zip(*_ends(edges, found), strict=True)
    names = dict.fromkeys(name for pair in ends for name in pair)
    return Table(name=edges.name, columns={"id": list(names)}, place=edges.place)


def _positions(vertices: Table, column: str) -> dict[str, int]:
    positions: dict[str, int] = {}
    for row, name in enumerate(names_in(vertices, column, "id")):
        if not name:
            raise NetworkError(f"{vertices.place(row)}: the id is empty; every vertex needs one")
        if positions.setdefault(name, row) != row:
            raise NetworkError(
                f"{vertices.place(row)}: the id {shown(name)} is taken already by "
                f"{vertices.place(positions[name])}; every vertex needs its own"
            )
    return positions


def _texts(vertices: Table, found: VertexColumns) -> tuple[str, ...]:
    texts = _cells(vertices, found.text, "text")
    if found.title is None:
        return tuple(texts)
    titles = _cells(vertices, found.title, "title")
    return tuple(_join(title, text) for title, text in zip(titles, texts, strict=True))


def _cells(vertices: Table, column: str | None, what: str) -> list[str]:
    if column is None:
        return [""] * vertices.num_rows
    return [
        str(value) if isinstance(value, str) else name_in(vertices, row, what, value)
        for row, value in enumerate(vertices.cells(column))
    ]


def _join(title: str, text: str) -> str:
    """Return the title as the first sentence of the text.

    >>> _join("Graph", "Vertices joined by edges."), _join("Why?", "Because."), _join("Set", "")
    ('Graph. Vertices joined by edges.', 'Why? Because.', 'Set')
    """
    title = title.strip()
    if not title or not text:
        return title or text
    return f"{title} {text}" if title.endswith(SENTENCE_ENDS) else f"{title}. {text}"


def _labels(vertices: Table, column: str | None) -> tuple[frozenset[str], ...] | None:
    if column is None:
        return None
    cells = enumerate(vertices.cells(column))
    shared: dict[frozenset[str], frozenset[str]] = {}  # A set of its own per vertex takes much.
    found = (frozenset(several(vertices, row, "label", value)) for row, value in cells)
    labels = tuple(shared.setdefault(classes, classes) for classes in found)
    return labels if any(labels) else None


def _links(
    vertices: Table,
    column: str | None,
    positions: Mapping[str, int],
    listed: str,
    columns: Columns,
    *,
    directed: bool,
) -> Int[Tensor, "edges 2"]:
    """Return every link once, also one that is mentioned at both of its undirected ends."""
    pairs: dict[tuple[int, int], tuple[int, int]] = {}
    num_links = num_outside = 0
    for source, value in enumerate(_cells_of_links(vertices, column, columns)):
        for name in several(vertices, source, "link", value):
            num_links += 1
            if vertices.open_links and name not in positions:
                num_outside += 1
                continue
            target = _find(positions, name, vertices.place(source), "link", listed)
            low, high = (source, target) if directed else sorted((source, target))
            pairs.setdefault((low, high), (source, target))
    if num_outside:
        warn(
            f"{vertices.name}: links to ids that are not in it are left out, {num_outside:,} of "
            f"{num_links:,}"
        )
    return torch.tensor(list(pairs.values()), dtype=torch.int64).reshape(-1, 2)


def _cells_of_links(vertices: Table, column: str | None, columns: Columns) -> Iterable[object]:
    """Return the cells of the links; a column that is merely called so must hold a list."""
    if column is None:
        return ()
    is_sure = columns.links is not None or vertices.delimited
    return vertices.cells(column) if is_sure or any(map(is_list, vertices.cells(column))) else ()


def _edges(
    edges: Table, columns: Columns, positions: Mapping[str, int], vertices: str
) -> tuple[Int[Tensor, "edges 2"], Float[Tensor, " edges"] | None]:
    if not edges.columns:
        return torch.zeros((0, 2), dtype=torch.int64), None
    found = find_edge_columns(edges.name, edges.columns, columns)
    if edges.delimited and found.by_place:
        _check_header(edges, found, positions)
    roles = (("source", found.source), ("target", found.target))
    ends = [_end_positions(edges, what, column, positions, vertices) for what, column in roles]
    return torch.stack(ends, dim=1), _weights(edges, found.weight)


def _end_positions(
    edges: Table, what: str, column: str, positions: Mapping[str, int], vertices: str
) -> Int[Tensor, " edges"]:
    """Return the position of one end of every edge; names are held a batch at a time."""
    at: Callable[[Any], int] = positions.__getitem__
    found, first = [], 0
    for cells in edges.parts(column):
        try:  # Most cells are ids as they are.
            ends = np.fromiter(map(at, cells), np.int64, len(cells))
        except (KeyError, TypeError):
            names = names_of_cells(edges, cells, what, first)
            if not all(name and name in positions for name in names):
                _refuse_ends(edges, what, column, positions, vertices)
            ends = np.fromiter(map(at, names), np.int64, len(names))
        found.append(ends)
        first += len(cells)
    return torch.from_numpy(np.concatenate(found) if found else np.empty(0, np.int64))


def _refuse_ends(
    edges: Table, what: str, column: str, positions: Mapping[str, int], vertices: str
) -> None:
    """Say of all ends which one is wrong: the first that is missing, or else that is unknown."""
    names = names_in(edges, column, what)
    _refuse_empty(edges, what, names)
    lost = next(row for row, name in enumerate(names) if name not in positions)
    _find(positions, names[lost], edges.place(lost), what, vertices)


def _check_header(edges: Table, found: EdgeColumns, positions: Mapping[str, int]) -> None:
    for name in (found.source, found.target):
        if name in positions or name.isdecimal():
            raise NetworkError(
                f"{edges.name} begins with {shown(name)}, which looks like a vertex and not like "
                "the name of a column; put a header line such as source,target on top, or name them"
            )


def _ends(edges: Table, found: EdgeColumns) -> tuple[list[str], list[str]]:
    sources = names_in(edges, found.source, "source")
    targets = names_in(edges, found.target, "target")
    for what, names in (("source", sources), ("target", targets)):
        _refuse_empty(edges, what, names)
    return sources, targets


def _refuse_empty(edges: Table, what: str, names: list[str]) -> None:
    if not all(names):
        place = edges.place(names.index(""))
        raise NetworkError(f"{place}: the edge has no {what}; every edge needs two ends")


def _find(positions: Mapping[str, int], name: str, place: str, what: str, vertices: str) -> int:
    if name in positions:
        return positions[name]
    try:
        if len(name) > LONGEST_HINTED:
            return find_position({}, f"{name[:LONGEST_HINTED]}…")
        return find_position(positions, name)
    except UnknownVertexError as error:
        raise NetworkError(
            f"{place}: the {what} must be one of the ids in {vertices}, but {error}"
        ) from None


def _weights(edges: Table, column: str | None) -> Float[Tensor, " edges"] | None:
    if column is None:
        return None
    cells = enumerate(edges.cells(column))
    weights = (parse_weight(value, edges.place, row) for row, value in cells)
    return torch.from_numpy(np.fromiter(weights, np.float64, edges.num_rows))
