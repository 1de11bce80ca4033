"""Texts to words to numbers (section 4.2).

The paper says "a word sequence" and no more. Here a word is a run of letters, digits and marks in
lower case after Unicode's compatibility normalization (NFKC); Chinese, which is written without
spaces, is split into its ideographs, one token each.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from unicodedata import category, normalize

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Int
from torch import Tensor

from dmte.errors import ConfigError

# The CJK unified ideographs, their extensions and the compatibility ideographs.
_IDEOGRAPH = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_ASCII_WORD = re.compile(r"[a-z0-9]+")


def tokenize(text: str) -> list[str]:
    """Return the words of ``text`` in order.

    >>> tokenize("The K-D-B-Tree: a search structure")
    ['the', 'k', 'd', 'b', 'tree', 'a', 'search', 'structure']
    >>> tokenize("图 graph 嵌入")
    ['图', 'graph', '嵌', '入']
    """
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    # Again after lowering: some capitals have a small letter only in decomposed form.
    lowered = normalize("NFKC", normalize("NFKC", text).lower())
    return _unicode_word().findall(lowered)


@cache
def _unicode_word() -> re.Pattern[str]:
    """Return the pattern of an ideograph, or of a letter or digit with what follows it."""
    marks = "".join(c for c in map(chr, range(0x300, sys.maxunicode)) if category(c)[0] == "M")
    letter = rf"(?![{_IDEOGRAPH}_])\w"
    return re.compile(rf"[{_IDEOGRAPH}]|{letter}(?:{letter}|[{marks}])*")


@dataclass(frozen=True, slots=True, eq=False)
class TokenizedTexts:
    """Texts as word numbers, one after the other: text i is tokens[offsets[i]:offsets[i + 1]]."""

    tokens: Int[Tensor, " tokens"]
    offsets: Int[Tensor, " texts_and_one"]
    vocabulary_size: int

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def lengths(self) -> Int[Tensor, " texts"]:
        """Return |t| of every text."""
        return self.offsets.diff()

    def select(self, which: Int[Tensor, " some"]) -> "TokenizedTexts":
        """Return the texts numbered ``which``, in that order."""
        lengths = self.lengths()[which]
        offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
        within = torch.arange(int(offsets[-1])) - offsets[:-1].repeat_interleave(lengths)
        tokens = self.tokens[self.offsets[which].repeat_interleave(lengths) + within]
        return TokenizedTexts(tokens, offsets, self.vocabulary_size)

    def thinned(self, share: float, generator: torch.Generator) -> "TokenizedTexts":
        """Return the texts without about ``share`` of their words, each left out by a draw."""
        kept = torch.rand(len(self.tokens), generator=generator) >= share
        before = torch.cat([kept.new_zeros(1, dtype=torch.int64), kept.cumsum(0)])
        return TokenizedTexts(self.tokens[kept], before[self.offsets], self.vocabulary_size)

    def bag_of_words(self) -> sp.csr_array:
        """Return B: row i holds how often each word stands in text i, divided by |t_i|."""
        lengths = self.lengths().numpy()
        shares = np.repeat(1.0 / np.maximum(lengths, 1), lengths)
        shape = (len(self), self.vocabulary_size)
        places = self.tokens.numpy(), self.offsets.numpy()
        # A copy, because SciPy would sort the tokens in place.
        bag = sp.csr_array((shares, *places), shape=shape, copy=True)
        bag.sum_duplicates()
        return bag


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words a model knows; others are passed over.

    >>> vocabulary = Vocabulary.of(["red fox", "red hen"], min_count=2)
    >>> vocabulary.words
    ('red',)
    >>> vocabulary.encode(["a red, red rose"]).tokens.tolist()
    [0, 0]
    """

    words: tuple[str, ...]
    """Sorted, which spreads frequent words evenly over the rows (and so over the threads)."""
    _numbers: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        numbers = {word: number for number, word in enumerate(self.words)}
        object.__setattr__(self, "_numbers", numbers)

    @classmethod
    def of(
        cls, texts: Iterable[str], *, min_count: int = 1, max_size: int | None = None
    ) -> "Vocabulary":
        """Return the words that occur ``min_count`` times, at most the ``max_size`` commonest.

        Raises:
            ConfigError: A limit is below one.
        """
        if min_count < 1 or (max_size is not None and max_size < 1):
            raise ConfigError(
                f"min_count and max_size must be at least 1, not {min_count} and {max_size}"
            )
        counts = Counter(word for text in texts for word in tokenize(text))
        frequent = [(-count, word) for word, count in counts.items() if count >= min_count]
        kept = sorted(frequent)[:max_size]
        return cls(tuple(sorted(word for _, word in kept)))

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, texts: Sequence[str]) -> TokenizedTexts:
        """Return ``texts`` as word numbers, words outside the vocabulary left out."""
        numbers: list[int] = []
        offsets = [0]
        for text in texts:
            numbers.extend(self._numbers[word] for word in tokenize(text) if word in self._numbers)
            offsets.append(len(numbers))
        return TokenizedTexts(
            torch.tensor(numbers, dtype=torch.int64),
            torch.tensor(offsets, dtype=torch.int64),
            len(self),
        )
