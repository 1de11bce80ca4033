"""Values and gradients of sparse × dense products against dense products."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.autograd import gradcheck

from dmte.kernels.sparse import SparseMatrix

SHAPES = [(5, 7), (7, 5), (1, 1), (1, 9), (9, 1)]


def random_dense(rows: int, columns: int, seed: int = 0) -> Tensor:
    """Draw a matrix with about half of its entries zero."""
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(rows, columns, generator=generator, dtype=torch.float64)
    present = torch.rand(rows, columns, generator=generator) < 0.5
    return values * present


def features(rows: int, columns: int = 3, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(rows, columns, generator=generator, dtype=torch.float64)


def sparse_of(dense: Tensor, dtype: torch.dtype = torch.float64) -> SparseMatrix:
    return SparseMatrix.from_scipy(sp.csr_array(dense.numpy()), dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_product_equals_the_dense_product(shape: tuple[int, int], dtype: torch.dtype) -> None:
    dense, right = random_dense(*shape), features(shape[1])
    product = sparse_of(dense, dtype) @ right.to(dtype)
    assert product.dtype == dtype
    torch.testing.assert_close(product, (dense @ right).to(dtype))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_gradient_of_a_product_equals_finite_differences(shape: tuple[int, int]) -> None:
    matrix = sparse_of(random_dense(*shape))
    assert gradcheck(lambda right: matrix @ right, features(shape[1]).requires_grad_())


@pytest.mark.parametrize(
    "layout", ["as it is", "transposed", "expanded"], ids=lambda layout: str(layout)
)
def test_an_upstream_gradient_may_have_any_layout(layout: str) -> None:
    dense, right = random_dense(6, 4), features(4, 6).requires_grad_()
    upstream = {
        "as it is": features(6, 6),
        "transposed": features(6, 6).T,
        "expanded": torch.ones((), dtype=torch.float64).expand(6, 6),
    }[layout]
    (found,) = torch.autograd.grad(sparse_of(dense) @ right, right, upstream)
    torch.testing.assert_close(found, dense.T @ upstream)


def test_a_factor_may_be_a_transposed_view() -> None:
    dense, right = random_dense(6, 4), features(3, 4).T
    assert not right.is_contiguous()
    torch.testing.assert_close(sparse_of(dense) @ right, dense @ right)


def test_a_product_does_not_modify_its_factor() -> None:
    right = features(4)
    before = right.clone()
    sparse_of(random_dense(6, 4)) @ right
    assert torch.equal(right, before)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_transpose_equals_the_dense_transpose(shape: tuple[int, int]) -> None:
    dense = random_dense(*shape)
    transposed, right = sparse_of(dense).transpose(), features(shape[0]).requires_grad_()
    torch.testing.assert_close(transposed @ right, dense.T @ right)
    assert gradcheck(lambda right: transposed @ right, right)


def test_transposing_twice_returns_the_same_arrays() -> None:
    matrix = sparse_of(random_dense(5, 7))
    twice = matrix.transpose().transpose()
    assert twice.rows is matrix.rows
    assert twice.columns is matrix.columns


def test_duplicate_entries_are_added() -> None:
    twice = sp.csr_array(
        (np.array([1.0, 2.0, 4.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2)
    )
    matrix = SparseMatrix.from_scipy(twice, torch.float64)
    right = torch.tensor([[1.0], [10.0]], dtype=torch.float64)
    assert (matrix @ right).tolist() == [[30.0], [4.0]]
    assert (matrix.transpose() @ right).tolist() == [[40.0], [3.0]]


def test_empty_rows_and_columns_give_zeros() -> None:
    dense = torch.zeros(5, 4, dtype=torch.float64)
    dense[1, 2], dense[3, 2] = 2.0, -1.0
    right = features(4).requires_grad_()
    product = sparse_of(dense) @ right
    torch.testing.assert_close(product, dense @ right)
    (gradient,) = torch.autograd.grad(product.sum(), right)
    assert gradient[:, 0].tolist() == [0.0, 0.0, 1.0, 0.0]


@pytest.mark.parametrize("shape", [(3, 4), (0, 4), (3, 0), (0, 0)], ids=str)
def test_a_matrix_without_entries_gives_zeros_and_zero_gradients(
    shape: tuple[int, int],
) -> None:
    rows, columns = shape
    matrix = SparseMatrix.from_scipy(sp.csr_array(shape), torch.float64)
    right = features(columns).requires_grad_()
    product = matrix @ right
    assert torch.equal(product, torch.zeros(rows, 3, dtype=torch.float64))
    (gradient,) = torch.autograd.grad(product.sum(), right)
    assert torch.equal(gradient, torch.zeros(columns, 3, dtype=torch.float64))
    assert matrix.num_entries == 0


def test_an_integer_matrix_multiplies_like_a_float_matrix() -> None:
    whole = sp.csr_array(np.array([[0, 2, 0], [3, 0, -1]]))
    matrix = SparseMatrix.from_scipy(whole, torch.float32)
    right = torch.tensor([[1.0], [10.0], [100.0]])
    assert (matrix @ right).tolist() == [[20.0], [-97.0]]


def test_indices_are_converted_to_int32() -> None:
    wide = sp.csr_array(random_dense(5, 7).numpy())
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    matrix = SparseMatrix.from_scipy(wide, torch.float32)
    for side in (matrix.rows, matrix.columns):
        assert side.offsets.dtype == side.columns.dtype == torch.int32


def test_num_entries_counts_the_stored_entries() -> None:
    dense = random_dense(5, 7)
    assert sparse_of(dense).num_entries == sparse_of(dense).transpose().num_entries
    assert sparse_of(dense).num_entries == int((dense != 0).sum())


def test_chosen_rows_are_those_of_the_dense_matrix() -> None:
    dense = torch.arange(12.0, dtype=torch.float64).view(4, 3) % 5
    rows = torch.tensor([3, 0, 3])
    found = sparse_of(dense).rows.select(rows).times(torch.eye(3, dtype=torch.float64))
    assert torch.equal(found, dense[rows])


def test_dropout_drops_the_same_entries_from_rows_and_columns() -> None:
    dense = features(40, 30).double().abs() + 1
    found = sparse_of(dense).dropout(0.3, torch.Generator().manual_seed(0))
    rows = found.rows.times(torch.eye(30, dtype=torch.float64))
    columns = found.columns.times(torch.eye(40, dtype=torch.float64))
    assert torch.equal(rows, columns.T)
    assert torch.equal(found.rows.values[found.order], found.columns.values)
    assert torch.equal(rows[rows != 0], dense[rows != 0])
    assert 0.65 < float((rows != 0).double().mean()) < 0.75
