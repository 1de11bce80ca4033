"""Texts that are fixed before training: rows of a matrix in its strongest directions.

    X = B V, every row divided by its length

B has a row per text, V is found once, from the texts that training starts with, and nothing is
learned of either. So texts that come later get a row in the same space.
"""

from abc import abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor

from dmte.distributed.group import SINGLE_PROCESS, ProcessGroup
from dmte.kernels.row_norms import unit_rows
from dmte.text.encoder import TextEncoder, Texts


class FrozenEncoder(TextEncoder[Texts, Tensor]):
    """X = B V with rows of length 1; zero until it is started."""

    directions: Float[Tensor, "columns dim"]
    """V."""

    def __init__(self, vocabulary_size: int, dim: int, generator: torch.Generator) -> None:
        super().__init__(vocabulary_size, dim, generator)
        self.group = SINGLE_PROCESS
        self.register_buffer("directions", torch.zeros(vocabulary_size, dim))

    @abstractmethod
    def start(self, texts: Texts, seed: int, *, letters: bool | None = None) -> None:
        """Find the strongest directions of ``texts``; ``letters`` is the setting of that name."""

    @abstractmethod
    def project(self, texts: Texts) -> Float[Tensor, "texts dim"]:
        """Return B V; its first columns are those of a narrower encoder."""

    def narrowed(self, dim: int) -> "FrozenEncoder[Texts]":
        """Return the same with the ``dim`` strongest of its directions."""
        narrow = type(self)(len(self.directions), dim, torch.Generator())
        narrow.load_state_dict(self.state_dict() | {"directions": self.directions[:, :dim]})
        return narrow

    def divide(self, group: ProcessGroup) -> dict[str, int]:
        """Keep the own columns of V, which are those of X."""
        self.directions = self.directions[:, group.column_slice(self.dim)].clone()
        self.group = group
        return {"directions": 1}

    def prepare(self, texts: Texts) -> Float[Tensor, "texts dim"]:
        """Return X, which no step changes."""
        return unit_rows(self.project(texts), self.group)

    def forward(self, prepared: Float[Tensor, "texts dim"]) -> Float[Tensor, "texts dim"]:
        """Return X."""
        return prepared
