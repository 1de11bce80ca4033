"""Word overlap: the cosine of TF-IDF vectors, the text alone.

    tfidf_iw = n_iw (1 + ln((1 + N) / (1 + N_w)))

with n_iw how often word w stands in text i and N_w the number of texts it stands in (the smoothed
form of Salton and Buckley 1988 that scikit-learn uses). An empty text overlaps with nothing.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dmte.network import TextualNetwork
from dmte.text import Vocabulary


@dataclass(frozen=True, slots=True, eq=False)
class WordOverlap:
    """The TF-IDF vectors of a network's texts, which stay sparse."""

    vectors: sp.csr_array

    def score(self, pairs: Int[Tensor, "pairs 2"]) -> Float[Tensor, " pairs"]:
        """Return the cosine of each pair of texts."""
        left, right = (self.vectors[pairs[:, side].numpy()] for side in (0, 1))
        return torch.from_numpy(np.asarray(left.multiply(right).sum(axis=1)).ravel())


@dataclass(frozen=True, slots=True, kw_only=True)
class TfIdf:
    """Word overlap, weighted by how rare the words are."""

    def fit(self, network: TextualNetwork, seed: int) -> WordOverlap:  # noqa: ARG002
        """Weigh the words of every text; nothing is drawn."""
        tokens = Vocabulary.of(network.texts).encode(network.texts)
        shares = tokens.bag_of_words()
        document_counts = np.bincount(shares.indices, minlength=tokens.vocabulary_size)
        rarity = 1 + np.log((1 + len(tokens)) / (1 + document_counts))
        weighted = shares * rarity
        # The shares differ from counts by a factor per text, which the cosine does not see.
        lengths = np.sqrt(weighted.multiply(weighted).sum(axis=1))
        scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        return WordOverlap(sp.csr_array(sp.diags_array(scale) @ weighted))
