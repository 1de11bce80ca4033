"""Search and link suggestion against sorting all candidates."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from dmte.embedding.embedding import Embedding
from dmte.errors import ConfigError, UnknownVertexError
from dmte.inference.suggest import suggest_links
from dmte.network import TextualNetwork
from dmte.search.exact import highest
from dmte.search.pairs import BLOCK, closest_pairs


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30), st.integers(1, 40), st.data())
def test_highest_equals_the_head_of_a_stable_sort(
    numbers: list[int], k: int, data: st.DataObject
) -> None:
    allowed = data.draw(
        st.lists(st.booleans(), min_size=len(numbers), max_size=len(numbers)), label="among"
    )
    slow = sorted(
        ((row, float(number)) for row, number in enumerate(numbers) if allowed[row]),
        key=lambda pair: -pair[1],
    )
    found = highest(np.array(numbers, np.float32), k, np.array(allowed))
    assert list(zip(*found, strict=True)) == slow[:k]


def slow_pairs(table: Tensor, excluded: set[frozenset[int]]) -> list[tuple[int, int, float]]:
    size = len(table)
    pairs = [(i, j) for i in range(size) for j in range(i + 1, size)]
    scored = [(i, j, float(table[i] @ table[j])) for i, j in pairs if {i, j} not in excluded]
    return sorted(scored, key=lambda found: -found[2])


@pytest.mark.parametrize("k", [1, 7, 1000])
@pytest.mark.parametrize("size", [5, pytest.param(BLOCK + 3, marks=pytest.mark.medium)])
def test_closest_pairs_equal_the_head_of_all_sorted_pairs(size: int, k: int) -> None:
    generator = torch.Generator().manual_seed(size)
    table = torch.randn(size, 3, generator=generator)
    ends = torch.randint(size, (size, 2), generator=generator)
    linked = sp.csr_array(([1.0] * size, ends.T.numpy()), shape=(size, size))
    slow = slow_pairs(table, {frozenset(pair) for pair in ends.tolist()})[:k]
    found = closest_pairs(table, k, linked)
    assert [score for *_, score in found] == pytest.approx([s for *_, s in slow], abs=1e-5)
    assert {(i, j) for i, j, _ in found} == {(i, j) for i, j, _ in slow}


def test_ties_do_not_change_the_number_of_pairs() -> None:
    none_linked = sp.csr_array((4, 4))
    found = closest_pairs(torch.zeros(4, 2), 3, none_linked)
    assert len({(i, j) for i, j, _ in found if i < j}) == 3
    assert len(closest_pairs(torch.zeros(4, 2), 100, none_linked)) == 6


def test_a_complete_network_has_no_unlinked_pair() -> None:
    assert closest_pairs(torch.ones(3, 2), 5, sp.csr_array(torch.ones(3, 3).numpy())) == []


def test_a_k_below_one_raises() -> None:
    with pytest.raises(ConfigError, match="k must be at least 1, not 0"):
        closest_pairs(torch.ones(3, 2), 0, sp.csr_array((3, 3)))
    with pytest.raises(ConfigError, match="k must be at least 1, not -1"):
        highest(np.ones(3), -1)


@pytest.mark.parametrize("directed", [False, True])
def test_pairs_linked_in_either_direction_are_not_suggested(*, directed: bool) -> None:
    network = TextualNetwork(
        ids=("a", "b", "c", "d"),
        texts=("", "", "", ""),
        edges=torch.tensor([[1, 0], [0, 0]]),
        directed=directed,
    )
    vectors = torch.tensor([[1.0, 0.0], [1.0, 0.1], [0.5, 0.0], [0.1, 0.0]])
    embedding = Embedding(network.ids, vectors, text_dim=1)
    of_a = suggest_links(embedding, network, k=5, vertex="a")
    assert [(found.source, found.target) for found in of_a] == [("a", "c"), ("a", "d")]
    best = suggest_links(embedding, network, k=2)
    assert {(found.source, found.target) for found in best} == {("a", "c"), ("b", "c")}
    with pytest.raises(UnknownVertexError, match="no vertex 'e'"):
        suggest_links(embedding, network, vertex="e")
