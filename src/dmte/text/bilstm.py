"""A bidirectional LSTM, its hidden states averaged (Eq. 3 and 4).

    x = (1 / |t|) Σ_i (h→_i ⊕ h←_i)

Each direction has d_t / 2 units. The backward direction reads the text reversed, so that neither
starts in padding. Texts are truncated to ``MAX_WORDS``. ``recurrence`` computes all texts at once.

An LSTM mixes columns at every word, so it cannot run on a part of the columns. Several processes
therefore divide the texts, encode them with all parameters, and exchange columns of the result.
Each process stores some columns of the word vectors; a gather assembles them in every step.
"""

import math
from dataclasses import dataclass
from typing import TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dmte.distributed.columns import ALL_COLUMNS, Columns
from dmte.errors import ConfigError
from dmte.runtime.seeding import truncated_gaussian
from dmte.text.encoder import TextEncoder
from dmte.text.recurrence import Positions, summed_states
from dmte.text.vocabulary import TokenizedTexts

MAX_WORDS = 300
"""Words read of each text, as in the authors' released code."""

INPUT_DEVIATION = 3.0
"""Initial standard deviation of the input weights. With torch's default bound, one word hardly
changes the state of a long text, so the initial vectors of different texts are nearly equal. Best
AUC on validation edges of Cora (35 %): 83 with the default, 89 with 1.0, 92 with 3.0. HepTh (15 %):
90 with 3.0 and with 10."""

BLOCK = 1024
"""Texts per block; larger blocks are hardly faster and use more memory."""

DEALT = 64
"""Parts into which sorted texts are dealt before processes divide them."""

Unit = TypeVar("Unit", nn.LSTM, nn.GRU)


@dataclass(frozen=True, slots=True, eq=False)
class SortedTexts:
    """The texts with at least one word, longest first, in blocks."""

    blocks: tuple[Positions, ...]
    order: Int[Tensor, " filled"]
    """The row of X of each text."""
    lengths: Int[Tensor, " filled"]
    num_texts: int
    """Number of all texts, empty ones included."""

    @classmethod
    def of(cls, texts: TokenizedTexts, columns: Columns = ALL_COLUMNS) -> "SortedTexts":
        """Truncate to ``MAX_WORDS`` and sort the texts, or this process's share of them."""
        lengths = texts.lengths().clamp(max=MAX_WORDS)
        order = lengths.argsort(descending=True, stable=True)[: int((lengths > 0).sum())]
        # A share of texts dealt by length has long and short ones.
        dealt = (torch.arange(len(order)) % DEALT).argsort(stable=True)
        order = order[dealt[columns.own(len(order))].sort().values]
        blocks = tuple(
            Positions.of(texts, some, lengths[some])
            for some in (order.split(BLOCK) if len(order) else ())
        )
        return cls(blocks, order, lengths[order], len(texts))


class BiLSTM(TextEncoder[TokenizedTexts, SortedTexts]):
    """The mean of the hidden states of a bidirectional LSTM over the word vectors."""

    def __init__(self, vocabulary_size: int, dim: int, generator: torch.Generator) -> None:
        super().__init__(vocabulary_size, dim, generator)
        if dim % 2:
            raise ConfigError(f"the width of a Bi-LSTM must be even, not {dim}")
        self._columns = ALL_COLUMNS
        self.words = truncated_gaussian(vocabulary_size, dim, generator)
        self.there = _lstm(dim, generator)
        self.back = _lstm(dim, generator)

    def prepare(self, texts: TokenizedTexts) -> SortedTexts:
        """Truncate ``texts`` to ``MAX_WORDS`` and sort them by length."""
        return SortedTexts.of(texts, self._columns)

    def forward(self, prepared: SortedTexts) -> Float[Tensor, "texts dim"]:
        """Compute the mean hidden state of every text."""
        words = self._columns.all_gather(self.words, self.dim)
        # Adding zero keeps the result in the autograd graph if there are no words.
        features = words.new_zeros(prepared.num_texts, self.dim) + 0 * words.sum()
        if prepared.blocks:
            sums = torch.cat([self._summed_states(block, words) for block in prepared.blocks])
            means = sums / prepared.lengths.unsqueeze(1)
            features = features.index_copy(0, prepared.order, means)
        return self._columns.reduce_scatter(features)

    def divide(self, columns: Columns) -> dict[str, int]:
        """Keep this process's columns of the word vectors; encode a share of the texts."""
        self.words = nn.Parameter(self.words.detach()[:, columns.own(self.dim)].clone())
        self._columns = columns
        return {"words": 1}

    @classmethod
    def step_numbers(cls, num_texts: int, num_tokens: int, dim: int) -> int:
        """Count the numbers kept for every word, and those of one block of texts."""
        read = min(num_tokens, MAX_WORDS * num_texts)
        in_block = read * min(1.0, 2 * BLOCK / num_texts)  # The longest texts come first.
        gates_and_cells, of_gates, positions = 5, 4, 8
        return int(read * (gates_and_cells * dim + positions) + in_block * of_gates * dim)

    def _summed_states(
        self, positions: Positions, all_words: Float[Tensor, "words dim"]
    ) -> Float[Tensor, "texts dim"]:
        """Compute Σ_i (h→_i ⊕ h←_i); the reversed order does not change a sum."""
        words, inputs, recurrent = all_words[positions.used], [], []
        for unit in (self.there, self.back):
            of_input, of_state, *biases = unit.all_weights[0]
            inputs.append(torch.addmm(biases[0] + biases[1], words, of_input.T))
            recurrent.append(of_state.T)
        there, back = summed_states(torch.stack(inputs), torch.stack(recurrent), positions)
        return torch.cat([there, back], dim=1)


def _lstm(width: int, generator: torch.Generator) -> nn.LSTM:
    """Create one direction of ``width`` / 2 units, with large input weights."""
    unit = seeded_unit(nn.LSTM, width, width // 2, generator)
    unit.weight_ih_l0 = truncated_gaussian(2 * width, width, generator, deviation=INPUT_DEVIATION)
    return unit


def seeded_unit(kind: type[Unit], width: int, units: int, generator: torch.Generator) -> Unit:
    """Create an LSTM or GRU with torch's default distribution, drawn from ``generator``."""
    # Create it without values, because torch would draw them from its global generator.
    place = torch.get_default_device()
    unit: Unit = kind(width, units, device="meta").to_empty(device=place)
    for parameter in unit.parameters():
        nn.init.uniform_(
            parameter, -1 / math.sqrt(units), 1 / math.sqrt(units), generator=generator
        )
    return unit
