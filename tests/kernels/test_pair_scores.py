"""Scores of pairs against single dot products, and their gradients."""

import pytest
import torch

from dmte.kernels import pair_scores as scores
from dmte.kernels.pair_scores import dot_products, score_pairs
from peak import peak_on_top


def test_scores_equal_one_dot_product_at_a_time() -> None:
    generator = torch.Generator().manual_seed(0)
    lefts = tuple(torch.randn(5, 3, generator=generator) for _ in range(2))
    rights = tuple(torch.randn(5, 3, generator=generator) for _ in range(3))
    left = torch.randint(5, (7, 2), generator=generator)
    right = torch.randint(5, (7,), generator=generator)
    found = score_pairs(lefts, rights, left, right)
    assert found.shape == (7, 2, 2, 3)
    for m in range(7):
        for predicted in range(2):
            for a, table in enumerate(lefts):
                for b, other in enumerate(rights):
                    slow = float(table[left[m, predicted]] @ other[right[m]])
                    assert float(found[m, predicted, a, b]) == pytest.approx(slow, abs=1e-5)


@pytest.mark.parametrize("chunk", [1, 3, 100])
def test_gradients_equal_finite_differences_for_any_chunk_size(
    chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scores, "CHUNK", chunk)
    generator = torch.Generator().manual_seed(1)
    text, structure, diffused = (
        torch.randn(4, 2, generator=generator, dtype=torch.float64, requires_grad=True)
        for _ in range(3)
    )
    # Vertex 3 is in no pair, vertex 0 is in several, and one pair is a vertex with itself.
    left, right = torch.tensor([[0, 1], [0, 2], [2, 1]]), torch.tensor([1, 0, 2])
    assert torch.autograd.gradcheck(
        lambda t, s, u: score_pairs((t, s), (t, u), left, right), (text, structure, diffused)
    )


@pytest.mark.parametrize("block", [1, 7, 1000])
@pytest.mark.parametrize("width", [0, 1, 5])
def test_dot_products_are_the_same_for_any_block_size(
    block: int, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scores, "BLOCK_NUMBERS", block)
    generator = torch.Generator().manual_seed(0)
    table = torch.randn(6, width, generator=generator, requires_grad=True)
    for count in (0, 1, 11):
        pairs = torch.randint(6, (count, 2), generator=generator)
        found = dot_products(table, pairs)
        assert not found.requires_grad
        assert found.equal((table[pairs[:, 0]] * table[pairs[:, 1]]).sum(dim=1).detach())


@pytest.mark.medium
def test_dot_products_of_many_pairs_take_little_memory() -> None:
    """The rows of all pairs would take 2 GB."""
    table, pairs = torch.ones(1000, 512), torch.randint(1000, (1 << 19, 2))
    assert peak_on_top(lambda: dot_products(table, pairs)) < 60
