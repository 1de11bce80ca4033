"""The GRU encoders of CENE against the equations, word by word."""

import pytest
import torch
from torch import Tensor, nn

from dmte.errors import ConfigError
from dmte.text.gru import BiGru, Gru
from dmte.text.vocabulary import TokenizedTexts

DIM = 4
TEXTS = [[3, 1, 2], [0], [], [2, 2, 4, 1, 0], [4, 3]]
TOKENS = TokenizedTexts(
    torch.tensor([word for text in TEXTS for word in text]),
    torch.tensor([0, *(len(text) for text in TEXTS)]).cumsum(0),
    words="abcde",
)


def states(unit: nn.Module, words: list[Tensor]) -> list[Tensor]:
    """Compute the hidden state after every word (Cho et al. 2014), in torch's parameter order."""
    parameters = dict(unit.named_parameters())
    weight_x, weight_h = parameters["weight_ih_l0"], parameters["weight_hh_l0"]
    bias_x, bias_h = parameters["bias_ih_l0"], parameters["bias_hh_l0"]
    state = weight_h.new_zeros(weight_h.shape[1])
    found = []
    for word in words:
        reset_x, update_x, new_x = (weight_x @ word + bias_x).chunk(3)
        reset_h, update_h, new_h = (weight_h @ state + bias_h).chunk(3)
        update = torch.sigmoid(update_x + update_h)
        proposed = torch.tanh(new_x + torch.sigmoid(reset_x + reset_h) * new_h)
        state = (1 - update) * proposed + update * state
        found.append(state)
    return found


@pytest.mark.parametrize("kind", [Gru, BiGru])
def test_a_row_is_the_mean_hidden_state_of_its_words(kind: type[Gru]) -> None:
    encoder = kind(5, DIM, torch.Generator().manual_seed(0)).double()
    features = encoder(encoder.prepare(TOKENS))
    for text, row in zip(TEXTS, features, strict=True):
        words = [encoder.words[word] for word in text]
        means = [
            torch.stack(states(unit, order)).mean(dim=0)
            for unit, order in zip(encoder.directions, (words, words[::-1]), strict=False)
            if words
        ]
        expected = torch.cat(means) if words else torch.zeros(DIM, dtype=torch.float64)
        torch.testing.assert_close(row, expected)


def test_a_bidirectional_gru_needs_an_even_width() -> None:
    assert Gru(5, 3, torch.Generator()).dim == 3
    with pytest.raises(ConfigError, match="even"):
        BiGru(5, 3, torch.Generator())
