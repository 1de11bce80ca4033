"""Gated recurrent units (Cho et al. 2014), in one direction or both, their hidden states averaged.

    one direction    x = (1 / |t|) Σ_i h→_i
    both             x = (1 / |t|) Σ_i (h→_i ⊕ h←_i), each direction half as wide

They are CENE's encoders and none of DMTE's paper, so they are not in ``ENCODERS``. Texts are laid
out as for the Bi-LSTM: read from either end, in blocks of similar length, cut at ``MAX_WORDS``.
"""

from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import embedding

from dmte.errors import ConfigError
from dmte.randomness import truncated_gaussian
from dmte.text.bilstm import PreparedTexts, TextBlock, seeded_unit
from dmte.text.encoder import TextEncoder
from dmte.text.vocabulary import TokenizedTexts


class Gru(TextEncoder[TokenizedTexts, PreparedTexts]):
    """The mean of the hidden states of a GRU that reads the text once, in reading order."""

    num_directions: ClassVar[int] = 1

    def __init__(self, vocabulary_size: int, dim: int, generator: torch.Generator) -> None:
        super().__init__(vocabulary_size, dim, generator)
        if dim % self.num_directions:
            raise ConfigError(f"a bidirectional GRU needs an even width, not {dim}")
        self.words = truncated_gaussian(vocabulary_size, dim, generator)
        units = dim // self.num_directions
        self.directions = nn.ModuleList(
            seeded_unit(nn.GRU, dim, units, generator) for _ in range(self.num_directions)
        )

    def prepare(self, texts: TokenizedTexts) -> PreparedTexts:
        """Return ``texts`` cut at ``MAX_WORDS``, in blocks of similar length."""
        return PreparedTexts.of(texts)

    def forward(self, prepared: PreparedTexts) -> Float[Tensor, "texts dim"]:
        """Return the mean hidden state of every text."""
        return prepared.encode(self._mean_state, self.words)

    def _mean_state(self, block: TextBlock) -> Float[Tensor, "block dim"]:
        orders = (block.there, block.back)[: self.num_directions]
        states = [
            unit(embedding(order, self.words))[0]
            for unit, order in zip(self.directions, orders, strict=True)
        ]
        return block.mean(torch.cat(states, dim=2))


class BiGru(Gru):
    """The same with a second GRU of its own weights that reads the text from its end."""

    num_directions: ClassVar[int] = 2
