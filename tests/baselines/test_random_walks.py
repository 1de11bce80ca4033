"""Walks: against exact transition probabilities; and what DeepWalk and Node2Vec make of them."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from dmte.baselines.random_vectors import RandomVectors
from dmte.baselines.random_walks import DeepWalk, Node2Vec, Walker
from dmte.baselines.skipgram import ENDED
from dmte.errors import ConfigError
from dmte.evaluation import strict_task
from dmte.network import TextualNetwork
from dmte.network.synthetic import PlantedTopics

WEIGHTS = np.array(
    [
        [0.0, 3.0, 1.0, 0.0, 0.0],
        [3.0, 0.0, 2.0, 5.0, 0.0],
        [1.0, 2.0, 0.0, 0.0, 1e-6],
        [0.0, 5.0, 0.0, 4.0, 2.0],
        [0.0, 0.0, 1e-6, 2.0, 0.0],
    ]
)
"""Undirected and weighted, with a triangle, a loop and weights of very different size."""
ONE_WAY = np.array(
    [
        [0.0, 3.0, 1.0, 0.0, 2.0],
        [4.0, 0.0, 2.0, 5.0, 1.0],
        [0.0, 2.0, 0.0, 3.0, 1.0],
        [2.0, 0.0, 4.0, 1.0, 0.0],
        [0.0, 1.0, 0.0, 6.0, 0.0],
    ]
)
"""Directed and weighted, with triangles, one-way edges and a loop."""
SMALL = {"dim": 16, "walks_per_vertex": 3, "walk_length": 10, "window": 3}


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def assert_frequencies(found: torch.Tensor, probabilities: np.ndarray) -> None:
    """Every share is within five standard deviations of its probability, and never of none."""
    shares = torch.bincount(found, minlength=len(probabilities)).numpy() / len(found)
    spread = np.sqrt(probabilities * (1 - probabilities) / len(found))
    assert (np.abs(shares - probabilities) <= 5 * spread + 1e-4).all()
    assert not shares[probabilities == 0].any()


def test_a_step_follows_the_weights() -> None:
    walker = Walker.on(sp.csr_array(WEIGHTS))
    for vertex in range(5):
        walks = walker.walk(torch.full((20_000,), vertex), 2, generator(vertex))
        assert_frequencies(walks[:, 1], WEIGHTS[vertex] / WEIGHTS[vertex].sum())


@pytest.mark.parametrize(("p", "q"), [(1.0, 1.0), (0.25, 4.0), (4.0, 0.5), (2.0, 2.0), (0.5, 1.0)])
@pytest.mark.parametrize("weights", [WEIGHTS, ONE_WAY], ids=["undirected", "directed"])
def test_a_biased_step_follows_the_second_order_probabilities(
    weights: np.ndarray, p: float, q: float
) -> None:
    walks = Walker.on(sp.csr_array(weights), p, q).walk(
        torch.arange(5).repeat(20_000), 3, generator()
    )
    for before, at in zip(*weights.nonzero(), strict=True):
        came = (walks[:, 0] == before) & (walks[:, 1] == at)
        if int(came.sum()) < 1000:
            continue
        bias = np.where(weights[before] > 0, 1.0, 1 / q)
        bias[before] = 1 / p
        expected = weights[at] * bias
        assert_frequencies(walks[came, 2], expected / expected.sum())


@pytest.mark.parametrize(("p", "q"), [(1.0, 1.0), (4.0, 0.25)])
def test_directed_walks_follow_edges_and_end_at_dead_ends(p: float, q: float) -> None:
    edges = {(0, 1), (1, 2), (2, 0), (1, 3), (4, 0)}
    sources, targets = zip(*sorted(edges), strict=True)
    matrix = sp.csr_array((np.ones(len(edges)), (sources, targets)), shape=(6, 6))
    walks = Walker.on(matrix, p, q).walk(torch.arange(6).repeat(50), 12, generator())
    for walk in walks.tolist():
        length = walk.index(ENDED) if ENDED in walk else len(walk)
        assert all(step in edges for step in pairwise(walk[:length]))
        assert set(walk[length:]) <= {ENDED}
        if length < len(walk):
            assert walk[length - 1] in (3, 5)
    assert walks[5].tolist() == [5] + [ENDED] * 11


def test_an_extreme_bias_against_the_only_way_does_not_hang() -> None:
    pair = sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
    walks = Walker.on(pair, return_parameter=1e12).walk(torch.tensor([0, 1]), 5, generator())
    assert walks.tolist() == [[0, 1, 0, 1, 0], [1, 0, 1, 0, 1]]


@pytest.mark.parametrize("method", [DeepWalk(**SMALL), Node2Vec(**SMALL)])
class TestMethods:
    """What holds for both."""

    @pytest.mark.medium
    def test_equal_seeds_give_equal_bits(
        self, method: DeepWalk | Node2Vec, planted: TextualNetwork
    ) -> None:
        first, again, other = (method.fit(planted, seed).vectors for seed in (3, 3, 4))
        assert torch.equal(first, again)
        assert not torch.equal(first, other)

    def test_an_isolated_vertex_gets_the_zero_vector(
        self, method: DeepWalk | Node2Vec, planted: TextualNetwork
    ) -> None:
        is_zero = (method.fit(planted, 0).vectors == 0).all(dim=1)
        assert is_zero.nonzero().flatten().tolist() == [7]

    def test_a_network_without_edges_gets_zero_vectors(self, method: DeepWalk | Node2Vec) -> None:
        edges = torch.zeros(0, 2, dtype=torch.int64)
        network = TextualNetwork(ids=("a", "b"), texts=("", ""), edges=edges)
        assert not method.fit(network, 0).vectors.any()

    def test_dead_ends_of_a_directed_network_are_embedded(
        self, method: DeepWalk | Node2Vec
    ) -> None:
        edges = torch.tensor([[0, 1], [0, 2], [3, 3]])
        network = TextualNetwork(ids=tuple("abcde"), texts=("",) * 5, edges=edges, directed=True)
        vectors = method.fit(network, 0).vectors
        assert torch.isfinite(vectors).all()
        assert vectors[:4].any(dim=1).all()
        assert not vectors[4].any()

    @pytest.mark.slow
    def test_it_beats_random_vectors(self, method: DeepWalk | Node2Vec) -> None:
        method = replace(method, walks_per_vertex=25)
        planted = PlantedTopics(num_vertices=200, edges_per_vertex=6)
        task = strict_task(planted.draw(generator()), 0.8, seed=0)
        chance = task.auc(RandomVectors().fit(task.train, 0))
        assert task.auc(method.fit(task.train, 0)) > chance + 0.1


@pytest.mark.medium
def test_node2vec_without_bias_is_deepwalk(planted: TextualNetwork) -> None:
    unbiased = Node2Vec(return_parameter=1.0, in_out_parameter=1.0, **SMALL)
    assert torch.equal(unbiased.fit(planted, 0).vectors, DeepWalk(**SMALL).fit(planted, 0).vectors)


@pytest.mark.medium
def test_the_bias_matters(planted: TextualNetwork) -> None:
    near, far = (Node2Vec(in_out_parameter=q, **SMALL).fit(planted, 0) for q in (4.0, 0.25))
    assert not torch.equal(near.vectors, far.vectors)


@pytest.mark.parametrize(
    "settings",
    [
        {"walks_per_vertex": 0},
        {"walk_length": 0},
        {"dim": 0},
        {"return_parameter": 0.0},
        {"in_out_parameter": 0.0},
    ],
)
def test_a_setting_of_zero_raises(settings: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=f"{next(iter(settings))} must be above 0, not 0"):
        Node2Vec(**settings)
