"""Gated recurrent units (Cho et al. 2014), in one direction or both, their hidden states averaged.

    one direction    x = (1 / |t|) Σ_i h→_i
    both             x = (1 / |t|) Σ_i (h→_i ⊕ h←_i), each direction half as wide

These are the encoders of CENE. The DMTE paper does not use them, so they are not in ``ENCODERS``.
The backward direction reads the text reversed. Padding therefore comes last in both directions and
does not affect the hidden states of words. Texts are truncated to ``MAX_WORDS`` and processed in
blocks of similar length.
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
"""Texts per block, the fastest of 32, 64, 128 and 256."""


@dataclass(frozen=True, slots=True, eq=False)
class TextBlock:
    """Texts of similar length, one per column, padded at the end."""

    there: Int[Tensor, "positions block"]
    """The words in reading order."""
    back: Int[Tensor, "positions block"]
    """The words in reverse order."""
    is_word: Bool[Tensor, "positions block"]
    """True for words, false for padding."""
    texts: Int[Tensor, " block"]
    """The row of X of each text in the block."""

    def mean(self, states: Float[Tensor, "positions block dim"]) -> Float[Tensor, "block dim"]:
        """Return (1 / |t|) Σ_i h_i of every text, without padding."""
        shares = self.is_word.to(states.dtype) / self.is_word.sum(dim=0)
        return torch.einsum("pb,pbd->bd", shares, states)


@dataclass(frozen=True, slots=True, eq=False)
class PreparedTexts:
    """The texts with at least one word, in blocks."""

    blocks: Sequence[TextBlock]
    num_texts: int
    """Number of all texts, empty ones included."""

    @classmethod
    def of(cls, texts: TokenizedTexts) -> "PreparedTexts":
        """Truncate ``texts`` to ``MAX_WORDS`` and divide them into blocks of similar length."""
        lengths = texts.lengths().clamp(max=MAX_WORDS)
        order = lengths.argsort(descending=True, stable=True)[: int((lengths > 0).sum())]
        chosen = order.split(BLOCK) if len(order) else ()
        return cls([_block(texts, some, lengths[some]) for some in chosen], len(texts))

    def encode(
        self,
        encode_block: Callable[[TextBlock], Float[Tensor, "block dim"]],
        words: Float[Tensor, "words dim"],
    ) -> Float[Tensor, "texts dim"]:
        """Encode every block and return one row per text, as wide as ``words``."""
        # Adding zero keeps the result in the autograd graph if there are no words.
        features = words.new_zeros(self.num_texts, words.shape[1]) + 0 * words.sum()
        if not self.blocks:
            return features
        rows = torch.cat([encode_block(block) for block in self.blocks])
        return features.index_copy(0, torch.cat([block.texts for block in self.blocks]), rows)


class Gru(TextEncoder[TokenizedTexts, PreparedTexts]):
    """The mean of the hidden states of a GRU over the word vectors, in reading order."""

    num_directions: ClassVar[int] = 1

    def __init__(self, vocabulary_size: int, dim: int, generator: torch.Generator) -> None:
        super().__init__(vocabulary_size, dim, generator)
        if dim % self.num_directions:
            raise ConfigError(f"the width of a bidirectional GRU must be even, not {dim}")
        self.words = truncated_gaussian(vocabulary_size, dim, generator)
        units = dim // self.num_directions
        self.directions = nn.ModuleList(
            seeded_unit(nn.GRU, dim, units, generator) for _ in range(self.num_directions)
        )

    def prepare(self, texts: TokenizedTexts) -> PreparedTexts:
        """Truncate ``texts`` to ``MAX_WORDS`` and divide them into blocks of similar length."""
        return PreparedTexts.of(texts)

    def forward(self, prepared: PreparedTexts) -> Float[Tensor, "texts dim"]:
        """Compute the mean hidden state of every text."""
        return prepared.encode(self._mean_state, self.words)

    def _mean_state(self, block: TextBlock) -> Float[Tensor, "block dim"]:
        orders = (block.there, block.back)[: self.num_directions]
        states = [
            unit(embedding(order, self.words))[0]
            for unit, order in zip(self.directions, orders, strict=True)
        ]
        return block.mean(torch.cat(states, dim=2))


class BiGru(Gru):
    """``Gru`` with a second GRU, with its own weights, that reads the text reversed."""

    num_directions: ClassVar[int] = 2


def _block(
    texts: TokenizedTexts, chosen: Int[Tensor, " block"], lengths: Int[Tensor, " block"]
) -> TextBlock:
    """Build the block of the texts ``chosen``, which have ``lengths`` words."""
    positions = torch.arange(int(lengths.max())).unsqueeze(1)
    is_word = positions < lengths
    starts = texts.offsets[chosen]
    there = torch.where(is_word, starts + positions, 0)
    back = torch.where(is_word, starts + lengths - 1 - positions, 0)
    return TextBlock(texts.tokens[there], texts.tokens[back], is_word, chosen)
