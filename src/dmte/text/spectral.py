"""Texts in the space of their strongest directions, fixed before training starts.

    X = B V, every row divided by its length

with B the damped TF-IDF vectors, by the steep rarity, and V the directions of the texts it was
started from (see ``tfidf``). Where these are short, words are taken with their groups of letters
(see ``letters``) when directions are sought, and V still has a row per word. V is not learned, so
texts that come later get a row in the same space.

What may be learned is how much a word counts, a number e^θ beside its rarity, which starts at 1:

    X = B diag(e^θ) V

A word that linked texts share by accident, however rare, then counts less than one that they share
because they are linked. Once learned, e^θ is part of the rarities.
"""

from copy import deepcopy

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float
from torch import Tensor, nn

from dmte.rows import unit_rows
from dmte.sparse import SparseMatrix
from dmte.text.encoder import WordParts
from dmte.text.fixed import FixedTexts
from dmte.text.letters import are_short, words_with_groups
from dmte.text.tfidf import steep_rarity, strongest_directions, weigh_words
from dmte.text.vocabulary import TokenizedTexts

NUM_ITERATIONS = 4
"""Of the search for directions: on Cora, with numbers of four bytes, a third of the time that seven
take with eight."""


class SpectralWords(FixedTexts[TokenizedTexts]):
    """X = B V with rows of length 1; zero until it is started."""

    rarities: Float[Tensor, " words"]
    emphasis: Float[nn.Parameter, " words"] | None
    """θ, while it is learned."""

    def __init__(self, vocabulary_size: int, dim: int, generator: torch.Generator) -> None:
        super().__init__(vocabulary_size, dim, generator)
        self.register_buffer("rarities", torch.zeros(vocabulary_size))
        self.register_parameter("emphasis", None)

    def start(self, texts: TokenizedTexts, seed: int, *, letters: bool | None = None) -> None:
        """Find the strongest directions of ``texts``, where they are short by letters too."""
        rarities = steep_rarity(texts)
        words = weigh_words(texts, rarities, damped=True).astype(np.float32)
        by_letters = are_short(texts) if letters is None else letters
        parts = words_with_groups(texts.words).astype(np.float32) if by_letters else None
        directions = strongest_directions(words, self.dim, seed, NUM_ITERATIONS, parts)
        self.directions.copy_(torch.from_numpy(directions))
        self.rarities.copy_(torch.from_numpy(rarities))

    def learning_words(self) -> "SpectralWords":
        """Return the same, its tables shared, with weights of words of its own to be learned."""
        shared = (self.directions, self.rarities, self._team)
        learner = deepcopy(self, {id(one): one for one in shared})
        learner.emphasis = nn.Parameter(torch.zeros_like(self.rarities))
        return learner

    def settle(self) -> None:
        """Make the weights that were learned part of the rarities."""
        if self.emphasis is not None:
            self.rarities = self.rarities * self.emphasis.detach().exp()
            self.emphasis = None

    def prepare(self, texts: TokenizedTexts) -> Float[Tensor, "texts dim"] | SparseMatrix:
        """Return X, or B where weights of words are learned."""
        if self.emphasis is None:
            return super().prepare(texts)
        return SparseMatrix.from_scipy(self._weigh(texts), self.directions.dtype)

    def forward(
        self, prepared: Float[Tensor, "texts dim"] | SparseMatrix
    ) -> Float[Tensor, "texts dim"]:
        """Return X."""
        if isinstance(prepared, Tensor) or self.emphasis is None:
            return prepared
        words = self.emphasis.exp().unsqueeze(1) * self.directions
        return unit_rows(prepared @ words, self._team)

    def project(self, texts: TokenizedTexts) -> Float[Tensor, "texts dim"]:
        """Return B V."""
        return torch.from_numpy(self._weigh(texts) @ self.directions.numpy())

    def word_parts(self, texts: TokenizedTexts) -> WordParts:
        """Return B, every row divided by the length that B V has there, and V."""
        words = self._weigh(texts)
        lengths = np.linalg.norm(words @ self.directions.numpy(), axis=1)
        scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        return WordParts(sp.csr_array(sp.diags_array(scale) @ words), self.directions)

    def _weigh(self, texts: TokenizedTexts) -> sp.csr_array:
        """Return B."""
        words = weigh_words(texts, self.rarities.numpy(), damped=True)
        words.data = words.data.astype(self.directions.numpy().dtype)
        return words
