"""Sparse × dense products, the work that every step is made of.

Two sparse matrices occur: the transition matrix P and B, the words of every text, its rows summing
to one. Both are constant, so their transposes, which the backward pass needs, are made once:

    Y = A X        ∂L/∂X = Aᵀ ∂L/∂Y

A product is a weighted sum of gathered rows, which is what ``embedding_bag`` computes, two to four
times faster than torch's and SciPy's own CSR products.
"""

from dataclasses import dataclass
from typing import Any

import scipy.sparse as sp
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import embedding_bag


@dataclass(frozen=True, slots=True, eq=False)
class CompressedRows:
    """One orientation of a sparse matrix: row i holds the entries offsets[i] to offsets[i + 1]."""

    offsets: Int[Tensor, " rows_and_one"]
    columns: Int[Tensor, " entries"]
    values: Float[Tensor, " entries"]

    def times(self, dense: Float[Tensor, "columns dim"]) -> Float[Tensor, "rows dim"]:
        """Return the product with ``dense``; nothing is recorded for a backward pass."""
        if len(self.columns) == 0:
            return dense.new_zeros(len(self.offsets) - 1, dense.shape[1])
        with torch.no_grad():
            return embedding_bag(
                self.columns,
                dense,
                self.offsets,
                mode="sum",
                per_sample_weights=self.values,
                include_last_offset=True,
            )


@dataclass(frozen=True, slots=True, eq=False)
class SparseMatrix:
    """A constant sparse matrix A that multiplies dense ones: ``A @ X``, with its gradient.

    >>> matrix = SparseMatrix.from_scipy(sp.csr_array([[0.0, 2.0], [0.0, 0.0]]), torch.float32)
    >>> (matrix @ torch.tensor([[1.0], [10.0]])).tolist()
    [[20.0], [0.0]]
    >>> (matrix.transpose() @ torch.tensor([[1.0], [10.0]])).tolist()
    [[0.0], [2.0]]
    """

    rows: CompressedRows
    columns: CompressedRows
    """The transpose, by rows."""

    @classmethod
    def from_scipy(cls, matrix: sp.csr_array, dtype: torch.dtype) -> "SparseMatrix":
        """Return ``matrix`` and its transpose with values of ``dtype``."""
        return cls(_compress(matrix, dtype), _compress(matrix.T.tocsr(), dtype))

    @property
    def num_entries(self) -> int:
        """How many entries are stored."""
        return len(self.rows.columns)

    def transpose(self) -> "SparseMatrix":
        """Return Aᵀ; nothing is copied."""
        return SparseMatrix(self.columns, self.rows)

    def __matmul__(self, dense: Float[Tensor, "columns dim"]) -> Float[Tensor, "rows dim"]:
        product: Tensor = _Product.apply(dense, self)  # type: ignore[no-untyped-call]
        return product


class _Product(torch.autograd.Function):
    """Y = A X, and backwards ∂L/∂X = Aᵀ ∂L/∂Y."""

    @staticmethod
    def forward(ctx: Any, dense: Tensor, matrix: SparseMatrix) -> Tensor:
        ctx.matrix = matrix
        return matrix.rows.times(dense)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return ctx.matrix.columns.times(gradient.contiguous()), None


def index_type(*sizes: int) -> torch.dtype:
    """Return the type of indices: narrow ones halve the traffic, where they suffice."""
    return torch.int32 if max(sizes) <= torch.iinfo(torch.int32).max else torch.int64


def _compress(matrix: sp.csr_array, dtype: torch.dtype) -> CompressedRows:
    kind = index_type(matrix.nnz, *matrix.shape)
    return CompressedRows(
        torch.from_numpy(matrix.indptr).to(kind),
        torch.from_numpy(matrix.indices).to(kind),
        torch.from_numpy(matrix.data).to(dtype),
    )
