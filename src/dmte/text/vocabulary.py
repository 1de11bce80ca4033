"""The vocabulary and texts as word numbers (section 4.2); ``tokenize`` defines a word."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn.functional import pad

from dmte.errors import ConfigError
from dmte.text.tokenize import NumberedWords, number_words
from dmte.text.tokenize import tokenize as tokenize

BLOCK_TOKENS = 1 << 20
"""Words that are counted at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenizedTexts:
    """Concatenated texts as word numbers: text i is tokens[offsets[i]:offsets[i + 1]]."""

    tokens: Int[Tensor, " tokens"]
    offsets: Int[Tensor, " texts_and_one"]
    words: Sequence[str] = field(repr=False)
    """The word of every number."""

    @property
    def vocabulary_size(self) -> int:
        """Number of words in the vocabulary."""
        return len(self.words)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def lengths(self) -> Int[Tensor, " texts"]:
        """Return |t|, the number of words of every text."""
        return self.offsets.diff()

    def select(self, which: Int[Tensor, " some"]) -> "TokenizedTexts":
        """Return the texts at the positions ``which``, in that order."""
        lengths = self.lengths()[which]
        offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
        within = torch.arange(int(offsets[-1])) - offsets[:-1].repeat_interleave(lengths)
        tokens = self.tokens[self.offsets[which].repeat_interleave(lengths) + within]
        return TokenizedTexts(tokens, offsets, self.words)

    def dropout_words(self, share: float, generator: torch.Generator) -> "TokenizedTexts":
        """Drop each word with probability ``share``."""
        kept = torch.rand(len(self.tokens), generator=generator) >= share
        before = torch.cat([kept.new_zeros(1, dtype=torch.int64), kept.cumsum(0)])
        return TokenizedTexts(self.tokens[kept], before[self.offsets], self.words)

    def first_words(self, max_words: int) -> "TokenizedTexts":
        """Truncate every text to ``max_words``."""
        lengths = self.lengths()
        place = torch.arange(len(self.tokens)) - self.offsets[:-1].repeat_interleave(lengths)
        offsets = pad(lengths.clamp(max=max_words).cumsum(0), (1, 0))
        return TokenizedTexts(self.tokens[place < max_words], offsets, self.words)

    def bag_of_words(self) -> sp.csr_array:
        """Return B, where b_iw is the number of times word w occurs in text i, divided by |t_i|."""
        lengths = self.lengths().numpy()
        shares = np.repeat(1.0 / np.maximum(lengths, 1), lengths)
        shape = (len(self), self.vocabulary_size)
        indices = self.tokens.numpy(), self.offsets.numpy()
        # Copy, because SciPy would sort the tokens in place.
        bag = sp.csr_array((shares, *indices), shape=shape, copy=True)
        bag.sum_duplicates()
        return bag

    def word_counts(self) -> sp.csr_array:
        """Return the number of times every word occurs in every text."""
        bounds, size = self.offsets.numpy(), max(1, self.vocabulary_size)
        columns, counts = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
        ends = [np.zeros(1, np.int64)]
        # A few texts at a time, so that their words fit into the caches of the processor.
        num_blocks = 1 + len(self.tokens) // BLOCK_TOKENS
        edges = np.searchsorted(bounds, np.linspace(0, len(self.tokens), num_blocks + 1))
        edges[0], edges[-1] = 0, len(self)
        for first, last in pairwise(np.unique(edges).tolist()):  # A text may be several blocks.
            texts = np.repeat(np.arange(last - first), np.diff(bounds[first : last + 1]))
            pairs = texts * size + self.tokens[bounds[first] : bounds[last]].numpy()
            pairs.sort()
            starts = np.flatnonzero(np.diff(pairs, prepend=-1))
            text, column = np.divmod(pairs[starts], size)
            columns.append(column.astype(np.int32))
            counts.append(np.diff(starts, append=len(pairs)).astype(np.int32))
            ends.append(ends[-1][-1] + np.bincount(text, minlength=last - first).cumsum())
        shape = len(self), self.vocabulary_size
        parts = np.concatenate(counts), np.concatenate(columns), np.concatenate(ends)
        return sp.csr_array(parts, shape=shape)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of a model's vocabulary; other words are skipped.

    >>> vocabulary = Vocabulary.of(["red fox", "red hen"], min_count=2)
    >>> vocabulary.words
    ('red',)
    >>> vocabulary.encode(["a red, red rose"]).tokens.tolist()
    [0, 0]
    """

    words: tuple[str, ...]
    """Sorted, which spreads frequent words evenly over the rows, and so over the threads."""
    _numbers: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        numbers = {word: number for number, word in enumerate(self.words)}
        object.__setattr__(self, "_numbers", numbers)

    @classmethod
    def of(
        cls, texts: Iterable[str], *, min_count: int = 1, max_size: int | None = None
    ) -> "Vocabulary":
        """Build the vocabulary of words with ``min_count`` occurrences or more.

        At most ``max_size`` words are kept, the most frequent first; ties are alphabetical.

        Raises:
            ConfigError: ``min_count`` or ``max_size`` is below 1.
        """
        return cls._of(_number(texts), min_count, max_size)

    @classmethod
    def _of(cls, found: NumberedWords, min_count: int, max_size: int | None) -> "Vocabulary":
        if min_count < 1 or (max_size is not None and max_size < 1):
            raise ConfigError(
                f"min_count and max_size must be at least 1, not {min_count} and {max_size}"
            )
        counts = np.bincount(found.numbers, minlength=len(found.words)).tolist()
        pairs = zip(counts, found.words, strict=True)
        frequent = [(-count, word) for count, word in pairs if count >= min_count]
        kept = sorted(frequent)[:max_size]
        return cls(tuple(sorted(word for _, word in kept)))

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, texts: Sequence[str]) -> TokenizedTexts:
        """Convert ``texts`` to word numbers; skip words outside the vocabulary."""
        return self._encode(_number(texts))

    def _encode(self, found: NumberedWords) -> TokenizedTexts:
        known = np.array([self._numbers.get(word, -1) for word in found.words], dtype=np.int64)
        tokens = known[found.numbers] if len(known) else np.empty(0, np.int64)
        is_known = tokens >= 0
        ends = np.concatenate([[0], found.lengths.cumsum(dtype=np.int64)])
        # Number of known words before every word, and after the last.
        before = np.concatenate([[0], is_known.cumsum(dtype=np.int64)])
        return TokenizedTexts(
            torch.from_numpy(tokens[is_known]), torch.from_numpy(before[ends]), self.words
        )


def tokenized(
    texts: Sequence[str], *, min_count: int = 1, max_size: int | None = None
) -> tuple[Vocabulary, TokenizedTexts]:
    """Return the vocabulary of ``texts`` and the encoded texts; tokenize each text only once.

    >>> vocabulary, numbered = tokenized(["red fox", "red hen"])
    >>> vocabulary.words, numbered.tokens.tolist()
    (('fox', 'hen', 'red'), [2, 0, 2, 1])

    Raises:
        ConfigError: ``min_count`` or ``max_size`` is below 1.
    """
    found = _number(texts)
    vocabulary = Vocabulary._of(found, min_count, max_size)
    return vocabulary, vocabulary._encode(found)


def _number(texts: Iterable[str]) -> NumberedWords:
    return number_words(texts, torch.get_num_threads())
