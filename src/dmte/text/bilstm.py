"""A bidirectional LSTM, its hidden states averaged (Eq. 3 and 4).

    x = (1 / |t|) Σ_i (h→_i ⊕ h←_i)

Each direction has d_t / 2 units. Texts go through in blocks of similar length, packed, so that the
backward direction never starts in padding; texts longer than ``MAX_WORDS`` are cut there, as in
the authors' released code.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import embedding
from torch.nn.utils.rnn import PackedSequence

from dmte.errors import ConfigError
from dmte.randomness import truncated_gaussian
from dmte.text.encoder import TextEncoder
from dmte.text.vocabulary import TokenizedTexts

MAX_WORDS = 300
"""Words of a text that are read; the authors' released code reads as many."""

BLOCK = 512
"""Texts that go through the LSTM together; bounds the memory of one block's gates."""


@dataclass(frozen=True, slots=True, eq=False)
class PackedTexts:
    """A block of texts, longest first, laid out word position by word position."""

    tokens: Int[Tensor, " tokens"]
    batch_sizes: Int[Tensor, " positions"]
    """How many texts have a word at each position."""
    rows: Int[Tensor, " tokens"]
    """Which text of the block each token belongs to."""
    lengths: Int[Tensor, " block"]
    texts: Int[Tensor, " block"]
    """Which row of X each text of the block is."""


@dataclass(frozen=True, slots=True, eq=False)
class PreparedTexts:
    """Every text that has a word, in blocks, and how many texts there are in all."""

    blocks: Sequence[PackedTexts]
    num_texts: int


class BiLSTM(TextEncoder[PreparedTexts]):
    """The mean of the hidden states of a bidirectional LSTM over the word vectors."""

    def __init__(self, vocabulary_size: int, dim: int, generator: torch.Generator) -> None:
        super().__init__(vocabulary_size, dim, generator)
        if dim % 2:
            raise ConfigError(f"a Bi-LSTM needs an even width of text vectors, not {dim}")
        self.words = truncated_gaussian(vocabulary_size, dim, generator)
        # Made without values, because torch would draw them from its global generator; the bound
        # below is its own default.
        self.lstm = nn.LSTM(dim, dim // 2, bidirectional=True, device="meta").to_empty(device="cpu")
        bound = 1 / math.sqrt(dim // 2)
        for parameter in self.lstm.parameters():
            nn.init.uniform_(parameter, -bound, bound, generator=generator)

    def prepare(self, texts: TokenizedTexts) -> PreparedTexts:
        """Return ``texts`` cut at ``MAX_WORDS`` and packed in blocks of similar length."""
        lengths = texts.lengths().clamp(max=MAX_WORDS)
        order = lengths.argsort(descending=True, stable=True)
        order = order[: int((lengths > 0).sum())]
        blocks = [_pack(texts, chosen, lengths[chosen]) for chosen in order.split(BLOCK)]
        return PreparedTexts([block for block in blocks if len(block.texts)], len(texts))

    def forward(self, prepared: PreparedTexts) -> Float[Tensor, "texts dim"]:
        """Return the mean hidden state of every text."""
        # The zero keeps the result tied to the parameters when there is no word at all.
        features = self.words.new_zeros(prepared.num_texts, self.dim) + 0 * self.words.sum()
        if not prepared.blocks:
            return features
        means = torch.cat([self._mean_state(block) for block in prepared.blocks])
        return features.index_copy(0, torch.cat([block.texts for block in prepared.blocks]), means)

    def _mean_state(self, block: PackedTexts) -> Float[Tensor, "block dim"]:
        words = PackedSequence(embedding(block.tokens, self.words), block.batch_sizes)
        states: Tensor = self.lstm(words)[0].data
        sums = states.new_zeros(len(block.texts), self.dim).index_add(0, block.rows, states)
        return sums / block.lengths.unsqueeze(1)


def _pack(
    texts: TokenizedTexts, chosen: Int[Tensor, " block"], lengths: Int[Tensor, " block"]
) -> PackedTexts:
    """Lay out the texts ``chosen``, longest first, position by position."""
    longest = int(lengths.max()) if len(lengths) else 0
    present = torch.arange(longest).unsqueeze(1) < lengths  # positions × block
    positions, rows = present.nonzero(as_tuple=True)
    return PackedTexts(
        tokens=texts.tokens[texts.offsets[chosen][rows] + positions],
        batch_sizes=present.sum(dim=1),
        rows=rows,
        lengths=lengths,
        texts=chosen,
    )
