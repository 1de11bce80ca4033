"""What a verb found: a table for people, JSON or CSV for programs; and what a shell completes.

Tables are made by rich: on a terminal they are as wide as it, and colored unless ``NO_COLOR`` is
set; in a pipe or a file they are plain, 100 columns wide or as many as ``COLUMNS`` says.
"""

import csv
import io
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.cells import cell_len, set_cell_size
from rich.console import Console, RenderableType
from rich.table import Column, Table
from rich.text import Text

from dmte.errors import ConfigError
from dmte.runtime.formatting import spreadsheet_safe

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
CsvOption = Annotated[bool, typer.Option("--csv", help="Print comma-separated values.")]


NARROWEST = 60
Rows = Sequence[Sequence[Text]]


def terminal_width() -> int:
    """Return how many characters fit on a line."""
    return max(shutil.get_terminal_size((100, 24)).columns, NARROWEST)


def rendered(*parts: RenderableType) -> str:
    """Return what these look like where stdout goes, without blanks at the end of lines."""
    console = Console(
        width=terminal_width(),
        color_system=None if os.environ.get("NO_COLOR") else "auto",
        highlight=False,
    )
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def grid(columns: Sequence[Column], rows: Rows, *, heads: bool = False) -> Table:
    """Return a table without lines, of which the last column gets the room that is left.

    What is between two columns belongs to the cells.
    """
    table = Table(*columns, box=None, show_header=heads, padding=0, pad_edge=False)
    room = terminal_width()
    for at, one in enumerate(columns[:-1]):
        widest = max([cell_len(str(one.header)) * heads, *(row[at].cell_len for row in rows)])
        one.width = min(widest, one.max_width or widest)
        room -= one.width
    for row in rows:
        table.add_row(*row[:-1], Text(_cut(row[-1].plain, room)))
    return table


def column(
    head: str = "", *, style: str = "", right: bool = False, most: int | None = None
) -> Column:
    """Return a column that is cut off where it does not fit, or beyond ``most`` characters."""
    return Column(
        head,
        style=style,
        header_style="bold",
        justify="right" if right else "left",
        no_wrap=True,
        overflow="ellipsis",
        max_width=most,
    )


def cell(value: object) -> Text:
    """Return a text on one line; what is no letter cannot steer the terminal."""
    return Text(one_line(str(value)))


def one_line(text: str) -> str:
    r"""Return the text with everything that does not print, line breaks too, as a blank.

    >>> one_line("a\n b\x1b[2J")
    'a b [2J'
    """
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def shorten(text: str, width: int) -> str:
    """Return ``text`` on one line of at most ``width`` characters."""
    return _cut(one_line(text), width)


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


def _cut(line: str, width: int) -> str:
    """Return as much of a line as fits; a letter may be two columns wide."""
    if cell_len(line) <= width:
        return line
    return set_cell_size(line, max(width - 1, 0)).rstrip() + "…"


def _cell(value: object) -> object:
    if isinstance(value, (list, tuple)):
        value = ";".join(map(str, value))
    return spreadsheet_safe(value) if isinstance(value, str) else value
