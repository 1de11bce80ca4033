"""Tables, and parsing of their cells: ids, lists of labels or links, and weights.

An id is a string. A number becomes its plain spelling: 7.0, as data frames store 7, is "7". Other
cells raise an error with the place of the row.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain
from numbers import Integral, Real
from reprlib import Repr
from typing import Any, SupportsFloat, TypeGuard

from dmte.errors import NetworkError

SEPARATOR = ";"  # Between labels or links in one cell of a CSV or TSV.
LARGEST_EXACT = 2**53  # Beyond it a double skips integers, so an id may have lost digits.

_shorten = Repr()
_shorten.maxstring = _shorten.maxother = _shorten.maxlong = 60


class LazyColumns(Mapping[str, Sequence[object]]):
    """Columns that are read on access, so that a wide table costs only the columns in use."""

    def __init__(self, names: Iterable[str], read: Callable[[str], Sequence[object]]) -> None:
        self._names = dict.fromkeys(names)
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
    if type(value) is list and are_strings(value):
        return [name for name in map(str.strip, value) if name]
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
    values = list(cells)
    if are_strings(values):
        return [*map(str.strip, values)]
    return [
        value.strip() if type(value) is str else parse_id(table, row, what, value)
        for row, value in enumerate(values, start=first)
    ]


def are_strings(cells: Sequence[object]) -> TypeGuard[Sequence[str]]:
    """Whether all cells are strings, and not of a type derived from strings."""
    return set(map(type, cells)) <= {str}


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
