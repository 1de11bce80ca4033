"""What a text encoder is: texts in, X out, one row per text (section 4.2).

A subclass holds its parameters and says two things: how texts are laid out for it, once
(``prepare``), and how that becomes X (``forward``). Three promises go with it, and
tests/text/test_encoder_contract.py holds every encoder to them:

- a text's row does not depend on the texts it is encoded with;
- an empty text has the zero vector;
- gradients reach every parameter.
"""

from abc import ABC, abstractmethod
from typing import Generic, NamedTuple, TypeVar

import scipy.sparse as sp
import torch
from jaxtyping import Float
from torch import Tensor, nn

from dmte.distributed.group import ProcessGroup

Texts = TypeVar("Texts")
Prepared = TypeVar("Prepared")


class WordParts(NamedTuple):
    """X word by word: X = A D, where a_iw is how much of word w there is in text i."""

    amounts: sp.csr_array
    """A, a row per text and a column per word."""
    directions: Float[Tensor, "words dim"]
    """D, a row per word."""


class TextEncoder(nn.Module, ABC, Generic[Texts, Prepared]):
    """Texts to X; made with ``(vocabulary_size, dim, generator)``."""

    dim: int
    """The width of a row of X, d_t."""

    @abstractmethod
    def __init__(self, vocabulary_size: int, dim: int, generator: torch.Generator) -> None:
        super().__init__()
        self.dim = dim

    @abstractmethod
    def prepare(self, texts: Texts) -> Prepared:
        """Return ``texts`` laid out for ``forward``; done once, used in every step."""

    @abstractmethod
    def forward(self, prepared: Prepared) -> Float[Tensor, "texts dim"]:
        """Return X."""

    def divide(self, group: ProcessGroup) -> dict[str, int]:  # noqa: ARG002
        """Keep only the own columns of tables; return the axis along which each is divided.

        Unless an encoder says how, every process keeps all of it and makes all of X.
        """
        return {}

    @classmethod
    def step_numbers(cls, num_texts: int, num_tokens: int, dim: int) -> int:  # noqa: ARG003
        """Return how many numbers a step keeps or works on, besides X and the tables."""
        return 0

    def word_parts(self, texts: Texts) -> WordParts | None:  # noqa: ARG002
        """Return X as a sum over words, or None where a text is more than that."""
        return None
