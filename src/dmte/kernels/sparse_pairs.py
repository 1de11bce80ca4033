"""Sums over the products of two sparse rows, for many pairs of rows.

The rows of a pair are copied. Blocks of pairs bound the copies: a hub's row is as long as its
degree, and it occurs in many pairs.
"""

from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float, Int
from torch import Tensor

BLOCK_ENTRIES = 1 << 22
"""Entries of the rows that are copied at a time, about 50 MB."""

Sums = Callable[[sp.csr_array], Float[np.ndarray, " rows"]]


def sums_of_products(
    matrix: sp.csr_array, pairs: Int[Tensor, "pairs 2"], sums: Sums
) -> Float[Tensor, " pairs"]:
    """Return ``sums`` of the rows A_i ⊙ A_j of all pairs.

    >>> matrix = sp.csr_array([[1.0, 2.0], [0.0, 3.0]])
    >>> sums_of_products(matrix, torch.tensor([[0, 1], [0, 0]]), lambda rows: rows.sum(axis=1))
    tensor([6., 5.], dtype=torch.float64)
    """
    found = np.empty(len(pairs), matrix.dtype)
    for block in _blocks(np.diff(matrix.indptr), pairs.numpy()):
        left, right = (matrix[ends] for ends in pairs[block].numpy().T)
        found[block] = sums(sp.csr_array(left.multiply(right)))
    return torch.from_numpy(found)


def _blocks(
    lengths: Int[np.ndarray, " rows"], pairs: Int[np.ndarray, "pairs 2"]
) -> Iterator[slice]:
    """Divide the pairs into blocks with about BLOCK_ENTRIES entries."""
    entries = lengths[pairs].sum(axis=1, dtype=np.int64).cumsum()
    bounds = np.flatnonzero(np.diff(entries // BLOCK_ENTRIES)) + 1
    for first, last in zip([0, *bounds.tolist()], [*bounds.tolist(), len(pairs)], strict=True):
        yield slice(first, last)
