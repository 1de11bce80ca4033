"""Diffusion over the graph (Definitions 2 and 4, sections 4.1 and 4.2).

A walker on vertex i steps to vertex j with probability P[i, j]. Diffusing V over H hops, and the
diffusion convolution of X with one filter per hop and feature:

    U   = Σ_{h=0}^{H-1} λ_h P^h V
    V_t = Σ_{h=0}^{H-1} λ_h tanh(W_h ⊙ P^h X)

P^h is never formed: it turns dense, while P @ X costs one pass over the edges. Both operations act
on every column by itself. The paper leaves the row of a vertex without outgoing edges undefined:
here such a vertex keeps its walker, P[i, i] = 1.

The recommended recipe takes for P what graph convolutions do (Kipf and Welling 2017):

    P = D_out^{-1/2} (S + w I) D_in^{-1/2}, w the mean weight of an edge, D the sums of S + w I

A vertex keeps a share of what it has at every hop, and a hub tells each of its many neighbors less.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dmte.kernels.sparse import CompressedRows, SparseMatrix, index_type
from dmte.training.edges import SupervisedEdges


def transition_matrix(adjacency: sp.csr_array, dtype: torch.dtype = torch.float32) -> SparseMatrix:
    """Return P, the rows of S scaled to sum to one; a vertex that leads nowhere keeps its walker.

    >>> adjacency = sp.csr_array([[0.0, 1.0, 3.0], [0.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    >>> (transition_matrix(adjacency) @ torch.eye(3)).tolist()
    [[0.0, 0.25, 0.75], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """
    degrees = adjacency.sum(axis=1)
    stuck = (degrees == 0).astype(np.float64)
    kept = sp.csr_array(adjacency + sp.diags_array(stuck))
    shares = np.repeat(1.0 / (degrees + stuck), np.diff(kept.indptr))
    transition = sp.csr_array((kept.data * shares, kept.indices, kept.indptr), shape=kept.shape)
    return SparseMatrix.from_scipy(transition, dtype)


class Scales(NamedTuple):
    """What the symmetric P multiplies S + w I by."""

    loop: float
    """w, the mean weight of an edge."""
    outward: Float[np.ndarray, " vertices"]
    """1 / √d of the rows."""
    inward: Float[np.ndarray, " vertices"]
    """1 / √d of the columns."""


def mean_weight(adjacency: sp.csr_array) -> float:
    """Return w, by which weights in other units change nothing; without edges any will do."""
    return float(adjacency.data.mean()) if adjacency.nnz else 1.0


def with_loops(adjacency: sp.csr_array) -> tuple[sp.csr_array, Scales]:
    """Return S + w I and what the symmetric P multiplies it by."""
    loop = mean_weight(adjacency)
    kept = sp.csr_array(adjacency + loop * sp.eye_array(adjacency.shape[0]))
    return kept, Scales(loop, kept.sum(axis=1) ** -0.5, kept.sum(axis=0) ** -0.5)


def symmetric_matrix(adjacency: sp.csr_array, dtype: torch.dtype = torch.float32) -> SparseMatrix:
    """Return (S + w I)_ij / √(d_i d_j), with w the mean weight of an edge and d the sums.

    >>> adjacency = sp.csr_array([[0.0, 4.0, 0.0], [4.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    >>> (symmetric_matrix(adjacency) @ torch.eye(3)).tolist()
    [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    """
    kept, scales = with_loops(adjacency)
    shares = np.repeat(scales.outward, np.diff(kept.indptr)) * scales.inward[kept.indices]
    scaled = sp.csr_array((kept.data * shares, kept.indices, kept.indptr), shape=kept.shape)
    return SparseMatrix.from_scipy(scaled, dtype)


TRANSITIONS: Mapping[str, Callable[[sp.csr_array, torch.dtype], SparseMatrix]] = MappingProxyType(
    {"walk": transition_matrix, "symmetric": symmetric_matrix}
)
"""What P is made of S by, by the name of the setting."""

LOOP = -1
"""The number of the edge that a vertex's own loop is."""


class Places(NamedTuple):
    """Where entries stand, to be given values."""

    offsets: Int[Tensor, " rows_and_one"]
    columns: Int[Tensor, " entries"]


@dataclass(frozen=True, slots=True, eq=False)
class TransitionTemplate:
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
    def of(cls, supervised: SupervisedEdges) -> "TransitionTemplate":
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
