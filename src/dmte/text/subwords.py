"""Character n-grams, which relate words such as *networks* and *networking*.

    T = [I, G]        g_wk = ln(W / W_k) if n-gram k occurs in word w, rows of length 1

W is the number of words and W_k the number of words that contain n-gram k. The n-grams have three
to five characters; the start and the end of a word count as characters, as in Bojanowski et al.
2017. A word and all its n-grams together have equal weight. In short texts, n-grams show similarity
that whole words miss. Words of one character, as in Chinese, share no n-gram and keep only their
own column.
"""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from dmte.text.vocabulary import TokenizedTexts

MIN_LENGTH, MAX_LENGTH = 3, 5
"""Characters of an n-gram."""
MAX_SHORT_WORDS = 20
"""Texts are short if their median length is below this many words. In trials, n-grams helped titles
and one-line descriptions but not abstracts (docs/recipe.md)."""


def are_short(texts: TokenizedTexts) -> bool:
    """Return whether the median length of the texts that are not empty is below 20 words."""
    lengths = texts.lengths().numpy()
    filled = lengths[lengths > 0]
    return len(filled) > 0 and bool(np.median(filled) < MAX_SHORT_WORDS)


def subword_matrix(words: Sequence[str]) -> sp.csr_array:
    """Return T: one row per word, one column per word and per n-gram of some but not all words.

    >>> subword_matrix(["cat", "cats", "dog"]).toarray().round(1).tolist()
    [[1.0, 0.0, 0.0, 0.6, 0.6, 0.6], [0.0, 1.0, 0.0, 0.6, 0.6, 0.6], [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]
    """
    found = _ngrams(words)
    counts = found.sum(axis=0)
    is_informative = (counts > 1) & (counts < len(words))
    weights = np.log(len(words) / np.maximum(counts, 1))
    shared = sp.csr_array((found @ sp.diags_array(weights))[:, is_informative])
    lengths = np.sqrt(shared.multiply(shared).sum(axis=1))
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return sp.csr_array(sp.hstack([sp.eye_array(len(words)), sp.diags_array(scale) @ shared]))


def _ngrams(words: Sequence[str]) -> sp.csr_array:
    """Return a one for every word and each of its n-grams, a column per n-gram."""
    spelled = "".join(f"<{word}>" for word in words).encode("utf-32-le", "surrogatepass")
    _, letters = np.unique(np.frombuffer(spelled, np.uint32), return_inverse=True)
    sizes = np.fromiter(map(len, words), np.int64, len(words)) + 2
    word_of = np.repeat(np.arange(len(words)), sizes)
    num_letters = letters.max(initial=0) + 1
    remaining = np.repeat(sizes.cumsum(), sizes) - np.arange(len(letters))
    # The number of the n-gram at every place. Longer n-grams extend those that fit into a word.
    places, numbers = np.arange(len(letters)), letters
    parts = []
    for length in range(2, MAX_LENGTH + 1):
        fits = remaining[places] >= length
        places = places[fits]
        keys = numbers[fits] * num_letters + letters[places + length - 1]
        distinct, numbers = np.unique(keys, return_inverse=True)
        if length >= MIN_LENGTH:
            shape = len(words), len(distinct)
            ones = np.ones(len(places), np.int64)
            part = sp.csr_array((ones, (word_of[places], numbers)), shape=shape)
            part.data[:] = 1  # An n-gram may occur in a word several times.
            parts.append(part)
    return sp.csr_array(sp.hstack(parts))
