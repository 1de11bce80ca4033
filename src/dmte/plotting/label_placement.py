"""Placing labels on a picture: near their anchor, over few points, without overlaps.

A label is a box of known size in pixels. It has several candidate positions around its anchor, each
with a cost. Candidates outside the picture or over another label are dropped; the best of the
others has the lowest

    covered points + weight · cost
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.spatial import cKDTree

Places = Float[np.ndarray, "vertices 2"]
Candidates = Callable[[np.ndarray], Iterator[tuple[np.ndarray, float]]]
"""Candidate offsets from the anchor for a label of this size, each with its cost."""


class Box(NamedTuple):
    """A rectangle in pixels."""

    left: float
    bottom: float
    right: float
    top: float

    @classmethod
    def around(cls, center: np.ndarray, size: np.ndarray) -> "Box":
        """Make a box from its center and size."""
        return cls(*(center - size / 2).tolist(), *(center + size / 2).tolist())

    def overlaps(self, other: "Box") -> bool:
        """Return whether the interiors of two boxes intersect.

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
        """Return whether the box lies completely inside the other."""
        return (
            other.left <= self.left
            and self.right <= other.right
            and other.bottom <= self.bottom
            and self.top <= other.top
        )

    def count(self, points: Places) -> int:
        """Return the number of points inside the box."""
        x, y = points.T
        inside = (x > self.left) & (x < self.right) & (y > self.bottom) & (y < self.top)
        return int(inside.sum())


class FreeSpace(NamedTuple):
    """The space for labels: inside the bounds, outside the boxes of other labels."""

    bounds: Box
    points: Places
    taken: Sequence[Box]

    def best_position(
        self, anchor: np.ndarray, size: np.ndarray, candidates: Candidates, most: int
    ) -> tuple[np.ndarray, Box] | None:
        """Return the center and box of the best candidate that covers at most ``most`` points."""
        best: tuple[float, np.ndarray, Box] | None = None
        # Among dense points, a higher weight keeps the label near its anchor.
        weight = max(1.0, Box.around(anchor, size).count(self.points) / 6)
        for offset, cost in candidates(size):
            center = anchor + offset
            box = Box.around(center, size)
            if not box.is_within(self.bounds) or any(map(box.overlaps, self.taken)):
                continue
            covered = box.count(self.points)
            total = covered + weight * cost
            if covered <= most and (best is None or total < best[0]):
                best = (total, center, box)
        return None if best is None else best[1:]


def densest_point(points: Places) -> np.ndarray:
    """Return the point with the closest neighbors, among a sample of at most a thousand."""
    points = points[:: -(-len(points) // 1_000)]
    neighbors = min(len(points), max(5, len(points) // 5))
    distances, _ = cKDTree(points).query(points, k=[neighbors])
    densest: np.ndarray = points[int(np.asarray(distances).argmin())]
    return densest


def rings(size: np.ndarray) -> Iterator[tuple[np.ndarray, float]]:
    """Yield the anchor and positions on rings around it; each ring costs one point more."""
    yield np.zeros(2), 0.0
    for ring in range(1, 13):
        for angle in np.linspace(0, 2 * np.pi, 16, endpoint=False):
            direction = np.array([np.cos(angle), np.sin(angle)])
            yield 0.5 * ring * direction * (size[1] + 0.2 * size[0]), float(ring)


def beside(size: np.ndarray) -> Iterator[tuple[np.ndarray, float]]:
    """Yield the positions right, left, above, below and at the corners, in order of preference."""
    for number, (x, y) in enumerate(
        ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
    ):
        yield np.array([x * (size[0] / 2 + 7), y * (size[1] / 2 + 7)]), 0.05 * number
