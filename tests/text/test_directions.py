"""Randomized SVD against the exact one of numpy, for one process and for several."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from dmte.distributed.columns import ALL_COLUMNS, Columns
from dmte.text import directions
from dmte.text.directions import strongest_directions

SHAPES = [(50, 80), (80, 50), (30, 30), (200, 5), (5, 200), (300, 200)]


def random_words(shape: tuple[int, int], *, rank: int | None = None) -> sp.csr_array:
    """Draw a sparse matrix with singular values that decay, of this rank."""
    draws = np.random.default_rng(1)
    words = sp.random_array(shape, density=0.3, rng=draws) @ sp.diags_array(
        0.97 ** np.arange(shape[1])
    )
    if rank is not None:
        words = sp.csr_array(words[:, np.arange(shape[1]) % rank])
    return sp.csr_array(words)


def exact(matrix: np.ndarray, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the singular values and V."""
    _, values, rows = np.linalg.svd(matrix, full_matrices=False)
    return values[:dim], rows[:dim].T


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["sparse", "dense", "single"])
def test_directions_equal_those_of_the_exact_svd(shape: tuple[int, int], kind: str) -> None:
    words = random_words(shape)
    made: dict[str, Callable[[], Any]] = {
        "sparse": lambda: words,
        "dense": words.toarray,
        "single": lambda: words.astype(np.float32),
    }
    dim = min(20, *shape)
    found = strongest_directions(made[kind](), dim, seed=4, num_passes=30)
    assert found.dtype == (torch.float32 if kind == "single" else torch.float64)
    values, slow = exact(words.toarray(), dim)
    tolerance = 1e-4 if kind == "single" else 1e-9
    # Several directions of similar strength may be turned: compare the spaces they span.
    angles = np.linalg.svd(slow.T @ found.double().numpy(), compute_uv=False)
    assert np.allclose(angles, 1, atol=tolerance)
    assert np.allclose(np.linalg.norm(words @ found.numpy(), axis=0), values, atol=tolerance * 10)


@pytest.mark.parametrize("shape", SHAPES)
def test_directions_are_orthonormal_and_ordered_after_few_passes(shape: tuple[int, int]) -> None:
    words = random_words(shape)
    found = strongest_directions(words, min(20, *shape), seed=0, num_passes=2).numpy()
    assert np.allclose(found.T @ found, np.eye(found.shape[1]), atol=1e-9)
    products = (words @ found).T @ (words @ found)
    assert np.allclose(products, np.diag(products.diagonal()), atol=1e-9)
    assert (np.diff(products.diagonal()) < 1e-9).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_with_parts_the_product_is_decomposed(shape: tuple[int, int]) -> None:
    words, dim = random_words(shape), min(10, *shape)
    extra = sp.random_array((shape[1], 40), density=0.1, rng=np.random.default_rng(2))
    parts = sp.csr_array(sp.hstack([sp.eye_array(shape[1]), extra]))
    found = strongest_directions(words, dim, seed=0, num_passes=40, parts=parts).numpy()
    values, slow = exact((words @ parts).toarray(), dim)
    assert np.allclose(np.linalg.norm(words @ found, axis=0), values, rtol=1e-6)
    vectors = words @ found
    expected = (words @ parts) @ slow
    assert np.allclose(vectors @ vectors.T, expected @ expected.T, atol=1e-5)


@pytest.mark.parametrize("shape", [(50, 80), (80, 50)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_beyond_the_rank_are_zero(shape: tuple[int, int], dtype: type) -> None:
    words = random_words(shape, rank=7).astype(dtype)
    found = strongest_directions(words, 20, seed=0).numpy()
    assert not found[:, 7:].any()
    assert np.allclose(found[:, :7].T @ found[:, :7], np.eye(7), atol=1e-4)
    assert np.allclose(words @ found @ found.T, words.toarray(), atol=1e-4)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (4, 3)])
def test_without_words_directions_are_zero(shape: tuple[int, int]) -> None:
    found = strongest_directions(sp.csr_array(shape), 2, seed=0)
    assert found.shape == (shape[1], 2)
    assert not found.any()


def test_a_seed_gives_the_same_directions_and_the_largest_entry_is_positive() -> None:
    words = random_words((60, 40))
    found = strongest_directions(words, 12, seed=3, num_passes=2)
    assert torch.equal(found, strongest_directions(words, 12, seed=3, num_passes=2))
    assert not torch.equal(found, strongest_directions(words, 12, seed=5, num_passes=2))
    assert torch.equal(found.abs().amax(dim=0), found.amax(dim=0))


@pytest.mark.parametrize("shape", [(60, 40), (40, 60), (6, 4)])
@pytest.mark.parametrize("with_parts", [False, True])
def test_processes_find_the_columns_that_one_finds(
    together: Callable[..., list[Tensor]],
    shape: tuple[int, int],
    monkeypatch: pytest.MonkeyPatch,
    *,
    with_parts: bool,
) -> None:
    monkeypatch.setattr(directions, "BLOCK_VALUES", 400)  # Several blocks of columns and of rows.
    words = random_words(shape)
    parts = None
    if with_parts:
        more = sp.random_array((shape[1], 9), density=0.3, rng=np.random.default_rng(2))
        parts = sp.csr_array(sp.hstack([sp.eye_array(shape[1]), more]))

    def find(columns: Columns) -> Tensor:
        return strongest_directions(words, 11, 0, num_passes=3, parts=parts, columns=columns)

    found, whole = torch.cat(together(3, find), dim=1), find(ALL_COLUMNS)
    torch.testing.assert_close(found, whole, atol=1e-8, rtol=0)
