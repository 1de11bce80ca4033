"""The rows of V_t that the steps of a round read.

If X is fixed, the hop tables P^h X are constant during a round. Its steps read the rows that they
score, for which the tables are computed once, and propagate nothing. If X is learned, every step
propagates the whole graph, and a round has one step.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeAlias

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dmte.diffusion.hop_tables import differentiable_hop_tables, hop_tables
from dmte.distributed.columns import Columns
from dmte.kernels.sparse import SparseMatrix
from dmte.model.diffusion_maps import DiffusionMaps, chosen

MANY = 0.7
"""Fraction of the vertices above which the tables have rows of all vertices."""


class Numbering(NamedTuple):
    """Distinct vertices, ascending, and the position of each among them."""

    vertices: Int[Tensor, " rows"]
    positions: Int[Tensor, " vertices"]
    """Of every vertex of the network; without a meaning for those that are not included."""
    is_included: Bool[Tensor, " vertices"]

    @classmethod
    def of(cls, vertices: Int[Tensor, " some"], num_vertices: int) -> "Numbering":
        """Number the vertices that occur.

        >>> numbering = Numbering.of(torch.tensor([7, 2, 7]), 9)
        >>> numbering.vertices.tolist(), int(numbering.positions[7])
        ([2, 7], 1)
        """
        occurs = torch.zeros(num_vertices, dtype=torch.bool)
        occurs[vertices] = True
        return cls(occurs.nonzero().flatten(), occurs.cumsum(0) - 1, occurs)

    @classmethod
    def of_all(cls, num_vertices: int) -> "Numbering":
        """Number all vertices."""
        vertices = torch.arange(num_vertices)
        return cls(vertices, vertices, torch.ones(num_vertices, dtype=torch.bool))


@dataclass(frozen=True, slots=True, eq=False)
class PropagatedTexts:
    """Texts that are encoded and propagated each time, with gradients for all parameters."""

    model: DiffusionMaps
    texts: Any
    transition: SparseMatrix

    learns: ClassVar[bool] = True
    """Whether parameters of the encoder have a gradient."""

    def columns(self, vertices: Int[Tensor, " rows"] | None = None) -> Float[Tensor, "rows own"]:
        """Return the own columns of V_t before M, of all vertices by default."""
        return chosen(self.model.text_columns(self.texts, self.transition), vertices)


@dataclass(slots=True, eq=False)
class TabulatedTexts:
    """Texts as rows of hop tables."""

    model: DiffusionMaps
    tables: Float[Tensor, "rows hops own"]
    positions: Int[Tensor, " vertices"] | None
    """The row of every vertex in the tables; None if all vertices have one."""

    @property
    def learns(self) -> bool:
        """Whether parameters of the encoder have a gradient."""
        return self.tables.requires_grad

    @classmethod
    def of(
        cls,
        model: DiffusionMaps,
        features: Float[Tensor, "vertices own"],
        transition: SparseMatrix,
        vertices: Int[Tensor, " some"],
    ) -> "TabulatedTexts":
        """Compute the tables of at least these vertices; they have a gradient if X has one."""
        num_vertices, num_hops = len(features), model.num_hops
        if features.requires_grad:
            return cls(model, differentiable_hop_tables(transition, features, num_hops), None)
        numbering = Numbering.of(vertices, num_vertices)
        rows = numbering.vertices if len(numbering.vertices) < MANY * num_vertices else None
        tables = hop_tables(transition.rows, features, num_hops, rows)
        return cls(model, tables, None if rows is None else numbering.positions)

    def columns(self, vertices: Int[Tensor, " rows"] | None = None) -> Float[Tensor, "rows own"]:
        """Return the own columns of V_t before M, of all vertices by default."""
        if vertices is not None and self.positions is not None:
            vertices = self.positions[vertices]
        return self.model.combine(chosen(self.tables, vertices))

    def detach(self) -> None:
        """Keep the tables as constants."""
        self.tables = self.tables.detach()


TextRows: TypeAlias = PropagatedTexts | TabulatedTexts


def gathered(
    own: Float[Tensor, "vertices own"] | None,
    shares: Sequence[Tensor],
    columns: Columns,
    width: int,
) -> Float[Tensor, "rows width"] | None:
    """Return all columns of the own share of the rows of a table, if there is one."""
    if own is None:
        return None
    rows = own.index_select(0, torch.cat(list(shares)))
    return columns.gather(rows, [len(share) for share in shares], width)
