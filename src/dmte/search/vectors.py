"""Vectors under the names of their vertices, and what is closest to one of them (section 5.3).

It is what an ``Embedding`` searches in, and all that a stored model needs to answer: torch is not
loaded for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, get_args

import numpy as np
from jaxtyping import Bool, Float, Int

from dmte.errors import ConfigError
from dmte.runtime.spelling import find_position
from dmte.search.approximate import IndexCache
from dmte.search.exact import Found, nearest
from dmte.settings import Half


class Neighbor(NamedTuple):
    """A vertex and how similar it is.

    >>> name, score = Neighbor("b-tree", 0.75)
    >>> f"{name} {score:.2f}"
    'b-tree 0.75'
    """

    id: str
    score: float


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """How to search: how many, by which half, among which vertices, and how carefully."""

    k: int = 10
    half: Half = "both"
    among: Bool[np.ndarray, " vertices"] | None = None
    """Which vertices may be found; all of them by default."""
    approximate: bool = False
    """Whether an index may miss some; where only some may be found, all are looked at anyway."""


@dataclass(frozen=True, slots=True, eq=False)
class VectorTable:
    """A table with a row per vertex, its text half on the left, and the position of every id."""

    ids: Sequence[str]
    table: Float[np.ndarray, "vertices dim"]
    text_dim: int
    positions: Mapping[str, int]
    indexes: IndexCache = field(default_factory=IndexCache)

    def half(self, which: Half) -> Float[np.ndarray, "vertices some"]:
        """Return the text half, the structure half, or both.

        Raises:
            ConfigError: There is no such half, or it has no columns.
        """
        return self.table[:, columns_of(which, self.text_dim, self.table.shape[1])]

    def most_similar(self, names: Sequence[str], search: Search) -> list[list[Neighbor]]:
        """Return the vertices closest to every one of ``names``, best first.

        Raises:
            UnknownVertexError: A name is not there.
        """
        rows = np.array([find_position(self.positions, name) for name in names], dtype=np.int64)
        queries = self.half(search.half)[rows]
        return self.closest(queries, search, passed_over=rows)

    def closest(
        self,
        queries: Float[np.ndarray, "queries some"],
        search: Search,
        *,
        passed_over: Int[np.ndarray, " queries"] | None = None,
    ) -> list[list[Neighbor]]:
        """Return the vertices closest to every vector, best first."""
        table = self.half(search.half)
        if search.approximate and search.among is None:
            index = self.indexes.of(search.half, table)
            found = index.nearest(table, queries, search.k, passed_over=passed_over)
        else:
            found = nearest(table, queries, search.k, among=search.among, passed_over=passed_over)
        return [self._name(one) for one in found]

    def _name(self, found: Found) -> list[Neighbor]:
        pairs = zip(found.rows.tolist(), found.scores.tolist(), strict=True)
        return [Neighbor(self.ids[row], score) for row, score in pairs]


def columns_of(which: Half, text_dim: int, dim: int) -> slice:
    """Return the columns of a half.

    >>> columns_of("structure", 3, 5)
    slice(3, 5, None)

    Raises:
        ConfigError: There is no such half, or it has no columns.
    """
    if which not in get_args(Half):
        raise ConfigError(f"half must be one of {', '.join(get_args(Half))}, not {which!r}")
    ends = {"both": (0, dim), "text": (0, text_dim), "structure": (text_dim, dim)}
    start, stop = ends[which]
    if start == stop:
        raise ConfigError(f"these vectors have no {which} half")
    return slice(start, stop)
