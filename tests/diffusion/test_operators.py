"""Diffusion against dense powers of P, and the convolution against the paper's formulas."""

import math
from typing import get_args

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.autograd import gradcheck
from torch.func import functional_call
from torch.linalg import matrix_power

from dmte.diffusion.operators import ACTIVATIONS, DiffusionConvolution, diffuse
from dmte.diffusion.transition import transition_matrix
from dmte.kernels.sparse import SparseMatrix
from dmte.network import TextualNetwork
from dmte.settings import Activation

NUM_VERTICES = 6
DIM = 4
# A triangle with a tail that ends in vertex 4; vertex 5 is isolated.
EDGES = torch.tensor([[0, 1], [1, 2], [2, 0], [2, 3], [3, 4]])
WEIGHTS = torch.tensor([1.0, 2.0, 0.5, 4.0, 3.0])
HOP_WEIGHTS = (1.0, 0.6, -0.3, 0.25, 0.125)


@pytest.fixture(params=["undirected", "directed"])
def directed(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "directed")


@pytest.fixture(params=["unweighted", "weighted"])
def adjacency(request: pytest.FixtureRequest, directed: bool) -> sp.csr_array:  # noqa: FBT001
    return TextualNetwork(
        ids=tuple("abcdef"),
        texts=("",) * NUM_VERTICES,
        edges=EDGES,
        weights=WEIGHTS if request.param == "weighted" else None,
        directed=directed,
    ).adjacency()


@pytest.fixture
def transition(adjacency: sp.csr_array) -> SparseMatrix:
    return transition_matrix(adjacency, torch.float64)


@pytest.fixture
def dense(adjacency: sp.csr_array) -> Tensor:
    return dense_transition(adjacency)


def dense_transition(adjacency: sp.csr_array) -> Tensor:
    """Return P entry by entry: p_ij = s_ij / Σ_k s_ik, and p_ii = 1 for a vertex without edges."""
    weights = adjacency.toarray().tolist()
    rows = []
    for i, row in enumerate(weights):
        degree = sum(row)
        stays = [float(i == j) for j in range(len(row))]
        rows.append([weight / degree for weight in row] if degree else stays)
    return torch.tensor(rows, dtype=torch.float64)


