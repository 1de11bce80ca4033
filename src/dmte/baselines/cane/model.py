"""The model of CANE, and how it scores pairs.

A text of m words becomes m columns P_i = tanh(Σ_o C_o w_{i+o}) by a convolution over windows of l
words, with zeros beyond its ends. ``attention`` turns two texts into two vectors. A step multiplies
every distinct word by C once and gathers the products.
"""

import math
from dataclasses import dataclass
from typing import get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import normalize, pad

from dmte.baselines.cane.attention import PairTexts, attend
from dmte.embedding.embedding import Embedding, Similarity
from dmte.errors import ConfigError
from dmte.runtime.seeding import STANDARD_DEVIATION, truncated_gaussian
from dmte.text import TokenizedTexts

PAIRS_AT_ONCE = 2048  # Pairs scored together after convolving their texts.


class ContextAwareTexts(nn.Module):
    """Convolution and attention: pairs of texts to pairs of vectors."""

    def __init__(
        self,
        vocabulary_size: int,
        dim: int,
        window: int,
        generator: torch.Generator,
        *,
        is_symmetric: bool,
    ) -> None:
        super().__init__()
        self.words = truncated_gaussian(vocabulary_size, dim, generator)
        self.filters = _shared_matrix(dim, window * dim, 1 / math.sqrt(window * dim), generator)
        self.attention = _shared_matrix(dim, dim, 1 / dim, generator)
        self.window = window
        self.is_symmetric = is_symmetric

    def forward(self, texts: TokenizedTexts, pairs: Int[Tensor, "pairs 2"]) -> PairTexts:
        """Return the text vectors of pairs of texts; convolves only texts that occur."""
        if not self.is_symmetric:
            return self._attend(texts, pairs)
        keys = pairs.min(dim=1).values * len(texts) + pairs.max(dim=1).values
        distinct, which = keys.unique(return_inverse=True)
        low, high = self._attend(
            texts, torch.stack([distinct // len(texts), distinct % len(texts)], dim=1)
        )
        low, high = low.index_select(0, which), high.index_select(0, which)
        is_turned = (pairs[:, 0] > pairs[:, 1]).unsqueeze(1)
        return PairTexts(torch.where(is_turned, high, low), torch.where(is_turned, low, high))

    def convolve(self, texts: TokenizedTexts) -> Float[Tensor, "words dim"]:
        """Return P of all texts, concatenated: tanh(Σ_o C_o w_{i+o}) at every word i."""
        dim = self.words.shape[1]
        used, tokens = texts.tokens.unique(return_inverse=True)
        # C_o w of every word and o; the last row is zero, for positions beyond a text.
        products = pad(self.words[used] @ self.filters, (0, 0, 0, 1)).view(-1, dim)
        lengths = texts.lengths()
        place = torch.arange(len(tokens)) - texts.offsets[:-1].repeat_interleave(lengths)
        length = lengths.repeat_interleave(lengths)
        total = products.new_zeros(len(tokens), dim)
        for number in range(self.window):
            shift = number - (self.window - 1) // 2
            is_inside = (place + shift >= 0) & (place + shift < length)
            seen = torch.where(is_inside, tokens.roll(-shift), len(used))
            total = total + products.index_select(0, seen * self.window + number)
        return torch.tanh(total)

    def _attend(self, texts: TokenizedTexts, pairs: Int[Tensor, "pairs 2"]) -> PairTexts:
        occurring, places = pairs.unique(return_inverse=True)
        chosen = texts.select(occurring)
        words = self.convolve(chosen)
        matrix = (self.attention + self.attention.T) / 2 if self.is_symmetric else self.attention
        return attend(words, words @ matrix, chosen.offsets, places)


def _shared_matrix(
    num_rows: int, num_columns: int, deviation: float, generator: torch.Generator
) -> Float[nn.Parameter, "rows columns"]:
    table = truncated_gaussian(num_rows, num_columns, generator)
    return nn.Parameter(table.detach() * (deviation / STANDARD_DEVIATION))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ContextAwareEmbedding(Embedding):
    """One vector per vertex for search and classification; a pair is scored by its own two.

    ``save`` stores the one vector per vertex.
    """

    model: ContextAwareTexts
    tokens: TokenizedTexts

    def score(
        self, pairs: Int[Tensor, "pairs 2"], by: Similarity = "dot"
    ) -> Float[Tensor, " pairs"]:
        """Return the dot product, or the cosine, of u_t(v) ⊕ u_s and v_t(u) ⊕ v_s.

        Raises:
            ConfigError: ``by`` is neither dot nor cosine.
        """
        if by not in get_args(Similarity):
            raise ConfigError(f"by must be dot or cosine, not {by!r}")
        return self.scores(pairs)[by]

    def scores(self, pairs: Int[Tensor, "pairs 2"]) -> dict[Similarity, Float[Tensor, " pairs"]]:
        """Score pairs by dot product and by cosine in one pass."""
        blocks = [self._scores(block) for block in pairs.split(PAIRS_AT_ONCE) if len(block)]
        both = torch.cat(blocks, dim=1) if blocks else self.vectors.new_zeros(2, 0)
        return {"dot": both[0], "cosine": both[1]}

    def _scores(self, pairs: Int[Tensor, "pairs 2"]) -> Float[Tensor, "2 pairs"]:
        with torch.no_grad():
            texts = self.model(self.tokens, pairs)
        left, right = (
            torch.cat([text, self.structure[side]], dim=1)
            for text, side in zip(texts, pairs.T, strict=True)
        )
        dot = (left * right).sum(dim=1)
        cosine = (normalize(left) * normalize(right)).sum(dim=1)
        return torch.stack([dot, cosine])


def average_texts(
    model: ContextAwareTexts, texts: TokenizedTexts, contexts: Int[Tensor, "pairs 2"]
) -> Float[Tensor, "texts dim"]:
    """Return the mean of every text's vectors in ``contexts``; zero for texts in none."""
    totals = torch.zeros(len(texts), model.words.shape[1])
    counts = torch.zeros(len(texts))
    for pairs in contexts.split(PAIRS_AT_ONCE):
        with torch.no_grad():
            left, right = model(texts, pairs)
        source, target = pairs.T
        proper = source != target
        vertices = torch.cat([source, target[proper]])
        totals.index_add_(0, vertices, torch.cat([left, right[proper]]))
        counts.index_add_(0, vertices, torch.ones(len(vertices)))
    return totals / counts.clamp(min=1).unsqueeze(1)
