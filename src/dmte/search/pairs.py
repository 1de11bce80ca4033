"""The closest pairs among all rows of a table.

Pairs are scored in blocks, so memory grows with the number of rows and not with its square. Each
block is one matrix product, which uses all threads. The result is deterministic, but with ties at
the end it is unspecified which of the pairs are returned.
"""

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dmte.runtime.progress import track
from dmte.search.exact import check_count

BLOCK = 512  # Rows scored against all later rows at a time.


def closest_pairs(
    table: Float[Tensor, "rows dim"], k: int, excluded: sp.csr_array
) -> list[tuple[int, int, float]]:
    """Return the ``k`` pairs of rows i < j with the highest dot products, best first.

    Pairs with an entry in ``excluded``, in either direction, are skipped.

    Raises:
        ConfigError: ``k`` is below 1.
    """
    check_count(k)
    symmetric = sp.csr_array(excluded + excluded.T)
    best = torch.empty(0, dtype=table.dtype)
    pairs = torch.empty(0, 2, dtype=torch.int64)
    for first in track(range(0, len(table), BLOCK)):
        scores = _block_scores(table, first, symmetric)
        found = _above(scores, float(best[-1]) if len(best) == k else None, k)
        values = scores[found[:, 0], found[:, 1]]
        best, order = torch.cat([best, values]).sort(descending=True, stable=True)
        pairs = torch.cat([pairs, found + first])[order][:k]
        best = best[:k]
    return [(i, j, score) for (i, j), score in zip(pairs.tolist(), best.tolist(), strict=True)]


def _block_scores(
    table: Float[Tensor, "rows dim"], first: int, excluded: sp.csr_array
) -> Float[Tensor, "block later"]:
    """Score the rows of a block with all rows from ``first``; excluded pairs score -∞."""
    block = table[first : first + BLOCK]
    scores = block @ table[first:].T
    scores.masked_fill_(torch.ones_like(scores, dtype=torch.bool).tril_(), -torch.inf)
    entries = excluded[first : first + len(block)].tocoo()
    later = entries.col >= first
    rows, columns = (torch.from_numpy(at[later].astype(np.int64)) for at in entries.coords)
    scores[rows, columns - first] = -torch.inf
    return scores


def _above(
    scores: Float[Tensor, "block later"], threshold: float | None, k: int
) -> Int[Tensor, "found 2"]:
    """Return the positions of the scores above ``threshold``, or without one, of the k highest."""
    if threshold is not None:
        return (scores > threshold).nonzero()
    flat = scores.flatten()
    highest_first = flat.topk(min(k, len(flat))).indices
    kept = highest_first[flat[highest_first] > -torch.inf].sort().values
    return torch.stack([kept // scores.shape[1], kept % scores.shape[1]], dim=1)
