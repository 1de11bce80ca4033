"""Learned word weights against the dense formula, during and after training."""

from collections.abc import Sequence

import numpy as np
import torch
from torch.nn.functional import normalize

from dmte.text import LearnedWeights, SpectralWords, TokenizedTexts, Vocabulary

TEXTS = ["red cat", "red red hen", "", "blue hens run", "cats run blue", "a hen runs"]


def started(dtype: torch.dtype = torch.float32) -> tuple[SpectralWords, TokenizedTexts]:
    """Return a started encoder with four directions, and its texts."""
    vocabulary = Vocabulary.of(TEXTS)
    encoder = SpectralWords(len(vocabulary), 4, torch.Generator()).to(dtype)
    texts = vocabulary.encode(TEXTS)
    encoder.start(texts, seed=0)
    return encoder, texts


def dense_words(texts: Sequence[str]) -> torch.Tensor:
    """Compute the damped TF-IDF rows with loops."""
    words = sorted({word for text in texts for word in text.split()})
    rows = torch.zeros(len(texts), len(words), dtype=torch.float64)
    for i, text in enumerate(texts):
        for j, word in enumerate(words):
            idf = np.log((1 + len(texts)) / sum(word in other.split() for other in texts))
            rows[i, j] = np.log1p(text.split().count(word)) * idf
    return rows


def dense_value(encoder: SpectralWords, emphasis: torch.Tensor) -> torch.Tensor:
    weighed = dense_words(TEXTS) @ torch.diag(emphasis.double().exp())
    return normalize(weighed @ encoder.directions.double())


def test_the_initial_output_is_that_of_the_spectral_encoder() -> None:
    encoder, texts = started()
    learner = LearnedWeights(encoder)
    torch.testing.assert_close(learner(learner.prepare(texts)), encoder(encoder.prepare(texts)))


def test_weights_are_factors_on_the_idf_and_can_be_folded_into_it() -> None:
    encoder, texts = started()
    learner = LearnedWeights(encoder)
    learner.emphasis.data = torch.linspace(-1, 1, len(encoder.rarities))
    slow = dense_value(encoder, learner.emphasis).float()
    torch.testing.assert_close(learner(learner.prepare(texts)), slow)
    folded = learner.fold_weights()
    torch.testing.assert_close(folded(folded.prepare(texts)), slow)
    assert list(folded.parameters()) == []
    assert set(folded.state_dict()) == {"directions", "rarities"}


def test_the_gradient_equals_that_of_the_dense_formula() -> None:
    encoder, texts = started(torch.float64)
    learner = LearnedWeights(encoder)
    start = torch.linspace(-1, 1, len(encoder.rarities), dtype=torch.float64)
    upstream = torch.randn(6, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)

    def value(emphasis: torch.Tensor) -> torch.Tensor:
        return (dense_value(encoder, emphasis) * upstream).sum()

    slow = torch.autograd.functional.jacobian(value, start)
    learner.emphasis.data = start
    (learner(learner.prepare(texts)) * upstream).sum().backward()
    torch.testing.assert_close(learner.emphasis.grad, slow, atol=1e-6, rtol=1e-6)


def test_several_learners_share_directions_but_not_weights() -> None:
    encoder, _ = started()
    one, other = LearnedWeights(encoder), LearnedWeights(encoder)
    assert one.words.directions.data_ptr() == other.words.directions.data_ptr()
    before = encoder.rarities.clone()
    one.emphasis.data += 1.0
    folded = one.fold_weights()
    assert not other.emphasis.any()
    torch.testing.assert_close(folded.rarities, before * np.e)
    assert torch.equal(encoder.rarities, before)
    assert folded.directions.data_ptr() == encoder.directions.data_ptr()
