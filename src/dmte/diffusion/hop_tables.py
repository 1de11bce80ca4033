"""The hop tables X, P X, P² X, ... of some vertices.

If X is fixed, they are constant as long as P is. Steps then read the rows of the vertices that they
score, and propagate nothing (SGC, Wu et al. 2019; SIGN, Frasca et al. 2020). Columns do not affect
each other, so they are computed in blocks, and memory beyond the result is two tables as wide as a
block.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from dmte.kernels.sparse import CompressedRows, SparseMatrix

BLOCK_NUMBERS = 1 << 22
"""Numbers of a table that is propagated at once: 16 MB in single precision. Blocks of 128 MB took
1.5 to 2 times as long on 60,744 and 10⁵ vertices."""

MIN_BLOCK = 32
"""Minimum number of columns of a block. Narrower ones would read the entries of P more often."""


def hop_tables(
    transition: CompressedRows,
    features: Float[Tensor, "vertices dim"],
    num_hops: int,
    rows: Int[Tensor, " rows"] | None = None,
) -> Float[Tensor, "rows hops dim"]:
    """Return rows of P^h X for h = 0 to H - 1, without autograd; all rows by default.

    >>> swap = CompressedRows(*map(torch.tensor, ([0, 1, 2], [1, 0], [1.0, 1.0])))
    >>> hop_tables(swap, torch.eye(2), 3, rows=torch.tensor([0])).tolist()
    [[[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]]
    """
    num_vertices, dim = features.shape
    found = features.new_empty(num_vertices if rows is None else len(rows), num_hops, dim)
    last = transition if rows is None else transition.select(rows)
    for block in column_blocks(num_vertices, dim):
        table = features[:, block].contiguous()
        found[:, 0, block] = _chosen(table, rows)
        for hop in range(1, num_hops - 1):
            table = transition.times(table)
            found[:, hop, block] = _chosen(table, rows)
        if num_hops > 1:  # Of the last hop, no other rows are needed.
            found[:, num_hops - 1, block] = last.times(table)
    return found


def _chosen(table: Tensor, rows: Tensor | None) -> Tensor:
    return table if rows is None else table.index_select(0, rows)


def column_blocks(num_vertices: int, dim: int) -> list[slice]:
    """Return the columns to propagate at once.

    >>> [len(column_blocks(number, 512)) for number in (1000, 200_000, 10_000_000)]
    [1, 16, 16]
    """
    width = min(dim, max(MIN_BLOCK, BLOCK_NUMBERS // max(1, num_vertices)))
    return [slice(start, min(start + width, dim)) for start in range(0, dim, width)]


def differentiable_hop_tables(
    transition: SparseMatrix, features: Float[Tensor, "vertices dim"], num_hops: int
) -> Float[Tensor, "vertices hops dim"]:
    """Return all rows of P^h X for h = 0 to H - 1, with a gradient for X."""
    tables: Tensor = _HopTables.apply(features, transition, num_hops)  # type: ignore[no-untyped-call]
    return tables


class _HopTables(torch.autograd.Function):
    """X_h = P^h X, with ∂L/∂X = Σ_h (Pᵀ)^h ∂L/∂X_h."""

    @staticmethod
    def forward(ctx: Any, features: Tensor, transition: SparseMatrix, num_hops: int) -> Tensor:
        ctx.transition = transition
        return hop_tables(transition.rows, features, num_hops)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        *before, to_features = gradient.unbind(1)
        to_features = to_features.contiguous()
        for of_hop in reversed(before):
            to_features = ctx.transition.columns.times(to_features).add_(of_hop)
        return to_features, None, None
