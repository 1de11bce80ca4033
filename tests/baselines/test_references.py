"""The references: against their formulas, written out."""

import math
from collections import Counter

import pytest
import torch

from dmte.baselines import BASELINES, AdamicAdar, RandomVectors, TfIdf
from dmte.errors import ConfigError
from dmte.evaluation import strict_task
from dmte.network import TextualNetwork
from dmte.network.synthetic import PlantedTopics

TEXTS = ("red fox runs", "red red hen", "", "blue", "fox hen fox")


@pytest.fixture
def network() -> TextualNetwork:
    edges = torch.tensor([[0, 1], [1, 2], [0, 2], [2, 3], [3, 3], [1, 0]])
    return TextualNetwork(ids=tuple("abcde"), texts=TEXTS, edges=edges)


def test_tfidf_is_the_cosine_of_weighted_counts(network: TextualNetwork) -> None:
    def vector(text: str) -> dict[str, float]:
        counts = Counter(text.split())
        found = {word: sum(word in other.split() for other in TEXTS) for word in counts}
        raw = {w: n * (1 + math.log((1 + 5) / (1 + found[w]))) for w, n in counts.items()}
        length = math.sqrt(sum(value * value for value in raw.values()))
        return {word: value / length for word, value in raw.items()}

    pairs = [(i, j) for i in range(5) for j in range(5)]
    scores = TfIdf().fit(network, 0).score(torch.tensor(pairs)).tolist()
    for (i, j), score in zip(pairs, scores, strict=True):
        left, right = vector(TEXTS[i]), vector(TEXTS[j])
        assert score == pytest.approx(sum(left[w] * right.get(w, 0) for w in left))


def test_adamic_adar_counts_shared_neighbors_by_their_rarity(network: TextualNetwork) -> None:
    neighbors = {0: {1, 2}, 1: {0, 2}, 2: {0, 1, 3}, 3: {2}, 4: set()}
    pairs = [(i, j) for i in range(5) for j in range(5) if i != j]
    scores = AdamicAdar().fit(network, 0).score(torch.tensor(pairs)).tolist()
    for (i, j), score in zip(pairs, scores, strict=True):
        shared = neighbors[i] & neighbors[j]
        assert score == pytest.approx(sum(1 / math.log(len(neighbors[k])) for k in shared))


def test_random_vectors_are_a_coin_toss() -> None:
    network = PlantedTopics(num_vertices=400).draw(torch.Generator().manual_seed(0))
    task = strict_task(network, 0.5, seed=0)
    assert task.auc(RandomVectors().fit(task.train, 0)) == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("name", ["adamic-adar", "tfidf"])
def test_a_reference_that_reads_something_beats_chance(name: str) -> None:
    network = PlantedTopics(num_vertices=400).draw(torch.Generator().manual_seed(0))
    task = strict_task(network, 0.8, seed=0)
    assert task.auc(BASELINES[name].fit(task.train, 0)) > 0.52


def test_random_vectors_without_a_width_raise() -> None:
    with pytest.raises(ConfigError, match="dim must be at least 1, not -1"):
        RandomVectors(dim=-1)
