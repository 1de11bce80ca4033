"""Columns of a table kept in little memory while and after a file is read.

Cells that PyArrow has read stay in its arrays, others are kept as JSON, both in batches of rows.
Converting strings to PyArrow would import pandas if it is installed, which takes longer than
reading a small network.
"""

import json
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from operator import itemgetter
from typing import Any, TypeVar, overload

import pyarrow as pa  # type: ignore[import-untyped]

from dmte.network.formats.table import LazyColumns, Table

Row = TypeVar("Row")

BATCH = 1 << 10  # Rows packed together; with many more, Python's garbage collector scans them.
FEW = 64  # Below this number of cells, packing is not worth it.
LONG = 100  # Mean characters of strings from which packing saves nothing.
DEEP = 16  # Nesting of lists up to which JSON can always be read again.
SPARSE = 8  # Ratio of cells to filled cells above which records are kept as they are.
STRINGS, NESTED = frozenset({str, type(None)}), frozenset({list, dict})


class ArrowCells(Sequence[object]):
    """Cells in a PyArrow array, which become Python values on access.

    >>> cells = ArrowCells(pa.array(["a", None]))
    >>> list(cells), cells[0], cells[1:]
    (['a', None], 'a', [None])
    """

    def __init__(self, array: pa.Array) -> None:
        self.array = array
        """The cells as PyArrow has them."""

    def __len__(self) -> int:
        return len(self.array)

    @overload
    def __getitem__(self, index: int) -> object: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[object]: ...
    def __getitem__(self, index: int | slice) -> object:
        cells = self.array[index]
        return cells.to_pylist() if isinstance(index, slice) else cells.as_py()

    def __iter__(self) -> Iterator[object]:
        return iter(self.array.to_pylist())


class PackedColumns:
    """Columns in batches of rows, with the line of each row.

    JSON preserves every value: PyArrow turns 1 into 1.0 next to 2.5, and gives all records the
    same keys.
    """

    def __init__(self) -> None:
        self._lines = array("q")
        self._batches: list[tuple[int, Mapping[str, Any]]] = []

    def add(self, lines: Sequence[int], columns: Mapping[str, Sequence[object]]) -> None:
        """Add rows, given as columns."""
        self._lines.extend(lines)
        self._batches.append((len(lines), {name: _pack(columns[name]) for name in columns}))

    def add_records(self, lines: Sequence[int], records: Sequence[Mapping[str, object]]) -> None:
        """Add rows, given as records; a missing key is an empty cell."""
        names = dict.fromkeys(chain.from_iterable(records))
        columns = LazyColumns(names, lambda name: _values(records, name))
        if len(names) * len(records) <= SPARSE * sum(map(len, records)):
            self.add(lines, columns)
        else:
            self._lines.extend(lines)
            self._batches.append((len(lines), columns))

    @property
    def num_rows(self) -> int:
        """Number of rows so far."""
        return len(self._lines)

    def names(self) -> list[str]:
        """Names of all columns, in order of appearance."""
        return list(dict.fromkeys(chain.from_iterable(columns for _, columns in self._batches)))

    def parts(self, column: str) -> Iterator[Sequence[object]]:
        """Yield the cells of a column in batches."""
        for num_rows, columns in self._batches:
            yield _unpack(columns[column]) if column in columns else [None] * num_rows

    def table(self, name: str, names: Iterable[str], **about: Any) -> Table:
        """Table of the columns ``names``, of the file ``name``."""
        return Table(
            name=name,
            columns=LazyColumns(names, lambda column: [*chain.from_iterable(self.parts(column))]),
            place=lambda row: f"{name}, line {self._lines[row]}",
            batches=self.parts,
            known_rows=self.num_rows,
            **about,
        )


def batches_of(rows: Iterable[tuple[int, Row]]) -> Iterator[tuple[list[int], list[Row]]]:
    """Split numbered rows into batches of line numbers and rows."""
    numbered = iter(rows)
    while batch := [*islice(numbered, BATCH)]:
        lines, found = zip(*batch, strict=True)
        yield [*lines], [*found]


def _values(records: Sequence[Mapping[str, object]], name: str) -> list[object]:
    try:
        return [*map(itemgetter(name), records)]
    except KeyError:
        return [record.get(name) for record in records]


def _pack(cells: Sequence[object]) -> Sequence[object]:
    """Pack cells, or return them unchanged if packing saves nothing."""
    if isinstance(cells, ArrowCells):
        return [*cells] if cells.array.nbytes > LONG * len(cells) else cells
    kinds = set(map(type, cells))
    if len(cells) < FEW or (kinds <= STRINGS and _are_long(cells)):
        return cells
    if kinds & NESTED and not _is_shallow(cells):
        return cells
    return json.dumps(cells, ensure_ascii=False, separators=(",", ":")).encode()


def _unpack(packed: Sequence[object]) -> Sequence[object]:
    """Unpack cells.

    >>> cells = ["a", None, 7, 7.0, True, {"a": [None]}] * 50
    >>> _pack(cells)[:20], _unpack(_pack(cells)) == cells
    (b'["a",null,7,7.0,true', True)
    """
    if not isinstance(packed, bytes):
        return packed
    cells: list[object] = json.loads(packed)
    return cells


def _are_long(strings: Sequence[Any]) -> bool:
    return sum(map(len, filter(None, strings))) > LONG * len(strings)


def _is_shallow(cells: Sequence[object]) -> bool:
    """Whether lists and objects in cells are nested at most ``DEEP`` times.

    The depth that JSON can have depends on the depth of calls when it is read.
    """
    level: list[Any] = [cell for cell in cells if isinstance(cell, list | dict)]
    for _ in range(DEEP):
        inner = (cell.values() if isinstance(cell, dict) else cell for cell in level)
        level = [cell for cell in chain.from_iterable(inner) if isinstance(cell, list | dict)]
    return not level
