"""The guarantees of text/encoder.py for every encoder; the word average against Eq. 2."""

from dataclasses import fields
from typing import Any, get_args

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck
from torch.func import functional_call

from dmte.errors import ConfigError
from dmte.settings import ENCODER_TRAITS, Encoder
from dmte.text import (
    ENCODERS,
    EncoderInput,
    FeatureRows,
    FrozenEncoder,
    PrecomputedFeatures,
    SpectralWords,
    TextEncoder,
    Vocabulary,
    WordAverage,
)
from dmte.text.gru import BiGru, Gru

TEXTS = [
    "graph embedding with text",
    "a graph",
    "",
    "text of a graph of a text and so on",
    "embedding",
    "and and and",
]
VOCABULARY = Vocabulary.of(TEXTS)
DIM = 6
EVERY_ENCODER: dict[str, type[TextEncoder[Any, Any]]] = {**ENCODERS, "gru": Gru, "bigru": BiGru}
"""The encoders of DMTE and those of CENE."""

LEARNED = [name for name in EVERY_ENCODER if name not in ("spectral", "features")]


def make(name: str, seed: int = 0) -> TextEncoder[Any, Any]:
    encoder = EVERY_ENCODER[name](len(VOCABULARY), DIM, torch.Generator().manual_seed(seed))
    if isinstance(encoder, SpectralWords):
        encoder.start(VOCABULARY.encode(TEXTS), seed)
    if isinstance(encoder, PrecomputedFeatures):
        encoder.start(as_features(TEXTS), seed)
    return encoder


def as_features(texts: list[str]) -> FeatureRows:
    """Convert texts to features as an external model might, here word frequencies."""
    return FeatureRows(torch.from_numpy(VOCABULARY.encode(texts).bag_of_words().toarray()))


def test_settings_have_the_properties_of_every_encoder() -> None:
    assert set(get_args(Encoder)) == set(ENCODERS) == set(ENCODER_TRAITS)
    for name, kind in ENCODERS.items():
        traits = ENCODER_TRAITS[name]
        assert traits.is_frozen == issubclass(kind, FrozenEncoder), name
        assert traits.reads_words != issubclass(kind, PrecomputedFeatures), name
        assert traits.has_word_settings == issubclass(kind, SpectralWords), name
        has_parts = make(name).word_parts(VOCABULARY.encode(TEXTS)) if traits.reads_words else None
        assert (traits.reads_words and not traits.reads_order) == (has_parts is not None), name


