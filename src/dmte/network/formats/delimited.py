"""Read CSV and TSV files: with PyArrow if they are plain, else with the csv module.

A file is plain if every quote begins, ends or is doubled within a quoted field, and every line ends
in a line feed. PyArrow and the csv module then find the same cells. ``read_plain`` gives up on
other files and on every error; ``read_checked`` reads all files and raises errors with their lines.
"""

import csv
import threading
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.csv as pa_csv  # type: ignore[import-untyped]
from jaxtyping import Int

from dmte.errors import NetworkError
from dmte.network.formats.columns import check_unique
from dmte.network.formats.packed_columns import ArrowCells, PackedColumns, batches_of
from dmte.network.formats.source import BYTE_ORDER_MARK, Source
from dmte.network.formats.table import Table

LONGEST_FIELD = 2**31 - 1  # Characters of a CSV field; the limit of a C long on Windows.
LONGEST_RECORD = 1 << 24  # Bytes of a record that PyArrow parses.
LINE_FEED, CARRIAGE_RETURN, QUOTE = b'\n\r"'

_field_limit_lock = threading.Lock()


def read_delimited(source: Source, delimiter: str) -> Table:
    """Read a table with a header line.

    Raises:
        NetworkError: The file is not UTF-8 text, a line is malformed, or columns share a name.
    """
    table = read_plain(source, delimiter)
    return read_checked(source, delimiter) if table is None else table


class _NotPlainError(Exception):
    """The csv module must read this file."""


def read_plain(source: Source, delimiter: str) -> Table | None:
    """Read a table with PyArrow; return ``None`` if the file is not plain or has an error."""
    packed, first_row = PackedColumns(), 1  # Row 0 of the first block is the header.
    try:
        names = _plain_header(source, delimiter)
        for records, lines in _plain_records(source, delimiter):
            table = _parse(records, delimiter, len(names), len(lines))
            cells = (ArrowCells(column.chunk(0)[first_row:]) for column in table.columns)
            numbers = array("q", lines[first_row:].astype(np.int64).tobytes())
            packed.add(numbers, dict(zip(names, cells, strict=True)))
            first_row = 0
    except (NetworkError, _NotPlainError, pa.ArrowException):
        return None
    return packed.table(source.name, names, delimited=True)


def _plain_header(source: Source, delimiter: str) -> list[str]:
    with _field_limit():
        line, header = next(_records(source, delimiter), (0, []))
    if not header:
        raise _NotPlainError
    _check_separator(f"{source.name}, line {line}", header, delimiter)
    names = [name.strip() for name in header]
    check_unique(source.name, names)
    return names


def _plain_records(
    source: Source, delimiter: str
) -> Iterator[tuple[bytes, Int[np.ndarray, " records"]]]:
    """Yield blocks of whole records, and the first line of each record that is not blank."""
    rest, first_line = b"", 1
    for block in chain(source.blocks(), [b"\n"]):
        rest += block
        codes = np.frombuffer(rest, np.uint8)
        line_ends, quotes = np.flatnonzero(codes == LINE_FEED), np.flatnonzero(codes == QUOTE)
        is_end = np.searchsorted(quotes, line_ends) % 2 == 0  # Outside quotes.
        which = np.flatnonzero(is_end)
        if len(which):
            ends = line_ends[which]
            records, rest = rest[: ends[-1] + 1], rest[ends[-1] + 1 :]
            _check_plain(records, quotes[quotes < len(records)], delimiter)
            begins = np.concatenate([[0], ends[:-1] + 1])
            lines = first_line + np.concatenate([[0], which[:-1] + 1])
            starts = codes[begins]
            is_blank = (begins == ends) | ((begins + 1 == ends) & (starts == CARRIAGE_RETURN))
            if not is_blank.all():
                yield records, lines[~is_blank]
            first_line += int(which[-1]) + 1
        elif len(rest) > LONGEST_RECORD:
            raise _NotPlainError
    if rest:  # A quote is never closed.
        raise _NotPlainError


