"""Exact nearest neighbors: every row is scored.

    cos(q, x) = q · x / (|q| |x|)

Rows are scored in blocks. Each block is one matrix product, which uses all threads, and only scores
above the k-th best so far are kept. Beyond the result, memory depends on neither the number of rows
nor the number of queries. Equal scores are sorted by row. The cosine with a zero vector is 0.

This module imports NumPy but not torch, so searching a stored model starts quickly.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from dmte.errors import ConfigError

BLOCK_SCORES = 1 << 24  # Scores in memory at a time: 64 MB.
BLOCK_QUERIES = 256  # Queries per product; more make it no faster.
SMALLEST_LENGTH = 1e-12


class Found(NamedTuple):
    """The rows closest to one query, best first."""

    rows: Int[np.ndarray, " found"]
    scores: Float[np.ndarray, " found"]


NOTHING = Found(np.empty(0, np.int64), np.empty(0, np.float32))


def nearest(
    table: Float[np.ndarray, "rows dim"],
    queries: Float[np.ndarray, "queries dim"],
    k: int,
    *,
    among: Bool[np.ndarray, " rows"] | None = None,
    excluded: Int[np.ndarray, " queries"] | None = None,
) -> list[Found]:
    """Return the ``k`` rows with the highest cosine for every query.

    Only rows that are true in ``among`` are considered. ``excluded`` has one row per query to skip,
    such as the row of the query itself.

    >>> table = np.array([[1.0, 0.0], [3.0, 4.0], [0.0, 2.0]])
    >>> nearest(table, table[:1], k=2)[0].rows.tolist()
    [0, 1]

    Raises:
        ConfigError: ``k`` is below 1.
    """
    check_count(k)
    found = [NOTHING] * len(queries)
    lengths = row_lengths(table)
    for start in range(0, len(queries), BLOCK_QUERIES):
        some = slice(start, start + BLOCK_QUERIES)
        skipped = None if excluded is None else excluded[some]
        found[some] = _nearest(table, lengths, unit_rows(queries[some]), k, among, skipped)
    return found


def highest(
    scores: Float[np.ndarray, " rows"], k: int, among: Bool[np.ndarray, " rows"] | None = None
) -> Found:
    """Return the ``k`` rows of ``among`` with the highest scores, best first.

    >>> highest(np.array([0.5, 0.9, 0.5]), k=2).rows.tolist()
    [1, 0]

    Raises:
        ConfigError: ``k`` is below 1.
    """
    check_count(k)
    allowed = scores if among is None else np.where(among, scores, -np.inf)
    return _merge(NOTHING, allowed, 0, k)


def check_count(k: int) -> None:
    """Check that at least one result is requested.

    Raises:
        ConfigError: ``k`` is below 1.
    """
    if k < 1:
        raise ConfigError(f"k must be at least 1, not {k}")


def row_lengths(table: Float[np.ndarray, "rows dim"]) -> Float[np.ndarray, " rows"]:
    """Return |x| of every row, without a table of squares."""
    lengths = np.sqrt(np.einsum("ij,ij->i", table, table))
    clamped: np.ndarray = np.maximum(lengths, SMALLEST_LENGTH)
    return clamped


def unit_rows(table: Float[np.ndarray, "rows dim"]) -> Float[np.ndarray, "rows dim"]:
    """Divide rows by their lengths; zero rows stay zero."""
    unit: np.ndarray = table / row_lengths(table)[:, None]
    return unit


def _nearest(
    table: Float[np.ndarray, "rows dim"],
    lengths: Float[np.ndarray, " rows"],
    unit: Float[np.ndarray, "queries dim"],
    k: int,
    among: Bool[np.ndarray, " rows"] | None,
    excluded: Int[np.ndarray, " queries"] | None,
) -> list[Found]:
    found = [NOTHING] * len(unit)
    step = BLOCK_SCORES // len(unit)
    for first in range(0, len(table), step):
        block = slice(first, first + step)
        scores = unit @ table[block].T
        scores /= lengths[block]
        if among is not None:
            scores[:, ~among[block]] = -np.inf
        if excluded is not None:
            here = np.flatnonzero((excluded >= first) & (excluded < first + step))
            scores[here, excluded[here] - first] = -np.inf
        found = [_merge(best, row, first, k) for best, row in zip(found, scores, strict=True)]
    return found


def _merge(best: Found, scores: Float[np.ndarray, " block"], first: int, k: int) -> Found:
    """Merge the best so far with a block that starts at row ``first``, and keep ``k``.

    On ties the earlier row is kept, so a later row must score higher than the k-th best.
    """
    threshold = best.scores[-1] if len(best.scores) == k else -np.inf
    new = np.flatnonzero(scores > threshold)
    if len(new) > k:
        values = scores[new]
        new = new[values >= np.partition(values, -k)[-k]]
    rows = np.concatenate([best.rows, new + first])
    merged = np.concatenate([best.scores, scores[new]])
    order = np.argsort(-merged, kind="stable")[:k]
    return Found(rows[order], merged[order])
