"""Columns of a long table that take little until they are asked for, a batch of rows at a time.

A string of Python takes about 60 bytes beside its characters, and an edge has two. So the rows
that a reader of lines comes by are packed a batch at a time, every column by itself, into one piece
of JSON: it gives back numbers, lists and nothing as what they were, and takes a few bytes a cell.
Long strings stay what they are, since they take no less packed and the network takes them over as
its texts.
"""

import json
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, TypeVar

from dmte.network.cells import LazyColumns, Table

Row = TypeVar("Row")

BATCH = 1 << 10  # Rows that are packed together; with many more, Python looks for garbage in them.
FEW = 64  # Cells that are not worth packing.
LONG = 100  # Characters of a string, from which on it takes about as much packed.
DEEP = 16  # Lists within lists up to which JSON is sure to be read again.
SPARSE = 8  # Times as many cells as records fill, from which on these are kept as they are.
STRINGS, NESTED = frozenset({str, type(None)}), frozenset({list, dict})


class PackedColumns:
    """Columns in batches of rows, with the line that each row came from."""

    def __init__(self) -> None:
        self._lines = array("q")
        self._batches: list[tuple[int, Mapping[str, Any]]] = []

    def add(self, lines: Sequence[int], columns: Mapping[str, Sequence[object]]) -> None:
        """Add rows by their columns, each with a cell per row."""
        self._lines.extend(lines)
        self._batches.append((len(lines), {name: _pack(columns[name]) for name in columns}))

    def add_records(self, lines: Sequence[int], records: Sequence[Mapping[str, object]]) -> None:
        """Add rows that name their cells; where a name is missing there is nothing."""
        names = dict.fromkeys(chain.from_iterable(records))
        columns = LazyColumns(names, lambda name: [record.get(name) for record in records])
        if len(names) * len(records) <= SPARSE * sum(map(len, records)):
            self.add(lines, columns)
        else:
            self._lines.extend(lines)
            self._batches.append((len(lines), columns))

    @property
    def num_rows(self) -> int:
        """The number of rows so far."""
        return len(self._lines)

    def names(self) -> list[str]:
        """Return the names of all columns, in the order they came up."""
        return list(dict.fromkeys(chain.from_iterable(columns for _, columns in self._batches)))

    def parts(self, column: str) -> Iterator[Sequence[object]]:
        """Yield the cells of a column, a batch of rows at a time."""
        for num_rows, columns in self._batches:
            yield _unpack(columns[column]) if column in columns else [None] * num_rows

    def table(self, name: str, names: Iterable[str], **about: Any) -> Table:
        """Return the columns called ``names`` as the table of the file called ``name``."""
        return Table(
            name=name,
            columns=LazyColumns(names, lambda column: [*chain.from_iterable(self.parts(column))]),
            place=lambda row: f"{name}, line {self._lines[row]}",
            batches=self.parts,
            known_rows=self.num_rows,
            **about,
        )


def batches_of(rows: Iterable[tuple[int, Row]]) -> Iterator[tuple[list[int], list[Row]]]:
    """Yield rows that come with their lines a batch at a time, lines and rows apart."""
    numbered = iter(rows)
    while batch := [*islice(numbered, BATCH)]:
        yield [line for line, _ in batch], [row for _, row in batch]


def _pack(cells: Sequence[object]) -> Sequence[object]:
    """Return cells in little room, or as they are where that would gain nothing."""
    kinds = set(map(type, cells))
    if len(cells) < FEW or (kinds <= STRINGS and _are_long(cells)):
        return cells
    if kinds & NESTED and not _is_shallow(cells):
        return cells
    return json.dumps(cells, ensure_ascii=False, separators=(",", ":")).encode()


def _unpack(packed: Sequence[object]) -> Sequence[object]:
    """Return the cells that were packed.

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
    """Return whether lists and objects in cells hold each other a few times at most.

    How deep JSON may be depends on how deep the calls are at the time it is read.
    """
    level: list[Any] = [cell for cell in cells if isinstance(cell, list | dict)]
    for _ in range(DEEP):
        inner = (cell.values() if isinstance(cell, dict) else cell for cell in level)
        level = [cell for cell in chain.from_iterable(inner) if isinstance(cell, list | dict)]
    return not level
