"""Hop tables against dense powers of P."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from dmte.diffusion.hop_tables import differentiable_hop_tables, hop_tables
from dmte.diffusion.operators import ACTIVATIONS
from dmte.diffusion.transition import TRANSITIONS, transition_matrix
from dmte.kernels.sparse import SparseMatrix
from dmte.network import TextualNetwork


def dense_tables(transition: SparseMatrix, features: Tensor, num_hops: int) -> Tensor:
    matrix = transition @ torch.eye(len(features), dtype=features.dtype)
    powers = [torch.linalg.matrix_power(matrix, hop) @ features for hop in range(num_hops)]
    return torch.stack(powers, dim=1)


def features_of(network: TextualNetwork, dim: int = 5) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(network.num_vertices, dim, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("kind", TRANSITIONS)
@pytest.mark.parametrize("num_hops", [1, 2, 4])
@pytest.mark.parametrize("rows", [None, [7], [3, 1, 40]])
@pytest.mark.parametrize("block", [1 << 25, 1])
def test_rows_are_those_of_dense_powers(
    planted: TextualNetwork,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    num_hops: int,
    rows: list[int] | None,
    block: int,
) -> None:
    """The result does not depend on the width of the blocks of columns."""
    monkeypatch.setattr("dmte.diffusion.hop_tables.BLOCK_NUMBERS", block)
    monkeypatch.setattr("dmte.diffusion.hop_tables.MIN_BLOCK", 2)
    transition = transition_matrix(planted.adjacency(), torch.float64, kind)
    features = features_of(planted)
    chosen = None if rows is None else torch.tensor(rows)
    found = hop_tables(transition.rows, features, num_hops, chosen)
    slow = dense_tables(transition, features, num_hops)
    torch.testing.assert_close(found, slow if chosen is None else slow[chosen])


def test_the_gradient_is_that_of_finite_differences(planted: TextualNetwork) -> None:
    transition = transition_matrix(planted.adjacency(), torch.float64)
    features = features_of(planted, 2).requires_grad_()

    def tables(some: Tensor) -> Tensor:
        return differentiable_hop_tables(transition, some, 3)

    assert gradcheck(tables, (features,), fast_mode=True)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_combined_tables_are_the_filtered_texts_with_the_same_gradients(
    planted: TextualNetwork, activation: str
) -> None:
    kind: Any = ACTIVATIONS[activation]
    filters = kind(5, (1.0, 0.5, 0.2), torch.Generator().manual_seed(0)).double()
    transition = transition_matrix(planted.adjacency(), torch.float64)
    features, goal = features_of(planted), features_of(planted) ** 2
    found = filters.combine(hop_tables(transition.rows, features, 3))
    (found * goal).sum().backward()
    gradient, filters.filters.grad = filters.filters.grad, None
    expected = filters(transition, features)
    (expected * goal).sum().backward()
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(gradient, filters.filters.grad)
    with torch.no_grad():
        torch.testing.assert_close(filters(transition, features), expected)
