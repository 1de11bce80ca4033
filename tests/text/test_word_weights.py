"""Weights of words: factors beside their rarity by the dense formula, and part of it in the end."""

from collections.abc import Sequence

import numpy as np
import torch
from torch.nn.functional import normalize

from dmte.text import LearnedWeights, SpectralWords, TokenizedTexts, Vocabulary

TEXTS = ["red cat", "red red hen", "", "blue hens run", "cats run blue", "a hen runs"]


def started(dtype: torch.dtype = torch.float32) -> tuple[SpectralWords, TokenizedTexts]:
    """Return an encoder of four directions, and the texts it was started from."""
    vocabulary = Vocabulary.of(TEXTS)
    encoder = SpectralWords(len(vocabulary), 4, torch.Generator()).to(dtype)
    texts = vocabulary.encode(TEXTS)
    encoder.start(texts, seed=0)
    return encoder, texts


def dense_words(texts: Sequence[str]) -> torch.Tensor:
    """Return the damped TF-IDF rows, written out."""
    words = sorted({word for text in texts for word in text.split()})
    rows = torch.zeros(len(texts), len(words), dtype=torch.float64)
    for i, text in enumerate(texts):
        for j, word in enumerate(words):
            rarity = np.log((1 + len(texts)) / sum(word in other.split() for other in texts))
            rows[i, j] = np.log1p(text.split().count(word)) * rarity
    return rows


def dense_value(encoder: SpectralWords, emphasis: torch.Tensor) -> torch.Tensor:
    weighed = dense_words(TEXTS) @ torch.diag(emphasis.double().exp())
    return normalize(weighed @ encoder.directions.double())


def test_they_start_from_the_rarity() -> None:
    encoder, texts = started()
    learner = LearnedWeights(encoder)
    torch.testing.assert_close(learner(learner.prepare(texts)), encoder.prepare(texts))


def test_they_are_factors_beside_it_and_part_of_it_once_they_are_learned() -> None:
    encoder, texts = started()
    learner = LearnedWeights(encoder)
    learner.emphasis.data = torch.linspace(-1, 1, len(encoder.rarities))
    slow = dense_value(encoder, learner.emphasis).float()
    torch.testing.assert_close(learner(learner.prepare(texts)), slow)
    settled = learner.fold_weights()
    torch.testing.assert_close(settled.prepare(texts), slow)
    assert list(settled.parameters()) == []
    assert set(settled.state_dict()) == {"directions", "rarities"}


def test_their_gradient_is_that_of_the_dense_formula() -> None:
    encoder, texts = started(torch.float64)
    learner = LearnedWeights(encoder)
    start = torch.linspace(-1, 1, len(encoder.rarities), dtype=torch.float64)
    wanted = torch.randn(6, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)

    def value(emphasis: torch.Tensor) -> torch.Tensor:
        return (dense_value(encoder, emphasis) * wanted).sum()

    slow = torch.autograd.functional.jacobian(value, start)
    learner.emphasis.data = start
    (learner(learner.prepare(texts)) * wanted).sum().backward()
    torch.testing.assert_close(learner.emphasis.grad, slow, atol=1e-6, rtol=1e-6)


def test_learners_share_tables_and_not_what_they_learn() -> None:
    encoder, _ = started()
    one, other = LearnedWeights(encoder), LearnedWeights(encoder)
    assert one.words.directions.data_ptr() == other.words.directions.data_ptr()
    before = encoder.rarities.clone()
    one.emphasis.data += 1.0
    settled = one.fold_weights()
    assert not other.emphasis.any()
    torch.testing.assert_close(settled.rarities, before * np.e)
    assert torch.equal(encoder.rarities, before)
    assert settled.directions.data_ptr() == encoder.directions.data_ptr()
