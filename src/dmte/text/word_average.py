"""The mean of the word vectors (Eq. 2).

    x_i = (1 / |t_i|) Σ_w E_w[w]        X = B E_w

B is the bag of words with rows that sum to one. It is sparse and constant, so one product averages
all texts.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dmte.distributed.columns import Columns
from dmte.kernels.sparse import SparseMatrix
from dmte.runtime.seeding import truncated_gaussian
from dmte.text.encoder import TextEncoder, WordParts
from dmte.text.vocabulary import TokenizedTexts


class WordAverage(TextEncoder[TokenizedTexts, SparseMatrix]):
    """X = B E_w, the mean of the word vectors of every text."""

    def __init__(self, vocabulary_size: int, dim: int, generator: torch.Generator) -> None:
        super().__init__(vocabulary_size, dim, generator)
        self.words = truncated_gaussian(vocabulary_size, dim, generator)

    def prepare(self, texts: TokenizedTexts) -> SparseMatrix:
        """Build B."""
        return SparseMatrix.from_scipy(texts.bag_of_words(), self.words.dtype)

    def forward(self, prepared: SparseMatrix) -> Float[Tensor, "texts dim"]:
        """Compute B E_w."""
        return prepared @ self.words

    def divide(self, columns: Columns) -> dict[str, int]:
        """Keep this process's columns of E_w, which are its columns of X."""
        self.words = nn.Parameter(self.words.detach()[:, columns.own(self.dim)].clone())
        return {"words": 1}

    def word_parts(self, texts: TokenizedTexts) -> WordParts:
        """Return B and E_w."""
        return WordParts(texts.bag_of_words(), self.words.detach())