def random(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def to_dense(transition: SparseMatrix) -> Tensor:
    return transition @ torch.eye(NUM_VERTICES, dtype=torch.float64)


def convolve(
    transition: SparseMatrix, features: Tensor, filters: Tensor, hop_weights: tuple[float, ...]
) -> Tensor:
    module = DiffusionConvolution(filters.shape[1], hop_weights, torch.Generator())
    found: Tensor = functional_call(module, {"filters": filters}, (transition, features))
    return found


def dense_convolution(
    dense: Tensor, features: Tensor, filters: Tensor, hop_weights: tuple[float, ...]
) -> Tensor:
    """Return Σ_h λ_h tanh(W_h ⊙ P^h X) with P^h in full."""
    terms = [
        weight * torch.tanh(filters[hop] * (matrix_power(dense, hop) @ features))
        for hop, weight in enumerate(hop_weights)
    ]
    return torch.stack(terms).sum(dim=0)


def test_the_transition_matrix_equals_the_entries_of_definition_2(
    transition: SparseMatrix, dense: Tensor
) -> None:
    torch.testing.assert_close(to_dense(transition), dense)


def test_every_row_of_the_transition_matrix_sums_to_one(transition: SparseMatrix) -> None:
    ones = torch.ones(NUM_VERTICES, 1, dtype=torch.float64)
    torch.testing.assert_close(transition @ ones, ones)


def test_an_isolated_vertex_keeps_its_walker(transition: SparseMatrix) -> None:
    assert to_dense(transition)[5].tolist() == [0, 0, 0, 0, 0, 1]
    assert to_dense(transition)[:, 5].tolist() == [0, 0, 0, 0, 0, 1]


def test_a_vertex_with_edges_that_only_come_in_keeps_its_walker() -> None:
    sink = sp.csr_array(np.array([[0.0, 3.0], [0.0, 0.0]]))
    found = transition_matrix(sink, torch.float64) @ torch.eye(2, dtype=torch.float64)
    assert found.tolist() == [[0, 1], [0, 1]]


def test_a_self_loop_is_a_step_like_any_other() -> None:
    loop = sp.csr_array(np.array([[1.0, 3.0], [1.0, 0.0]]))
    found = transition_matrix(loop, torch.float64) @ torch.eye(2, dtype=torch.float64)
    assert found.tolist() == [[0.25, 0.75], [1, 0]]


def test_a_network_without_edges_does_not_diffuse() -> None:
    still = transition_matrix(sp.csr_array((3, 3)), torch.float64)
    features = random(3, 2)
    assert torch.equal(still @ features, features)


def test_the_transition_matrix_stores_nothing_but_steps(adjacency: sp.csr_array) -> None:
    stuck = int((adjacency.sum(axis=1) == 0).sum())
    assert transition_matrix(adjacency).num_entries == adjacency.nnz + stuck


def test_the_transition_matrix_is_single_precision_by_default(adjacency: sp.csr_array) -> None:
    product = transition_matrix(adjacency) @ torch.ones(NUM_VERTICES, 1)
    assert product.dtype == torch.float32


@pytest.mark.parametrize("directed", [False, True])
def test_the_symmetric_matrix_is_its_formula(*, directed: bool) -> None:
    weights = np.array([[0, 2, 0, 1.0], [2, 0, 3, 0], [0, 3, 0, 0], [1, 0, 0, 0]])
    dense = np.triu(weights) if directed else weights
    found = (
        transition_matrix(sp.csr_array(dense), torch.float64, "symmetric") @ torch.eye(4).double()
    )
    kept = dense + np.eye(4) * 2.0  # The mean of 1, 2 and 3.
    slow = kept / np.sqrt(np.outer(kept.sum(axis=1), kept.sum(axis=0)))
    np.testing.assert_allclose(found.numpy(), slow)


def test_the_unit_of_the_weights_does_not_change_the_symmetric_matrix(
    adjacency: sp.csr_array,
) -> None:
    one, other = (
        to_dense(transition_matrix(s, torch.float64, "symmetric"))
        for s in (adjacency, adjacency * 7)
    )
    torch.testing.assert_close(one, other)


def test_the_transition_matrix_does_not_change_the_adjacency(adjacency: sp.csr_array) -> None:
    before = adjacency.toarray()
    transition_matrix(adjacency, torch.float64)
    np.testing.assert_array_equal(adjacency.toarray(), before)


@pytest.mark.parametrize("hops", [1, 2, 3, 4, 5])
def test_diffuse_equals_the_sum_of_dense_powers(
    transition: SparseMatrix, dense: Tensor, hops: int
) -> None:
    features, weights = random(NUM_VERTICES, DIM), HOP_WEIGHTS[:hops]
    expected = torch.zeros_like(features)
    for hop, weight in enumerate(weights):
        expected += weight * matrix_power(dense, hop) @ features
    torch.testing.assert_close(diffuse(transition, features, weights), expected)


@pytest.mark.parametrize("hops", [1, 2, 5])
def test_the_gradient_of_diffuse_is_that_of_finite_differences(
    transition: SparseMatrix, hops: int
) -> None:
    features = random(NUM_VERTICES, 2).requires_grad_()
    assert gradcheck(lambda X: diffuse(transition, X, HOP_WEIGHTS[:hops]), features)  # noqa: N803


def test_weights_that_sum_to_one_keep_a_constant_constant(transition: SparseMatrix) -> None:
    constant = torch.full((NUM_VERTICES, 1), 7.0, dtype=torch.float64)
    torch.testing.assert_close(diffuse(transition, constant, (0.5, 0.25, 0.25)), constant)


def test_information_walks_one_edge_per_hop() -> None:
    """On the path 0 → 1 → 2 → 3 vertex 0 sees the feature of vertex h after exactly h hops."""
    path = sp.csr_array(np.eye(4, k=1))
    features = torch.eye(4, dtype=torch.float64)
    for hops in range(1, 5):
        mixed = diffuse(transition_matrix(path, torch.float64), features, (1.0,) * hops)
        assert mixed[0].tolist() == [1.0] * hops + [0.0] * (4 - hops)


def test_diffuse_does_not_change_its_features(transition: SparseMatrix) -> None:
    features = random(NUM_VERTICES, DIM)
    before = features.clone()
    for hops in (1, 3):
        diffuse(transition, features, HOP_WEIGHTS[:hops])
    assert torch.equal(features, before)


@pytest.mark.parametrize("hops", [1, 2, 3, 4, 5])
def test_the_convolution_equals_the_dense_formula(
    transition: SparseMatrix, dense: Tensor, hops: int
) -> None:
    features, filters = random(NUM_VERTICES, DIM), random(hops, DIM, seed=1)
    weights = HOP_WEIGHTS[:hops]
    torch.testing.assert_close(
        convolve(transition, features, filters, weights),
        dense_convolution(dense, features, filters, weights),
    )


def test_the_convolution_equals_the_paper_s_formula_entry_by_entry(
    transition: SparseMatrix, dense: Tensor
) -> None:
    """V*(i, j, k) = f(W(j, k) Σ_n P*(i, j, n) X(n, k)) and V_t = Σ_h λ_h V*(:, h, :)."""
    hops, width = 3, 2
    features, filters = random(NUM_VERTICES, width), random(hops, width, seed=1)
    powers = [matrix_power(dense, hop).tolist() for hop in range(hops)]
    X, W = features.tolist(), filters.tolist()  # noqa: N806
    V_t = torch.zeros(NUM_VERTICES, width, dtype=torch.float64)  # noqa: N806
    for i in range(NUM_VERTICES):
        for j in range(hops):
            for k in range(width):
                reached = 0.0
                for n in range(NUM_VERTICES):
                    reached += powers[j][i][n] * X[n][k]
                V_t[i, k] += HOP_WEIGHTS[j] * math.tanh(W[j][k] * reached)
    torch.testing.assert_close(convolve(transition, features, filters, HOP_WEIGHTS[:hops]), V_t)


@pytest.mark.parametrize("hops", [1, 2, 4])
def test_the_gradient_of_the_convolution_is_that_of_finite_differences(
    transition: SparseMatrix, hops: int
) -> None:
    features = random(NUM_VERTICES, 2).requires_grad_()
    filters = random(hops, 2, seed=1).requires_grad_()
    assert gradcheck(
        lambda X, W: convolve(transition, X, W, HOP_WEIGHTS[:hops]),  # noqa: N803
        (features, filters),
    )


@pytest.mark.parametrize("layout", ["as it is", "transposed", "expanded"])
@pytest.mark.parametrize("hops", [1, 2, 5])
def test_the_gradient_of_the_convolution_is_that_of_the_dense_formula(
    transition: SparseMatrix, dense: Tensor, hops: int, layout: str
) -> None:
    weights = HOP_WEIGHTS[:hops]
    inputs = random(NUM_VERTICES, DIM).requires_grad_(), random(hops, DIM, seed=1).requires_grad_()
    upstream = {
        "as it is": random(NUM_VERTICES, DIM, seed=2),
        "transposed": random(DIM, NUM_VERTICES, seed=2).T,
        "expanded": torch.ones((), dtype=torch.float64).expand(NUM_VERTICES, DIM),
    }[layout]
    before = upstream.clone()
    found = torch.autograd.grad(convolve(transition, *inputs, weights), inputs, upstream)
    expected = torch.autograd.grad(dense_convolution(dense, *inputs, weights), inputs, upstream)
    torch.testing.assert_close(found, expected)
    assert torch.equal(upstream, before)


def test_a_convolution_of_one_hop_does_not_diffuse(transition: SparseMatrix) -> None:
    features, filters = random(NUM_VERTICES, DIM), random(1, DIM, seed=1)
    found = convolve(transition, features, filters, (0.7,))
    torch.testing.assert_close(found, 0.7 * torch.tanh(filters[0] * features))


def test_a_large_activation_saturates_without_overflow(transition: SparseMatrix) -> None:
    features = torch.full((NUM_VERTICES, 1), 1e4, dtype=torch.float64).requires_grad_()
    filters = torch.tensor([[1e4], [-1e4]], dtype=torch.float64).requires_grad_()
    found = convolve(transition, features, filters, (1.0, 0.25))
    torch.testing.assert_close(found, torch.full_like(found, 0.75))
    gradients = torch.autograd.grad(found.sum(), (features, filters))
    assert all(gradient.count_nonzero() == 0 for gradient in gradients)


def test_each_column_of_the_convolution_depends_only_on_its_own_column(
    transition: SparseMatrix,
) -> None:
    features, filters, weights = random(NUM_VERTICES, DIM), random(3, DIM, seed=1), HOP_WEIGHTS[:3]
    before = convolve(transition, features, filters, weights)
    for change_filters in (False, True):
        changed = features.clone(), filters.clone()
        changed[int(change_filters)][:, 2] += 1.0
        differs = convolve(transition, *changed, weights) != before
        assert differs.any(dim=0).tolist() == [False, False, True, False]


def test_each_column_of_diffuse_depends_only_on_its_own_column(transition: SparseMatrix) -> None:
    features = random(NUM_VERTICES, DIM)
    changed = features.clone()
    changed[:, 1] += random(NUM_VERTICES, seed=3)
    differs = diffuse(transition, changed, HOP_WEIGHTS) != diffuse(
        transition, features, HOP_WEIGHTS
    )
    assert differs.any(dim=0).tolist() == [False, True, False, False]


def test_the_filters_are_one_row_per_hop_drawn_from_the_generator() -> None:
    first, again, other = (
        DiffusionConvolution(DIM, HOP_WEIGHTS[:3], torch.Generator().manual_seed(seed)).filters
        for seed in (0, 0, 1)
    )
    assert first.shape == (3, DIM)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_settings_name_every_activation() -> None:
    assert set(get_args(Activation)) == set(ACTIVATIONS)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_gains_times_diffused_features_sum_to_the_embedding(
    activation: str, transition: SparseMatrix, dense: Tensor
) -> None:
    features = random(NUM_VERTICES, DIM)
    generator = torch.Generator().manual_seed(1)
    convolution = ACTIVATIONS[activation](DIM, HOP_WEIGHTS, generator).double()
    embedding: Tensor = convolution(transition, features)
    for vertex in range(NUM_VERTICES):
        diffused = torch.stack(
            [(matrix_power(dense, hop) @ features)[vertex] for hop in range(len(HOP_WEIGHTS))]
        ).numpy()
        found = (convolution.gains(diffused) * diffused).sum(axis=0)
        np.testing.assert_allclose(found, embedding[vertex].detach().numpy())
