"""Neighbors for people, the way the paper's Table 3 shows them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from dmte.cli.output import cell, column, grid, rendered, shorten, terminal_width

if TYPE_CHECKING:
    from dmte.embedding import Neighbor
    from dmte.network import TextualNetwork

LINKED = "*"
"""Marks a vertex that shares an edge with the query."""
COLUMNS = ("id", "score", "linked", "labels", "text")


def describe(
    network: "TextualNetwork", vertex: str | None, neighbors: "Sequence[Neighbor]"
) -> list[dict[str, Any]]:
    """Return each neighbor with its score, its text and whether an edge joins it to the query."""
    linked: set[int] = set()
    if vertex is not None:
        position = network.position(vertex)
        touching = network.edges[(network.edges == position).any(dim=1)]
        linked = set(touching.flatten().tolist())
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


def table(heading: str, rows: Sequence[dict[str, Any]]) -> str:
    """Return the neighbors as a table that fits the terminal, linked ones marked."""
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
