"""Tables, and parsing of their cells: ids, lists of labels or links, and weights.

An id is a string. A number becomes its plain spelling: 7.0, as data frames store 7, is "7". Other
cells raise an error with the place of the row.
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

SEPARATOR = ";"  # Between labels or links in one cell of a CSV or TSV.
LARGEST_EXACT = 2**53  # Beyond it a double skips integers, so an id may have lost digits.

_shorten = Repr()
_shorten.maxstring = _shorten.maxother = _shorten.maxlong = 60


class LazyColumns(Mapping[str, Sequence[object]]):
    """Columns that are read on access, so that a wide table costs only the columns in use."""

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
    """Named columns of equal length, with the source of each row."""

    name: str
    """Name in errors: the path of a file, or "the edges frame"."""
    columns: Mapping[str, Any]
    """The cells of every column; None if a cell is empty."""
    place: Callable[[int], str]
    """Place of a row, counted from 0, such as "edges.csv, line 7"."""
    delimited: bool = False
    """Whether this is a CSV or TSV: all cells are strings, and the header may be missing."""
    open_links: bool = False
    """Whether links may lead outside the table, as citations of a part of a literature do."""
    batches: Callable[[str], Iterator[Sequence[object]]] | None = None
    """Reads a column in batches of rows, without holding all of it."""
    known_rows: int | None = None
    """The number of rows, if known without reading a column."""

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        if self.known_rows is not None:
            return self.known_rows
        return len(next(iter(self.columns.values()), ()))

    def parts(self, column: str) -> Iterator[Sequence[object]]:
        """Yield the cells of a column in batches, if the table has any."""
        if self.batches is None:
            yield self.columns[column]
        else:
            yield from self.batches(column)

    def cells(self, column: str) -> Iterator[object]:
        """Yield the cells of a column one by one."""
        return chain.from_iterable(self.parts(column))


def parse_weight(value: object, place: Callable[[int], str], row: int) -> float:
    """Parse the weight s_ij in a cell.

    >>> parse_weight("2.5", "line {}".format, 7)
    2.5

    Raises:
        NetworkError: The cell is not a positive, finite number.
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


def parse_list(table: Table, row: int, what: str, value: object) -> list[str]:
    """Parse a cell with any number of ids, labels or links."""
    if type(value) is str and not table.delimited:  # Most labels.
        return [name] if (name := value.strip()) else []
    if table.delimited and isinstance(value, str):
        value = value.split(SEPARATOR)
    cells = list(value) if isinstance(value, Iterable) and is_list(value) else [value]
    names = [name for name in (parse_id(table, row, what, cell) for cell in cells) if name]
    # The order of a set varies between runs.
    return sorted(names) if isinstance(value, Set) else names


def is_list(value: object) -> bool:
    """Whether a cell is a list of values."""
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def parse_ids(table: Table, column: str, what: str) -> list[str]:
    """Parse a column of ids; an empty cell is the empty string."""
    names: list[str] = []
    for cells in table.parts(column):
        names += parse_batch(table, cells, what, len(names))
    return names


def parse_batch(table: Table, cells: Sequence[object], what: str, first: int) -> list[str]:
    """Parse a batch of ids that begins at row ``first``."""
    return [
        value.strip() if type(value) is str else parse_id(table, row, what, value)
        for row, value in enumerate(cells, start=first)
    ]


def parse_id(table: Table, row: int, what: str, value: object) -> str:
    """Parse an id, label or link; an empty cell is the empty string."""
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
    """A value for an error message, shortened and on one line."""
    return " ".join(_shorten.repr(value).split())


Row = TypeVar("Row")

BATCH = 1 << 10  # Rows packed together; with many more, Python's garbage collector scans them.
FEW = 64  # Below this number of cells, packing is not worth it.
LONG = 100  # Mean characters of strings from which packing saves nothing.
DEEP = 16  # Nesting of lists up to which JSON can always be read again.
SPARSE = 8  # Ratio of cells to filled cells above which records are kept as they are.
STRINGS, NESTED = frozenset({str, type(None)}), frozenset({list, dict})


class PackedColumns:
    """Columns in batches of rows, with the line of each row.

    Batches are packed as JSON, which preserves every value. pyarrow is three times as fast with
    10 % more memory, but turns 1 into 1.0 next to 2.5, and gives all records the same keys.
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
        columns = LazyColumns(names, lambda name: [record.get(name) for record in records])
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
        yield [line for line, _ in batch], [row for _, row in batch]


def _pack(cells: Sequence[object]) -> Sequence[object]:
    """Pack cells, or return them unchanged if packing saves nothing."""
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
