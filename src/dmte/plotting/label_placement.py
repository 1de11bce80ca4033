"""Where names go on a picture: beside what they name, over few points, over no other name.

A name is a box in pixels of which the size is known. It may go to several places around its anchor,
each a little worse than the one before; the best is the one with the lowest

    covered points + weight · cost of the way

among those that lie within the picture and touch no box that is taken.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.spatial import cKDTree

Places = Float[np.ndarray, "vertices 2"]
Ways = Callable[[np.ndarray], Iterator[tuple[np.ndarray, float]]]
"""Where a name of this size may go, from its anchor, and how much worse that is than nearest."""


class Box(NamedTuple):
    """A rectangle in pixels."""

    left: float
    bottom: float
    right: float
    top: float

    @classmethod
    def around(cls, center: np.ndarray, size: np.ndarray) -> "Box":
        """Return the box of this size with this center."""
        return cls(*(center - size / 2).tolist(), *(center + size / 2).tolist())

    def overlaps(self, other: "Box") -> bool:
        """Tell whether the two have more than an edge in common.

        >>> Box(0, 0, 2, 2).overlaps(Box(1, 1, 3, 3)), Box(0, 0, 1, 1).overlaps(Box(1, 0, 2, 1))
        (True, False)
        """
        return (
            self.left < other.right
            and other.left < self.right
            and self.bottom < other.top
            and other.bottom < self.top
        )

    def is_within(self, other: "Box") -> bool:
        """Tell whether none of it is outside of the other."""
        return (
            other.left <= self.left
            and self.right <= other.right
            and other.bottom <= self.bottom
            and self.top <= other.top
        )

    def count(self, points: Places) -> int:
        """Return how many of the points it covers."""
        x, y = points.T
        inside = (x > self.left) & (x < self.right) & (y > self.bottom) & (y < self.top)
        return int(inside.sum())


class Free(NamedTuple):
    """Where a name may go: within the bounds, off what is taken, and over few points."""

    bounds: Box
    points: Places
    taken: Sequence[Box]

    def best_place(
        self, anchor: np.ndarray, size: np.ndarray, ways: Ways, most: int
    ) -> tuple[np.ndarray, Box] | None:
        """Return the center and box of the best place, which covers at most so many points."""
        best: tuple[float, np.ndarray, Box] | None = None
        # Amid many points a name would wander far to cover fewer, and seem to name others.
        weight = max(1.0, Box.around(anchor, size).count(self.points) / 6)
        for offset, cost in ways(size):
            center = anchor + offset
            box = Box.around(center, size)
            if not box.is_within(self.bounds) or any(map(box.overlaps, self.taken)):
                continue
            covered = box.count(self.points)
            total = covered + weight * cost
            if covered <= most and (best is None or total < best[0]):
                best = (total, center, box)
        return None if best is None else best[1:]


def thickest(points: Places) -> np.ndarray:
    """Return the point whose neighbors are closest, among a thousand: the heart of its kind."""
    points = points[:: -(-len(points) // 1_000)]
    neighbors = min(len(points), max(5, len(points) // 5))
    distances, _ = cKDTree(points).query(points, k=[neighbors])
    heart: np.ndarray = points[int(np.asarray(distances).argmin())]
    return heart


def rings(size: np.ndarray) -> Iterator[tuple[np.ndarray, float]]:
    """Yield places on rings around the anchor, each ring a point of the map worse."""
    yield np.zeros(2), 0.0
    for ring in range(1, 13):
        for angle in np.linspace(0, 2 * np.pi, 16, endpoint=False):
            turn = np.array([np.cos(angle), np.sin(angle)])
            yield 0.5 * ring * turn * (size[1] + 0.2 * size[0]), float(ring)


def beside(size: np.ndarray) -> Iterator[tuple[np.ndarray, float]]:
    """Yield the places right, left, above, below and at the corners, the first of equals best."""
    for number, (x, y) in enumerate(
        ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
    ):
        yield np.array([x * (size[0] / 2 + 7), y * (size[1] / 2 + 7)]), 0.05 * number
