"""Character n-grams: when they are used, and the similarity of related words."""

import numpy as np
import pytest
import torch
from torch import Tensor

from dmte.network import TextualNetwork
from dmte.settings import Settings
from dmte.text import Vocabulary
from dmte.text.subwords import are_short, subword_matrix
from dmte.training.run import TrainingRun


def texts_of(*lengths: int) -> list[str]:
    return [" ".join(f"w{k}" for k in range(length)) for length in lengths]


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([19, 19, 60], True),
        ([20, 20, 3], False),
        ([60] * 4 + [0] * 6, False),
        ([8, 0, 0], True),
        ([0, 0], False),
        ([], False),
    ],
)
def test_the_median_length_of_nonempty_texts_decides(lengths: list[int], *, expected: bool) -> None:
    texts = texts_of(*lengths)
    assert are_short(Vocabulary.of(texts).encode(texts)) == expected


def test_related_words_share_ngrams_and_others_do_not() -> None:
    parts = subword_matrix(["graph", "graphs", "network", "networking", "sea"])
    cosines = (parts @ parts.T).toarray() / 2
    assert cosines[0, 1] > 0.4
    assert cosines[2, 3] > 0.4
    others = np.triu(cosines, 1)
    others[0, 1] = others[2, 3] = 0
    assert not others.any()


@pytest.mark.parametrize("words", [[], ["a"], ["same"], ["字", "書"], ["x" * 10_000]])
def test_words_without_shared_ngrams_give_the_identity(words: list[str]) -> None:
    parts = subword_matrix(words).toarray()
    assert np.array_equal(parts, np.eye(len(words)))


@pytest.mark.medium
def test_the_setting_overrides_the_length_of_texts(planted: TextualNetwork) -> None:
    def directions(*, letters: bool | None) -> Tensor:
        run = TrainingRun(planted, Settings(dim=16, letters=letters), seed=0)
        return run.result().model.encoder.get_buffer("directions")

    with_ngrams, words_only = directions(letters=True), directions(letters=False)
    assert not torch.equal(with_ngrams, words_only)
    assert torch.equal(directions(letters=None), with_ngrams)  # A dozen words each.
