"""Learned word weights for the spectral encoder.

    X = B diag(e^θ) V, rows normalized to length 1

B and V are those of ``spectral``. θ has one entry per word and starts at 0, so e^θ is a factor on
the word's IDF. Training lowers the weight of words that linked texts share by chance, however rare
they are, and raises the weight of words that predict links. After training, e^θ is multiplied into
the IDF, and the encoder is an ordinary spectral encoder.
"""

from copy import deepcopy
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from dmte.kernels.row_norms import unit_rows
from dmte.kernels.sparse import SparseMatrix
from dmte.text.encoder import TextEncoder
from dmte.text.spectral import SpectralWords
from dmte.text.vocabulary import TokenizedTexts


class LearnedWeights(TextEncoder[TokenizedTexts, SparseMatrix]):
    """X = B diag(e^θ) V with rows of length 1; B and V are those of ``words``, unchanged."""

    emphasis: Float[nn.Parameter, " words"]
    """θ, the logarithm of each word's weight; the name is stored in checkpoints."""

    def __init__(self, words: SpectralWords) -> None:
        super().__init__(len(words.rarities), words.dim, torch.Generator())
        self.words = words
        self.emphasis = nn.Parameter(torch.zeros_like(words.rarities))

    def prepare(self, texts: TokenizedTexts) -> SparseMatrix:
        """Build B."""
        return SparseMatrix.from_scipy(self.words.weigh(texts), self.words.directions.dtype)

    def forward(self, prepared: SparseMatrix) -> Float[Tensor, "texts dim"]:
        """Compute X."""
        product: Tensor = _WeighedProduct.apply(  # type: ignore[no-untyped-call]
            self.emphasis, prepared, self.words.directions
        )
        return unit_rows(product, self.words.columns)

    def drop_words(
        self,
        texts: TokenizedTexts,  # noqa: ARG002
        prepared: SparseMatrix,
        share: float,
        generator: torch.Generator,
    ) -> SparseMatrix:
        """Drop each word of a text, with all its occurrences, with probability ``share``."""
        return prepared.dropout(share, generator)

    def fold_weights(self) -> SpectralWords:
        """Return a spectral encoder with e^θ multiplied into the IDF; V is shared."""
        shared = (self.words.directions, self.words.columns)
        folded = deepcopy(self.words, {id(one): one for one in shared})
        folded.rarities *= self.emphasis.detach().exp()
        return folded


class _WeighedProduct(torch.autograd.Function):
    """Y = B diag(e^θ) V, with ∂L/∂θ_w = e^θ_w V_w · (Bᵀ ∂L/∂Y)_w.

    e^θ is multiplied into B, since V, which has a row per word too, is much larger.
    """

    @staticmethod
    def forward(ctx: Any, emphasis: Tensor, matrix: SparseMatrix, directions: Tensor) -> Tensor:
        ctx.matrix, weights = matrix, emphasis.exp()
        ctx.save_for_backward(weights, directions)
        rows = matrix.rows
        return replace(rows, values=rows.values * weights[rows.columns]).times(directions)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        weights, directions = ctx.saved_tensors
        by_word = ctx.matrix.columns.times(gradient.contiguous())
        along = torch.bmm(by_word.unsqueeze(1), directions.unsqueeze(2)).flatten()
        return along.mul_(weights), None, None
