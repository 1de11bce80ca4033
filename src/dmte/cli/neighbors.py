"""Neighbors for people, the way the paper's Table 3 shows them."""

import shutil
from collections.abc import Collection, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dmte.named_vectors import Neighbor

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
    network: Described, vertex: str | None, neighbors: Sequence[Neighbor]
) -> list[dict[str, Any]]:
    """Return each neighbor with its score, its text and whether an edge joins it to the query."""
    linked: set[int] = set()
    if vertex is not None:
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
    """Return the neighbors as lines that fit the terminal, linked ones marked."""
    width = terminal_width()
    names = max((len(row["id"]) for row in rows), default=0)
    names = min(names, width // 3)
    lines = [shorten(heading, width)]
    for rank, row in enumerate(rows, start=1):
        mark = LINKED if row["linked"] else " "
        start = f"{rank:>3}. {row['score']:6.3f} {mark} {shorten(row['id'], names):<{names}}  "
        lines.append(start + shorten(row["text"], width - len(start)))
    if any(row["linked"] for row in rows):
        lines.append(f"     {LINKED} linked to the query")
    return "\n".join(lines)


def terminal_width() -> int:
    """Return how many characters fit on a line."""
    return max(shutil.get_terminal_size((100, 24)).columns, 60)


def shorten(text: str, width: int) -> str:
    """Return ``text`` on one line of at most ``width`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: max(width - 1, 0)].rstrip() + "…"
