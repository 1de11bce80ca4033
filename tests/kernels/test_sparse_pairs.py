"""Sums of products of sparse rows, against dense ones."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from jaxtyping import Float

from dmte.baselines import AdamicAdar
from dmte.kernels import sparse_pairs
from dmte.kernels.sparse_pairs import sums_of_products
from dmte.network import TextualNetwork
from peak import peak_on_top


def row_sums(rows: sp.csr_array) -> Float[np.ndarray, " rows"]:
    found: np.ndarray = rows.sum(axis=1)
    return found


@pytest.mark.parametrize("block", [1, 5, 1000])
def test_blocks_of_any_size_give_the_dense_sums(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sparse_pairs, "BLOCK_ENTRIES", block)
    dense = np.array([[1.0, 2.0, 0.0], [0.0, 3.0, 1.0], [0.0, 0.0, 0.0], [5.0, 0.0, 2.0]])
    for pairs in ([[0, 1], [1, 1], [2, 2], [3, 0], [2, 3], [3, 1]], [[2, 2]], []):
        chosen = torch.tensor(pairs, dtype=torch.int64).view(-1, 2)
        found = sums_of_products(sp.csr_array(dense), chosen, row_sums)
        assert found.tolist() == [float(dense[i] @ dense[j]) for i, j in pairs]


@pytest.mark.medium
def test_a_hub_in_many_pairs_takes_little_memory() -> None:
    """Its row has 8,000 entries; a copy for each of 8,000 pairs would take 770 MB."""
    count = 8000
    edges = torch.stack([torch.zeros(count, dtype=torch.int64), torch.arange(1, count + 1)], dim=1)
    star = TextualNetwork(
        ids=tuple(map(str, range(count + 1))), texts=[""] * (count + 1), edges=edges
    )
    fitted = AdamicAdar().fit(star, seed=0)
    assert peak_on_top(lambda: fitted.score(edges)) < 250
