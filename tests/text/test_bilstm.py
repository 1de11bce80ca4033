"""The bidirectional LSTM against torch's LSTM, one text at a time (Eq. 3 and 4)."""

import pytest
import torch
from torch import Tensor

from dmte.errors import ConfigError
from dmte.runtime.seeding import CUT
from dmte.text.bilstm import BLOCK, INPUT_DEVIATION, MAX_WORDS, BiLSTM
from dmte.text.vocabulary import TokenizedTexts

DIM = 6
VOCABULARY_SIZE = 11
WORDS = [f"w{number}" for number in range(VOCABULARY_SIZE)]


@pytest.fixture
def encoder() -> BiLSTM:
    return BiLSTM(VOCABULARY_SIZE, DIM, torch.Generator().manual_seed(0)).double()


def random_texts(lengths: list[int]) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randint(VOCABULARY_SIZE, (length,), generator=generator) for length in lengths]


def joined(texts: list[Tensor]) -> TokenizedTexts:
    lengths = torch.tensor([0] + [len(text) for text in texts])
    return TokenizedTexts(torch.cat(texts), lengths.cumsum(0), WORDS)


def encode(encoder: BiLSTM, texts: list[Tensor]) -> Tensor:
    with torch.no_grad():
        features: Tensor = encoder(encoder.prepare(joined(texts)))
    return features


def slow_row(encoder: BiLSTM, text: Tensor) -> Tensor:
    """Compute (1 / |t|) Σ_i (h→_i ⊕ h←_i) with torch's LSTM."""
    words = encoder.words[text]
    there = encoder.there(words)[0]
    back = encoder.back(words.flip(0))[0].flip(0)
    return torch.cat([there, back], dim=1).mean(dim=0)


def slow_encode(encoder: BiLSTM, texts: list[Tensor]) -> Tensor:
    """Encode one text at a time."""
    with torch.no_grad():
        return torch.stack([slow_row(encoder, text) for text in texts])


def test_texts_of_any_length_equal_one_text_at_a_time(encoder: BiLSTM) -> None:
    texts = random_texts([3, 1, 8, 8, 2, 1, 5])
    torch.testing.assert_close(encode(encoder, texts), slow_encode(encoder, texts))


def test_empty_texts_are_zero_and_do_not_affect_others(encoder: BiLSTM) -> None:
    texts = random_texts([0, 3, 0, 0, 5, 1, 0])
    filled = [1, 4, 5]
    features = encode(encoder, texts)
    torch.testing.assert_close(
        features[filled], slow_encode(encoder, [texts[text] for text in filled])
    )
    assert features[[0, 2, 3, 6]].count_nonzero() == 0


@pytest.mark.medium
def test_several_blocks_equal_one_text_at_a_time(encoder: BiLSTM) -> None:
    lengths = torch.randint(1, 4, (2 * BLOCK + 3,), generator=torch.Generator().manual_seed(2))
    texts = random_texts(lengths.tolist())
    assert len(encoder.prepare(joined(texts)).blocks) == 3
    torch.testing.assert_close(encode(encoder, texts), slow_encode(encoder, texts))


def test_the_gradient_equals_that_of_one_text_at_a_time(encoder: BiLSTM) -> None:
    texts = random_texts([3, 0, 1, 8, 8, 2, 0, 1, 5])
    filled = [text for text in texts if len(text)]
    upstream = torch.randn(len(filled), DIM, generator=torch.Generator().manual_seed(3)).double()
    slow_rows = torch.stack([slow_row(encoder, text) for text in filled])
    slow = torch.autograd.grad((slow_rows * upstream).sum(), list(encoder.parameters()))
    rows = encoder(encoder.prepare(joined(texts)))
    rows = rows[[at for at, text in enumerate(texts) if len(text)]]
    fast = torch.autograd.grad((rows * upstream).sum(), list(encoder.parameters()))
    for one, other in zip(fast, slow, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("count", [BLOCK - 1, BLOCK, BLOCK + 1])
def test_a_block_is_filled_before_the_next_begins(encoder: BiLSTM, count: int) -> None:
    blocks = encoder.prepare(joined(random_texts([1] * count))).blocks
    assert [block.num_texts for block in blocks] == ([BLOCK, 1] if count > BLOCK else [count])


def test_a_text_above_the_limit_equals_its_first_words(encoder: BiLSTM) -> None:
    texts = random_texts([MAX_WORDS + 50, MAX_WORDS + 1, MAX_WORDS, MAX_WORDS - 1, 2])
    cut = [text[:MAX_WORDS] for text in texts]
    torch.testing.assert_close(encode(encoder, texts), slow_encode(encoder, cut))


def test_the_order_of_the_words_matters(encoder: BiLSTM) -> None:
    (text,) = random_texts([6])
    features = encode(encoder, [text, text.flip(0)])
    assert float((features[0] - features[1]).abs().min()) > 1e-4


def test_parameters_are_drawn_within_torch_s_bound(encoder: BiLSTM) -> None:
    bound = (DIM // 2) ** -0.5
    for name, parameter in [*encoder.there.named_parameters(), *encoder.back.named_parameters()]:
        if name != "weight_ih_l0":
            assert bound / 2 < float(parameter.detach().abs().max()) < bound + 1e-6


def test_input_weights_have_the_documented_deviation() -> None:
    wide = BiLSTM(VOCABULARY_SIZE, 100, torch.Generator().manual_seed(0))
    for unit in (wide.there, wide.back):
        weights = unit.get_parameter("weight_ih_l0").detach()
        assert weights.shape == (200, 100)
        # A Gaussian truncated at two deviations has a deviation of 0.88.
        assert float(weights.std()) == pytest.approx(0.88 * INPUT_DEVIATION, rel=0.02)
        assert float(weights.abs().max()) <= CUT * INPUT_DEVIATION


@pytest.mark.parametrize("dim", [1, 7])
def test_an_odd_width_raises(dim: int) -> None:
    with pytest.raises(ConfigError, match=f"width of a Bi-LSTM must be even, not {dim}"):
        BiLSTM(VOCABULARY_SIZE, dim, torch.Generator())
