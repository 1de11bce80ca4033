"""The textual network: matrices compared with slow loops, checks, fingerprint."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dmte.errors import NetworkError, UnknownVertexError
from dmte.network.textual_network import TextualNetwork

NUM_VERTICES = 5
Edges = list[tuple[int, int, int]]
edges_of_five = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(1, 9)), max_size=12
)


def network_of(edges: Edges, *, directed: bool = False) -> TextualNetwork:
    return TextualNetwork(
        ids=tuple("abcde"),
        texts=("",) * NUM_VERTICES,
        edges=torch.tensor([edge[:2] for edge in edges], dtype=torch.int64).reshape(-1, 2),
        weights=torch.tensor([float(edge[2]) for edge in edges]),
        directed=directed,
    )


def slow_adjacency(edges: Edges, *, directed: bool) -> np.ndarray:
    matrix = np.zeros((NUM_VERTICES, NUM_VERTICES))
    for i in range(NUM_VERTICES):
        for j in range(NUM_VERTICES):
            for source, target, weight in edges:
                forwards, backwards = (source, target) == (i, j), (target, source) == (i, j)
                if forwards or (backwards and not directed):
                    matrix[i, j] += weight
    return matrix


@pytest.fixture
def small() -> TextualNetwork:
    return TextualNetwork(
        ids=("a", "b", "c"),
        texts=("left", "right", ""),
        edges=torch.tensor([[0, 1], [1, 2]]),
        weights=torch.tensor([1.0, 2.0]),
        labels=(frozenset("x"), frozenset(), frozenset("y")),
    )


@pytest.mark.parametrize("directed", [False, True])
@given(edges=edges_of_five)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_adjacency_equals_the_double_loop(directed: bool, edges: Edges) -> None:  # noqa: FBT001
    adjacency = network_of(edges, directed=directed).adjacency().toarray()
    np.testing.assert_array_equal(adjacency, slow_adjacency(edges, directed=directed))


def test_an_undirected_edge_is_two_directed_edges() -> None:
    assert network_of([(0, 1, 3)]).adjacency().toarray()[:2, :2].tolist() == [[0, 3], [3, 0]]


def test_a_directed_edge_leads_one_way() -> None:
    adjacency = network_of([(0, 1, 3)], directed=True).adjacency().toarray()
    assert adjacency[:2, :2].tolist() == [[0, 3], [0, 0]]


def test_edges_given_more_than_once_add_their_weights() -> None:
    assert network_of([(0, 1, 3), (1, 0, 4), (0, 1, 5)]).adjacency()[0, 1] == 12


@pytest.mark.parametrize("directed", [False, True])
def test_a_self_loop_counts_once(directed: bool) -> None:  # noqa: FBT001
    assert network_of([(2, 2, 3)], directed=directed).adjacency()[2, 2] == 3


def test_an_unweighted_edge_weighs_one(small: TextualNetwork) -> None:
    unweighted = small.with_edges(small.edges)
    assert unweighted.weights is None
    assert unweighted.edge_weights.tolist() == [1, 1]


@given(edges=edges_of_five)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_distinct_edges_are_the_upper_half_of_the_adjacency(edges: Edges) -> None:
    pairs, weights = network_of(edges).distinct_edges()
    upper = np.zeros((NUM_VERTICES, NUM_VERTICES))
    upper[pairs[:, 0], pairs[:, 1]] = weights
    np.testing.assert_array_equal(upper, np.triu(slow_adjacency(edges, directed=False)))
    assert len(pairs) == np.count_nonzero(upper)


def test_distinct_edges_of_a_directed_network_keep_their_direction() -> None:
    pairs, weights = network_of([(1, 0, 2), (0, 1, 3), (1, 0, 4)], directed=True).distinct_edges()
    assert pairs.tolist() == [[0, 1], [1, 0]]
    assert weights.tolist() == [3, 6]


def test_positions_are_found_by_id(small: TextualNetwork) -> None:
    assert [small.position(name) for name in small.ids] == [0, 1, 2]


def test_an_unknown_id_raises_with_close_ids() -> None:
    network = TextualNetwork(
        ids=("graph", "tree"), texts=("", ""), edges=torch.zeros((0, 2), dtype=torch.int64)
    )
    with pytest.raises(UnknownVertexError, match="no vertex 'graaph'; did you mean 'graph'"):
        network.position("graaph")
    with pytest.raises(UnknownVertexError, match=r"no vertex 'zzz'$"):
        network.position("zzz")


def test_classes_are_every_label_sorted(small: TextualNetwork) -> None:
    assert small.classes == ["x", "y"]
    assert replace(small, labels=None).classes == []


def test_the_representation_shows_the_counts(small: TextualNetwork) -> None:
    assert repr(small) == "TextualNetwork(3 vertices, 2 undirected edges, 2 labels)"


@pytest.mark.parametrize(
    "change",
    [
        {"ids": ("a", "b", "d")},
        {"texts": ("left", "right", "x")},
        {"edges": torch.tensor([[0, 1], [0, 2]])},
        {"weights": torch.tensor([1.0, 3.0])},
        {"directed": True},
        {"labels": None},
        {"labels": (frozenset("x"), frozenset(), frozenset("z"))},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_fingerprint_changes_with_each_field(
    small: TextualNetwork, change: dict[str, object]
) -> None:
    changed = replace(small, **change)  # type: ignore[arg-type]
    assert changed.fingerprint() != small.fingerprint()


def test_the_fingerprint_does_not_depend_on_how_numbers_are_stored(small: TextualNetwork) -> None:
    same = replace(small, edges=small.edges.int(), weights=small.edge_weights)
    assert same.fingerprint() == small.fingerprint()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ids": (), "texts": (), "labels": None}, "the network is empty"),
        ({"ids": ("a", "b", "a")}, "the id 'a' occurs more than once"),
        ({"texts": ("left",)}, "there are 1 texts for 3 vertices"),
        ({"labels": (frozenset("x"),)}, "there are 1 label sets for 3 vertices"),
        ({"edges": torch.tensor([[0, 1], [1, 3]])}, r"edge 1 joins vertices \[1, 3\], but .* 0 to"),
        ({"edges": torch.tensor([[-1, 1], [1, 2]])}, r"edge 0 joins vertices \[-1, 1\]"),
        ({"weights": torch.tensor([1.0, 0.0])}, "edge 1 has the weight 0.0"),
        ({"weights": torch.tensor([-1.0, 1.0])}, "edge 0 has the weight -1.0"),
        ({"weights": torch.tensor([1.0, torch.nan])}, "edge 1 has the weight nan"),
        ({"weights": torch.tensor([torch.inf, 1.0])}, "edge 0 has the weight inf"),
    ],
)
def test_a_field_that_does_not_fit_raises(
    small: TextualNetwork, change: dict[str, object], message: str
) -> None:
    with pytest.raises(NetworkError, match=message):
        replace(small, **change)  # type: ignore[arg-type]
