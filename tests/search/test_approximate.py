"""Approximate search against exact search."""

import sys

import numpy as np
import pytest
import torch

from dmte.embedding.embedding import Embedding
from dmte.errors import MissingExtraError
from dmte.search.exact import nearest

K = 10


@pytest.fixture(scope="module")
def embedding() -> Embedding:
    """Clustered vectors, like those of texts, and one zero vector."""
    generator = torch.Generator().manual_seed(0)
    centers = torch.randn(60, 32, generator=generator)
    which = torch.randint(60, (3000,), generator=generator)
    vectors = centers[which] + 0.5 * torch.randn(3000, 32, generator=generator)
    vectors[17] = 0.0
    return Embedding([f"v{row}" for row in range(3000)], vectors, text_dim=16)


@pytest.mark.medium
def test_most_exact_neighbors_are_found_with_exact_scores(
    embedding: Embedding,
) -> None:
    pytest.importorskip("usearch")
    names = embedding.ids[:200]
    exact = embedding.most_similar_to_each(names, K)
    found = embedding.most_similar_to_each(names, K, approximate=True)
    right = [
        len({one.id for one in slow} & {one.id for one in fast})
        for slow, fast in zip(exact, found, strict=True)
    ]
    assert sum(right) / (K * len(names)) > 0.95
    assert all(
        name not in {one.id for one in fast} for name, fast in zip(names, found, strict=True)
    )
    scores = {one.id: one.score for one in exact[0]}
    for one in found[0]:
        assert one.score == pytest.approx(scores.get(one.id, one.score), abs=1e-6)


def test_each_half_has_its_own_index(embedding: Embedding) -> None:
    pytest.importorskip("usearch")
    exact = embedding.most_similar("v3", K, half="structure")
    found = embedding.most_similar("v3", K, half="structure", approximate=True)
    assert len({one.id for one in exact} & {one.id for one in found}) >= K - 1


def test_without_usearch_the_error_names_the_extra(
    embedding: Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "usearch.index", None)
    fresh = Embedding(embedding.ids, embedding.vectors, 16)
    with pytest.raises(MissingExtraError, match=r"needs usearch.*pip install 'dmte\[search\]'"):
        fresh.most_similar("v5", approximate=True)


def test_searching_in_blocks_equals_sorting_all_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dmte.search.exact.BLOCK_SCORES", 64)
    monkeypatch.setattr("dmte.search.exact.BLOCK_QUERIES", 4)
    draws = np.random.default_rng(0)
    # Integers give ties.
    table = draws.integers(-1, 2, size=(50, 3)).astype(np.float64)
    own, among = np.arange(10), draws.random(50) < 0.7
    unit = table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-12)
    found = nearest(table, table[:10], 7, among=among, excluded=own)
    for query, one in enumerate(found):
        cosines = (unit @ unit[query]).round(9)
        allowed = [row for row in np.flatnonzero(among) if row != query]
        slow = sorted(allowed, key=lambda row: (-cosines[row], row))[:7]
        np.testing.assert_allclose(cosines[one.rows], cosines[slow])
        assert set(one.rows.tolist()) <= set(allowed)
