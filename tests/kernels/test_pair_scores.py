"""Scores of pairs against single dot products, and their gradients."""

import pytest
import torch

from dmte.kernels import pair_scores as scores
from dmte.kernels.pair_scores import score_pairs


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
