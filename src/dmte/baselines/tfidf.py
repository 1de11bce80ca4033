"""Word overlap: the cosine of TF-IDF vectors.

    tfidf_iw = n_iw (1 + ln((1 + N) / (1 + N_w)))

with n_iw the count of word w in text i and N_w the number of texts with w (the smoothed form of
Salton and Buckley 1988 that scikit-learn uses). An empty text scores 0. Edges are not used.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import scipy.sparse as sp
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dmte.kernels.sparse_pairs import sums_of_products
from dmte.network import TextualNetwork
from dmte.text import tokenized
from dmte.text.tfidf import idf, weigh_words


@dataclass(frozen=True, slots=True, eq=False)
class WordOverlap:
    """The TF-IDF vectors of a network's texts, which stay sparse."""

    vectors: sp.csr_array

    def score(self, pairs: Int[Tensor, "pairs 2"]) -> Float[Tensor, " pairs"]:
        """Return the cosine of each pair of texts."""
        return sums_of_products(self.vectors, pairs, lambda rows: rows.sum(axis=1))

    def score_rows(self, vertices: Int[Tensor, " some"]) -> Float[Tensor, "some vertices"]:
        """Return the cosines of these texts with all texts."""
        cosines: Tensor = torch.from_numpy(
            (self.vectors[vertices.numpy()] @ self.vectors.T).toarray()
        )
        return cosines


@dataclass(frozen=True, slots=True, kw_only=True)
class TfIdf:
    """Word overlap, weighted by IDF."""

    def fit(self, network: TextualNetwork, seed: int) -> WordOverlap:  # noqa: ARG002
        """Weigh the words of every text; ignores the seed."""
        return WordOverlap(tfidf_vectors(network.texts))


def tfidf_vectors(texts: Sequence[str], *, damped: bool = False) -> sp.csr_array:
    """Return one row per text and one column per word; rows have length 1, an empty text's zero.

    ``damped`` replaces n_iw by ln(1 + n_iw) (Dumais 1991).
    """
    _, tokens = tokenized(texts)
    counts = tokens.word_counts()
    return weigh_words(counts, idf(counts), damped=damped)
