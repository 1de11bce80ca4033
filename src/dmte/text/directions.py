"""The strongest singular directions of a matrix, by randomized SVD (Halko et al. 2011).

    A ≈ U Σ Vᵀ        A = B T, or B

B has a row per text and a column per word, and T a row per word. Only products with B and T are
needed, a few columns at a time. V itself, which has a row per column of T, is never formed: with a
basis AᵀU for V,

    G = Bᵀ U,    Y = T Tᵀ G,    T V = Y R,    (AᵀU)ᵀ (AᵀU) = Gᵀ Y,    (A AᵀU)ᵀ (A AᵀU) = Yᵀ Bᵀ B Y

and the last two matrices, which are small, give R. The basis starts at random and is improved by
products with A Aᵀ. What is kept between them has a row per text or a row per word, whichever are
fewer.

The columns may be divided over processes. Then each computes the products of its own columns, and
only blocks of rows and the small matrices are exchanged.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float
from torch import Tensor

from dmte.distributed.columns import ALL_COLUMNS, Columns
from dmte.errors import ConfigError
from dmte.kernels.sparse import SparseMatrix
from dmte.runtime.seeding import generator_for

NUM_PASSES = 8
"""Products with A Aᵀ; singular values of texts decay slowly."""
NUM_SPARE_DIRECTIONS = 10
"""Directions that are computed and dropped, which makes the others accurate."""
BLOCK_VALUES = 1 << 25
"""Numbers of a temporary table of some rows (128 MB in single precision)."""
COLUMN_BLOCK_VALUES = 1 << 23
"""Numbers of a temporary table of some columns (32 MB in single precision)."""
MIN_BLOCK_WIDTH = 16
"""Columns to multiply at a time at least; fewer are slow."""

Product = Callable[[Float[Tensor, "rows some"]], Float[Tensor, "others some"]]


@torch.no_grad()
def strongest_directions(
    words: sp.csr_array | Float[np.ndarray, "texts words"],
    dim: int,
    seed: int,
    num_passes: int = NUM_PASSES,
    parts: sp.csr_array | None = None,
    columns: Columns = ALL_COLUMNS,
) -> Float[Tensor, "words own"]:
    """Return the own columns of V, strongest direction first, with the precision of B.

    Columns beyond the rank of B, or of B T, are zero. With ``parts``, the matrix T, V is computed
    from B T, and T V is returned, so that the product with B is B T V. Fewer passes separate
    directions of similar strength less well. The largest entry of each column is positive.

    Raises:
        ConfigError: ``dim`` is below 1.
    """
    if dim < 1:
        raise ConfigError(f"dim must be at least 1, not {dim}")
    matrix = _Matrix(words, parts)
    rank = min(*words.shape, words.shape[1] if parts is None else parts.shape[1])
    width = min(dim + NUM_SPARE_DIRECTIONS, rank)
    # All of the space needs no search.
    passes = 1 if width == rank else num_passes
    own = columns.own(dim)
    directions = torch.zeros(words.shape[1], own.stop - own.start, dtype=matrix.dtype)
    if width == 0:
        return directions
    start = _Sketch(words.shape[0], width, seed)
    improve = _by_texts if words.shape[0] < words.shape[1] else _by_words
    basis, lengths, squares = improve(matrix, start, passes, columns)
    kept = slice(own.start, min(own.stop, width))
    turn = columns.broadcast(_turn(lengths, squares, matrix.dtype))[:, kept]
    for rows in _row_blocks(basis, width):
        directions[rows, : turn.shape[1]] = columns.all_gather(basis[rows], width) @ turn
    return _signed(directions)


class _Matrix:
    """Products with B, Bᵀ and T Tᵀ."""

    def __init__(
        self, words: sp.csr_array | Float[np.ndarray, "texts words"], parts: sp.csr_array | None
    ) -> None:
        self.dtype = torch.from_numpy(np.empty(0, words.dtype)).dtype
        self.largest = max(words.shape) if parts is None else max(*words.shape, *parts.shape)
        self.from_words: Product
        self.to_words: Product
        if isinstance(words, np.ndarray):
            dense = torch.from_numpy(words)
            self.from_words, self.to_words = dense.__matmul__, dense.T.__matmul__
        else:
            sparse = SparseMatrix.from_scipy(words, self.dtype)
            self.from_words, self.to_words = sparse.rows.times, sparse.columns.times
        self.parts = None if parts is None else SparseMatrix.from_scipy(parts, self.dtype)

    def relate(self, table: Float[Tensor, "words some"]) -> Float[Tensor, "words some"]:
        """Compute T Tᵀ times ``table``."""
        if self.parts is None:
            return table
        return self.parts.rows.times(self.parts.columns.times(table))

    def apply(self, product: Product, table: Float[Tensor, "rows own"]) -> Tensor:
        """Return the product with ``table``, computed a few columns at a time."""
        if table.shape[1] == 0:
            return table
        return self.collect(
            lambda block: product(table[:, block].contiguous()), slice(0, table.shape[1])
        )

    def collect(self, part_of: Callable[[slice], Tensor], columns: slice) -> Tensor:
        """Return a table of ``columns``, of which ``part_of`` returns a few at a time."""
        found = None
        for block in self.blocks(columns):
            part = part_of(block)
            if found is None:
                found = part.new_empty(len(part), columns.stop - columns.start)
            found[:, block.start - columns.start : block.stop - columns.start] = part
        if found is None:
            raise ValueError("there must be at least one column")
        return found

    def blocks(self, columns: slice) -> Iterator[slice]:
        """Divide columns into blocks for which temporary tables are small."""
        width = max(MIN_BLOCK_WIDTH, COLUMN_BLOCK_VALUES // self.largest)
        for first in range(columns.start, columns.stop, width):
            yield slice(first, min(first + width, columns.stop))


class _Sketch:
    """A random matrix with one number ±1 per row, as many in each column as in the others."""

    def __init__(self, num_rows: int, width: int, seed: int) -> None:
        generator = generator_for(seed, "latent features")
        self._column = torch.randperm(num_rows, generator=generator) % width
        self._sign = torch.randint(2, (num_rows,), generator=generator) * 2 - 1
        self.width = width

    def block(self, columns: slice, dtype: torch.dtype) -> Float[Tensor, "rows some"]:
        """Return some of the columns."""
        table = torch.zeros(len(self._sign), columns.stop - columns.start, dtype=dtype)
        rows = ((self._column >= columns.start) & (self._column < columns.stop)).nonzero()[:, 0]
        table[rows, self._column[rows] - columns.start] = self._sign[rows].to(dtype)
        return table


class _Found(NamedTuple):
    basis: Float[Tensor, "words own"]
    """The own columns of Y."""
    lengths: Float[Tensor, "width width"]
    """Gᵀ Y."""
    squares: Float[Tensor, "width width"]
    """Yᵀ Bᵀ B Y."""


def _by_texts(matrix: _Matrix, start: _Sketch, passes: int, columns: Columns) -> _Found:
    """Improve U, which has a row per text."""
    width = start.width
    basis = before = related = start.block(columns.own(width), matrix.dtype)
    for number in range(passes):
        if number:
            _whiten(basis, _gram(basis, basis, width, columns), width, columns)
        before = related = basis  # Frees the tables of the last pass.
        related = matrix.apply(lambda block: matrix.relate(matrix.to_words(block)), basis)
        basis = matrix.apply(matrix.from_words, related)
    lengths = _gram(before, basis, width, columns)
    return _Found(related, lengths, _gram(basis, basis, width, columns))


def _by_words(matrix: _Matrix, start: _Sketch, passes: int, columns: Columns) -> _Found:
    """Improve Y, which has a row per word."""
    width = start.width
    own = columns.own(width)
    table = matrix.collect(lambda block: matrix.to_words(start.block(block, matrix.dtype)), own)
    for number in range(passes):
        related = table  # Frees the table of the last pass.
        related = matrix.apply(matrix.relate, table)
        lengths = _gram(table, related, width, columns)
        if number < passes - 1:
            _whiten(related, lengths, width, columns)
        table = related  # Frees the table of the last pass.
        table = matrix.apply(lambda block: matrix.to_words(matrix.from_words(block)), related)
    return _Found(related, lengths, _gram(related, table, width, columns))


def _gram(
    left: Float[Tensor, "rows own"], right: Float[Tensor, "rows own"], width: int, columns: Columns
) -> Float[Tensor, "width width"]:
    """Compute leftᵀ right, which is symmetric, in double precision between blocks of rows."""
    part = torch.zeros(width, right.shape[1], dtype=torch.float64)
    for rows in _row_blocks(left, width):
        part += columns.all_gather(left[rows], width).T @ right[rows]
    whole: Tensor = columns.all_gather(part, width)
    return (whole + whole.T) / 2


def _whiten(
    table: Float[Tensor, "rows own"],
    gram: Float[Tensor, "width width"],
    width: int,
    columns: Columns,
) -> None:
    """Make the columns, whose products are ``gram``, orthonormal in place."""
    own = columns.own(width)
    turn = columns.broadcast(_whitening(gram, table.dtype).to(table.dtype))[:, own]
    for rows in _row_blocks(table, width):
        table[rows] = columns.all_gather(table[rows], width) @ turn


def _whitening(
    gram: Float[Tensor, "width width"], dtype: torch.dtype
) -> Float[Tensor, "width width"]:
    """Return R with Rᵀ K R = I, where K is ``gram``, rounded to ``dtype``.

    If K is singular up to rounding, some columns of R are zero.
    """
    scale = gram.diagonal().clamp(min=0).rsqrt().nan_to_num(posinf=0.0)
    scaled = scale.unsqueeze(1) * gram * scale
    smallest = _smallest(len(gram), dtype)
    factor, problem = torch.linalg.cholesky_ex(scaled)
    if not problem and bool(factor.diagonal().min().square() > smallest):
        identity = torch.eye(len(gram), dtype=gram.dtype)
        inverse: Tensor = torch.linalg.solve_triangular(factor.T, identity, upper=True)
        return scale.unsqueeze(1) * inverse
    squares, turn = torch.linalg.eigh(scaled)
    is_kept = squares > smallest * squares[-1].clamp(min=torch.finfo(gram.dtype).tiny)
    whitening: Tensor = turn * torch.where(is_kept, squares, torch.inf).rsqrt()
    return scale.unsqueeze(1) * whitening


def _turn(
    lengths: Float[Tensor, "width width"],
    squares: Float[Tensor, "width width"],
    dtype: torch.dtype,
) -> Float[Tensor, "width width"]:
    """Return R, which makes a basis orthonormal and orders it by singular value.

    ``lengths`` are the products of the basis, and ``squares`` those of A times the basis.
    """
    turn = _whitening(lengths, dtype)
    found, order = torch.linalg.eigh(turn.T @ squares @ turn)
    is_kept = found > _smallest(len(found), dtype) * found[-1].clamp(min=0)
    ordered: Tensor = turn @ (order * is_kept)
    return ordered.flip(1).to(dtype)


def _smallest(width: int, dtype: torch.dtype) -> float:
    """Return the relative size below which an eigenvalue is only rounding."""
    return 4 * math.sqrt(width) * torch.finfo(dtype).eps


def _row_blocks(table: Tensor, width: int) -> Iterator[slice]:
    """Divide the rows into blocks for which tables of this width are small."""
    rows = max(1, BLOCK_VALUES // width)
    for first in range(0, len(table), rows):
        yield slice(first, first + rows)


def _signed(directions: Float[Tensor, "words own"]) -> Float[Tensor, "words own"]:
    """Make the largest entry of every column positive."""
    if directions.numel():
        for block in directions.split(MIN_BLOCK_WIDTH, dim=1):
            largest = block.gather(0, block.abs().argmax(dim=0, keepdim=True))
            block *= torch.where(largest < 0, -1, 1)
    return directions
