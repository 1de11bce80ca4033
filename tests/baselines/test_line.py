"""LINE: against its objectives, written out."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch.nn.functional import logsigmoid

from dmte.baselines.line import EdgeSampler, Line, add_second_neighbors, edge_gradients
from dmte.baselines.random_vectors import RandomVectors
from dmte.errors import ConfigError
from dmte.evaluation import strict_task
from dmte.network import TextualNetwork
from dmte.network.synthetic import PlantedTopics

SMALL = Line(dim=16, samples_per_edge=12)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("is_first", [True, False])
def test_gradients_are_those_of_the_objective_edge_by_edge(is_first: bool) -> None:  # noqa: FBT001
    vectors = torch.randn(5, 6, generator=generator()).requires_grad_()
    # The first order has one table: a vertex is its own context.
    contexts = vectors if is_first else torch.randn(5, 6, generator=generator(1)).requires_grad_()
    edges = torch.tensor([[0, 1], [1, 0], [3, 4], [0, 1], [2, 2]])
    negatives = torch.randint(5, (5, 3), generator=generator(2))
    objective = torch.zeros(())
    for (source, target), drawn in zip(edges.tolist(), negatives.tolist(), strict=True):
        objective = objective + logsigmoid(vectors[source] @ contexts[target])
        for other in drawn:
            objective = objective + logsigmoid(-vectors[source] @ contexts[other])
    objective.backward()

    found = edge_gradients(
        vectors.detach()[edges[:, 0]], contexts.detach()[edges[:, 1]], contexts.detach()[negatives]
    )
    of_vectors = torch.zeros(5, 6)
    of_contexts = of_vectors if is_first else torch.zeros(5, 6)
    of_vectors.index_add_(0, edges[:, 0], found.inputs)
    of_contexts.index_add_(0, edges[:, 1], found.contexts)
    of_contexts.index_add_(0, negatives.flatten(), found.negatives.flatten(0, 1))
    torch.testing.assert_close(of_vectors, vectors.grad)
    torch.testing.assert_close(of_contexts, contexts.grad)


def test_edges_are_sampled_by_their_weight() -> None:
    weights = np.array([[0.0, 1.0, 4.0], [3.0, 0.0, 0.0], [0.0, 0.0, 2.0]])
    sources, targets = EdgeSampler(sp.csr_array(weights)).draw(40_000, generator())
    shares = torch.bincount(sources * 3 + targets, minlength=9).view(3, 3) / 40_000
    # Four standard deviations of a share of 40,000 draws are at most 0.01.
    np.testing.assert_allclose(shares.numpy(), weights / 10, atol=0.01)
    assert not shares[weights == 0].any()


def test_second_neighbors_are_the_strongest_two_steps_away() -> None:
    drawn = np.triu(np.random.default_rng(0).random((30, 30)) * 10, 1)
    matrix = np.where(drawn > 9, drawn, 0)
    matrix = matrix + matrix.T
    matrix[4] = matrix[:, 4] = 0
    found = add_second_neighbors(sp.csr_array(matrix), min_neighbors=6).toarray() - matrix
    degrees = matrix.sum(axis=1)
    two_steps = matrix @ (matrix / np.where(degrees > 0, degrees, 1)[:, None])
    np.fill_diagonal(two_steps, 0)
    for row in range(30):
        room = max(0, 6 - np.count_nonzero(matrix[row]))
        expected = np.zeros(30)
        strongest = np.argsort(-two_steps[row], kind="stable")[:room]
        expected[strongest] = two_steps[row, strongest]
        np.testing.assert_allclose(found[row], expected, atol=1e-12)


def test_zero_min_neighbors_adds_none() -> None:
    path = sp.csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    assert (add_second_neighbors(path, 0).toarray() == path.toarray()).all()
    assert add_second_neighbors(path, 2).toarray()[0].tolist() == [0.0, 1.0, 0.5]


def test_both_orders_have_length_one(planted: TextualNetwork) -> None:
    vectors = SMALL.fit(planted, 0).vectors
    assert vectors.shape == (80, 16)
    lengths = vectors.view(80, 2, 8).norm(dim=2)
    expected = torch.ones(80, 2)
    expected[7] = 0  # The isolated vertex.
    torch.testing.assert_close(lengths, expected)


def test_the_second_order_is_zero_without_outgoing_edges() -> None:
    edges = torch.tensor([[0, 1], [0, 2], [2, 1]])
    network = TextualNetwork(ids=tuple("abcd"), texts=("",) * 4, edges=edges, directed=True)
    vectors = SMALL.fit(network, 0).vectors
    assert vectors[:, :8].any(dim=1).tolist() == [True, True, True, False]
    assert vectors[:, 8:].any(dim=1).tolist() == [True, False, True, False]


@pytest.mark.medium
def test_equal_seeds_give_equal_bits(planted: TextualNetwork) -> None:
    first, again, other = (SMALL.fit(planted, seed).vectors for seed in (3, 3, 4))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_a_network_without_edges_gets_zero_vectors() -> None:
    edges = torch.zeros(0, 2, dtype=torch.int64)
    network = TextualNetwork(ids=("a", "b"), texts=("", ""), edges=edges)
    assert not SMALL.fit(network, 0).vectors.any()


@pytest.mark.medium
def test_it_beats_random_vectors() -> None:
    task = strict_task(PlantedTopics(num_vertices=200).draw(generator()), 0.8, seed=0)
    chance = task.auc(RandomVectors().fit(task.train, 0))
    assert task.auc(SMALL.fit(task.train, 0)) > chance + 0.1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dim": 15}, "dim must be even"),
        ({"num_negatives": 0}, "num_negatives must be above 0"),
        ({"min_neighbors": -1}, "min_neighbors must be at least 0"),
    ],
)
def test_a_setting_out_of_range_raises(settings: dict[str, int], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Line(**settings)
