"""The rows of a table closest to a query, found by looking at every row.

    cos(q, x) = q · x / (|q| |x|)

Rows are scored block by block, a matrix product each, which uses all threads; of a block only what
beats the k best so far is looked at again. So memory grows neither with the rows nor with the
queries beyond what is returned. Equal scores stand in the order of the rows. A zero vector is at
cosine 0 from everything.

This needs NumPy and not torch, so that asking a stored model need not wait for torch to load.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from dmte.errors import ConfigError

BLOCK_SCORES = 1 << 24  # Held at a time: 64 MB of them.
BLOCK_QUERIES = 256  # As many as a product needs to be as fast as it gets.
SMALLEST_LENGTH = 1e-12


class Found(NamedTuple):
    """What is closest to one query, best first."""

    rows: Int[np.ndarray, " found"]
    scores: Float[np.ndarray, " found"]


NOTHING = Found(np.empty(0, np.int64), np.empty(0, np.float32))


def nearest(
    table: Float[np.ndarray, "rows dim"],
    queries: Float[np.ndarray, "queries dim"],
    k: int,
    *,
    among: Bool[np.ndarray, " rows"] | None = None,
    passed_over: Int[np.ndarray, " queries"] | None = None,
) -> list[Found]:
    """Return the ``k`` rows of the highest cosine with every query, of those ``among`` allows.

    ``passed_over`` is a row per query that does not count, such as the one it was taken from.

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
        barred = None if passed_over is None else passed_over[some]
        found[some] = _nearest(table, lengths, unit_rows(queries[some]), k, among, barred)
    return found


def highest(
    scores: Float[np.ndarray, " rows"], k: int, among: Bool[np.ndarray, " rows"] | None = None
) -> Found:
    """Return the ``k`` rows with the highest scores, best first, of those that ``among`` allows.

    >>> highest(np.array([0.5, 0.9, 0.5]), k=2).rows.tolist()
    [1, 0]

    Raises:
        ConfigError: ``k`` is below 1.
    """
    check_count(k)
    allowed = scores if among is None else np.where(among, scores, -np.inf)
    return _merge(NOTHING, allowed, 0, k)


def check_count(k: int) -> None:
    """Refuse to find none.

    Raises:
        ConfigError: ``k`` is below 1.
    """
    if k < 1:
        raise ConfigError(f"k must be at least 1, not {k}")


def row_lengths(table: Float[np.ndarray, "rows dim"]) -> Float[np.ndarray, " rows"]:
    """Return |x| of every row; a table of squares is never made."""
    lengths = np.sqrt(np.einsum("ij,ij->i", table, table))
    clamped: np.ndarray = np.maximum(lengths, SMALLEST_LENGTH)
    return clamped


def unit_rows(table: Float[np.ndarray, "rows dim"]) -> Float[np.ndarray, "rows dim"]:
    """Return the rows divided by their lengths; a zero row stays."""
    unit: np.ndarray = table / row_lengths(table)[:, None]
    return unit


def _nearest(
    table: Float[np.ndarray, "rows dim"],
    lengths: Float[np.ndarray, " rows"],
    unit: Float[np.ndarray, "queries dim"],
    k: int,
    among: Bool[np.ndarray, " rows"] | None,
    passed_over: Int[np.ndarray, " queries"] | None,
) -> list[Found]:
    found = [NOTHING] * len(unit)
    step = BLOCK_SCORES // len(unit)
    for first in range(0, len(table), step):
        block = slice(first, first + step)
        scores = unit @ table[block].T
        scores /= lengths[block]
        if among is not None:
            scores[:, ~among[block]] = -np.inf
        if passed_over is not None:
            here = np.flatnonzero((passed_over >= first) & (passed_over < first + step))
            scores[here, passed_over[here] - first] = -np.inf
        found = [_merge(best, row, first, k) for best, row in zip(found, scores, strict=True)]
    return found


def _merge(best: Found, scores: Float[np.ndarray, " block"], first: int, k: int) -> Found:
    """Return the best so far and those of a block, which begins at row ``first``, cut at ``k``.

    A later row has to score higher, not as high: ties are cut in the order of the rows.
    """
    bar = best.scores[-1] if len(best.scores) == k else -np.inf
    new = np.flatnonzero(scores > bar)
    if len(new) > k:
        values = scores[new]
        new = new[values >= np.partition(values, -k)[-k]]
    rows = np.concatenate([best.rows, new + first])
    merged = np.concatenate([best.scores, scores[new]])
    order = np.argsort(-merged, kind="stable")[:k]
    return Found(rows[order], merged[order])
