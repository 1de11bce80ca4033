"""Read a table from a file by its suffix; Parquet and edge lists are read here."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from dmte.errors import NetworkError
from dmte.network.formats.bibtex import read_bibtex
from dmte.network.formats.columns import check_unique
from dmte.network.formats.delimited import read_delimited
from dmte.network.formats.json_records import read_json, read_json_lines
from dmte.network.formats.packed_columns import ArrowCells, PackedColumns, batches_of
from dmte.network.formats.source import Source, kind_of, open_source
from dmte.network.formats.table import LazyColumns, Table

BATCH = 1 << 16  # Rows of a Parquet file in memory at a time.


def read_table(path: Path, format: str | None = None) -> Table:  # noqa: A002
    """Read the table in a file or in standard input; ``format`` overrides the suffix.

    Raises:
        NetworkError: The suffix is unknown, or the file is missing, unreadable or damaged.
    """
    kind = kind_of(path, format)
    if kind not in READERS:
        found = f"{path} ends in {kind!r}" if format is None else f"the format is {format!r}"
        raise NetworkError(
            f"{found}; it must be one of {', '.join(READERS)}, alone or followed by .gz or .zst"
        )
    return READERS[kind](open_source(path, format))


def _read_parquet(source: Source) -> Table:
    """Table that reads a column when it is used, one batch of rows at a time."""
    path, data = source.name, source.data
    with _parquet_errors(path):
        file = pq.ParquetFile(pa.BufferReader(data))
    check_unique(path, file.schema_arrow.names)

    def batches(column: str) -> Iterator[Sequence[object]]:
        with _parquet_errors(path):
            for batch in file.iter_batches(BATCH, columns=[column]):
                part = pa.Table.from_batches([batch])
                part.validate(full=True)
                if pa.types.is_string(batch.schema.types[0]):
                    yield ArrowCells(batch.column(0))
                else:
                    from dmte.network.formats.frames import table_from_frame  # Slow to import.

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
        raise NetworkError(f"{path} is not a Parquet file, or is damaged: {reason}") from None


def _read_edge_list(source: Source) -> Table:
    """Read lines "source target" or "source target weight"; # begins a comment line."""
    packed, names = PackedColumns(), ("source", "target", "weight")
    with source.text_errors_first():
        for lines, rows in batches_of(_words(source)):
            packed.add(lines, dict(zip(names, zip(*rows, strict=True), strict=False)))
    return packed.table(source.name, packed.names() or names[:2])


def _words(source: Source) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and words of every line that is neither blank nor a comment."""
    width = 0
    for number, line in enumerate(source.lines(newline="\n"), start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        width = width or len(words)
        if len(words) != width or width not in (2, 3):
            raise NetworkError(
                f"{source.name}, line {number}: found {len(words)} fields where "
                f"{width if width in (2, 3) else '2 or 3'} are expected; "
                "a line is two ids without spaces and, on every line or on none, a weight"
            )
        yield number, words


READERS: Mapping[str, Callable[[Source], Table]] = MappingProxyType(
    {
        ".csv": lambda source: read_delimited(source, ","),
        ".tsv": lambda source: read_delimited(source, "\t"),
        ".parquet": _read_parquet,
        ".jsonl": read_json_lines,
        ".ndjson": read_json_lines,
        ".json": read_json,
        ".bib": read_bibtex,
        ".edgelist": _read_edge_list,
    }
)
"""Readers of tables, by suffix."""
