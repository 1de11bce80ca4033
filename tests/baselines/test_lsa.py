"""LSA and its diffusion: against numpy's singular value decomposition and dense powers."""

import math
from collections import Counter

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from dmte.baselines.lsa import Lsa, LsaDiffused, damped_words, latent_features
from dmte.errors import ConfigError
from dmte.evaluation import strict_task
from dmte.network import TextualNetwork
from dmte.network.synthetic import PlantedTopics

LONELY, WORDLESS = 7, 11  # Of the network ``planted``.
METHODS = [Lsa(dim=12), LsaDiffused(dim=12)]


def dense_features(network: TextualNetwork, dim: int) -> torch.Tensor:
    left, values, _ = np.linalg.svd(damped_words(network.texts).toarray(), full_matrices=False)
    return torch.from_numpy(left[:, :dim] * values[:dim])


def dense_transition(network: TextualNetwork) -> torch.Tensor:
    adjacency = torch.from_numpy(network.adjacency().toarray())
    degrees = adjacency.sum(dim=1, keepdim=True)
    return torch.where(
        degrees > 0, adjacency / degrees.clamp(min=1e-9), torch.eye(len(adjacency)).double()
    )


def test_repeated_words_count_by_their_logarithm() -> None:
    texts = ("red red red fox", "fox hen", "")
    found = damped_words(texts).toarray()
    for row, text in zip(found, texts, strict=True):
        counts = Counter(text.split())
        holders = {word: sum(word in other.split() for other in texts) for word in counts}
        expected = [
            math.log(1 + counts[word]) * (1 + math.log(4 / (1 + holders[word])))
            if word in counts
            else 0.0
            for word in ("fox", "hen", "red")
        ]
        length = math.hypot(*expected) or 1.0
        assert row.tolist() == pytest.approx([value / length for value in expected])


@pytest.mark.parametrize(("dim", "tolerance"), [(4, 0.01), (75, 1e-9)])
def test_latent_features_are_those_of_the_dense_svd_up_to_sign(
    planted: TextualNetwork, dim: int, tolerance: float
) -> None:
    found = latent_features(damped_words(planted.texts), dim, seed=0)
    expected = dense_features(planted, dim)
    # Random projection is exact once it takes as many directions as there are texts.
    torch.testing.assert_close(found.abs(), expected.abs(), rtol=0, atol=tolerance)


def test_with_all_dimensions_lsa_is_the_cosine_of_the_words(planted: TextualNetwork) -> None:
    vectors = Lsa(dim=90).fit(planted, 0).vectors
    words = torch.from_numpy(damped_words(planted.texts).toarray()).float()
    torch.testing.assert_close(vectors @ vectors.T, words @ words.T, rtol=1e-4, atol=1e-5)


def test_diffused_lsa_is_the_sum_of_dense_powers(planted: TextualNetwork) -> None:
    method = LsaDiffused(dim=75, hop_weights=(1.0, 0.7, 0.5, 0.35))
    features = latent_features(damped_words(planted.texts), 75, seed=3)
    transition = dense_transition(planted)
    powers = [torch.linalg.matrix_power(transition, hop) for hop in range(4)]
    expected = sum(
        weight * power @ features for weight, power in zip(method.hop_weights, powers, strict=True)
    )
    assert isinstance(expected, torch.Tensor)
    found = method.fit(planted, 3).vectors
    torch.testing.assert_close(found, normalize(expected).float(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_rows_have_length_one_so_that_a_dot_product_is_a_cosine(
    planted: TextualNetwork, method: Lsa | LsaDiffused
) -> None:
    lengths = method.fit(planted, 0).vectors.norm(dim=1)
    torch.testing.assert_close(lengths[lengths > 0], torch.ones(int((lengths > 0).sum())))
    # Exactly zero, since rounding noise would count like a text once it is scored by cosine.
    expected = [WORDLESS] if isinstance(method, Lsa) else []
    assert (lengths == 0).nonzero().flatten().tolist() == expected


def test_a_vertex_without_edges_keeps_its_own_text(planted: TextualNetwork) -> None:
    alone, mixed = Lsa(dim=12).fit(planted, 0), LsaDiffused(dim=12).fit(planted, 0)
    torch.testing.assert_close(mixed.vectors[LONELY], alone.vectors[LONELY])
    assert not torch.allclose(mixed.vectors[0], alone.vectors[0])


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
@pytest.mark.parametrize("texts", [("", "", ""), ("fox", "", ""), ("fox", "fox", "fox")])
def test_hardly_any_words_give_finite_vectors_of_full_width(
    method: Lsa | LsaDiffused, texts: tuple[str, ...]
) -> None:
    network = TextualNetwork(ids=tuple("abc"), texts=texts, edges=torch.tensor([[0, 1]]))
    vectors = method.fit(network, 0).vectors
    assert vectors.shape == (3, 12)
    assert bool(vectors.isfinite().all())


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_the_same_seed_gives_the_same_bits(
    planted: TextualNetwork, method: Lsa | LsaDiffused
) -> None:
    first = method.fit(planted, 4).vectors
    np.random.default_rng(0).random()
    torch.rand(3)
    assert torch.equal(first, method.fit(planted, 4).vectors)


@pytest.mark.parametrize(("method", "least"), [(Lsa(), 0.7), (LsaDiffused(), 0.75)])
def test_planted_links_are_found(method: Lsa | LsaDiffused, least: float) -> None:
    network = PlantedTopics(num_vertices=400).draw(torch.Generator().manual_seed(0))
    task = strict_task(network, 0.8, seed=0)
    assert task.auc(method.fit(task.train, 0)) > least


@pytest.mark.parametrize("method", [Lsa(dim=0), LsaDiffused(dim=0), LsaDiffused(hop_weights=())])
def test_invalid_settings_raise(planted: TextualNetwork, method: Lsa | LsaDiffused) -> None:
    with pytest.raises(ConfigError, match="must"):
        method.fit(planted, 0)
