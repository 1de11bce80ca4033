"""Rows divided by their lengths, against the formula left to autograd."""

import pytest
import torch

from dmte.kernels.row_norms import SMALLEST_LENGTH, divided_rows, unit_rows


@pytest.mark.parametrize("shortest", [SMALLEST_LENGTH, 1.0, 3.0])
def test_division_and_its_gradient_are_those_of_the_formula(shortest: float) -> None:
    generator = torch.Generator().manual_seed(0)
    table, goal = torch.randn(2, 20, 5, generator=generator, dtype=torch.float64)
    ours, plain = table.clone().requires_grad_(), table.clone().requires_grad_()
    lengths = torch.linalg.vector_norm(plain, dim=1, keepdim=True)
    expected = plain / lengths.clamp(min=shortest)
    found = divided_rows(ours, shortest)
    torch.testing.assert_close(found, expected)
    assert bool((lengths > 1).any())
    assert bool((lengths < 3).any())
    (expected * goal).sum().backward()
    (found * goal).sum().backward()
    torch.testing.assert_close(ours.grad, plain.grad)


def test_unit_rows_have_length_one_and_rows_of_zeros_stay() -> None:
    table = torch.tensor([[3.0, 4.0], [0.0, 0.0], [-1e-8, 0.0]])
    assert unit_rows(table).tolist() == torch.tensor([[0.6, 0.8], [0, 0], [-1, 0]]).tolist()
