"""Vectors with vertex ids, and nearest-neighbor search by id or by vector (section 5.3).

``Embedding`` and stored models search with ``VectorTable``. The module does not import torch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, get_args

import numpy as np
from jaxtyping import Bool, Float, Int

from dmte.errors import ConfigError
from dmte.runtime.spelling import find_position
from dmte.search.exact import Found, nearest
from dmte.search.index_cache import IndexCache
from dmte.settings import Half


class Neighbor(NamedTuple):
    """A vertex and its cosine similarity.

    >>> name, score = Neighbor("b-tree", 0.75)
    >>> f"{name} {score:.2f}"
    'b-tree 0.75'
    """

    id: str
    score: float


@dataclass(frozen=True, slots=True, eq=False)
class SearchOptions:
    """Options of a search: the number of results, the half, and the vertices to consider."""

    k: int = 10
    half: Half = "both"
    among: Bool[np.ndarray, " vertices"] | None = None
    """The vertices to consider; None means all."""
    approximate: bool = False
    """Search with an approximate index; with ``among``, the search is exact anyway."""


@dataclass(frozen=True, slots=True, eq=False)
class VectorTable:
    """A table with one row per vertex, text half first, and the position of every id."""

    ids: Sequence[str]
    table: Float[np.ndarray, "vertices dim"]
    text_dim: int
    positions: Mapping[str, int]
    indexes: IndexCache = field(default_factory=IndexCache)

    def half(self, which: Half) -> Float[np.ndarray, "vertices some"]:
        """Return the text half, the structure half, or both.

        Raises:
            ConfigError: The half is unknown or has no columns.
        """
        return self.table[:, columns_of(which, self.text_dim, self.table.shape[1])]

    def most_similar(self, names: Sequence[str], options: SearchOptions) -> list[list[Neighbor]]:
        """Return the vertices closest to each of ``names``, best first, without itself.

        Raises:
            UnknownVertexError: A name is not a vertex id.
        """
        rows = np.array([find_position(self.positions, name) for name in names], dtype=np.int64)
        queries = self.half(options.half)[rows]
        return self.closest(queries, options, excluded=rows)

    def closest(
        self,
        queries: Float[np.ndarray, "queries some"],
        options: SearchOptions,
        *,
        excluded: Int[np.ndarray, " queries"] | None = None,
    ) -> list[list[Neighbor]]:
        """Return the vertices closest to every vector, best first."""
        table = self.half(options.half)
        if options.approximate and options.among is None:
            index = self.indexes.of(options.half, table)
            found = index.nearest(table, queries, options.k, excluded=excluded)
        else:
            found = nearest(table, queries, options.k, among=options.among, excluded=excluded)
        return [self._neighbors(one) for one in found]

    def _neighbors(self, found: Found) -> list[Neighbor]:
        pairs = zip(found.rows.tolist(), found.scores.tolist(), strict=True)
        return [Neighbor(self.ids[row], score) for row, score in pairs]


def columns_of(which: Half, text_dim: int, dim: int) -> slice:
    """Return the columns of a half.

    >>> columns_of("structure", 3, 5)
    slice(3, 5, None)

    Raises:
        ConfigError: The half is unknown or has no columns.
    """
    if which not in get_args(Half):
        raise ConfigError(f"half must be one of {', '.join(get_args(Half))}, not {which!r}")
    ends = {"both": (0, dim), "text": (0, text_dim), "structure": (text_dim, dim)}
    start, stop = ends[which]
    if start == stop:
        raise ConfigError(f"these vectors have no {which} half")
    return slice(start, stop)
