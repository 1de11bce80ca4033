"""P without some of the edges, again and again, with nothing sorted twice.

A step that hides the edges it scores has a P of its own. Where entries stand is the same in all of
them: the edges, in either direction if they lead both ways, and a loop at every vertex. Only their
values change: a hidden edge has none, and the rest is scaled as ``diffusion`` says.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dmte.kernels.sparse import CompressedRows, SparseMatrix, index_type
from dmte.supervision import SupervisedEdges

LOOP = -1
"""The number of the edge that a vertex's own loop is."""


class Places(NamedTuple):
    """Where entries stand, to be given values."""

    offsets: Int[Tensor, " rows_and_one"]
    columns: Int[Tensor, " entries"]


@dataclass(frozen=True, slots=True, eq=False)
class EdgeEntries:
    """Where the edges stand in P, row by row and column by column."""

    weights: Float[Tensor, " edges"]
    pairs: Int[Tensor, " edges"]
    """Equal for an edge and its opposite."""
    rows: Int[Tensor, " entries"]
    columns: Int[Tensor, " entries"]
    edges: Int[Tensor, " entries"]
    """The number of the edge at an entry, or LOOP."""
    to_transpose: Int[Tensor, " entries"]
    """The entries column by column."""
    by_row: Places
    by_column: Places

    @classmethod
    def of(cls, supervised: SupervisedEdges) -> "EdgeEntries":
        """Return where these edges stand."""
        source, target = supervised.edges.T
        number, members = torch.arange(len(supervised)), torch.arange(len(supervised.members))
        back = (source != target) & (not supervised.are_directed)
        rows = torch.cat([source, target[back], members])
        columns = torch.cat([target, source[back], members])
        edges = torch.cat([number, number[back], torch.full_like(members, LOOP)])
        order = torch.argsort(rows * len(members) + columns, stable=True)
        rows, columns, edges = rows[order], columns[order], edges[order]
        turned = torch.argsort(columns * len(members) + rows, stable=True)
        low, high = torch.minimum(source, target), torch.maximum(source, target)
        return cls(
            weights=supervised.weights.double(),
            pairs=(low * len(members) + high).unique(return_inverse=True)[1],
            rows=rows,
            columns=columns,
            edges=edges,
            to_transpose=turned,
            by_row=_places(rows, columns, len(members)),
            by_column=_places(columns[turned], rows[turned], len(members)),
        )

    def transition(
        self, kind: str, without: Int[Tensor, " some"], dtype: torch.dtype = torch.float32
    ) -> SparseMatrix:
        """Return P of this kind without the edges ``without`` and their opposites."""
        is_hidden = torch.zeros(len(self.pairs), dtype=torch.bool)
        is_hidden[self.pairs[without]] = True
        weights = torch.where(is_hidden[self.pairs], 0.0, self.weights)
        # The last number, which LOOP picks, is that of the loops.
        values = torch.cat([weights, weights.new_zeros(1)])[self.edges]
        scaled = self._symmetric(values) if kind == "symmetric" else self._walk(values)
        scaled = scaled.to(dtype)
        return SparseMatrix(
            CompressedRows(*self.by_row, scaled),
            CompressedRows(*self.by_column, scaled[self.to_transpose]),
        )

    def _walk(self, values: Float[Tensor, " entries"]) -> Float[Tensor, " entries"]:
        degrees = self._sums(values, self.rows)
        is_stuck = degrees == 0
        stays = is_stuck[self.rows] & (self.edges == LOOP)
        return torch.where(stays, 1.0, values / (degrees + is_stuck)[self.rows])

    def _symmetric(self, values: Float[Tensor, " entries"]) -> Float[Tensor, " entries"]:
        kept = values[values > 0]
        loop = kept.mean() if len(kept) else torch.ones((), dtype=values.dtype)
        values = torch.where(self.edges == LOOP, loop, values)
        outward, inward = (self._sums(values, ends).rsqrt() for ends in (self.rows, self.columns))
        return values * outward[self.rows] * inward[self.columns]

    def _sums(
        self, values: Float[Tensor, " entries"], ends: Int[Tensor, " entries"]
    ) -> Float[Tensor, " vertices"]:
        return values.new_zeros(len(self.by_row.offsets) - 1).index_add_(0, ends, values)


def _places(
    rows: Int[Tensor, " entries"], columns: Int[Tensor, " entries"], num_rows: int
) -> Places:
    """Return the places of sorted entries."""
    kind = index_type(len(rows), num_rows)
    offsets = torch.zeros(num_rows + 1, dtype=torch.int64)
    offsets[1:] = torch.bincount(rows, minlength=num_rows).cumsum(0)
    return Places(offsets.to(kind), columns.to(kind))
