"""Base class of frozen encoders, which are computed before training and not trained.

    X = B V, rows normalized to length 1

B has one row per text. V is computed once from the training texts. Neither is trained, so new texts
are projected into the same space.
"""

from abc import abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor

from dmte.distributed.columns import ALL_COLUMNS, Columns
from dmte.text.encoder import Prepared, TextEncoder, Texts


class FrozenEncoder(TextEncoder[Texts, Prepared]):
    """X = B V with rows of length 1; zero until ``start`` is called."""

    directions: Float[Tensor, "columns dim"]
    """V, strongest direction first."""

    def __init__(self, vocabulary_size: int, dim: int, generator: torch.Generator) -> None:
        super().__init__(vocabulary_size, dim, generator)
        self.columns = ALL_COLUMNS
        self.register_buffer("directions", torch.zeros(vocabulary_size, dim))

    @abstractmethod
    def start(self, texts: Texts, seed: int, *, letters: bool | None = None) -> None:
        """Compute V from ``texts``; ``letters`` is the setting of that name."""

    @abstractmethod
    def project(self, texts: Texts) -> Float[Tensor, "texts dim"]:
        """Compute B V; its first columns are those of a narrower encoder."""

    def narrowed(self, dim: int) -> "FrozenEncoder[Texts, Prepared]":
        """Return a copy with only the ``dim`` strongest directions."""
        narrow = type(self)(len(self.directions), dim, torch.Generator())
        narrow.load_state_dict(self.state_dict() | {"directions": self.directions[:, :dim]})
        return narrow

    def divide(self, columns: Columns) -> dict[str, int]:
        """Keep this process's columns of V, which are its columns of X."""
        self.directions = self.directions[:, columns.own(self.dim)].clone()
        self.columns = columns
        return {"directions": 1}
