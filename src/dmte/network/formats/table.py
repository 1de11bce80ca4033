"""A table, and what a cell of it says: an id, several labels or links, a weight.

An id is any string, and a number stands for its plain spelling: 7.0, as data frames make of 7, is
"7". Whatever a cell holds that is none of this is refused with the place of its row.
"""

import json
import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain, islice
from numbers import Integral, Real
from reprlib import Repr
from typing import Any, SupportsFloat, TypeVar

from dmte.errors import NetworkError

SEPARATOR = ";"  # Between several labels or links in one cell of a CSV or TSV.

LARGEST_EXACT = 2**53  # Beyond it a double skips integers, so an id may have lost its last digits.

_shorten = Repr()

_shorten.maxstring = _shorten.maxother = _shorten.maxlong = 60


class LazyColumns(Mapping[str, Sequence[object]]):
    """Columns that are made only when asked for: a wide table costs what is used of it."""

    def __init__(self, names: Iterable[str], read: Callable[[str], Sequence[object]]) -> None:
        self._names = tuple(names)
        self._read = read

    def __getitem__(self, name: str) -> Sequence[object]:
        if name not in self._names:
            raise KeyError(name)
        return self._read(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Table:
    """Named columns of equal length that know where each row came from."""

    name: str
    """What errors call it: a file's path, or "the edges frame"."""
    columns: Mapping[str, Any]
    """The cells of every column, a sequence; None where there is nothing."""
    place: Callable[[int], str]
    """Where a row, counted from 0, came from: "edges.csv, line 7"."""
    delimited: bool = False
    """Whether it is a CSV or TSV: all cells are strings, and its header line may be missing."""
    open_links: bool = False
    """Whether links may lead to what is not in it, as those of a part of a literature do."""
    batches: Callable[[str], Iterator[Sequence[object]]] | None = None
    """The cells of a column a batch of rows at a time, where they need not be held all at once."""
    known_rows: int | None = None
    """The number of rows, where it is known without reading a column."""

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        if self.known_rows is not None:
            return self.known_rows
        return len(next(iter(self.columns.values()), ()))

    def parts(self, column: str) -> Iterator[Sequence[object]]:
        """Yield the cells of a column, a batch at a time if that can be done."""
        if self.batches is None:
            yield self.columns[column]
        else:
            yield from self.batches(column)

    def cells(self, column: str) -> Iterator[object]:
        """Yield the cells of a column one by one, with as few in memory as can be done."""
        return chain.from_iterable(self.parts(column))


def parse_weight(value: object, place: Callable[[int], str], row: int) -> float:
    """Return the weight s_ij that a cell holds.

    >>> parse_weight("2.5", "line {}".format, 7)
    2.5

    Raises:
        NetworkError: It is not a positive, finite number.
    """
    weight = _number(value)
    if weight > 0 and math.isfinite(weight):
        return weight
    found = "missing" if isinstance(value, str | None) and not value else shown(value)
    raise NetworkError(
        f"{place(row)}: the weight is {found}; weights must be positive, finite numbers"
    )


def _number(value: object) -> float:
    if isinstance(value, bool) or (isinstance(value, str) and "_" in value):
        return math.nan
    try:
        return float(value) if isinstance(value, str | SupportsFloat) else math.nan
    except (TypeError, ValueError, OverflowError):
        return math.nan


def several(table: Table, row: int, what: str, value: object) -> list[str]:
    """Return the names in a cell that may hold none, one, or several."""
    if type(value) is str and not table.delimited:  # Most labels.
        return [name] if (name := value.strip()) else []
    if table.delimited and isinstance(value, str):
        value = value.split(SEPARATOR)
    cells = list(value) if isinstance(value, Iterable) and is_list(value) else [value]
    names = [name for name in (name_in(table, row, what, cell) for cell in cells) if name]
    # The order of a set changes from run to run.
    return sorted(names) if isinstance(value, Set) else names


def is_list(value: object) -> bool:
    """Return whether a cell holds several things."""
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def names_in(table: Table, column: str, what: str) -> list[str]:
    """Return a column as ids, the empty string where there is nothing."""
    names: list[str] = []
    for cells in table.parts(column):
        names += names_of_cells(table, cells, what, len(names))
    return names


def names_of_cells(table: Table, cells: Sequence[object], what: str, first: int) -> list[str]:
    """Return the cells of a column from row ``first`` on as ids."""
    return [
        value.strip() if type(value) is str else name_in(table, row, what, value)
        for row, value in enumerate(cells, start=first)
    ]


def name_in(table: Table, row: int, what: str, value: object) -> str:
    """Return a cell as an id, label or link; the empty string when there is nothing in it."""
    if value is None:
        return ""
    if isinstance(value, str):
        return str(value).strip()
    if isinstance(value, Integral):
        return str(value)
    if not isinstance(value, Real | Decimal):
        kind = type(value).__name__
        raise NetworkError(
            f"{table.place(row)}: the {what} is a {kind}, {shown(value)}; give it as a string"
        )
    number = value if isinstance(value, Decimal) else float(value)
    if math.isnan(number):
        return ""
    if math.isinf(number) or (isinstance(number, float) and abs(number) > LARGEST_EXACT):
        raise NetworkError(
            f"{table.place(row)}: the {what} {shown(value)} is too large for an exact "
            "floating point number and may have lost digits; give it as a string"
        )
    return str(int(number) if number == int(number) else value)


def shown(value: object) -> str:
    """Return a value for an error, shortened and on one line."""
    return " ".join(_shorten.repr(value).split())


Row = TypeVar("Row")

BATCH = 1 << 10  # Rows that are packed together; with many more, Python looks for garbage in them.

FEW = 64  # Cells that are not worth packing.

LONG = 100  # Characters of a string, from which on it takes about as much packed.

DEEP = 16  # Lists within lists up to which JSON is sure to be read again.

SPARSE = 8  # Times as many cells as records fill, from which on these are kept as they are.

STRINGS, NESTED = frozenset({str, type(None)}), frozenset({list, dict})


class PackedColumns:
    """Columns in batches of rows, with the line that each row came from.

    They are packed as JSON, which keeps every value as it was. pyarrow packs three times as fast
    in 10 % more memory, but turns 1 into 1.0 beside 2.5 and gives all records the same keys.
    """

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