@pytest.mark.parametrize("name", ENCODERS)
def test_every_width_that_settings_accept_makes_an_encoder(name: str) -> None:
    half = ENCODER_TRAITS[name].dim_multiple // 2
    assert ENCODERS[name](3, half, torch.Generator()).dim == half
    if half > 1:
        with pytest.raises(ConfigError):
            ENCODERS[name](3, half // 2, torch.Generator())


@pytest.fixture(params=list(EVERY_ENCODER))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def encoder(name: str) -> TextEncoder[Any, Any]:
    return make(name).double()


def encode(encoder: TextEncoder[Any, Any], texts: list[str]) -> Tensor:
    features: Tensor = encoder(encoder.prepare(input_of(encoder, texts)))
    return features


def input_of(encoder: TextEncoder[Any, Any], texts: list[str]) -> EncoderInput:
    needs_features = isinstance(encoder, PrecomputedFeatures)
    return as_features(texts) if needs_features else VOCABULARY.encode(texts)


def test_there_is_one_row_per_text(encoder: TextEncoder[Any, Any]) -> None:
    assert encoder.dim == DIM
    for count in (0, 1, len(TEXTS)):
        features = encode(encoder, TEXTS[:count])
        assert features.shape == (count, DIM)
        assert features.dtype == torch.float64


def test_texts_of_different_words_have_different_rows(encoder: TextEncoder[Any, Any]) -> None:
    features = encode(encoder, TEXTS)
    assert len(features.unique(dim=0)) == len(TEXTS)


def test_a_row_does_not_depend_on_other_texts(encoder: TextEncoder[Any, Any]) -> None:
    together = encode(encoder, TEXTS)
    alone = torch.cat([encode(encoder, [text]) for text in TEXTS])
    torch.testing.assert_close(together, alone)


def test_reordering_texts_reorders_rows(
    encoder: TextEncoder[Any, Any],
) -> None:
    order = [3, 5, 0, 2, 2, 1, 4]
    shuffled = encode(encoder, [TEXTS[text] for text in order])
    torch.testing.assert_close(shuffled, encode(encoder, TEXTS)[order])


def test_a_text_without_a_known_word_has_the_zero_vector(encoder: TextEncoder[Any, Any]) -> None:
    features = encode(encoder, ["", "a graph", "unheard words", "?!"])
    assert features[[0, 2, 3]].count_nonzero() == 0
    assert features[1].count_nonzero() >= DIM - 1  # Six texts, one of them empty, have rank five.


def test_texts_may_all_be_empty(encoder: TextEncoder[Any, Any]) -> None:
    assert torch.equal(encode(encoder, ["", ""]), torch.zeros(2, DIM, dtype=torch.float64))


def test_a_vocabulary_may_be_empty(name: str) -> None:
    encoder = EVERY_ENCODER[name](0, DIM, torch.Generator().manual_seed(0))
    no_words = Vocabulary.of([]).encode(["a", ""])
    needs_features = isinstance(encoder, PrecomputedFeatures)
    texts = FeatureRows(torch.zeros(2, 0)) if needs_features else no_words
    features: Tensor = encoder(encoder.prepare(texts))
    assert torch.equal(features, torch.zeros(2, DIM))


@pytest.mark.parametrize("name", LEARNED)
def test_gradients_reach_every_parameter_and_every_word(name: str) -> None:
    encoder = make(name).double()
    features = encode(encoder, TEXTS)
    weights = torch.randn(features.shape, generator=torch.Generator().manual_seed(1)).double()
    (features * weights).sum().backward()
    for key, parameter in encoder.named_parameters():
        assert parameter.grad is not None, key
        assert bool((parameter.grad != 0).any(dim=-1).all()), key


@pytest.mark.parametrize("name", LEARNED)
def test_gradients_equal_finite_differences(name: str) -> None:
    encoder = make(name).double()
    prepared = encoder.prepare(input_of(encoder, TEXTS))
    names, values = zip(*encoder.named_parameters(), strict=True)

    def features(*parameters: Tensor) -> Tensor:
        found: Tensor = functional_call(
            encoder, dict(zip(names, parameters, strict=True)), (prepared,)
        )
        return found

    inputs = tuple(value.detach().clone().requires_grad_() for value in values)
    assert gradcheck(features, inputs, fast_mode=True)


@pytest.mark.parametrize("name", LEARNED)
def test_the_same_generator_gives_the_same_parameters(name: str) -> None:
    first, again, other = make(name), make(name), make(name, seed=1)
    for key, value in first.state_dict().items():
        assert torch.equal(value, again.state_dict()[key]), key
        assert not torch.equal(value, other.state_dict()[key]), key


def test_making_an_encoder_does_not_advance_the_global_generator(name: str) -> None:
    before = torch.random.get_rng_state()
    make(name)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_the_global_generator_does_not_affect_parameters(name: str) -> None:
    first = make(name)
    with torch.random.fork_rng():
        torch.manual_seed(99)
        again = make(name)
    for key, value in first.state_dict().items():
        assert torch.equal(value, again.state_dict()[key]), key


def test_preparing_does_not_modify_the_texts(encoder: TextEncoder[Any, Any]) -> None:
    texts, again = input_of(encoder, TEXTS), input_of(encoder, TEXTS)
    encoder.prepare(texts)
    for name in (field.name for field in fields(texts)):
        before, after = getattr(again, name), getattr(texts, name)
        same = torch.equal(before, after) if isinstance(before, Tensor) else before == after
        assert same, name


def test_prepared_texts_can_be_reused(encoder: TextEncoder[Any, Any]) -> None:
    prepared = encoder.prepare(input_of(encoder, TEXTS))
    assert torch.equal(encoder(prepared), encoder(prepared))


def test_the_word_average_equals_the_loop_over_words() -> None:
    """Eq. 2 is x = (1 / |t|) Σ_i w_i."""
    encoder = make("word-average").double()
    assert isinstance(encoder, WordAverage)
    features = encode(encoder, TEXTS)
    for text, row in zip(TEXTS, features, strict=True):
        expected = torch.zeros(DIM, dtype=torch.float64)
        for word in text.split():
            expected += encoder.words[VOCABULARY.words.index(word)].detach() / len(text.split())
        torch.testing.assert_close(row.detach(), expected)


def test_the_word_average_divides_by_the_number_of_known_words() -> None:
    encoder = make("word-average").double()
    torch.testing.assert_close(
        encode(encoder, ["graph unheard text"]), encode(encoder, ["graph text"])
    )


def test_word_parts_sum_to_the_encoded_texts(encoder: TextEncoder[Any, Any]) -> None:
    parts = encoder.word_parts(input_of(encoder, TEXTS))
    assert (parts is None) == (not isinstance(encoder, WordAverage | SpectralWords))
    if parts is not None:
        summed = torch.from_numpy(parts.amounts @ parts.directions.numpy())
        torch.testing.assert_close(summed, encode(encoder, TEXTS).detach())
