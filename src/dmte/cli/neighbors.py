"""Neighbors for people, the way the paper's Table 3 shows them."""

import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

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
