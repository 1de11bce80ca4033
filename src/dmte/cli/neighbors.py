"""Neighbors for people, the way the paper's Table 3 shows them."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from rich.text import Text

from dmte.cli.output import cell, column, grid, rendered, shorten, terminal_width

if TYPE_CHECKING:
    from dmte.search.vectors import Neighbor

LINKED = "*"
"""Marks a vertex that shares an edge with the query."""
COLUMNS = ("id", "score", "linked", "labels", "text")


@runtime_checkable
class Described(Protocol):
    """What is shown of vertices: a network has it, and a stored model."""

    @property
    def texts(self) -> Sequence[str]:
        """The text of every vertex."""

    @property
    def labels(self) -> Sequence[Collection[str]] | None:
        """The labels of every vertex, if there are any."""

    @property
    def edges(self) -> Any:
        """A row (source, target) per edge, an array or a tensor."""

    def position(self, name: str) -> int:
        """Return where a vertex stands."""


def describe(
    network: Described, vertex: str | None, neighbors: "Sequence[Neighbor]"
) -> list[dict[str, Any]]:
    """Return each neighbor with its score, its text and whether an edge joins it to the query."""
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
