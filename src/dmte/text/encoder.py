"""The interface of a text encoder: texts to X, one row per text (section 4.2).

A subclass holds its parameters and defines two methods: ``prepare`` converts texts once before
training, ``forward`` computes X from the result in every step. Every encoder guarantees:

- a text's row does not depend on the other texts in the batch;
- an empty text has the zero vector;
- gradients reach every parameter.

tests/text/test_encoder_contract.py runs these checks on every encoder.
"""

from abc import ABC, abstractmethod
from typing import Any, Generic, NamedTuple, TypeVar

import scipy.sparse as sp
import torch
from jaxtyping import Float
from torch import Tensor, nn

from dmte.distributed.columns import Columns

Texts = TypeVar("Texts")
Prepared = TypeVar("Prepared")


class WordParts(NamedTuple):
    """X as a sum over words: X = A D, where a_iw is the weight of word w in text i."""

    amounts: sp.csr_array
    """A, one row per text and one column per word."""
    directions: Float[Tensor, "words dim"]
    """D, one row per word."""


class TextEncoder(nn.Module, ABC, Generic[Texts, Prepared]):
    """Base class of encoders; the constructor takes ``(vocabulary_size, dim, generator)``."""

    dim: int
    """Width of a row of X, d_t."""

    @abstractmethod
    def __init__(self, vocabulary_size: int, dim: int, generator: torch.Generator) -> None:
        super().__init__()
        self.dim = dim

    @abstractmethod
    def prepare(self, texts: Texts) -> Prepared:
        """Convert ``texts`` to the input of ``forward``; called once, reused in every step."""

    @abstractmethod
    def forward(self, prepared: Prepared) -> Float[Tensor, "texts dim"]:
        """Compute X."""

    def drop_words(
        self,
        texts: Any,
        prepared: Prepared,  # noqa: ARG002
        share: float,
        generator: torch.Generator,
    ) -> Prepared:
        """Return ``prepared``, the input of ``forward`` for ``texts``, without some of the words.

        Each word is dropped with probability ``share``.
        """
        return self.prepare(texts.dropout_words(share, generator))

    def divide(self, columns: Columns) -> dict[str, int]:  # noqa: ARG002
        """Keep this process's columns of each table; return the axis each is divided along.

        By default nothing is divided: every process keeps all parameters and computes all of X.
        """
        return {}

    @classmethod
    def step_numbers(cls, num_texts: int, num_tokens: int, dim: int) -> int:  # noqa: ARG003
        """Return how many numbers a step keeps or works on, besides X and the tables."""
        return 0

    def word_parts(self, texts: Texts) -> WordParts | None:  # noqa: ARG002
        """Return X as a sum over words, or None if X is not such a sum."""
        return None
