"""The closest pairs of all rows of a table.

Of equal pairs at the end, which one is cut off is the same every time, but nothing else. Pairs are
scored block by block, so that memory grows with the rows and not with their square; a block is one
matrix product, which uses all threads.
"""

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dmte.runtime.progress import track
from dmte.search.exact import check_count

BLOCK = 512  # Rows scored against all others at a time.


def closest_pairs(
    table: Float[Tensor, "rows dim"], k: int, excluded: sp.csr_array
) -> list[tuple[int, int, float]]:
    """Return the ``k`` pairs of rows i < j with the highest dot products, best first.

    A pair with an entry in ``excluded``, either way round, is passed over.

    Raises:
        ConfigError: ``k`` is below 1.
    """
    check_count(k)
    either_way = sp.csr_array(excluded + excluded.T)
    best = torch.empty(0, dtype=table.dtype)
    pairs = torch.empty(0, 2, dtype=torch.int64)
    for first in track(range(0, len(table), BLOCK)):
        scores = _block_scores(table, first, either_way)
        found = _above(scores, float(best[-1]) if len(best) == k else None, k)
        values = scores[found[:, 0], found[:, 1]]
        best, order = torch.cat([best, values]).sort(descending=True, stable=True)
        pairs = torch.cat([pairs, found + first])[order][:k]
        best = best[:k]
    return [(i, j, score) for (i, j), score in zip(pairs.tolist(), best.tolist(), strict=True)]


def _block_scores(
    table: Float[Tensor, "rows dim"], first: int, excluded: sp.csr_array
) -> Float[Tensor, "block later"]:
    """Return the products of a block of rows with the rows from ``first`` on; -∞ where barred."""
    block = table[first : first + BLOCK]
    scores = block @ table[first:].T
    scores.masked_fill_(torch.ones_like(scores, dtype=torch.bool).tril_(), -torch.inf)
    barred = excluded[first : first + len(block)].tocoo()
    later = barred.col >= first
    rows, columns = (torch.from_numpy(at[later].astype(np.int64)) for at in barred.coords)
    scores[rows, columns - first] = -torch.inf
    return scores


def _above(
    scores: Float[Tensor, "block later"], bar: float | None, k: int
) -> Int[Tensor, "found 2"]:
    """Return where the scores are above the bar, or, as long as there is none, the k highest."""
    if bar is not None:
        return (scores > bar).nonzero()
    flat = scores.flatten()
    highest_first = flat.topk(min(k, len(flat))).indices
    kept = highest_first[flat[highest_first] > -torch.inf].sort().values
    return torch.stack([kept // scores.shape[1], kept % scores.shape[1]], dim=1)