def _check_plain(records: bytes, quotes: Int[np.ndarray, " quotes"], delimiter: str) -> None:
    """Check that quotes open and close whole fields, and that all lines end in a line feed."""
    codes = np.frombuffer(records, np.uint8)
    opening, closing = quotes[0::2], quotes[1::2]
    # Before the first byte comes the last one, a line feed.
    before = np.isin(codes[opening - 1], [ord(delimiter), LINE_FEED, QUOTE])
    after = np.isin(codes[closing + 1], [ord(delimiter), LINE_FEED, QUOTE, CARRIAGE_RETURN])
    if (
        not (before.all() and after.all())
        or records.count(b"\r") != records.count(b"\r\n")
        or b"\0" in records
        or records.startswith(BYTE_ORDER_MARK)  # PyArrow would remove it.
    ):
        raise _NotPlainError


def _parse(records: bytes, delimiter: str, num_columns: int, num_rows: int) -> pa.Table:
    """Parse records; without threads, since PyArrow's can abort the process when it ends."""
    names = [str(column) for column in range(num_columns)]
    size = len(records)
    table = pa_csv.read_csv(
        pa.py_buffer(records),
        read_options=pa_csv.ReadOptions(use_threads=False, column_names=names, block_size=size),
        parse_options=pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        memory_pool=pa.system_memory_pool(),
    ).combine_chunks()
    if len(table) != num_rows:
        raise _NotPlainError
    return table


def read_checked(source: Source, delimiter: str) -> Table:
    """Read a table by the csv module, and check every line.

    Raises:
        NetworkError: As for ``read_delimited``.
    """
    path, packed = source.name, PackedColumns()
    with _field_limit(), source.text_errors_first():
        records = _records(source, delimiter)
        header_line, header = next(records, (0, []))
        _check_separator(f"{path}, line {header_line}", header, delimiter)
        names = [name.strip() for name in header]
        for lines, rows in batches_of(records):
            packed.add(lines, dict(zip(names, zip(*rows, strict=True), strict=True)))
        if not header:
            raise NetworkError(f"{path} is empty; it needs a header line with the column names")
        check_unique(f"{path}, line {header_line}", names)
    return packed.table(path, names, delimited=True)


def _check_separator(place: str, header: list[str], delimiter: str) -> None:
    """Check that a header of one name does not contain another separator."""
    separators = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
    for other, name in separators.items():
        if other != delimiter and len(header) == 1 and other in header[0]:
            raise NetworkError(
                f"{place}: the columns are separated by {name}, found "
                f"{header[0]!r}; .csv files must use commas, .tsv files tabs"
            )


def _records(source: Source, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the records that are not blank, each with its first line number, and check widths."""
    reader = csv.reader(source.lines(newline=""), delimiter=delimiter, strict=True)
    begin, width = 1, 0
    try:
        for row in reader:
            if row:
                width = width or len(row)
                if len(row) != width:
                    raise NetworkError(
                        f"{source.name}, line {begin}: found {len(row)} fields where the header "
                        f"has {width}; quote fields that contain the separator or a line break"
                    )
                yield begin, row
            begin = reader.line_num + 1
    except csv.Error as error:
        raise NetworkError(
            f"{source.name}, line {begin}: {error}; a field that contains a quote must be quoted, "
            "with its own quotes doubled"
        ) from None


@contextmanager
def _field_limit() -> Iterator[None]:
    """Raise the limit of the csv module for the length of a field, and restore it afterwards.

    The limit is global to the process; the lock keeps two readers from restoring each other's.
    """
    with _field_limit_lock:
        limit = csv.field_size_limit()
        csv.field_size_limit(max(limit, LONGEST_FIELD))
        try:
            yield
        finally:
            csv.field_size_limit(limit)
