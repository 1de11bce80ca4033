"""Doc2vec: against its objective, written out."""

import math

import pytest
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from dmte.baselines.doc2vec import CHUNK, Doc2Vec, TextReader, kept_probabilities, text_gradients
from dmte.baselines.skipgram import AdagradTable
from dmte.errors import ConfigError
from dmte.network import TextualNetwork
from dmte.text import Vocabulary

WORDLESS = 11  # Of the network ``planted``.
OWNERS = [0, 0, 0, 2, 2, 3]  # Text 1 has lost all its words.
WORDS = [4, 1, 4, 0, 1, 2]
DRAWN = [1, 1, 3, 0, 2]
NUM_NEGATIVES = 3
QUICK = Doc2Vec(dim=16, epochs=5)


def slow_objective(inputs: Tensor, contexts: Tensor) -> Tensor:
    """Return the objective word by word."""
    total = torch.zeros((), dtype=inputs.dtype)
    for owner, word in zip(OWNERS, WORDS, strict=True):
        repulsion = [logsigmoid(-inputs[owner] @ contexts[other]) for other in DRAWN]
        total = total + logsigmoid(inputs[owner] @ contexts[word])
        total = total + NUM_NEGATIVES * torch.stack(repulsion).mean()
    return total


def test_gradients_are_those_of_the_objective_word_by_word() -> None:
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(4, 6, generator=generator, dtype=torch.float64, requires_grad=True)
    contexts = torch.randn(5, 6, generator=generator, dtype=torch.float64, requires_grad=True)
    of_inputs, of_contexts = torch.autograd.grad(
        slow_objective(inputs, contexts), [inputs, contexts]
    )
    words, drawn = torch.tensor(WORDS), torch.tensor(DRAWN)
    values = contexts.detach()
    found = text_gradients(
        inputs.detach(), values[words], values[drawn], torch.tensor(OWNERS), NUM_NEGATIVES
    )
    scattered = torch.zeros_like(values).index_add_(0, words, found.contexts)
    scattered.index_add_(0, drawn, found.negatives)
    torch.testing.assert_close(found.inputs, of_inputs)
    torch.testing.assert_close(scattered, of_contexts)


def test_frequent_words_are_subsampled_and_rare_ones_kept() -> None:
    counts = torch.tensor([1, 10, 400, 589])
    expected = [1.0, 1.0, math.sqrt(0.01 / 0.4), math.sqrt(0.01 / 0.589)]
    torch.testing.assert_close(kept_probabilities(counts, 0.01), torch.tensor(expected))
    # Below one word in all there is no threshold.
    assert kept_probabilities(counts, 1e-9)[0] == 1


def test_words_per_pass_is_the_expected_number() -> None:
    texts = Vocabulary.of(["of of of of of of of of rare", "of rose"]).encode(["of " * 9 + "rose"])
    inputs = AdagradTable(torch.ones(1, 4))
    reader = TextReader(texts, torch.arange(1), inputs, num_negatives=1, subsampling=0.1)
    expected = 1 + 9 * math.sqrt(0.1 / 0.9)
    assert reader.words_per_pass() == pytest.approx(expected, rel=1e-5)


def test_a_text_longer_than_a_chunk_is_read_to_its_end() -> None:
    # The rare word is the last of the first text, and beside one of the third.
    long, short = "sand " * (2 * CHUNK) + "pearl", "pearl"
    network = TextualNetwork(
        ids=tuple("abcd"), texts=(long, "", short, "sea"), edges=torch.empty(0, 2).long()
    )
    vectors = Doc2Vec(dim=8, epochs=20, subsampling=1e-9, learning_rate=0.3).fit(network, 0).vectors
    assert vectors[0] @ vectors[2] > vectors[3] @ vectors[2]


@pytest.mark.medium
def test_texts_that_share_words_come_close() -> None:
    texts = ("red fox den", "fox red paw", "blue whale sea", "whale blue fin") * 4
    network = TextualNetwork(
        ids=[str(number) for number in range(16)], texts=texts, edges=torch.empty(0, 2).long()
    )
    vectors = Doc2Vec(dim=8, epochs=20, learning_rate=0.3).fit(network, 0).vectors
    cosine = vectors @ vectors.T
    assert cosine[0, 1] > cosine[0, 2] + 0.5
    assert cosine[2, 3] > cosine[1, 3] + 0.5


def test_a_vector_has_length_one_and_an_empty_text_none(planted: TextualNetwork) -> None:
    embedding = QUICK.fit(planted, 0)
    expected = torch.ones(planted.num_vertices)
    expected[WORDLESS] = 0
    torch.testing.assert_close(embedding.vectors.norm(dim=1), expected)
    assert embedding.text_dim == QUICK.dim


@pytest.mark.parametrize(
    "settings",
    [{"dim": 0}, {"num_negatives": 0}, {"subsampling": 0.0}, {"epochs": 0}, {"learning_rate": 0.0}],
)
def test_a_setting_of_zero_raises(settings: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=f"{next(iter(settings))} must be above 0, not 0"):
        Doc2Vec(**settings)
