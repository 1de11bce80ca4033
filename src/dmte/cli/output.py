"""Results of verbs: tables for people, JSON or CSV for programs; and completions for shells.

Tables are made by rich. On a terminal they fill its width, in color unless ``NO_COLOR`` is set. In
a pipe or a file they are plain and 100 columns wide, or as wide as ``COLUMNS`` says.
"""

import csv
import io
import json
import os
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Protocol, runtime_checkable

import typer
from rich.cells import cell_len, set_cell_size
from rich.console import Console, RenderableType
from rich.table import Column, Table
from rich.text import Text

from dmte.errors import ConfigError
from dmte.runtime.formatting import spreadsheet_safe

if TYPE_CHECKING:
    from dmte.search.vectors import Neighbor

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
CsvOption = Annotated[bool, typer.Option("--csv", help="Print comma-separated values.")]

NARROWEST = 60
"""Least width of a table, in characters."""
LINKED = "*"
"""Marks a neighbor that shares an edge with the query."""
NEIGHBOR_COLUMNS = ("id", "score", "linked", "labels", "text")
Rows = Sequence[Sequence[Text]]


def terminal_width() -> int:
    """Return the number of characters that fit on a line."""
    return max(shutil.get_terminal_size((100, 24)).columns, NARROWEST)


def rendered(*parts: RenderableType) -> str:
    """Return the parts as they look on stdout, without blanks at the end of lines."""
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
    """Return a table without lines, whose last column takes the remaining width.

    Space between two columns must be part of the cells.
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
    """Return a column whose cells are cut at the edge, or after ``most`` characters."""
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
    """Return a text on one line, without characters that control the terminal."""
    return Text(one_line(str(value)))


def one_line(text: str) -> str:
    r"""Return the text with blanks for line breaks and other unprintable characters.

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
    """Print a header and a line per row; several labels in one cell are joined by semicolons."""
    sys.stdout.write(csv_text(rows, columns))


def csv_text(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Return a header and a line per row as CSV."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(columns)
    writer.writerows([_cell(row[column]) for column in columns] for row in rows)
    return file.getvalue()


@runtime_checkable
class Described(Protocol):
    """Vertices with texts and labels: a network, or a stored model."""

    @property
    def texts(self) -> Sequence[str]:
        """The text of every vertex."""

    @property
    def labels(self) -> Sequence[Collection[str]] | None:
        """The labels of every vertex, or None."""

    @property
    def edges(self) -> Any:
        """A row (source, target) per edge, as an array or a tensor."""

    def position(self, name: str) -> int:
        """Return the row of a vertex."""


def describe_neighbors(
    network: Described, vertex: str | None, neighbors: "Sequence[Neighbor]"
) -> list[dict[str, Any]]:
    """Return each neighbor with its score, its text and whether it is linked to the query."""
    linked: set[int] = set()
    if vertex is not None:
        import numpy as np

        position = network.position(vertex)
        edges = np.asarray(network.edges)
        linked = set(edges[(edges == position).any(axis=1)].flatten().tolist())
    found = ((name, score, network.position(name)) for name, score in neighbors)
    return [
        {
            "id": name,
            "score": round(score, 4),
            "linked": position in linked,
            "labels": sorted(network.labels[position]) if network.labels else [],
            "text": network.texts[position],
        }
        for name, score, position in found
    ]


def neighbor_table(heading: str, rows: Sequence[dict[str, Any]]) -> str:
    """Return a table of neighbors, as in the paper's Table 3, with linked ones marked."""
    columns = (column(style="cyan"), column(style="bold", most=terminal_width() // 3), column())
    shown = [
        (
            Text(f"{rank:>3}. {row['score']:6.3f} {LINKED if row['linked'] else ' '} "),
            cell(row["id"]),
            Text("  ").append(cell(row["text"])),
        )
        for rank, row in enumerate(rows, start=1)
    ]
    parts: list[Any] = [Text(shorten(heading, terminal_width())), grid(columns, shown)]
    if any(row["linked"] for row in rows):
        parts.append(Text(f"     {LINKED} linked to the query"))
    return rendered(*parts)


def check_one_format(*, as_json: bool, as_csv: bool) -> None:
    """Check that at most one format is given.

    Raises:
        ConfigError: Both are given.
    """
    if as_json and as_csv:
        raise ConfigError("--json cannot be combined with --csv; drop one")


def complete(known: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Return a function that completes a word, or the last of several with commas between.

    >>> complete(lambda: ["tadw", "tfidf", "dmte"])("dmte,t")
    ['dmte,tadw', 'dmte,tfidf']
    """

    def completions(incomplete: str) -> list[str]:
        before, comma, begun = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in known() if name.startswith(begun)]

    return completions


def _cut(line: str, width: int) -> str:
    """Return a line cut to a width; a character may be two columns wide."""
    if cell_len(line) <= width:
        return line
    return set_cell_size(line, max(width - 1, 0)).rstrip() + "…"


def _cell(value: object) -> object:
    if isinstance(value, (list, tuple)):
        value = ";".join(map(str, value))
    return spreadsheet_safe(value) if isinstance(value, str) else value
