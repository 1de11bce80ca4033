"""A bidirectional LSTM, its hidden states averaged (Eq. 3 and 4).

    x = (1 / |t|) Σ_i (h→_i ⊕ h←_i)

Each direction has d_t / 2 units. The backward direction is an LSTM that reads the text reversed, so
that both start at a word. Texts are cut at ``MAX_WORDS``; ``recurrence`` says how all of them go
through at once.

An LSTM mixes columns at every word. So several processes divide the texts, read them with all the
parameters, and then exchange the columns of what they read. Of the word vectors each keeps some
columns, and they are put together in every step.
"""

import math
from dataclasses import dataclass
from typing import TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dmte.distributed.group import SINGLE_PROCESS, ProcessGroup
from dmte.errors import ConfigError
from dmte.runtime.seeding import truncated_gaussian
from dmte.text.encoder import TextEncoder
from dmte.text.recurrence import Positions, summed_states
from dmte.text.vocabulary import TokenizedTexts

MAX_WORDS = 300
"""Words of a text that are read; the authors' released code reads as many."""

INPUT_DEVIATION = 3.0
"""Of the weights that a word enters the gates by, at the start. Within the bound of torch a word of
many moves a state so little that texts are told apart only by what they are trained on: on edges
held back from Cora's training edges (35 %) AUC is 83 at best, with 1.0 it is 89 and with 3.0 92; on
HepTh's (15 %) it is 90 with 3.0 and with 10."""

BLOCK = 1024
"""Texts that go through together; more are hardly faster and stay longer in memory."""

Unit = TypeVar("Unit", nn.LSTM, nn.GRU)


@dataclass(frozen=True, slots=True, eq=False)
class SortedTexts:
    """Every text that has a word, the longest first, in blocks; and how many there are in all."""

    blocks: tuple[Positions, ...]
    order: Int[Tensor, " filled"]
    """Which row of X each text is."""
    lengths: Int[Tensor, " filled"]
    num_texts: int

    @classmethod
    def of(cls, texts: TokenizedTexts, group: ProcessGroup = SINGLE_PROCESS) -> "SortedTexts":
        """Return ``texts``, or those of this process, cut at ``MAX_WORDS`` and sorted."""
        lengths = texts.lengths().clamp(max=MAX_WORDS)
        order = lengths.argsort(descending=True, stable=True)[: int((lengths > 0).sum())]
        order = order[group.rank :: group.size]  # Everybody gets long ones and short ones.
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
            raise ConfigError(f"a Bi-LSTM needs an even width of text vectors, not {dim}")
        self._group = SINGLE_PROCESS
        self.words = truncated_gaussian(vocabulary_size, dim, generator)
        self.there = _lstm(dim, generator)
        self.back = _lstm(dim, generator)

    def prepare(self, texts: TokenizedTexts) -> SortedTexts:
        """Return ``texts`` cut at ``MAX_WORDS`` and sorted by length."""
        return SortedTexts.of(texts, self._group)

    def forward(self, prepared: SortedTexts) -> Float[Tensor, "texts dim"]:
        """Return the mean hidden state of every text."""
        words = self._group.all_gather(self.words, self.dim)
        # The zero keeps the result tied to the parameters when there is no word at all.
        features = words.new_zeros(prepared.num_texts, self.dim) + 0 * words.sum()
        if prepared.blocks:
            sums = torch.cat([self._summed_states(block, words) for block in prepared.blocks])
            means = sums / prepared.lengths.unsqueeze(1)
            features = features.index_copy(0, prepared.order, means)
        return self._group.reduce_scatter(features)

    def divide(self, group: ProcessGroup) -> dict[str, int]:
        """Keep the own columns of the word vectors, and read only some of the texts."""
        self.words = nn.Parameter(self.words.detach()[:, group.column_slice(self.dim)].clone())
        self._group = group
        return {"words": 1}

    @classmethod
    def step_numbers(cls, num_texts: int, num_tokens: int, dim: int) -> int:
        """Return the numbers kept for every word, and those of one block of texts."""
        read = min(num_tokens, MAX_WORDS * num_texts)
        in_block = read * min(1.0, 2 * BLOCK / num_texts)  # The longest texts come first.
        gates_and_cells, of_gates, positions = 5, 4, 8
        return int(read * (gates_and_cells * dim + positions) + in_block * of_gates * dim)

    def _summed_states(
        self, positions: Positions, all_words: Float[Tensor, "words dim"]
    ) -> Float[Tensor, "texts dim"]:
        """Return Σ_i (h→_i ⊕ h←_i); a sum does not mind the order of its terms."""
        words, inputs, recurrent = all_words[positions.used], [], []
        for unit in (self.there, self.back):
            of_input, of_state, *biases = unit.all_weights[0]
            inputs.append(torch.addmm(biases[0] + biases[1], words, of_input.T))
            recurrent.append(of_state.T)
        there, back = summed_states(torch.stack(inputs), torch.stack(recurrent), positions)
        return torch.cat([there, back], dim=1)


def _lstm(width: int, generator: torch.Generator) -> nn.LSTM:
    """Return one direction, half as wide as its words, that tells words apart from the start."""
    unit = seeded_unit(nn.LSTM, width, width // 2, generator)
    unit.weight_ih_l0 = truncated_gaussian(2 * width, width, generator, deviation=INPUT_DEVIATION)
    return unit


def seeded_unit(kind: type[Unit], width: int, units: int, generator: torch.Generator) -> Unit:
    """Return an LSTM or GRU from ``generator``, within the bound that torch itself draws from."""
    # Made without values first, because torch would draw them from its global generator.
    unit: Unit = kind(width, units, device="meta").to_empty(device="cpu")
    for parameter in unit.parameters():
        nn.init.uniform_(
            parameter, -1 / math.sqrt(units), 1 / math.sqrt(units), generator=generator
        )
    return unit
