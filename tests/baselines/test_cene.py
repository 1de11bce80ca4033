"""CENE: its loss against the sums of the paper, and what its vectors must know."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from dmte.baselines import cene
from dmte.baselines.cene import (
    CONTENT_ENCODERS,
    SHARED_DRAWS,
    SMALLEST_BATCH,
    Cene,
    CeneTrainer,
    Links,
    contents_loss,
    vertices_loss,
)
from dmte.errors import ConfigError
from dmte.metrics import auc
from dmte.network import TextualNetwork
from dmte.network.synthetic import PlantedTopics
from dmte.runtime.seeding import generator_for

WEIGHTED = TextualNetwork(
    ids=("a", "b", "c", "d", "e"),
    texts=("red fox", "red hen red", "", "blue sea", ""),
    edges=torch.tensor([[0, 1], [1, 2]]),
    weights=torch.tensor([1.0, 2.5]),
)
"""Vertex 2 has edges and no words, 3 words and no edges, 4 neither."""


def random_rows(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()


def log_sigmoid(score: Tensor) -> Tensor:
    return torch.log(1 / (1 + torch.exp(-score)))


def gradients(loss: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
    return torch.autograd.grad(loss, inputs)


def test_the_loss_of_edges_and_its_gradients_equal_the_loop() -> None:
    sources, targets, negatives = random_rows(4, 3), random_rows(4, 3, seed=1), random_rows(6, 3)
    weights = torch.tensor([1.0, 0.5, 2.0, 3.0], dtype=torch.float64)
    slow = torch.zeros((), dtype=torch.float64)
    for i in range(4):
        expected_negative = sum(log_sigmoid(-sources[i] @ n) for n in negatives) / 6
        slow = slow - weights[i] * (log_sigmoid(sources[i] @ targets[i]) + 5 * expected_negative)
    fast = vertices_loss(sources, targets, negatives, weights, num_negatives=5)
    torch.testing.assert_close(fast, slow)
    rows = (sources, targets, negatives)
    for found, expected in zip(gradients(fast, *rows), gradients(slow, *rows), strict=True):
        torch.testing.assert_close(found, expected)


def test_the_loss_of_texts_and_its_gradients_equal_the_loop() -> None:
    vertices, contents = random_rows(5, 3), random_rows(5, 3, seed=1)
    slow = torch.zeros((), dtype=torch.float64)
    for i in range(5):
        others = [contents[n] for n in range(5) if n != i]
        expected_negative = sum(log_sigmoid(-vertices[i] @ n) for n in others) / 4
        slow = slow - log_sigmoid(vertices[i] @ contents[i]) - 7 * expected_negative
    fast = contents_loss(vertices, contents, num_negatives=7)
    torch.testing.assert_close(fast, slow)
    rows = (vertices, contents)
    for found, expected in zip(gradients(fast, *rows), gradients(slow, *rows), strict=True):
        torch.testing.assert_close(found, expected)


def test_a_text_alone_has_no_negatives() -> None:
    vertex, content = random_rows(1, 3), random_rows(1, 3, seed=1)
    expected = -log_sigmoid((vertex * content).sum())
    torch.testing.assert_close(contents_loss(vertex, content, num_negatives=9), expected)


@pytest.mark.parametrize("encoder", list(CONTENT_ENCODERS))
@pytest.mark.parametrize("chunk", [2, 512])
def test_a_step_weighs_the_two_losses_by_alpha(
    encoder: str, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cene, "CHUNK", chunk)
    method = Cene(dim=4, encoder=encoder, edge_share=0.3, num_negatives=2, num_content_negatives=3)
    trainer = CeneTrainer(WEIGHTED, method, seed=0)
    u, v = trainer.vectors[:, :2], trainer.vectors[:, 2:]
    drawn = trainer._noise.draw(SHARED_DRAWS, generator_for(0, "test"))
    directed = [(0, 1, 1.0), (1, 0, 1.0), (1, 2, 2.5), (2, 1, 2.5)]
    vertices = torch.zeros(())
    for i, j, weight in directed:
        negative = log_sigmoid(-(v[drawn] @ u[i])).mean()
        vertices = vertices - weight * (log_sigmoid(u[i] @ v[j]) + 2 * negative)
    x = trainer.encoder(trainer.encoder.prepare(trainer.tokens))
    groups = [[0, 1], [3]] if chunk == 2 else [[0, 1, 3]]
    contents = torch.stack(
        [contents_loss(trainer.vectors[group], x[group], 3) for group in groups]
    ).sum()
    found = trainer.loss(torch.arange(4), torch.tensor([0, 1, 3]), generator_for(0, "test"))
    num_texts, sum_of_weights = 3, 7
    expected = 0.3 * vertices / sum_of_weights + 0.7 * contents / num_texts
    torch.testing.assert_close(found / num_texts, expected)


def test_a_pass_meets_every_link_once() -> None:
    drawn = PlantedTopics().draw(torch.Generator().manual_seed(0))
    links = CeneTrainer(drawn, Cene(dim=2), seed=0).links
    edges, texts = zip(*links.batches(torch.Generator()), strict=True)
    assert torch.equal(torch.cat(edges).sort().values, torch.arange(len(links.sources)))
    assert torch.equal(torch.cat(texts).sort().values, torch.arange(drawn.num_vertices))
    assert min(map(len, texts)) >= SMALLEST_BATCH - 1


def test_links_are_both_directions_and_the_texts_that_have_words() -> None:
    links = CeneTrainer(WEIGHTED, Cene(dim=2), seed=0).links
    assert isinstance(links, Links)
    found = zip(links.sources.tolist(), links.targets.tolist(), links.weights.tolist(), strict=True)
    assert sorted(found) == [(0, 1, 1.0), (1, 0, 1.0), (1, 2, 2.5), (2, 1, 2.5)]
    assert links.with_words.tolist() == [0, 1, 3]


def test_a_vertex_with_neither_edges_nor_words_has_the_zero_vector() -> None:
    vectors = Cene(dim=8, epochs=5).fit(WEIGHTED, 0).vectors
    assert vectors[4].count_nonzero() == 0
    assert bool(vectors[:4].count_nonzero(dim=1).all())


def topic_auc(vectors: Tensor, some: Tensor) -> float:
    """Return how well the vectors tell pairs of one topic (vertex modulo 4) from the others."""
    chosen = vectors[some]
    scores = chosen @ vectors.T
    is_same = some.unsqueeze(1) % 4 == torch.arange(len(vectors)) % 4
    is_other = some.unsqueeze(1) != torch.arange(len(vectors))
    return auc(scores[is_same & is_other], scores[~is_same])


def planted() -> TextualNetwork:
    return PlantedTopics(own_word_probability=0.9).draw(torch.Generator().manual_seed(0))


@pytest.mark.medium
@pytest.mark.parametrize("encoder", list(CONTENT_ENCODERS))
def test_vertices_without_edges_are_placed_by_their_texts(encoder: str) -> None:
    drawn = planted()
    kept = drawn.with_edges(drawn.edges[(drawn.edges >= 12).all(dim=1)])
    method = Cene(dim=16, encoder=encoder, epochs=20, learning_rate=0.03)
    assert topic_auc(method.fit(kept, 0).vectors, torch.arange(12)) > 0.7


@pytest.mark.medium
def test_texts_alone_and_edges_alone_both_teach_the_topics() -> None:
    drawn, method = planted(), Cene(dim=16, epochs=20, learning_rate=0.03)
    everything = torch.arange(drawn.num_vertices)
    without_edges = drawn.with_edges(drawn.edges[:0])
    assert topic_auc(method.fit(without_edges, 0).vectors, everything) > 0.75
    without_texts = TextualNetwork(
        ids=drawn.ids, texts=[""] * drawn.num_vertices, edges=drawn.edges
    )
    assert topic_auc(method.fit(without_texts, 0).vectors, everything) > 0.75


def test_the_share_of_the_edges_may_be_all_or_nothing() -> None:
    def fitted(share: float, network: TextualNetwork) -> Tensor:
        return Cene(dim=4, epochs=3, edge_share=share).fit(network, 0).vectors

    fewer = WEIGHTED.with_edges(WEIGHTED.edges[:1])
    assert not torch.equal(fitted(1.0, WEIGHTED), fitted(1.0, fewer))
    texts_only = fitted(0.0, WEIGHTED)[:2]
    torch.testing.assert_close(texts_only, fitted(0.0, fewer)[:2])


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("dim", 7),
        ("dim", 0),
        ("edge_share", 1.5),
        ("encoder", "transformer"),
        ("num_negatives", 0),
        ("num_content_negatives", 0),
        ("epochs", 0),
        ("learning_rate", 0.0),
    ],
)
def test_an_invalid_setting_raises_with_its_name(setting: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=setting):
        replace(Cene(), **{setting: value})
