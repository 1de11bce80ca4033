"""The bidirectional LSTM against each text on its own, unpadded (Eq. 3 and 4)."""

import pytest
import torch
from torch import Tensor

from dmte.errors import ConfigError
from dmte.text.bilstm import BLOCK, MAX_WORDS, BiLSTM
from dmte.text.vocabulary import TokenizedTexts

DIM = 6
VOCABULARY_SIZE = 11


@pytest.fixture
def encoder() -> BiLSTM:
    return BiLSTM(VOCABULARY_SIZE, DIM, torch.Generator().manual_seed(0)).double()


def random_texts(lengths: list[int]) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randint(VOCABULARY_SIZE, (length,), generator=generator) for length in lengths]


def joined(texts: list[Tensor]) -> TokenizedTexts:
    lengths = torch.tensor([0] + [len(text) for text in texts])
    return TokenizedTexts(torch.cat(texts), lengths.cumsum(0), VOCABULARY_SIZE)


def encode(encoder: BiLSTM, texts: list[Tensor]) -> Tensor:
    with torch.no_grad():
        features: Tensor = encoder(encoder.prepare(joined(texts)))
    return features


def slow_encode(encoder: BiLSTM, texts: list[Tensor]) -> Tensor:
    """Return (1 / |t|) Σ_i (h→_i ⊕ h←_i), text by text."""
    rows = []
    with torch.no_grad():
        for text in texts:
            words = encoder.words[text]
            there = encoder.there(words)[0]
            back = encoder.back(words.flip(0))[0].flip(0)
            rows.append(torch.cat([there, back], dim=1).mean(dim=0))
    return torch.stack(rows)


def test_texts_of_any_length_equal_each_text_on_its_own(encoder: BiLSTM) -> None:
    texts = random_texts([3, 1, 8, 8, 2, 1, 5])
    torch.testing.assert_close(encode(encoder, texts), slow_encode(encoder, texts))


def test_empty_texts_do_not_move_the_others(encoder: BiLSTM) -> None:
    texts = random_texts([0, 3, 0, 0, 5, 1, 0])
    filled = [1, 4, 5]
    features = encode(encoder, texts)
    torch.testing.assert_close(
        features[filled], slow_encode(encoder, [texts[text] for text in filled])
    )
    assert features[[0, 2, 3, 6]].count_nonzero() == 0


def test_more_texts_than_one_block_equal_each_text_on_its_own(encoder: BiLSTM) -> None:
    lengths = torch.randint(1, 6, (2 * BLOCK + 3,), generator=torch.Generator().manual_seed(2))
    texts = random_texts(lengths.tolist())
    assert len(encoder.prepare(joined(texts)).blocks) == 3
    torch.testing.assert_close(encode(encoder, texts), slow_encode(encoder, texts))


@pytest.mark.parametrize("count", [BLOCK - 1, BLOCK, BLOCK + 1])
def test_a_block_is_full_before_the_next_begins(encoder: BiLSTM, count: int) -> None:
    blocks = encoder.prepare(joined(random_texts([1] * count))).blocks
    assert [len(block.texts) for block in blocks] == ([BLOCK, 1] if count > BLOCK else [count])


def test_a_text_longer_than_the_limit_equals_its_first_words(encoder: BiLSTM) -> None:
    texts = random_texts([MAX_WORDS + 50, MAX_WORDS + 1, MAX_WORDS, MAX_WORDS - 1, 2])
    cut = [text[:MAX_WORDS] for text in texts]
    torch.testing.assert_close(encode(encoder, texts), slow_encode(encoder, cut))


def test_the_order_of_the_words_matters(encoder: BiLSTM) -> None:
    (text,) = random_texts([6])
    features = encode(encoder, [text, text.flip(0)])
    assert float((features[0] - features[1]).abs().min()) > 1e-4


def test_parameters_are_drawn_within_the_bound_torch_uses(encoder: BiLSTM) -> None:
    bound = (DIM // 2) ** -0.5
    for parameter in [*encoder.there.parameters(), *encoder.back.parameters()]:
        assert bound / 2 < float(parameter.detach().abs().max()) < bound + 1e-6


@pytest.mark.parametrize("dim", [1, 7])
def test_an_odd_width_is_refused(dim: int) -> None:
    with pytest.raises(ConfigError, match=f"even width of text vectors, not {dim}"):
        BiLSTM(VOCABULARY_SIZE, dim, torch.Generator())
