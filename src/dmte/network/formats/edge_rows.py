"""The edges in tables: rows of an edge table, or a column of links in a vertex table."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import repeat
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dmte.errors import NetworkError, warn
from dmte.network.formats.columns import Columns, EdgeColumns, find_edge_columns
from dmte.network.formats.packed_columns import ArrowCells
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

MANY_EDGES = 250_000  # Above, PyArrow finds ids faster, although its functions take long to import.
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
            target = find_id(positions, name, vertices, source, "link", origin)
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
    return torch.from_numpy(np.stack(ends, axis=1, dtype=np.int64)), _weights(edges, found.weight)


def _end_positions(
    edges: Table, what: str, column: str, positions: Mapping[str, int], origin: str
) -> Int[np.ndarray, " edges"]:
    """Positions of one end of every edge.

    Most ids are found as they are. Ids that must be stripped of spaces or that PyArrow cannot
    encode are found one by one.
    """
    find = _find if edges.num_rows < MANY_EDGES else _find_with_pyarrow
    with suppress(pa.ArrowException, UnicodeEncodeError):
        ends = find(_batches_of_names(edges, column, what), positions)
        if ends is not None:
            return ends
    return _look_up(edges, what, column, positions, origin)


def _batches_of_names(edges: Table, column: str, what: str) -> Iterator[Sequence[Any]]:
    first = 0
    for cells in edges.parts(column):
        if isinstance(cells, ArrowCells) and pa.types.is_string(cells.array.type):
            yield cells
        else:
            yield parse_batch(edges, cells, what, first)
        first += len(cells)


def _find(
    batches: Iterable[Sequence[Any]], positions: Mapping[str, int]
) -> Int[np.ndarray, " edges"] | None:
    """Positions of all names, or None if one is unknown."""
    found = [
        np.fromiter(map(positions.get, names, repeat(-1)), np.int64, len(names))
        for names in batches
    ]
    ends = np.concatenate(found) if found else np.empty(0, np.int64)
    return ends if (ends >= 0).all() else None


def _find_with_pyarrow(
    batches: Iterable[Sequence[Any]], positions: Mapping[str, int]
) -> Int[np.ndarray, " edges"] | None:
    """Like ``_find``, in a table of ids that is made once and without a Python object for each."""
    import pyarrow.compute as pc  # type: ignore[import-untyped]

    arrays = (
        names.array if isinstance(names, ArrowCells) else pa.array(names, pa.string())
        for names in batches
    )
    names = pa.chunked_array(arrays, pa.string())
    ids, pool = pa.array(positions, pa.string()), pa.system_memory_pool()
    ends = pc.index_in(names, value_set=ids, memory_pool=pool)
    return None if ends.null_count else np.asarray(ends)


def _look_up(
    edges: Table, what: str, column: str, positions: Mapping[str, int], origin: str
) -> Int[np.ndarray, " edges"]:
    names = parse_ids(edges, column, what)
    _check_not_empty(edges, what, names)
    ends = [positions.get(name, -1) for name in names]
    if -1 in ends:
        row = ends.index(-1)
        find_id(positions, names[row], edges, row, what, origin)
    return np.array(ends, dtype=np.int64)


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


def find_id(
    positions: Mapping[str, int], name: str, table: Table, row: int, what: str, origin: str
) -> int:
    """Position of an id in a row of a table.

    Raises:
        NetworkError: The id is unknown; the message suggests close ids.
    """
    if name in positions:
        return positions[name]
    if len(name) > LONGEST_COMPARED:
        problem = unknown_id_message(f"{name[:LONGEST_COMPARED]}…", ())
    else:
        problem = unknown_id_message(name, positions)
    place = table.place(row)
    raise NetworkError(f"{place}: the {what} must be one of the ids in {origin}, but {problem}")


def _weights(edges: Table, column: str | None) -> Float[Tensor, " edges"] | None:
    if column is None:
        return None
    cells = enumerate(edges.cells(column))
    weights = (parse_weight(value, edges.place, row) for row, value in cells)
    return torch.from_numpy(np.fromiter(weights, np.float64, edges.num_rows))
