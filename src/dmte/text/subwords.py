"""The groups of letters that words have in common: networks and networking say much the same.

    T = [I, G]        g_wk = ln(W / W_k) if group k stands in word w, rows of length 1

with W_k the number of words, of W, that a group of three to five letters stands in, the start and
the end of a word counted as letters (Bojanowski et al. 2017 read words in the same groups). A word
is then itself and, as much again, its groups. Where texts have few words this tells what two of
them share that no word shows. Words of a single character, as of Chinese texts, share no group and
stay what they are.
"""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from dmte.text.vocabulary import TokenizedTexts

SHORTEST, LONGEST = 3, 5
"""Letters of a group."""
FEW_WORDS = 20
"""Texts are short if half of them have fewer words than this: titles and one-line descriptions
gained by their groups in trials, abstracts did not (docs/recipe.md)."""


def are_short(texts: TokenizedTexts) -> bool:
    """Return whether half of the texts, empty ones aside, have fewer than 20 words."""
    lengths = texts.lengths().numpy()
    read = lengths[lengths > 0]
    return len(read) > 0 and bool(np.median(read) < FEW_WORDS)


def subword_matrix(words: Sequence[str]) -> sp.csr_array:
    """Return T: a row per word, a column per word, and one per group that only some words have.

    >>> subword_matrix(["cat", "cats", "dog"]).toarray().round(1).tolist()
    [[1.0, 0.0, 0.0, 0.6, 0.6, 0.6], [0.0, 1.0, 0.0, 0.6, 0.6, 0.6], [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]
    """
    numbers: dict[str, int] = {}
    columns, ends = [], [0]
    for word in words:
        columns += [numbers.setdefault(group, len(numbers)) for group in sorted(_groups(word))]
        ends.append(len(columns))
    shape = len(words), len(numbers)
    found = sp.csr_array((np.ones(len(columns)), columns, ends), shape=shape)
    counts = np.bincount(columns, minlength=len(numbers))
    weights = np.log(len(words) / np.maximum(counts, 1))
    tells = (counts > 1) & (counts < len(words))
    shared = sp.csr_array((found @ sp.diags_array(weights))[:, tells])
    lengths = np.sqrt(shared.multiply(shared).sum(axis=1))
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return sp.csr_array(sp.hstack([sp.eye_array(len(words)), sp.diags_array(scale) @ shared]))


def _groups(word: str) -> set[str]:
    spelled = f"<{word}>"
    return {
        spelled[start : start + length]
        for length in range(SHORTEST, LONGEST + 1)
        for start in range(len(spelled) - length + 1)
    }
