"""One file to one table: CSV, TSV, Parquet, edge lists and those of other modules, by suffix."""

import csv
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from dmte.errors import NetworkError
from dmte.network.formats.bibtex import read_bibtex
from dmte.network.formats.frames import table_from_frame
from dmte.network.formats.json_records import read_json, read_json_lines
from dmte.network.formats.source import Content, kind_of, read_content
from dmte.network.formats.table import LazyColumns, PackedColumns, Table, batches_of

BATCH = 1 << 16  # Rows of a Parquet file that are held at a time.
LONGEST_FIELD = 2**31 - 1  # Of a CSV; the csv module counts in what C calls a long.
_field_limit_lock = threading.Lock()


def read_table(path: Path, format: str | None = None) -> Table:  # noqa: A002
    """Return the table in a file, or in standard input; a format stands for the suffix.

    Raises:
        NetworkError: The suffix is unknown, or the file is missing, unreadable or damaged.
    """
    kind = kind_of(path, format)
    if kind not in READERS:
        found = f"{path} ends in {kind!r}" if format is None else f"the format is {format!r}"
        raise NetworkError(
            f"{found}; tables are read from {', '.join(READERS)} files, packed or not (.gz, .zst)"
        )
    return READERS[kind](read_content(path, format))


def _read_delimited(content: Content, delimiter: str) -> Table:
    path, packed = content.name, PackedColumns()
    with _field_limit(), content.refusing_first():
        records = _records(content, delimiter)
        header_line, header = next(records, (0, []))
        _refuse_other_separator(f"{path}, line {header_line}", header, delimiter)
        names = [name.strip() for name in header]
        for lines, rows in batches_of(records):
            packed.add(lines, dict(zip(names, zip(*rows, strict=True), strict=True)))
        if not header:
            raise NetworkError(f"{path} is empty; it needs a header line with the column names")
        _refuse_duplicates(f"{path}, line {header_line}", names)
    return packed.table(path, names, delimited=True)


def _refuse_other_separator(place: str, header: list[str], delimiter: str) -> None:
    """Refuse a header of one name that other separators cut into several."""
    separators = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
    for other, name in separators.items():
        if other != delimiter and len(header) == 1 and other in header[0]:
            raise NetworkError(
                f"{place}: the columns are separated by {name}, found "
                f"{header[0]!r}; .csv files have commas between their columns, .tsv files tabs"
            )


def _records(content: Content, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield every record that is not blank, as wide as the first, with the line it begins on."""
    reader = csv.reader(content.lines(newline=""), delimiter=delimiter, strict=True)
    begin, width = 1, 0
    try:
        for row in reader:
            if row:
                width = width or len(row)
                if len(row) != width:
                    raise NetworkError(
                        f"{content.name}, line {begin}: found {len(row)} fields where the header "
                        f"has {width}; quote a field that holds the separator or a line break"
                    )
                yield begin, row
            begin = reader.line_num + 1
    except csv.Error as error:
        raise NetworkError(
            f"{content.name}, line {begin}: {error}; a field that holds a quote is put in quotes, "
            "with its own quotes doubled"
        ) from None


@contextmanager
def _field_limit() -> Iterator[None]:
    """Let fields be as long as the csv module can have them while a file is read.

    The csv module has a single limit for the whole process; it is put back, and the lock keeps
    two readers of ours from putting back each other's.
    """
    with _field_limit_lock:
        limit = csv.field_size_limit()
        csv.field_size_limit(max(limit, LONGEST_FIELD))
        try:
            yield
        finally:
            csv.field_size_limit(limit)


def _read_parquet(content: Content) -> Table:
    """Return a table that reads the columns it is asked for, a batch of rows at a time."""
    path, data = content.name, content.data
    with _parquet_errors(path):
        file = pq.ParquetFile(pa.BufferReader(data))
    _refuse_duplicates(path, file.schema_arrow.names)

    def batches(column: str) -> Iterator[Sequence[object]]:
        with _parquet_errors(path):
            for batch in file.iter_batches(BATCH, columns=[column]):
                part = pa.Table.from_batches([batch])
                part.validate(full=True)
                yield table_from_frame(part, path).columns[column]

    def cells(column: str) -> Sequence[object]:
        return [cell for batch in batches(column) for cell in batch]

    return Table(
        name=path,
        columns=LazyColumns(file.schema_arrow.names, cells),
        place=lambda row: f"row {row} of {path}",
        batches=batches,
        known_rows=file.metadata.num_rows,
    )


@contextmanager
def _parquet_errors(path: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise NetworkError(f"{path} is not a Parquet file, or damaged: {reason}") from None


def _refuse_duplicates(place: str, names: list[str]) -> None:
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise NetworkError(f"{place}: two columns are called {twice!r}; rename one of them")


def _read_edge_list(content: Content) -> Table:
    """Return a line "source target" or "source target weight" per edge, after # a comment."""
    packed, names = PackedColumns(), ("source", "target", "weight")
    with content.refusing_first():
        for lines, rows in batches_of(_words(content)):
            packed.add(lines, dict(zip(names, zip(*rows, strict=True), strict=False)))
    return packed.table(content.name, packed.names() or names[:2])


def _words(content: Content) -> Iterator[tuple[int, list[str]]]:
    """Yield the words of every line that is neither blank nor a comment, with its number."""
    width = 0
    for number, line in enumerate(content.lines(newline="\n"), start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        width = width or len(words)
        if len(words) != width or width not in (2, 3):
            raise NetworkError(
                f"{content.name}, line {number}: found {len(words)} fields where "
                f"{width if width in (2, 3) else '2 or 3'} are expected; "
                "a line is two ids without spaces and, on every line or on none, a weight"
            )
        yield number, words


READERS: Mapping[str, Callable[[Content], Table]] = MappingProxyType(
    {
        ".csv": lambda content: _read_delimited(content, ","),
        ".tsv": lambda content: _read_delimited(content, "\t"),
        ".parquet": _read_parquet,
        ".jsonl": read_json_lines,
        ".ndjson": read_json_lines,
        ".json": read_json,
        ".bib": read_bibtex,
        ".edgelist": _read_edge_list,
    }
)
"""How a table is read, by the suffix of its file."""
