"""The spectral encoder against the dense formula, for initial and for new texts."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from dmte.text import SpectralWords, Vocabulary

TEXTS = ["red cat", "red red hen", "", "blue hens run", "cats run blue", "a hen runs"]
LONG = [
    f"{text} {' '.join(f'w{i * k % 41}' for k in range(30))}" for i, text in enumerate(TEXTS, 2)
]
NGRAMS = {
    "cat": ["<ca", "cat", "<cat"],
    "cats": ["<ca", "cat", "<cat"],
    "hen": ["<he", "hen", "<hen"],
    "hens": ["<he", "hen", "<hen", "ns>"],
    "run": ["<ru", "run", "<run"],
    "runs": ["<ru", "run", "<run", "ns>"],
}
"""The n-grams of three to five characters that two words of TEXTS share, listed by hand."""


def started(
    dim: int, seed: int = 0, texts: Sequence[str] = TEXTS
) -> tuple[SpectralWords, Vocabulary]:
    vocabulary = Vocabulary.of(texts)
    encoder = SpectralWords(len(vocabulary), dim, torch.Generator())
    encoder.start(vocabulary.encode(texts), seed)
    return encoder, vocabulary


def dense_words(texts: Sequence[str]) -> np.ndarray:
    """Compute the damped TF-IDF rows of length 1 with loops."""
    words = sorted({word for text in texts for word in text.split()})
    rows = np.zeros((len(texts), len(words)))
    for i, text in enumerate(texts):
        for j, word in enumerate(words):
            with_word = sum(word in other.split() for other in texts)
            idf = np.log((1 + len(texts)) / with_word)
            rows[i, j] = np.log1p(text.split().count(word)) * idf
        length = np.linalg.norm(rows[i])
        rows[i] /= length or 1
    return rows


def dense_ngrams() -> np.ndarray:
    """Compute one column per n-gram with loops; rows have length 1."""
    words = sorted({word for text in TEXTS for word in text.split()})
    ngrams = sorted({ngram for of_word in NGRAMS.values() for ngram in of_word})
    rows = np.zeros((len(words), len(ngrams)))
    for i, word in enumerate(words):
        for j, ngram in enumerate(ngrams):
            if ngram in NGRAMS.get(word, ()):
                with_ngram = sum(ngram in of_word for of_word in NGRAMS.values())
                rows[i, j] = np.log(len(words) / with_ngram)
        rows[i] /= np.linalg.norm(rows[i]) or 1
    return rows


@pytest.mark.parametrize("texts", [TEXTS, LONG], ids=["short", "long"])
@pytest.mark.parametrize("dim", [2, 5])
def test_cosines_equal_those_of_the_exact_svd(dim: int, texts: Sequence[str]) -> None:
    encoder, vocabulary = started(dim, texts=texts)
    found = encoder(encoder.prepare(vocabulary.encode(texts)))
    words = dense_words(texts)
    if texts is TEXTS:
        words = np.hstack([words, words @ dense_ngrams()])
    *_, rows = np.linalg.svd(words, full_matrices=False)
    slow = normalize(torch.from_numpy(words @ rows[:dim].T)).float()
    torch.testing.assert_close(found @ found.T, slow @ slow.T, atol=1e-4, rtol=0)


def test_columns_beyond_the_rank_are_zero() -> None:
    encoder, vocabulary = started(dim=20)
    found = encoder(encoder.prepare(vocabulary.encode(TEXTS)))
    assert found.shape == (6, 20)
    assert not found[:, 8:].any()


def test_narrowing_keeps_the_first_directions() -> None:
    wide, vocabulary = started(dim=5)
    narrow = wide.narrowed(2)
    assert narrow.dim == 2
    texts = vocabulary.encode(["red hen"])
    whole = weighted_row(wide, vocabulary, "red hen")
    torch.testing.assert_close(narrow(narrow.prepare(texts))[0], normalize(whole[:2], dim=0))


def weighted_row(encoder: SpectralWords, vocabulary: Vocabulary, text: str) -> torch.Tensor:
    weights = torch.zeros(len(vocabulary))
    for word in text.split():
        number = vocabulary.words.index(word)
        weights[number] = np.log(2.0) * encoder.rarities[number]
    return normalize(weights, dim=0) @ encoder.directions


def test_a_new_text_uses_the_idf_of_the_initial_texts() -> None:
    encoder, vocabulary = started(dim=4)
    later = encoder(encoder.prepare(vocabulary.encode(["cat hen unheard"])))[0]
    torch.testing.assert_close(
        later, normalize(weighted_row(encoder, vocabulary, "cat hen"), dim=0)
    )


def test_it_has_buffers_and_no_parameters() -> None:
    encoder, _ = started(dim=3)
    assert list(encoder.parameters()) == []
    assert set(encoder.state_dict()) == {"directions", "rarities"}
