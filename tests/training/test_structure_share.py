"""The random structure half, and the choice of its share by validation edges."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from dmte.diffusion.random_projection import HOP_WEIGHTS, walk_features
from dmte.evaluation import strict_task
from dmte.metrics import PairScores
from dmte.model.assemble import combine_halves, combine_scores
from dmte.model.trained_model import TrainedModel
from dmte.network import TextualNetwork
from dmte.network.synthetic import PlantedTopics
from dmte.runtime.seeding import generator_for
from dmte.settings import Settings
from dmte.training.auto_settings import LEAST_GAIN, SHARES, choose_structure_share
from dmte.training.method import DmteMethod
from dmte.training.run import TrainingRun

LONELY = 7  # The vertex without edges of the planted network.


@pytest.fixture(scope="module")
def vague_texts() -> TextualNetwork:
    """Six communities with texts of two thousand words that all of them share."""
    return PlantedTopics(
        num_vertices=300,
        num_topics=6,
        edges_per_vertex=5,
        words_per_topic=2000,
        own_word_probability=0.0,
    ).draw(torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def shared(vague_texts: TextualNetwork) -> TrainedModel:
    return DmteMethod(Settings(dim=32, epochs=1, structure_share=0.3)).train(vague_texts, seed=0)


def test_walk_features_equal_dense_powers(planted: TextualNetwork) -> None:
    dense = planted.adjacency().toarray()
    dense[LONELY, LONELY] = 1.0
    walk = torch.from_numpy(dense / dense.sum(axis=1, keepdims=True)).float()
    drawn = torch.randn(80, 6, generator=generator_for(3, "walk ends"))
    slow = torch.zeros(80, 6)
    for hop, weight in enumerate(HOP_WEIGHTS):
        slow += weight * torch.linalg.matrix_power(walk, hop) @ drawn
    slow[LONELY] = 0.0
    found = walk_features(planted.adjacency(), 6, seed=3)
    torch.testing.assert_close(found, normalize(slow), atol=1e-5, rtol=0)


def test_a_score_is_shared_between_text_and_walks() -> None:
    generator = torch.Generator().manual_seed(0)
    text, walks = (normalize(torch.randn(5, 4, generator=generator)) for _ in range(2))
    both = combine_halves(text, walks, 0.3)
    torch.testing.assert_close(both @ both.T, 0.7 * text @ text.T + 0.3 * walks @ walks.T)
    torch.testing.assert_close(both.norm(dim=1), torch.ones(5))
    by_text, by_walks, by_both = (
        PairScores(one[:1] @ one[1], one[:1] @ one[2]) for one in (text, walks, both)
    )
    torch.testing.assert_close(tuple(combine_scores(by_text, by_walks, 0.3)), tuple(by_both))


def pair_scores(lead: float, *, num_edges: int = 500, seed: int = 0) -> PairScores:
    """Return scores with edges ``lead`` standard deviations above non-edges."""
    generator = torch.Generator().manual_seed(seed)
    scores: Tensor = torch.randn(num_edges + 500, generator=generator)
    return PairScores(scores[:num_edges] + lead, scores[num_edges:])


def test_links_have_a_share_if_they_clearly_improve_scores() -> None:
    by_text, by_walks = pair_scores(0.1), pair_scores(2.0, seed=1)
    assert choose_structure_share([(by_text, by_walks)]) == max(SHARES)
    assert choose_structure_share([(by_walks, by_text)]) == 0.0
    equal = [
        (pair_scores(1.0), pair_scores(1.0, seed=1)),
        (pair_scores(1.0, seed=2), pair_scores(1.0, seed=3)),
    ]
    assert choose_structure_share(equal) == 0.5


def test_an_insignificant_gain_gives_a_share_of_zero() -> None:
    few = pair_scores(0.5, num_edges=4), pair_scores(1.0, num_edges=4, seed=1)
    many = pair_scores(0.5), pair_scores(1.0, seed=1)
    assert choose_structure_share([few]) == 0.0
    assert choose_structure_share([many]) > 0.0


def test_a_small_gain_gives_a_share_of_zero() -> None:
    """Walks score one edge in a thousand better than texts."""
    edges, non_edges = torch.ones(1000), torch.zeros(1000)
    edges[:2] = -1.0
    better = edges.clone()
    better[0] = 2.0
    by_text, by_walks = PairScores(edges, non_edges), PairScores(better, non_edges)
    assert 0 < 0.001 < LEAST_GAIN
    assert choose_structure_share([(by_text, by_walks)]) == 0.0


@pytest.mark.medium
def test_uninformative_texts_get_a_structure_half(vague_texts: TextualNetwork) -> None:
    task = strict_task(vague_texts, 0.8, seed=0)
    settings = Settings(epochs=2)
    open_share = DmteMethod(settings).train(task.train, seed=0)
    texts_alone = DmteMethod(replace(settings, structure_share=0.0)).train(task.train, seed=0)
    assert open_share.settings.structure_share in SHARES
    assert open_share.embedding.vectors.shape[1] == open_share.settings.dim
    assert open_share.settings.half == texts_alone.settings.half == texts_alone.settings.dim
    assert task.auc(open_share.embedding) > task.auc(texts_alone.embedding) + 0.02


@pytest.mark.medium
def test_informative_texts_get_no_structure_half() -> None:
    drawn = PlantedTopics(num_vertices=200).draw(torch.Generator().manual_seed(2))
    trained = DmteMethod(Settings(epochs=2)).train(drawn, seed=0)
    assert trained.settings.structure_share == 0.0
    assert trained.embedding.structure.shape[1] == 0


@pytest.mark.medium
@pytest.mark.parametrize(
    ("settings", "columns"),
    [
        (Settings(dim=32, epochs=1), (32, 0)),
        (Settings(dim=32, epochs=1, structure_share=0.5), (16, 16)),
        (Settings(epochs=1, validation_fraction=0.0), (128, 0)),
        (Settings(epochs=1, validation_fraction=0.0, structure_share=0.5), (128, 128)),
    ],
)
def test_a_given_width_is_that_of_the_vectors(
    vague_texts: TextualNetwork, settings: Settings, columns: tuple[int, int]
) -> None:
    trained = DmteMethod(settings).train(vague_texts, seed=0)
    embedding = trained.embedding
    assert (embedding.text.shape[1], embedding.structure.shape[1]) == columns
    assert trained.settings.dim == sum(columns)


@pytest.mark.medium
def test_a_model_with_walks_survives_saving_and_loading(
    shared: TrainedModel, tmp_path: Path
) -> None:
    shared.save(tmp_path / "model")
    again = TrainedModel.load(tmp_path / "model")
    assert again.settings == shared.settings
    assert again.assembly.share == 0.3
    assert torch.equal(again.embedding.vectors, shared.embedding.vectors)
    text = shared.network.texts[3]
    assert torch.equal(again.embed_text(text), shared.embed_text(text))


@pytest.mark.medium
def test_the_same_seed_gives_the_same_walk_features(shared: TrainedModel) -> None:
    method = DmteMethod(Settings(dim=32, epochs=1, structure_share=0.3))
    again = method.train(shared.network, seed=0)
    assert torch.equal(again.embedding.vectors, shared.embedding.vectors)


def test_a_new_vertex_gets_the_mean_walk_features_of_its_neighbors(shared: TrainedModel) -> None:
    network, structure = shared.network, shared.embedding.structure
    near = [4, 9]
    new = TextualNetwork(
        ids=("new", "alone", *(network.ids[vertex] for vertex in near)),
        texts=(network.texts[0], network.texts[1], "", ""),
        edges=torch.tensor([[0, 2], [0, 3]]),
        weights=torch.tensor([1.0, 3.0]),
    )
    before = shared.embedding.vectors.clone()
    found = shared.embed(new)
    mean = normalize(0.25 * structure[4] + 0.75 * structure[9], dim=0)
    torch.testing.assert_close(found.structure[0], np.sqrt(0.3) * mean, atol=1e-5, rtol=0)
    torch.testing.assert_close(found.text[1], shared.embed_text(network.texts[1]))
    assert not found.structure[1].any()
    assert torch.equal(shared.embedding.vectors, before)


@pytest.mark.medium
def test_validation_does_not_change_the_parameters(vague_texts: TextualNetwork) -> None:
    run = TrainingRun(vague_texts, Settings(epochs=3), seed=0)
    epochs = run.epochs()
    next(epochs)
    before = run.folds[0].parameters()
    first = run.result().embedding.vectors
    after = run.folds[0].parameters()
    assert all(torch.equal(after[name], before[name]) for name in before)
    assert torch.equal(run.result().embedding.vectors, first)
