"""Base class of frozen encoders, which are computed before training and not trained.

    X = B V, rows normalized to length 1

B has one row per text. V is computed once from the training texts. Neither is trained, so new texts
are projected into the same space.
"""

from abc import abstractmethod
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from dmte.distributed.columns import ALL_COLUMNS, Columns
from dmte.text.encoder import Prepared, TextEncoder, Texts

BLOCK_ROWS = 1 << 14
"""Rows of V that processes exchange at a time."""


class FrozenEncoder(TextEncoder[Texts, Prepared]):
    """X = B V with rows of length 1; zero until ``start`` is called."""

    directions: Float[Tensor, "columns dim"]
    """V, strongest direction first."""

    def __init__(self, vocabulary_size: int, dim: int, generator: torch.Generator) -> None:
        super().__init__(vocabulary_size, dim, generator)
        self.columns = ALL_COLUMNS
        self.register_buffer("directions", torch.zeros(vocabulary_size, dim))

    @abstractmethod
    def start(
        self,
        texts: Texts,
        seed: int,
        *,
        letters: bool | None = None,
        columns: Columns = ALL_COLUMNS,
    ) -> None:
        """Compute the own columns of V from ``texts``; ``letters`` is the setting of that name."""

    @abstractmethod
    def product_with(self, texts: Texts) -> Callable[[Tensor], Tensor]:
        """Return the product with B as a function of V, or of some columns of V."""

    def project(self, texts: Texts) -> Float[Tensor, "texts dim"]:
        """Compute B V; its first columns are those of a narrower encoder."""
        return self.product_with(texts)(self.directions)

    def narrowed(self, dim: int) -> "FrozenEncoder[Texts, Prepared]":
        """Return a copy with only the ``dim`` strongest directions."""
        narrow = type(self)(len(self.directions), dim, torch.Generator())
        for name, table in self.named_buffers():
            narrow.register_buffer(name, table)
        narrow.columns, own = self.columns, self.columns.own(dim)
        blocks = self.directions.split(BLOCK_ROWS)
        whole = [self.columns.all_gather(block, self.dim)[:, own] for block in blocks]
        narrow.directions = torch.cat(whole) if whole else self.directions[:, own].clone()
        return narrow

    def divide(self, columns: Columns) -> dict[str, int]:
        """Keep this process's columns of V, which are its columns of X."""
        self.directions = self.directions[:, columns.own(self.dim)].clone()
        self.columns = columns
        return {"directions": 1}
