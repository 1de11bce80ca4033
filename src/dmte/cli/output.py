"""Output of verbs: tables for people, JSON or CSV for programs.

On a terminal, tables fill its width and use color unless ``NO_COLOR`` is set. In a pipe or a file
they are plain and 100 columns wide, or as wide as ``COLUMNS``.
"""

import csv
import io
import json
import os
import shutil
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from rich.cells import cell_len, set_cell_size
from rich.console import RenderableType
from rich.table import Column, Table
from rich.text import Text

from dmte.cli.terminal import console, write_exactly
from dmte.errors import ConfigError
from dmte.runtime.formatting import one_line, spreadsheet_safe

if TYPE_CHECKING:
    from dmte.network import TextualNetwork
    from dmte.search.vectors import Neighbor

MIN_WIDTH = 60  # The width of a table in characters.
LINKED = "*"
"""Marks a neighbor that shares an edge with the query."""
NEIGHBOR_COLUMNS = ("id", "score", "linked", "labels", "text")
Rows = Sequence[Sequence[Text]]


def terminal_width() -> int:
    """Number of characters that fit on a line."""
    return max(shutil.get_terminal_size((100, 24)).columns, MIN_WIDTH)


def print_parts(*parts: RenderableType) -> None:
    """Print tables and lines of text, without trailing blanks."""
    colors = None if os.environ.get("NO_COLOR") else "auto"
    stdout = console(width=terminal_width(), color_system=colors)
    with stdout.capture() as captured:
        for part in parts:
            stdout.print(part)
    stdout.file.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def grid(columns: Sequence[Column], rows: Rows, *, heads: bool = False) -> Table:
    """A table without lines, whose last column takes the remaining width.

    Cells include the space between columns.
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
    """A column whose cells are cut at the edge, or after ``most`` characters."""
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
    """A cell on one line, without control characters."""
    return Text(one_line(str(value)))


def shorten(text: str, width: int) -> str:
    """The text on one line of at most ``width`` characters."""
    return _cut(one_line(text), width)


def print_json(value: object) -> None:
    """Print one JSON object."""
    json.dump(value, sys.stdout, indent=2)
    print()


def network_facts(network: "TextualNetwork") -> dict[str, Any]:
    """The network in the JSON of a verb."""
    return {
        "vertices": network.num_vertices,
        "edges": len(network.edges),
        "directed": network.directed,
        "fingerprint": network.fingerprint(),
    }


def print_csv(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Print a header and a line per row."""
    write_exactly(csv_text(rows, columns))


def csv_text(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """A header and a line per row as CSV, lists within a cell joined by semicolons."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(columns)
    writer.writerows([_cell(row[column]) for column in columns] for row in rows)
    return file.getvalue()


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
        """A row (source, target) per edge, an array or a tensor."""

    def position(self, name: str) -> int:
        """The row of a vertex."""


def describe_neighbors(
    network: Described, vertex: str | None, neighbors: "Sequence[Neighbor]"
) -> list[dict[str, Any]]:
    """Each neighbor with its score, labels and text, and whether it is linked to the query."""
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


def print_neighbors(heading: str, rows: Sequence[dict[str, Any]]) -> None:
    """Print a table of neighbors, as in the paper's Table 3; linked ones are marked."""
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
    print_parts(*parts)


def check_one_format(*, as_json: bool, as_csv: bool) -> None:
    """Check that at most one format is given.

    Raises:
        ConfigError: Both formats are given.
    """
    if as_json and as_csv:
        raise ConfigError("--json cannot be combined with --csv; drop one")


def _cut(line: str, width: int) -> str:
    """Cut a line to a width; a character may be two columns wide."""
    if cell_len(line) <= width:
        return line
    return set_cell_size(line, max(width - 1, 0)).rstrip() + "…"


def _cell(value: object) -> object:
    if isinstance(value, (list, tuple)):
        value = ";".join(map(str, value))
    return spreadsheet_safe(value) if isinstance(value, str) else value
