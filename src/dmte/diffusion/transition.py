"""The transition matrix P of a graph, also without some edges and with new vertices.

Every kind of P is the weighted adjacency S with loops L, scaled by rows and columns:

    P = R (S + L) C        R, L and C diagonal, with d the row sums of S and w its mean weight

    walk         L = 1 if d = 0, else 0    R = D^{-1}          C = I          D the sums of S + L
    symmetric    L = w I                   R = D_out^{-1/2}    C = D_in^{-1/2}

``walk`` is a random walk (Definition 2). The paper does not define the row of a vertex without
outgoing edges; here the walker stays, P[i, i] = 1. ``symmetric`` is the matrix of graph
convolutions (Kipf and Welling 2017): a vertex keeps a share of its features at every hop, and a hub
contributes less to each neighbor.

A new kind is an entry of ``TRANSITIONS`` and a name in ``settings.Transition``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dmte.kernels.sparse import CompressedRows, SparseMatrix, index_type

Vector: TypeAlias = Float[Tensor, " vertices"]


@dataclass(frozen=True, slots=True)
class TransitionKind:
    """A kind of P, defined by three diagonals."""

    loops: Callable[[Vector, float], Vector]
    """L, from the row sums d of S and the mean weight w of an edge."""
    rows: Callable[[Vector], Vector]
    """R, from the row sums of S + L."""
    columns: Callable[[Vector], Vector]
    """C, from the column sums of S + L."""


TRANSITIONS: Mapping[str, TransitionKind] = MappingProxyType(
    {
        "walk": TransitionKind(
            loops=lambda sums, _: (sums == 0).to(sums.dtype),
            rows=torch.reciprocal,
            columns=torch.ones_like,
        ),
        "symmetric": TransitionKind(
            loops=torch.full_like,
            rows=torch.rsqrt,
            columns=torch.rsqrt,
        ),
    }
)
"""Every kind of P, by the name of the setting."""


def mean_weight(adjacency: sp.csr_array) -> float:
    """Return the mean weight w of the edges, or 1 without edges."""
    return float(adjacency.data.mean()) if adjacency.nnz else 1.0


def transition_matrix(
    adjacency: sp.csr_array, dtype: torch.dtype = torch.float32, kind: str = "walk"
) -> SparseMatrix:
    """Return P of a graph with the adjacency S.

    >>> adjacency = sp.csr_array([[0.0, 1.0, 3.0], [0.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    >>> (transition_matrix(adjacency) @ torch.eye(3)).tolist()
    [[0.0, 0.25, 0.75], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    >>> adjacency = sp.csr_array([[0.0, 4.0, 0.0], [4.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    >>> (transition_matrix(adjacency, kind="symmetric") @ torch.eye(3)).tolist()
    [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    """
    made = TRANSITIONS[kind]
    looped = _with_loops(adjacency, made.loops(_sums(adjacency, 1), mean_weight(adjacency)))
    rows, columns = made.rows(_sums(looped, 1)), made.columns(_sums(looped, 0))
    return _scaled(looped, rows, columns, dtype)


def extended_transition(
    adjacency: sp.csr_array,
    near: Int[np.ndarray, " near"],
    to_old: sp.csr_array,
    to_new: sp.csr_array,
    *,
    directed: bool,
    kind: str,
) -> SparseMatrix:
    """Return P of the old vertices ``near`` and the new ones.

    ``to_old`` and ``to_new`` hold s_ij from every new vertex to the old and the new ones. Old
    vertices keep their loops and scales, and have no edges to new ones. Edges out of ``near`` are
    missing, so ``near`` must include all vertices that a walk from a new one can reach.
    """
    made, weight = TRANSITIONS[kind], mean_weight(adjacency)
    old = _with_loops(adjacency, made.loops(_sums(adjacency, 1), weight))
    new = _with_loops(to_new, made.loops(_sums(to_old, 1) + _sums(to_new, 1), weight))
    outward = _sums(to_old, 1) + _sums(new, 1)
    # In an undirected graph both sums are the same, although P has the edge in one direction only.
    inward = _sums(new, 0) if directed else outward
    above = sp.hstack([old[near][:, near], sp.csr_array((len(near), len(outward)))])
    below = sp.hstack([to_old[:, near], new])
    kept = torch.from_numpy(near)
    rows = torch.cat([made.rows(_sums(old, 1))[kept], made.rows(outward)])
    columns = torch.cat([made.columns(_sums(old, 0))[kept], made.columns(inward)])
    return _scaled(sp.csr_array(sp.vstack([above, below])), rows, columns, torch.float32)


def _with_loops(adjacency: sp.csr_array, loops: Vector) -> sp.csr_array:
    """Return S + L."""
    return sp.csr_array(adjacency + sp.diags_array(loops.numpy()))


def _sums(matrix: sp.csr_array, axis: int) -> Vector:
    """Return the sums along an axis."""
    return torch.from_numpy(matrix.sum(axis=axis))


def _scaled(
    looped: sp.csr_array, rows: Vector, columns: Vector, dtype: torch.dtype
) -> SparseMatrix:
    """Return R (S + L) C."""
    values = np.repeat(rows.numpy(), np.diff(looped.indptr))
    values *= columns.numpy()[looped.indices]
    values *= looped.data
    scaled = sp.csr_array((values, looped.indices, looped.indptr), shape=looped.shape)
    return SparseMatrix.from_scipy(scaled, dtype)


LOOP = -1
"""The edge number of a loop."""


class Layout(NamedTuple):
    """The positions of the entries of P, by row or by column."""

    offsets: Int[Tensor, " rows_and_one"]
    columns: Int[Tensor, " entries"]


@dataclass(frozen=True, slots=True, eq=False)
class TransitionTemplate:
    """The positions of all edges and loops in P, computed once to remove edges in every step."""

    weights: Float[Tensor, " edges"]
    pairs: Int[Tensor, " edges"]
    """Equal for an edge and its opposite."""
    rows: Int[Tensor, " entries"]
    columns: Int[Tensor, " entries"]
    edges: Int[Tensor, " entries"]
    """The number of the edge of an entry, or LOOP."""
    loops: Int[Tensor, " vertices"]
    """The entries of the loops."""
    to_transpose: Int[Tensor, " entries"]
    """The order of the entries by column."""
    by_row: Layout
    by_column: Layout
    directed: bool

    @classmethod
    def of(
        cls,
        edges: Int[Tensor, "edges 2"],
        weights: Float[Tensor, " edges"],
        num_vertices: int,
        *,
        directed: bool,
    ) -> "TransitionTemplate":
        """Return the positions of these distinct edges, undirected ones in both directions."""
        source, target = edges.T
        number, vertices = torch.arange(len(edges)), torch.arange(num_vertices)
        back = (source != target) & (not directed)
        rows = torch.cat([source, target[back], vertices])
        columns = torch.cat([target, source[back], vertices])
        numbers = torch.cat([number, number[back], torch.full_like(vertices, LOOP)])
        order = torch.argsort(rows * num_vertices + columns, stable=True)
        rows, columns, numbers = rows[order], columns[order], numbers[order]
        turned = torch.argsort(columns * num_vertices + rows, stable=True)
        low, high = torch.minimum(source, target), torch.maximum(source, target)
        return cls(
            weights=weights.double(),
            pairs=(low * num_vertices + high).unique(return_inverse=True)[1],
            rows=rows,
            columns=columns,
            edges=numbers,
            loops=(numbers == LOOP).nonzero().flatten(),
            to_transpose=turned,
            by_row=_layout(rows, columns, num_vertices),
            by_column=_layout(columns[turned], rows[turned], num_vertices),
            directed=directed,
        )

    def transition(
        self, kind: str, without: Int[Tensor, " some"], dtype: torch.dtype = torch.float32
    ) -> SparseMatrix:
        """Return P without the edges ``without`` and their opposites."""
        rows = self.rows_without(kind, without, dtype)
        columns = CompressedRows(*self.by_column, rows.values[self.to_transpose])
        return SparseMatrix(rows, columns, self.to_transpose)

    def rows_without(
        self, kind: str, without: Int[Tensor, " some"], dtype: torch.dtype = torch.float32
    ) -> CompressedRows:
        """Return the rows of P without the edges ``without`` and their opposites."""
        is_hidden = torch.zeros(len(self.pairs), dtype=torch.bool)
        is_hidden[self.pairs[without]] = True
        weights = torch.where(is_hidden[self.pairs], 0.0, self.weights)
        # LOOP picks the last number.
        values = torch.cat([weights, weights.new_zeros(1)])[self.edges]
        return CompressedRows(*self.by_row, self._scaled(values, kind).to(dtype))

    def _scaled(self, values: Float[Tensor, " entries"], kind: str) -> Float[Tensor, " entries"]:
        """Return the entries of R (S + L) C, given those of S."""
        made, kept = TRANSITIONS[kind], values[values > 0]
        outward = self._sums(values, self.rows)
        inward = self._sums(values, self.columns) if self.directed else outward
        loops = made.loops(outward, float(kept.mean()) if len(kept) else 1.0)
        rows, columns = made.rows(outward + loops), made.columns(inward + loops)
        values[self.loops] = loops
        return values.mul_(rows[self.rows]).mul_(columns[self.columns])

    def _sums(self, values: Float[Tensor, " entries"], ends: Int[Tensor, " entries"]) -> Vector:
        """Return the sums of the entries at these ends."""
        return values.new_zeros(len(self.loops)).index_add_(0, ends, values)


def _layout(
    rows: Int[Tensor, " entries"], columns: Int[Tensor, " entries"], num_rows: int
) -> Layout:
    """Return the layout of sorted entries."""
    kind = index_type(len(rows), num_rows)
    offsets = torch.zeros(num_rows + 1, dtype=torch.int64)
    offsets[1:] = torch.bincount(rows, minlength=num_rows).cumsum(0)
    return Layout(offsets.to(kind), columns.to(kind))
