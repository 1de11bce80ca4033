"""Approximate nearest neighbors with a graph index (HNSW, Malkov and Yashunin 2018).

The index is usearch's. It stores the rows normalized, in float16, and answers a query in a fraction
of a millisecond for any number of rows. Its candidates are scored again with the original vectors,
so scores are exact, but some neighbors may be missing: ``benchmarks/search.py`` measures recall.

All threads build it, so it may differ between runs. ``index_cache`` keeps it for later processes.
"""

from collections.abc import Mapping
from importlib.metadata import version
from types import MappingProxyType
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from dmte.errors import StorageError
from dmte.runtime.optional import require
from dmte.runtime.progress import report, track
from dmte.search.exact import Found, check_count, row_lengths, unit_rows

SETTINGS: Mapping[str, Any] = MappingProxyType(
    {
        "metric": "ip",
        "dtype": "f16",
        "connectivity": 16,  # Neighbors of a row in the graph.
        "expansion_add": 128,  # Rows visited to add a row.
    }
)
"""Settings that an index is built with."""
EXPANSION_SEARCH = 128  # Rows visited to search.
OVERSAMPLING = 2  # Candidates per result, because float16 swaps close neighbors.
BLOCK = 1 << 16  # Rows normalized at a time.


class ApproximateIndex:
    """A graph index over the rows of a table."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph

    @classmethod
    def of(cls, table: Float[np.ndarray, "rows dim"]) -> "ApproximateIndex":
        """Build the index of a table on all threads; reports progress when it starts.

        Raises:
            MissingExtraError: usearch is not installed.
        """
        graph = _usearch().Index(ndim=table.shape[1], expansion_search=EXPANSION_SEARCH, **SETTINGS)
        report(0.0)
        for first in track(range(0, len(table), BLOCK)):
            rows = unit_rows(table[first : first + BLOCK]).astype(np.float32)
            graph.add(np.arange(first, first + len(rows)), rows)
        return cls(graph)

    def __len__(self) -> int:
        return len(self._graph)

    def nearest(
        self,
        table: Float[np.ndarray, "rows dim"],
        queries: Float[np.ndarray, "queries dim"],
        k: int,
        *,
        excluded: Int[np.ndarray, " queries"] | None = None,
    ) -> list[Found]:
        """Return approximately the ``k`` rows with the highest cosine for every query, best first.

        Raises:
            ConfigError: ``k`` is below 1.
        """
        check_count(k)
        unit = unit_rows(queries)
        count = min(OVERSAMPLING * (k + 1), len(table))
        matches = self._graph.search(unit.astype(np.float32), count)
        candidates = np.asarray(matches.keys).reshape(len(queries), -1).astype(np.int64)
        skipped = np.full(len(queries), -1) if excluded is None else excluded
        return [
            _rescore(table, query, rows[rows != own], k)
            for query, rows, own in zip(unit, candidates, skipped, strict=True)
        ]

    def to_bytes(self) -> bytes:
        """Serialize the index."""
        return bytes(self._graph.save())

    @classmethod
    def from_bytes(cls, data: bytes) -> "ApproximateIndex":
        """Load a serialized index; other bytes than those of ``to_bytes`` may crash the process.

        Raises:
            MissingExtraError: usearch is not installed.
            StorageError: The data is not a usearch index.
        """
        graph = _usearch().Index.restore(data)
        if graph is None:
            raise StorageError("the data is not a usearch index")
        graph.expansion_search = EXPANSION_SEARCH
        return cls(graph)


def _rescore(
    table: Float[np.ndarray, "rows dim"],
    query: Float[np.ndarray, " dim"],
    rows: Int[np.ndarray, " proposed"],
    k: int,
) -> Found:
    found = np.sort(rows)
    scores = table[found] @ query / row_lengths(table[found])
    order = np.argsort(-scores, kind="stable")[:k]
    return Found(found[order], scores[order])


def library_version() -> str:
    """Return the version of usearch.

    Raises:
        MissingExtraError: usearch is not installed.
    """
    _usearch()
    return version("usearch")


def _usearch() -> Any:
    return require("usearch.index", extra="search", purpose="approximate search", package="usearch")
