"""Spectral texts: B V by the dense formula, fixed, and the same for texts that come later."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.utils.extmath import randomized_svd  # type: ignore[import-untyped]
from torch.nn.functional import normalize

from dmte.runtime.seeding import generator_for
from dmte.text import SpectralWords, Vocabulary
from dmte.text.tfidf import strongest_directions

TEXTS = ["red cat", "red red hen", "", "blue hens run", "cats run blue", "a hen runs"]
LONG = [
    f"{text} {' '.join(f'w{i * k % 41}' for k in range(30))}" for i, text in enumerate(TEXTS, 2)
]
GROUPS = {
    "cat": ["<ca", "cat", "<cat"],
    "cats": ["<ca", "cat", "<cat"],
    "hen": ["<he", "hen", "<hen"],
    "hens": ["<he", "hen", "<hen", "ns>"],
    "run": ["<ru", "run", "<run"],
    "runs": ["<ru", "run", "<run", "ns>"],
}
"""The groups of three to five letters that two words of TEXTS have in common, found by eye."""


def started(
    dim: int, seed: int = 0, texts: Sequence[str] = TEXTS
) -> tuple[SpectralWords, Vocabulary]:
    vocabulary = Vocabulary.of(texts)
    encoder = SpectralWords(len(vocabulary), dim, torch.Generator())
    encoder.start(vocabulary.encode(texts), seed)
    return encoder, vocabulary


def dense_words(texts: Sequence[str]) -> np.ndarray:
    """Return the damped TF-IDF rows of length one, written out."""
    words = sorted({word for text in texts for word in text.split()})
    rows = np.zeros((len(texts), len(words)))
    for i, text in enumerate(texts):
        for j, word in enumerate(words):
            with_word = sum(word in other.split() for other in texts)
            rarity = np.log((1 + len(texts)) / with_word)
            rows[i, j] = np.log1p(text.split().count(word)) * rarity
        length = np.linalg.norm(rows[i])
        rows[i] /= length or 1
    return rows


def dense_groups() -> np.ndarray:
    """Return a column for each group of letters, rows of length one, written out."""
    words = sorted({word for text in TEXTS for word in text.split()})
    groups = sorted({group for of_word in GROUPS.values() for group in of_word})
    rows = np.zeros((len(words), len(groups)))
    for i, word in enumerate(words):
        for j, group in enumerate(groups):
            if group in GROUPS.get(word, ()):
                with_group = sum(group in of_word for of_word in GROUPS.values())
                rows[i, j] = np.log(len(words) / with_group)
        rows[i] /= np.linalg.norm(rows[i]) or 1
    return rows


@pytest.mark.parametrize("texts", [TEXTS, LONG], ids=["short", "long"])
@pytest.mark.parametrize("dim", [2, 5])
def test_cosines_are_those_of_the_exact_decomposition(dim: int, texts: Sequence[str]) -> None:
    encoder, vocabulary = started(dim, texts=texts)
    found = encoder(encoder.prepare(vocabulary.encode(texts)))
    words = dense_words(texts)
    if texts is TEXTS:
        words = np.hstack([words, words @ dense_groups()])
    *_, rows = np.linalg.svd(words, full_matrices=False)
    slow = normalize(torch.from_numpy(words @ rows[:dim].T)).float()
    torch.testing.assert_close(found @ found.T, slow @ slow.T, atol=1e-4, rtol=0)


def test_columns_beyond_the_rank_are_zero() -> None:
    encoder, vocabulary = started(dim=20)
    found = encoder.prepare(vocabulary.encode(TEXTS))
    assert found.shape == (6, 20)
    assert not found[:, 8:].any()


def test_the_first_directions_are_those_of_a_wider_start() -> None:
    wide, vocabulary = started(dim=5)
    narrow = wide.narrowed(2)
    assert narrow.dim == 2
    texts = vocabulary.encode(["red hen"])
    whole = weighted_row(wide, vocabulary, "red hen")
    torch.testing.assert_close(narrow.prepare(texts)[0], normalize(whole[:2], dim=0))


def weighted_row(encoder: SpectralWords, vocabulary: Vocabulary, text: str) -> torch.Tensor:
    weights = torch.zeros(len(vocabulary))
    for word in text.split():
        number = vocabulary.words.index(word)
        weights[number] = np.log(2.0) * encoder.rarities[number]
    return normalize(weights, dim=0) @ encoder.directions


def test_a_text_that_comes_later_is_weighed_as_at_the_start() -> None:
    encoder, vocabulary = started(dim=4)
    later = encoder.prepare(vocabulary.encode(["cat hen unheard"]))[0]
    torch.testing.assert_close(
        later, normalize(weighted_row(encoder, vocabulary, "cat hen"), dim=0)
    )


def test_nothing_of_it_is_learned_and_all_of_it_is_stored() -> None:
    encoder, _ = started(dim=3)
    assert list(encoder.parameters()) == []
    assert set(encoder.state_dict()) == {"directions", "rarities"}


@pytest.mark.parametrize("shape", [(50, 80), (80, 50), (30, 30), (200, 5)])
@pytest.mark.parametrize("kind", ["sparse", "dense", "single"])
def test_directions_are_those_of_scikit_learn(shape: tuple[int, int], kind: str) -> None:
    words = sp.csr_array(sp.random_array(shape, density=0.3, rng=np.random.default_rng(1)))
    made: dict[str, Callable[[], Any]] = {
        "sparse": lambda: words,
        "dense": words.toarray,
        "single": lambda: words.astype(np.float32),
    }
    matrix = made[kind]()
    dim, state = min(20, *shape), generator_for(4, "latent features").initial_seed()
    *_, rows = randomized_svd(matrix, dim, n_iter=4, random_state=state)
    found = strongest_directions(matrix, dim, seed=4, num_iterations=4)
    assert found.dtype == rows.dtype
    assert np.allclose(found, rows.T, atol=1e-4 if kind == "single" else 1e-12)
