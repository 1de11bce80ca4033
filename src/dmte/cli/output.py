"""What a verb found: a table for people, JSON or CSV for programs; and what a shell completes."""

import csv
import io
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any

import typer

from dmte.errors import ConfigError
from dmte.spreadsheets import spreadsheet_safe

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
CsvOption = Annotated[bool, typer.Option("--csv", help="Print comma-separated values.")]


def print_json(value: object) -> None:
    """Print one JSON object."""
    json.dump(value, sys.stdout, indent=2)
    print()


def print_csv(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Print a header and a line per row; several labels of one cell have semicolons between."""
    sys.stdout.write(csv_text(rows, columns))


def csv_text(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Return what ``print_csv`` prints."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(columns)
    writer.writerows([_cell(row[column]) for column in columns] for row in rows)
    return file.getvalue()


def refuse_both(*, as_json: bool, as_csv: bool) -> None:
    """Refuse two formats at once.

    Raises:
        ConfigError: Both were asked for.
    """
    if as_json and as_csv:
        raise ConfigError("choose --json or --csv, not both")


def complete(known: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Return what completes a word, or the last of several with commas between them.

    >>> complete(lambda: ["tadw", "tfidf", "dmte"])("dmte,t")
    ['dmte,tadw', 'dmte,tfidf']
    """

    def completions(incomplete: str) -> list[str]:
        before, comma, begun = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in known() if name.startswith(begun)]

    return completions


def _cell(value: object) -> object:
    if isinstance(value, (list, tuple)):
        value = ";".join(map(str, value))
    return spreadsheet_safe(value) if isinstance(value, str) else value
