"""TF-IDF: a row per text and a column per word.

    b_iw = g(n_iw) r_w        r_w = 1 + ln((1 + N) / (1 + N_w))

n_iw is the number of times word w occurs in text i, and N_w the number of texts that contain w. r_w
is the smoothed IDF of scikit-learn (after Salton and Buckley 1988). The term frequency is g(n) = n,
or g(n) = ln(1 + n) if damped (Dumais 1991). The steep IDF, r_w = ln((1 + N) / N_w), gives words of
nearly every text a weight near zero. Rows of B have length 1; the row of an empty text is zero.
"""

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int


def idf(counts: sp.csr_array) -> Float[np.ndarray, " words"]:
    """Return 1 + ln((1 + N) / (1 + N_w)) of every word; ``counts`` are the n_iw."""
    weights: np.ndarray = 1 + np.log((1 + counts.shape[0]) / (1 + _document_counts(counts)))
    return weights


def steep_idf(counts: sp.csr_array) -> Float[np.ndarray, " words"]:
    """Return ln((1 + N) / N_w) of every word, with N_w = 1 for a word in no text."""
    weights: np.ndarray = np.log((1 + counts.shape[0]) / np.maximum(_document_counts(counts), 1))
    return weights


def _document_counts(counts: sp.csr_array) -> Int[np.ndarray, " words"]:
    """Return N_w."""
    return np.bincount(counts.indices, minlength=counts.shape[1])


def weigh_words(
    counts: sp.csr_array, weights: Float[np.ndarray, " words"], *, damped: bool
) -> sp.csr_array:
    """Return B from the counts n_iw, with ``weights`` as r_w and their precision."""
    frequencies = np.arange(1 + counts.data.max(initial=0), dtype=weights.dtype)
    if damped:
        frequencies = np.log1p(frequencies)
    values = frequencies[counts.data]
    values *= weights[counts.indices]
    sizes = np.diff(counts.indptr)
    filled = np.flatnonzero(sizes)
    squares = np.add.reduceat(values * values, counts.indptr[filled]) if len(filled) else values
    lengths = np.sqrt(squares)
    scale = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    values *= np.repeat(scale, sizes[filled])
    return sp.csr_array((values, counts.indices, counts.indptr), shape=counts.shape)
