"""Build a network from a vertex table and an edge table; every reader of rows ends here.

A vertex table holds the id, text t_i and labels of each vertex v_i; an edge table holds pairs of
ids and weights s_ij. The vertex table may hold the edges instead, in a column of links. The paper
numbers its vertices; here an id is any string.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

import torch

from dmte.errors import NetworkError
from dmte.network.formats.columns import (
    GUESSED,
    Columns,
    VertexColumns,
    find_vertex_columns,
    listed,
)
from dmte.network.formats.edge_rows import ends_as_vertices, find_id, read_edges, read_links
from dmte.network.formats.table import Table, are_strings, parse_id, parse_ids, parse_list, shown
from dmte.network.textual_network import TextualNetwork

SENTENCE_ENDS = (".", "!", "?", "…", ":", ";", "。", "！", "？")


def network_from_tables(
    vertices: Table | None,
    edges: Table | None,
    *,
    columns: Columns = GUESSED,
    directed: bool = False,
    known: Sequence[str] = (),
) -> TextualNetwork:
    """Build a network from a vertex table and an edge table; either may be ``None``.

    Without a vertex table, the vertices are the ends of the edges in order of appearance, with
    empty texts. Without an edge table, the edges come from a column of links, if there is one.
    Edges may also lead to ``known`` ids, those of a model. The ones in use become the last
    vertices, with empty texts.

    >>> edges = {"source": ["a", "b"], "target": ["b", 7.0]}
    >>> table = Table(name="edges", columns=edges, place="row {} of the edges".format)
    >>> network_from_tables(None, table).ids
    ('a', 'b', '7')

    Raises:
        NetworkError: A row or a column of a table is wrong.
    """
    columns.check_tables(vertices=vertices is not None, edges=edges is not None)
    if vertices is None:
        vertices = ends_as_vertices(edges, columns)
    if vertices.num_rows == 0:
        raise NetworkError(f"{vertices.name} holds no vertices; a network needs at least one")
    found = find_vertex_columns(vertices.name, vertices.columns, columns)
    own = _positions(vertices, found.id)
    others = [name for name in known if name not in own]
    further = {name: at for at, name in enumerate(others, start=len(own))}
    positions = own | further if further else own
    origin = f"{vertices.name} or of the model" if known else vertices.name
    if edges is None:
        pairs = read_links(vertices, found.links, positions, origin, columns, directed=directed)
        weights = None
    else:
        pairs, weights = read_edges(edges, columns, positions, origin)
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
    """Drop the isolated vertices from position ``first`` on."""
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
    """Labels of the vertices ``ids`` in a table; an empty set for a vertex that is not in it.

    In a table of two columns, the one that is not the id holds the labels, whatever its name.

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
            f"{listed(table.columns)}; rename one of them to 'label', or use --label-column"
        )
    rows, cells = _positions(table, found.id), table.columns[column]
    positions = {name: position for position, name in enumerate(ids)}
    labels: list[frozenset[str]] = [frozenset()] * len(ids)
    for name, row in rows.items():
        position = find_id(positions, name, table, row, "id", "the network")
        labels[position] = frozenset(parse_list(table, row, "label", cells[row]))
    return tuple(labels)


def _positions(vertices: Table, column: str) -> dict[str, int]:
    names = parse_ids(vertices, column, "id")
    positions = dict(zip(names, range(len(names)), strict=True))
    if len(positions) < len(names) or "" in positions:
        _raise_for_ids(vertices, names)
    return positions


def _raise_for_ids(vertices: Table, names: list[str]) -> NoReturn:
    """Raise for the first id that is empty or used before."""
    rows: dict[str, int] = {}
    for row, name in enumerate(names):
        if not name:
            raise NetworkError(f"{vertices.place(row)}: the id is empty; every vertex needs one")
        if rows.setdefault(name, row) != row:
            break
    raise NetworkError(
        f"{vertices.place(row)}: the id {shown(name)} is already used by "
        f"{vertices.place(rows[name])}; ids must be unique"
    )


def _texts(vertices: Table, found: VertexColumns) -> tuple[str, ...]:
    texts = _cells(vertices, found.text, "text")
    if found.title is None:
        return tuple(texts)
    titles = _cells(vertices, found.title, "title")
    return tuple(_join(title, text) for title, text in zip(titles, texts, strict=True))


def _cells(vertices: Table, column: str | None, what: str) -> list[str]:
    if column is None:
        return [""] * vertices.num_rows
    found: list[str] = []
    for cells in map(list, vertices.parts(column)):
        found += cells if are_strings(cells) else _parse_cells(vertices, cells, what, len(found))
    return found


def _parse_cells(vertices: Table, cells: Sequence[object], what: str, first: int) -> list[str]:
    return [
        str(value) if isinstance(value, str) else parse_id(vertices, row, what, value)
        for row, value in enumerate(cells, start=first)
    ]


def _join(title: str, text: str) -> str:
    """Prepend the title to the text as its first sentence.

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
    shared: dict[frozenset[str], frozenset[str]] = {}  # Equal sets share memory.
    of_strings: dict[str, frozenset[str]] = {}
    labels: list[frozenset[str]] = []
    for row, value in enumerate(vertices.cells(column)):
        classes = of_strings.get(value) if type(value) is str else None
        if classes is None:
            classes = frozenset(parse_list(vertices, row, "label", value))
            classes = shared.setdefault(classes, classes)
            if type(value) is str:
                of_strings[value] = classes
        labels.append(classes)
    return tuple(labels) if any(shared) else None
