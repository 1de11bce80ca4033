"""The edges in tables: rows of an edge table, or a column of links in a vertex table."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dmte.errors import NetworkError, warn
from dmte.network.formats.columns import Columns, EdgeColumns, find_edge_columns
from dmte.network.formats.table import (
    Table,
    is_list,
    parse_batch,
    parse_ids,
    parse_list,
    parse_weight,
    shown,
)
from dmte.runtime.spelling import unknown_id_message

LONGEST_COMPARED = 50  # Characters of an unknown id; comparing whole texts would take minutes.


def ends_as_vertices(edges: Table | None, columns: Columns) -> Table:
    """Vertex table of the ends of all edges, in order of appearance.

    Raises:
        NetworkError: There is no edge table, it is empty, or one of its ends is.
    """
    if edges is None:
        raise NetworkError("there is neither a vertex table nor an edge table; give at least one")
    if edges.num_rows == 0:
        raise NetworkError(f"{edges.name} holds no edges; without a vertex table it needs some")
    found = find_edge_columns(edges.name, edges.columns, columns)
    ends = zip(*_ends(edges, found), strict=True)
    names = dict.fromkeys(name for pair in ends for name in pair)
    return Table(name=edges.name, columns={"id": list(names)}, place=edges.place)


def read_links(
    vertices: Table,
    column: str | None,
    positions: Mapping[str, int],
    origin: str,
    columns: Columns,
    *,
    directed: bool,
) -> Int[Tensor, "edges 2"]:
    """Edges from a column of links; an undirected edge listed at both ends counts once.

    ``origin`` is the source of ``positions`` in errors, here and below.

    Raises:
        NetworkError: A link leads to an unknown id.
    """
    pairs: dict[tuple[int, int], tuple[int, int]] = {}
    num_links = num_outside = 0
    for source, value in enumerate(_cells_of_links(vertices, column, columns)):
        for name in parse_list(vertices, source, "link", value):
            num_links += 1
            if vertices.open_links and name not in positions:
                num_outside += 1
                continue
            target = find_id(positions, name, vertices.place(source), "link", origin)
            low, high = (source, target) if directed else sorted((source, target))
            pairs.setdefault((low, high), (source, target))
    if num_outside:
        warn(f"{vertices.name}: links to unknown ids are ignored, {num_outside:,} of {num_links:,}")
    return torch.tensor(list(pairs.values()), dtype=torch.int64).reshape(-1, 2)


def _cells_of_links(vertices: Table, column: str | None, columns: Columns) -> Iterable[object]:
    """Cells of the column of links; a guessed column counts only if it holds a list."""
    if column is None:
        return ()
    is_sure = columns.links is not None or vertices.delimited
    return vertices.cells(column) if is_sure or any(map(is_list, vertices.cells(column))) else ()


def read_edges(
    edges: Table, columns: Columns, positions: Mapping[str, int], origin: str
) -> tuple[Int[Tensor, "edges 2"], Float[Tensor, " edges"] | None]:
    """Edges and weights of an edge table, with ids replaced by positions.

    Raises:
        NetworkError: A column is missing, or a row has an unknown end or a bad weight.
    """
    if not edges.columns:
        return torch.zeros((0, 2), dtype=torch.int64), None
    found = find_edge_columns(edges.name, edges.columns, columns)
    if edges.delimited and found.by_place:
        _check_header(edges, found, positions)
    roles = (("source", found.source), ("target", found.target))
    ends = [_end_positions(edges, what, column, positions, origin) for what, column in roles]
    return torch.stack(ends, dim=1), _weights(edges, found.weight)


def _end_positions(
    edges: Table, what: str, column: str, positions: Mapping[str, int], origin: str
) -> Int[Tensor, " edges"]:
    """Positions of one end of every edge; ids are in memory one batch at a time."""
    at: Callable[[Any], int] = positions.__getitem__
    found, first = [], 0
    for cells in edges.parts(column):
        try:  # Most cells need no conversion.
            ends = np.fromiter(map(at, cells), np.int64, len(cells))
        except (KeyError, TypeError):
            names = parse_batch(edges, cells, what, first)
            if not all(name and name in positions for name in names):
                _raise_for_ends(edges, what, column, positions, origin)
            ends = np.fromiter(map(at, names), np.int64, len(names))
        found.append(ends)
        first += len(cells)
    return torch.from_numpy(np.concatenate(found) if found else np.empty(0, np.int64))


def _raise_for_ends(
    edges: Table, what: str, column: str, positions: Mapping[str, int], origin: str
) -> None:
    """Raise for the first empty end of all rows, or else for the first unknown one."""
    names = parse_ids(edges, column, what)
    _check_not_empty(edges, what, names)
    unknown = next(row for row, name in enumerate(names) if name not in positions)
    find_id(positions, names[unknown], edges.place(unknown), what, origin)


def _check_header(edges: Table, found: EdgeColumns, positions: Mapping[str, int]) -> None:
    for name in (found.source, found.target):
        if name in positions or name.isdecimal():
            raise NetworkError(
                f"{edges.name} begins with {shown(name)}, which looks like a vertex id, not a "
                "column name; add a header line such as source,target, or use --source-column and "
                "--target-column"
            )


def _ends(edges: Table, found: EdgeColumns) -> tuple[list[str], list[str]]:
    sources = parse_ids(edges, found.source, "source")
    targets = parse_ids(edges, found.target, "target")
    for what, names in (("source", sources), ("target", targets)):
        _check_not_empty(edges, what, names)
    return sources, targets


def _check_not_empty(edges: Table, what: str, names: list[str]) -> None:
    if not all(names):
        place = edges.place(names.index(""))
        raise NetworkError(f"{place}: the edge has no {what}; every edge needs two ends")


def find_id(positions: Mapping[str, int], name: str, place: str, what: str, origin: str) -> int:
    """Position of an id.

    Raises:
        NetworkError: The id is unknown; the message suggests close ids.
    """
    if name in positions:
        return positions[name]
    if len(name) > LONGEST_COMPARED:
        problem = unknown_id_message(f"{name[:LONGEST_COMPARED]}…", ())
    else:
        problem = unknown_id_message(name, positions)
    raise NetworkError(f"{place}: the {what} must be one of the ids in {origin}, but {problem}")


def _weights(edges: Table, column: str | None) -> Float[Tensor, " edges"] | None:
    if column is None:
        return None
    cells = enumerate(edges.cells(column))
    weights = (parse_weight(value, edges.place, row) for row, value in cells)
    return torch.from_numpy(np.fromiter(weights, np.float64, edges.num_rows))
