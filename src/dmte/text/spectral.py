"""Texts in the space of their strongest directions, fixed before training starts.

    X = B V, every row divided by its length

with B the damped TF-IDF vectors, by the steep rarity, and V the directions of the texts it was
started from (see ``tfidf``). Where these are short, words are taken with their groups of letters
(see ``letters``) when directions are sought, and V still has a row per word. Nothing of it is
learned, so texts that come later get a row in the same space; ``word_weights`` learns how much a
word counts.
"""

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float
from torch import Tensor

from dmte.text.encoder import WordParts
from dmte.text.frozen import FrozenEncoder
from dmte.text.subwords import are_short, subword_matrix
from dmte.text.tfidf import steep_idf, strongest_directions, weigh_words
from dmte.text.vocabulary import TokenizedTexts

NUM_ITERATIONS = 4
"""Of the search for directions: on Cora, with numbers of four bytes, a third of the time that seven
take with eight."""


class SpectralWords(FrozenEncoder[TokenizedTexts]):
    """X = B V with rows of length 1; zero until it is started."""

    rarities: Float[Tensor, " words"]

    def __init__(self, vocabulary_size: int, dim: int, generator: torch.Generator) -> None:
        super().__init__(vocabulary_size, dim, generator)
        self.register_buffer("rarities", torch.zeros(vocabulary_size))

    def start(self, texts: TokenizedTexts, seed: int, *, letters: bool | None = None) -> None:
        """Find the strongest directions of ``texts``, where they are short by letters too."""
        rarities = steep_idf(texts)
        words = weigh_words(texts, rarities, damped=True).astype(np.float32)
        by_letters = are_short(texts) if letters is None else letters
        parts = subword_matrix(texts.words).astype(np.float32) if by_letters else None
        directions = strongest_directions(words, self.dim, seed, NUM_ITERATIONS, parts)
        self.directions.copy_(torch.from_numpy(directions))
        self.rarities.copy_(torch.from_numpy(rarities))

    def project(self, texts: TokenizedTexts) -> Float[Tensor, "texts dim"]:
        """Return B V."""
        return torch.from_numpy(self.weigh(texts) @ self.directions.numpy())

    def word_parts(self, texts: TokenizedTexts) -> WordParts:
        """Return B, every row divided by the length that B V has there, and V."""
        words = self.weigh(texts)
        lengths = np.linalg.norm(words @ self.directions.numpy(), axis=1)
        scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        return WordParts(sp.csr_array(sp.diags_array(scale) @ words), self.directions)

    def weigh(self, texts: TokenizedTexts) -> sp.csr_array:
        """Return B."""
        words = weigh_words(texts, self.rarities.numpy(), damped=True)
        words.data = words.data.astype(self.directions.numpy().dtype)
        return words
