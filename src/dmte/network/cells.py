"""A table, and what a cell of it says: an id, several labels or links, a weight.

An id is any string, and a number stands for its plain spelling: 7.0, as data frames make of 7, is
"7". Whatever a cell holds that is none of this is refused with the place of its row.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain
from numbers import Integral, Real
from reprlib import Repr
from typing import Any, SupportsFloat

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
