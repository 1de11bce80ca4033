"""Gated recurrent units (Cho et al. 2014), in one direction or both, their hidden states averaged.

    one direction    x = (1 / |t|) Σ_i h→_i
    both             x = (1 / |t|) Σ_i (h→_i ⊕ h←_i), each direction half as wide

They are CENE's encoders and none of DMTE's paper, so they are not in ``ENCODERS``. The backward
direction reads the text reversed, so that both start at a word and padding comes last, where no
hidden state that counts can see it. Texts go through in blocks of similar length and are cut at
``MAX_WORDS``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import embedding

from dmte.errors import ConfigError
from dmte.runtime.seeding import truncated_gaussian
from dmte.text.bilstm import MAX_WORDS, seeded_unit
from dmte.text.encoder import TextEncoder
from dmte.text.vocabulary import TokenizedTexts

BLOCK = 256
"""Texts that go through together; of 32, 64, 128 and 256 the fastest."""


@dataclass(frozen=True, slots=True, eq=False)
class TextBlock:
    """Texts of similar length, one per column, padded below."""

    there: Int[Tensor, "positions block"]
    """The words in reading order."""
    back: Int[Tensor, "positions block"]
    """The words in reverse order."""
    is_word: Bool[Tensor, "positions block"]
    """Where there is a word and not padding."""
    texts: Int[Tensor, " block"]
    """Which row of X each text of the block is."""

    def mean(self, states: Float[Tensor, "positions block dim"]) -> Float[Tensor, "block dim"]:
        """Return (1 / |t|) Σ_i h_i of every text, padding left out."""
        shares = self.is_word.to(states.dtype) / self.is_word.sum(dim=0)
        return torch.einsum("pb,pbd->bd", shares, states)


@dataclass(frozen=True, slots=True, eq=False)
class PreparedTexts:
    """Every text that has a word, in blocks, and how many texts there are in all."""

    blocks: Sequence[TextBlock]
    num_texts: int

    @classmethod
    def of(cls, texts: TokenizedTexts) -> "PreparedTexts":
        """Return ``texts`` cut at ``MAX_WORDS``, in blocks of similar length."""
        lengths = texts.lengths().clamp(max=MAX_WORDS)
        order = lengths.argsort(descending=True, stable=True)[: int((lengths > 0).sum())]
        chosen = order.split(BLOCK) if len(order) else ()
        return cls([_block(texts, some, lengths[some]) for some in chosen], len(texts))

    def encode(
        self,
        encode_block: Callable[[TextBlock], Float[Tensor, "block dim"]],
        words: Float[Tensor, "words dim"],
    ) -> Float[Tensor, "texts dim"]:
        """Return the row of every text, which are as wide as the ``words``."""
        # The zero keeps the result tied to the parameters when there is no word at all.
        features = words.new_zeros(self.num_texts, words.shape[1]) + 0 * words.sum()
        if not self.blocks:
            return features
        rows = torch.cat([encode_block(block) for block in self.blocks])
        return features.index_copy(0, torch.cat([block.texts for block in self.blocks]), rows)


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


def _block(
    texts: TokenizedTexts, chosen: Int[Tensor, " block"], lengths: Int[Tensor, " block"]
) -> TextBlock:
    """Lay out the texts ``chosen``, which have ``lengths`` words."""
    positions = torch.arange(int(lengths.max())).unsqueeze(1)
    is_word = positions < lengths
    starts = texts.offsets[chosen]
    there = torch.where(is_word, starts + positions, 0)
    back = torch.where(is_word, starts + lengths - 1 - positions, 0)
    return TextBlock(texts.tokens[there], texts.tokens[back], is_word, chosen)
