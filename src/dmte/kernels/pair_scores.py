"""Dot products of many pairs of rows, the only operation that mixes columns of the tables.

With tables A_1, A_2, ... and B_1, B_2, ... over the same vertices, and several ``left`` vertices
predicted from each ``right`` vertex:

    score[m, l, a, b] = A_a[left[m, l]] · B_b[right[m]]

In the backward pass, a table's gradient is a sum of rows of the other tables, weighted by the
gradients of the scores. This is a sparse product, so the gathered rows of the batch are not stored.
"""

from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import embedding, pad

from dmte.kernels.sparse import CompressedRows

CHUNK = 4096
"""Pairs gathered at a time, few enough for their rows to stay in the processor cache."""

BLOCK_NUMBERS = 1 << 20
"""Numbers gathered at a time without a backward pass, 4 MB in single precision. Tables of 26 MB,
of 2^16 rows with 100 columns, took ten times as long."""

Tables = tuple[Float[Tensor, "vertices dim"], ...]


def score_pairs(
    left_tables: Tables,
    right_tables: Tables,
    left: Int[Tensor, "batch predicted"],
    right: Int[Tensor, " batch"],
) -> Float[Tensor, "batch predicted lefts rights"]:
    """Compute the dot product of every left row with every right row of each pair."""
    scores: Tensor = _PairScores.apply(  # type: ignore[no-untyped-call]
        left, right, len(left_tables), *left_tables, *right_tables
    )
    return scores


@torch.no_grad()
def dot_products(
    table: Float[Tensor, "vertices dim"], pairs: Int[Tensor, "pairs 2"]
) -> Float[Tensor, " pairs"]:
    """Compute v_i · v_j for pairs of rows, a block of pairs at a time, without autograd."""
    products = table.new_empty(len(pairs))
    size = max(1, BLOCK_NUMBERS // max(1, table.shape[1]))
    for found, block in zip(products.split(size), pairs.split(size), strict=True):
        left, right = (table.index_select(0, ends) for ends in block.T)
        torch.sum(left.mul_(right), dim=1, out=found)
    return products


class _PairScores(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor, num_lefts: int, *tables: Tensor) -> Tensor:
        lefts, rights = _Stack.of(tables[:num_lefts]), _Stack.of(tables[num_lefts:])
        ctx.save_for_backward(left, right)
        ctx.stacks = lefts, rights
        chunks = zip(lefts.rows(left).split(CHUNK), rights.rows(right).split(CHUNK), strict=True)
        scores = [
            embedding(some_left, lefts.table) @ embedding(some_right, rights.table).transpose(1, 2)
            for some_left, some_right in chunks
        ]
        return torch.cat(scores).view(*left.shape, lefts.height, rights.height)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        left, right = ctx.saved_tensors
        lefts, rights = ctx.stacks
        num_predicted = left.shape[1]
        # Left gradients: one item per pair, with the right rows of the pair.
        by_left = _ItemsByVertex.of(left.flatten(), lefts.num_vertices)
        columns = rights.rows(right).repeat_interleave(num_predicted, dim=0)
        to_lefts = by_left.sums(columns, gradient.flatten(0, 1).movedim(1, 0), rights.table)
        # Right gradients: one item per right vertex, with all left rows paired with it.
        by_right = _ItemsByVertex.of(right, rights.num_vertices)
        weights = gradient.flatten(1, 2).movedim(2, 0)
        to_rights = by_right.sums(lefts.rows(left), weights, lefts.table)
        return None, None, None, *to_lefts, *to_rights


class _Stack(NamedTuple):
    """Concatenated tables, so that one index reaches any row of any table."""

    table: Tensor
    num_vertices: int

    @classmethod
    def of(cls, tables: tuple[Tensor, ...]) -> "_Stack":
        return cls(torch.cat(tables) if len(tables) > 1 else tables[0], len(tables[0]))

    @property
    def height(self) -> int:
        return len(self.table) // self.num_vertices

    def rows(self, vertices: Tensor) -> Tensor:
        """Return the row numbers of ``vertices`` in every table, per line of ``vertices``."""
        steps = torch.arange(0, len(self.table), self.num_vertices, dtype=torch.int32)
        return (vertices.int().unsqueeze(-1) + steps).flatten(1)


class _ItemsByVertex(NamedTuple):
    """Items grouped by vertex: those of vertex v are order[offsets[v]:offsets[v + 1]]."""

    order: Tensor
    offsets: Tensor

    @classmethod
    def of(cls, vertices: Tensor, num_vertices: int) -> "_ItemsByVertex":
        counts = torch.bincount(vertices, minlength=num_vertices)
        return cls(vertices.argsort(stable=True), pad(counts.cumsum(0), (1, 0)))

    def sums(self, columns: Tensor, weights: Tensor, table: Tensor) -> list[Tensor]:
        """Sum the weighted rows of ``table`` per vertex, for each set of weights."""
        ordered = columns.index_select(0, self.order).flatten()
        offsets = (self.offsets * columns.shape[1]).int()
        return [
            CompressedRows(offsets, ordered, weight.index_select(0, self.order).flatten()).times(
                table
            )
            for weight in weights.contiguous()
        ]
