"""How much every word of spectral texts counts, learned.

    X = B diag(e^θ) V, every row divided by its length

with B and V those of ``spectral``, and θ a number per word that starts at 0: beside the rarity of a
word stands a factor. A word that linked texts share by accident, however rare, comes to count less
than one that they share because they are linked. Once learned, e^θ becomes part of the rarities,
and texts are read as any spectral texts are.
"""

from copy import deepcopy

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dmte.kernels.row_norms import unit_rows
from dmte.kernels.sparse import SparseMatrix
from dmte.text.encoder import TextEncoder
from dmte.text.spectral import SpectralWords
from dmte.text.vocabulary import TokenizedTexts


class LearnedWeights(TextEncoder[TokenizedTexts, SparseMatrix]):
    """X = B diag(e^θ) V with rows of length 1; B and V are shared with ``words``, which stay."""

    emphasis: Float[nn.Parameter, " words"]
    """θ."""

    def __init__(self, words: SpectralWords) -> None:
        super().__init__(len(words.rarities), words.dim, torch.Generator())
        self.words = words
        self.emphasis = nn.Parameter(torch.zeros_like(words.rarities))

    def prepare(self, texts: TokenizedTexts) -> SparseMatrix:
        """Return B."""
        return SparseMatrix.from_scipy(self.words.weigh(texts), self.words.directions.dtype)

    def forward(self, prepared: SparseMatrix) -> Float[Tensor, "texts dim"]:
        """Return X."""
        weighed = self.emphasis.exp().unsqueeze(1) * self.words.directions
        return unit_rows(prepared @ weighed, self.words.group)

    def fold_weights(self) -> SpectralWords:
        """Return what reads texts from now on, with e^θ in its rarities."""
        shared = (self.words.directions, self.words.group)
        settled = deepcopy(self.words, {id(one): one for one in shared})
        settled.rarities *= self.emphasis.detach().exp()
        return settled
