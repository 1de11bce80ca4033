"""Approximate nearest neighbors with a graph index (HNSW, Malkov and Yashunin 2018).

The index is usearch's. It stores the rows normalized, in float16, and answers a query in a fraction
of a millisecond for any number of rows. Its candidates are scored again with the original vectors,
so scores are exact, but some neighbors may be missing: ``benchmarks/search.py`` measures recall.

Building takes minutes for a million rows, so the index of a stored model is saved in a subfolder of
the model, together with a hash of the vectors. All threads build it, so it may differ between runs.
"""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from dmte.errors import StorageError, warn
from dmte.runtime.optional import require
from dmte.runtime.progress import report, track
from dmte.search.exact import Found, check_count, row_lengths, unit_rows
from dmte.storage.codec import decode_json, encode_json
from dmte.storage.folder import is_stored, read_parts, write_parts

CONNECTIVITY = 16  # Neighbors of a row in the graph.
EXPANSION_ADD, EXPANSION_SEARCH = 128, 128  # Rows visited to add a row, and to search.
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
        graph = _usearch().Index(
            ndim=table.shape[1],
            metric="ip",
            dtype="f16",
            connectivity=CONNECTIVITY,
            expansion_add=EXPANSION_ADD,
            expansion_search=EXPANSION_SEARCH,
        )
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
        """Load a serialized index.

        Raises:
            MissingExtraError: usearch is not installed.
            StorageError: The data is not a usearch index.
        """
        graph = _usearch().Index.restore(data)
        if graph is None:
            raise StorageError("the stored index is not a usearch index; delete its folder")
        graph.expansion_search = EXPANSION_SEARCH
        return cls(graph)


@dataclass(slots=True, eq=False)
class IndexCache:
    """The indexes of the halves of a table, built at first use."""

    folder: Path | None = None
    """The folder of the stored vectors, in which indexes are saved; None saves nothing."""
    _loaded: dict[str, ApproximateIndex] = field(default_factory=dict)

    def of(self, half: str, table: Float[np.ndarray, "rows dim"]) -> ApproximateIndex:
        """Return the index of a half: from memory, from the folder, or newly built and saved.

        Raises:
            MissingExtraError: usearch is not installed.
        """
        if half not in self._loaded:
            self._loaded[half] = self._read_or_build(half, table)
        return self._loaded[half]

    def _read_or_build(self, half: str, table: Float[np.ndarray, "rows dim"]) -> ApproximateIndex:
        if self.folder is None:
            return ApproximateIndex.of(table)
        folder, digest = index_folder(self.folder, half), _digest(table)
        if is_stored(folder):
            parts = read_parts(folder)
            if decode_json(parts["about.json"])["sha256"] == digest:
                return ApproximateIndex.from_bytes(parts["graph.usearch"])
        index = ApproximateIndex.of(table)
        about = encode_json({"sha256": digest, "rows": len(index), "half": half})
        try:
            write_parts(folder, {"about.json": about, "graph.usearch": index.to_bytes()})
        except StorageError as problem:
            warn(f"the index is not saved and will be built again: {problem}")
        return index


def index_folder(folder: Path, half: str) -> Path:
    """Return the folder of the index of a half of stored vectors."""
    return folder / f"index-{half}"


def _digest(table: Float[np.ndarray, "rows dim"]) -> str:
    """Return the SHA-256 of the table, in blocks because a half is not contiguous."""
    digest = hashlib.sha256(str(table.shape).encode())
    for first in range(0, len(table), BLOCK):
        digest.update(np.ascontiguousarray(table[first : first + BLOCK]).data)
    return digest.hexdigest()


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


def _usearch() -> Any:
    return require("usearch.index", extra="search", purpose="approximate search", package="usearch")
