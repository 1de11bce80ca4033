"""Approximate search: a graph of near rows that a query walks through instead of seeing them all.

The graph (a hierarchical navigable small world, Malkov and Yashunin 2018) is usearch's. It holds
the rows at length 1 with two bytes a number, and answers in a fraction of a millisecond whatever
the number of rows. What it proposes is scored again with the table itself, so scores are exact and
only a row it did not come by can be missing; ``benchmarks/search.py`` measures how many are.

Building it takes minutes for a million rows, so that of a stored model is kept in its folder, in a
folder of its own that says which vectors it belongs to. It is built with all threads, whose order
differs from run to run, and so may the graph.
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
EFFORT_ADD, EFFORT_SEARCH = 128, 128  # Rows looked at to place one, and to find some.
MORE = 2  # Times as many proposed as asked for, because two bytes a number swap close ones.
BLOCK = 1 << 16  # Rows brought to length 1 at a time.


class ApproximateIndex:
    """A graph over the rows of a table."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph

    @classmethod
    def of(cls, table: Float[np.ndarray, "rows dim"]) -> "ApproximateIndex":
        """Return the index of a table, built with all threads; who listens hears of its beginning.

        Raises:
            MissingExtraError: usearch is not installed.
        """
        graph = _usearch().Index(
            ndim=table.shape[1],
            metric="ip",
            dtype="f16",
            connectivity=CONNECTIVITY,
            expansion_add=EFFORT_ADD,
            expansion_search=EFFORT_SEARCH,
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
        passed_over: Int[np.ndarray, " queries"] | None = None,
    ) -> list[Found]:
        """Return about the ``k`` rows of the highest cosine with every query, best first.

        Raises:
            ConfigError: ``k`` is below 1.
        """
        check_count(k)
        unit = unit_rows(queries)
        count = min(MORE * (k + 1), len(table))
        matches = self._graph.search(unit.astype(np.float32), count)
        proposed = np.asarray(matches.keys).reshape(len(queries), -1).astype(np.int64)
        barred = np.full(len(queries), -1) if passed_over is None else passed_over
        return [
            _score_again(table, query, rows[rows != own], k)
            for query, rows, own in zip(unit, proposed, barred, strict=True)
        ]

    def to_bytes(self) -> bytes:
        """Return the graph, for a file."""
        return bytes(self._graph.save())

    @classmethod
    def from_bytes(cls, data: bytes) -> "ApproximateIndex":
        """Return the index whose graph was stored.

        Raises:
            MissingExtraError: usearch is not installed.
            StorageError: These bytes are no graph of usearch.
        """
        graph = _usearch().Index.restore(data)
        if graph is None:
            raise StorageError("the stored index is not one of usearch; delete its folder")
        graph.expansion_search = EFFORT_SEARCH
        return cls(graph)


@dataclass(slots=True, eq=False)
class IndexCache:
    """The index of every half of some vectors, made when it is first needed."""

    folder: Path | None = None
    """The folder the vectors are stored in, if they are; their indexes are kept there."""
    _made: dict[str, ApproximateIndex] = field(default_factory=dict)

    def of(self, half: str, table: Float[np.ndarray, "rows dim"]) -> ApproximateIndex:
        """Return the index of a half, from memory, from the folder, or built and kept there.

        Raises:
            MissingExtraError: usearch is not installed.
        """
        if half not in self._made:
            self._made[half] = self._read_or_build(half, table)
        return self._made[half]

    def _read_or_build(self, half: str, table: Float[np.ndarray, "rows dim"]) -> ApproximateIndex:
        if self.folder is None:
            return ApproximateIndex.of(table)
        place, digest = index_folder(self.folder, half), _digest(table)
        if is_stored(place):
            parts = read_parts(place)
            if decode_json(parts["about.json"])["sha256"] == digest:
                return ApproximateIndex.from_bytes(parts["graph.usearch"])
        index = ApproximateIndex.of(table)
        about = encode_json({"sha256": digest, "rows": len(index), "half": half})
        try:
            write_parts(place, {"about.json": about, "graph.usearch": index.to_bytes()})
        except StorageError as problem:
            warn(f"the index is not kept, and will be built again: {problem}")
        return index


def index_folder(folder: Path, half: str) -> Path:
    """Return where the index of a half of stored vectors is kept."""
    return folder / f"index-{half}"


def _digest(table: Float[np.ndarray, "rows dim"]) -> str:
    """Return the SHA-256 of the numbers, block by block, since a half is not in one piece."""
    digest = hashlib.sha256(str(table.shape).encode())
    for first in range(0, len(table), BLOCK):
        digest.update(np.ascontiguousarray(table[first : first + BLOCK]).data)
    return digest.hexdigest()


def _score_again(
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
