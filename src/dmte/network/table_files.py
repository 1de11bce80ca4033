"""One file to one table: CSV, TSV, JSON Lines and Parquet, told apart by their suffix.

Text is UTF-8 and nothing else: a guessed encoding would turn into wrong words without a word of
warning. Whatever is wrong with a file is said with the line it is on, counted from 1.
"""

import csv
import io
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from dmte.errors import NetworkError
from dmte.network.frames import table_from_frame
from dmte.network.tables import LazyColumns, Table

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_field_limit_lock = threading.Lock()


def read_table(path: Path) -> Table:
    """Return the table in a file.

    Raises:
        NetworkError: The suffix is unknown, or the file is missing, unreadable or damaged.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise NetworkError(
            f"{path} ends in {path.suffix!r}; tables are read from {', '.join(READERS)} files"
        )
    return reader(path)


def read_bytes(path: Path) -> bytes:
    """Return what a file holds.

    Raises:
        NetworkError: It does not exist, is a folder, or may not be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise NetworkError(f"{path} does not exist; check the path") from None
    except IsADirectoryError:
        raise NetworkError(f"{path} is a folder; give a file") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise NetworkError(f"{path} cannot be read: {reason}") from None


def read_text(path: Path) -> str:
    """Return the text in a UTF-8 file, without a byte order mark.

    Raises:
        NetworkError: It cannot be read, is not UTF-8, or holds a NUL byte.
    """
    content = read_bytes(path)
    skipped = len(BYTE_ORDER_MARK) if content.startswith(BYTE_ORDER_MARK) else 0
    try:
        text = content[skipped:].decode()
    except UnicodeDecodeError as error:
        offset = error.start + skipped
        raise NetworkError(
            f"{_at(path, content, offset)}: byte {offset} is 0x{content[offset]:02x}, "
            "which is not UTF-8; convert the file to UTF-8"
        ) from None
    if "\0" in text:
        offset = content.index(b"\0")
        raise NetworkError(
            f"{_at(path, content, offset)}: byte {offset} is NUL, which no text holds; "
            "the file is damaged, or not UTF-8 text"
        )
    return text


def _at(path: Path, content: bytes, offset: int) -> str:
    line = content.count(b"\n", 0, offset) + 1
    return f"{path}, line {line}"


def _read_delimited(path: Path, delimiter: str) -> Table:
    text, lines = read_text(path), []
    with _field_limit(len(text)):
        records = _records(path, text, delimiter)
        header_line, header = next(records, (0, []))
        _refuse_other_separator(f"{path}, line {header_line}", header, delimiter)
        columns: list[list[object]] = [[] for _ in header]
        for line, row in records:
            if len(row) != len(header):
                raise NetworkError(
                    f"{path}, line {line}: found {len(row)} fields where the header has "
                    f"{len(header)}; quote a field that holds the separator or a line break"
                )
            lines.append(line)
            for column, cell in zip(columns, row, strict=True):
                column.append(cell)
    if not header:
        raise NetworkError(f"{path} is empty; it needs a header line with the column names")
    names = [name.strip() for name in header]
    _refuse_duplicates(f"{path}, line {header_line}", names)
    return Table(
        name=str(path),
        columns=dict(zip(names, columns, strict=True)),
        place=lambda row: f"{path}, line {lines[row]}",
        delimited=True,
    )


def _refuse_other_separator(place: str, header: list[str], delimiter: str) -> None:
    """Refuse a header of one name that other separators cut into several."""
    separators = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
    for other, name in separators.items():
        if other != delimiter and len(header) == 1 and other in header[0]:
            raise NetworkError(
                f"{place}: the columns are separated by {name}, found "
                f"{header[0]!r}; .csv files have commas between their columns, .tsv files tabs"
            )


def _records(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield every record that is not blank with the line it begins on."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    begin = 1
    try:
        for row in reader:
            if row:
                yield begin, row
            begin = reader.line_num + 1
    except csv.Error as error:
        raise NetworkError(
            f"{path}, line {begin}: {error}; a field that holds a quote is put in quotes, "
            "with its own quotes doubled"
        ) from None


@contextmanager
def _field_limit(length: int) -> Iterator[None]:
    """Let fields be as long as the file while it is read.

    The csv module has a single limit for the whole process; it is put back, and the lock keeps
    two readers of ours from putting back each other's.
    """
    with _field_limit_lock:
        limit = csv.field_size_limit()
        csv.field_size_limit(max(limit, length))
        try:
            yield
        finally:
            csv.field_size_limit(limit)


def _read_json_lines(path: Path) -> Table:
    rows = [
        (number, _parse(f"{path}, line {number}", line))
        for number, line in enumerate(read_text(path).split("\n"), start=1)
        if line.strip()
    ]
    names = dict.fromkeys(name for _, row in rows for name in row)
    return Table(
        name=str(path),
        columns=LazyColumns(names, lambda name: [row.get(name) for _, row in rows]),
        place=lambda row: f"{path}, line {rows[row][0]}",
    )


def _parse(place: str, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise NetworkError(
            f"{place}: not JSON at character {error.pos + 1} ({error.msg}); "
            'write one object per line, such as {"id": "a", "text": "..."}'
        ) from None
    except (ValueError, RecursionError):
        raise NetworkError(
            f"{place}: a number is too long or lists are too deep; simplify it"
        ) from None
    if not isinstance(row, dict):
        raise NetworkError(
            f"{place}: found a {type(row).__name__} where an object is expected; "
            'write one object per line, such as {"id": "a", "text": "..."}'
        )
    if "\\u" in line:
        _refuse_half_characters(place, row)
    return row


def _refuse_half_characters(place: str, row: dict[str, Any]) -> None:
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = json.dumps(error.object[error.start])
        raise NetworkError(
            f"{place}: the escape {half} is half a character; write both halves or neither"
        ) from None


def _read_parquet(path: Path) -> Table:
    content = read_bytes(path)
    try:
        with pq.ParquetFile(pa.BufferReader(content)) as file:
            table = file.read()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise NetworkError(f"{path} is not a Parquet file, or damaged: {reason}") from None
    _refuse_duplicates(str(path), table.column_names)
    return table_from_frame(table, str(path))


def _refuse_duplicates(place: str, names: list[str]) -> None:
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise NetworkError(f"{place}: two columns are called {twice!r}; rename one of them")


READERS: Mapping[str, Callable[[Path], Table]] = MappingProxyType(
    {
        ".csv": lambda path: _read_delimited(path, ","),
        ".tsv": lambda path: _read_delimited(path, "\t"),
        ".parquet": _read_parquet,
        ".jsonl": _read_json_lines,
        ".ndjson": _read_json_lines,
    }
)
"""How a table is read, by the suffix of its file."""
