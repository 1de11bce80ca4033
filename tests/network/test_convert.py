"""Networks from networkx graphs and sparse matrices."""

import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dmte.errors import NetworkError
from dmte.network.convert import network_from_networkx, network_from_scipy
from dmte.network.textual_network import Labels

networkx: Any = pytest.importorskip("networkx")

FORMATS = [
    sp.bsr_array,
    sp.coo_array,
    sp.csc_array,
    sp.csr_matrix,
    sp.dia_array,
    sp.dok_array,
    sp.lil_array,
]
rows = st.lists(st.sampled_from([0, 0, 1, 2.5, 1 / 3]), min_size=4, max_size=4)
square = st.lists(rows, min_size=4, max_size=4)


def test_a_graph_gives_ids_texts_weights_and_labels() -> None:
    graph = networkx.Graph()
    graph.add_node(1, text="one", label="odd")
    graph.add_node("two", text="two", label=["even", "prime"])
    graph.add_node((3, 4))
    graph.add_edge(1, "two", weight=2.5)
    graph.add_edge("two", (3, 4))
    network = network_from_networkx(graph)
    assert network.ids == ("1", "two", "(3, 4)")
    assert network.texts == ("one", "two", "")
    assert network.labels == (frozenset({"odd"}), frozenset({"even", "prime"}), frozenset())
    assert network.edges.tolist() == [[0, 1], [1, 2]]
    assert network.edge_weights.tolist() == [2.5, 1]
    assert not network.directed


def test_attributes_may_have_other_names() -> None:
    graph = networkx.Graph()
    graph.add_node("a", abstract="x", area="y")
    graph.add_edge("a", "a", count=3)
    network = network_from_networkx(graph, text="abstract", weight="count", label="area")
    assert (network.texts, network.classes) == (("x",), ["y"])
    assert network.edge_weights.tolist() == [3]


def test_a_graph_without_weights_or_labels_has_none() -> None:
    network = network_from_networkx(networkx.path_graph(3))
    assert network.weights is None
    assert network.labels is None


@pytest.mark.parametrize("kind", ["Graph", "DiGraph", "MultiGraph", "MultiDiGraph"])
def test_the_adjacency_is_that_of_networkx(kind: str) -> None:
    graph = getattr(networkx, kind)()
    edges = [(0, 1, 2.0), (1, 0, 3.0), (1, 2, 1.0), (0, 1, 4.0), (2, 2, 5.0), (3, 0, 0.5)]
    graph.add_weighted_edges_from(edges)
    network = network_from_networkx(graph)
    assert network.directed == graph.is_directed()
    expected = networkx.to_numpy_array(graph, multigraph_weight=sum)
    np.testing.assert_array_equal(network.adjacency().toarray(), expected)


def test_vertices_that_read_the_same_raise() -> None:
    message = "the vertex '1': the id '1' is already used by the vertex 1; ids must be"
    with pytest.raises(NetworkError, match=message):
        network_from_networkx(networkx.Graph([(1, "1")]))


def test_a_bad_weight_names_the_edge() -> None:
    graph = networkx.Graph()
    graph.add_edge("a", "b", weight=-1)
    with pytest.raises(NetworkError, match=r"the edge \('a', 'b'\): the weight is -1; weights"):
        network_from_networkx(graph)


def test_a_text_that_is_none_names_the_vertex() -> None:
    graph = networkx.Graph()
    graph.add_node("a", text=["x"])
    with pytest.raises(NetworkError, match="the vertex 'a': the text is a list"):
        network_from_networkx(graph)


def test_an_empty_graph_raises() -> None:
    with pytest.raises(NetworkError, match="the graph holds no vertices"):
        network_from_networkx(networkx.Graph())


@pytest.mark.medium
def test_networkx_is_not_needed_to_import_the_conversions() -> None:
    code = "import sys, dmte.network.convert; sys.exit('networkx' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def texts_for(matrix: Any) -> list[str]:
    return [f"text {i}" for i in range(matrix.shape[0])]


@pytest.mark.parametrize("layout", FORMATS)
@pytest.mark.parametrize("symmetric", [False, True])
@given(cells=square)
@settings(max_examples=20, deadline=None, derandomize=True)
def test_the_adjacency_of_a_matrix_is_the_matrix(
    layout: Callable[[object], Any],
    symmetric: bool,  # noqa: FBT001
    cells: list[list[float]],
) -> None:
    dense = np.array(cells, dtype=np.float64)
    if symmetric:
        dense = np.triu(dense) + np.triu(dense, 1).T
    matrix = layout(dense)
    for directed in [None, True, False][: 3 if symmetric else 2]:
        network = network_from_scipy(matrix, texts_for(matrix), directed=directed)
        np.testing.assert_array_equal(network.adjacency().toarray(), dense)
    if symmetric:
        assert not network_from_scipy(matrix, texts_for(matrix)).directed


def test_a_matrix_is_directed_when_it_is_not_symmetric() -> None:
    matrix = sp.csr_matrix([[0, 1], [2, 0]])
    assert network_from_scipy(matrix, ["", ""]).directed
    message = r"not symmetric: it holds 1.0 at \(0, 1\) but 2.0 at \(1, 0\); make it symmetric"
    with pytest.raises(NetworkError, match=message):
        network_from_scipy(matrix, ["", ""], directed=False)


def test_ids_and_labels_are_taken_as_given() -> None:
    labels: Labels = (frozenset("x"), frozenset())
    matrix = sp.eye_array(2, dtype=bool)
    network = network_from_scipy(matrix, ["", ""], ids=["a", "b"], labels=labels)
    assert (network.ids, network.labels, network.weights) == (("a", "b"), labels, None)
    assert network_from_scipy(matrix, ["", ""]).ids == ("0", "1")


def test_explicit_zeros_are_dropped_and_duplicates_added() -> None:
    entries = ([1.0, 2.0, 0.0, 3.0, -3.0], ([0, 0, 1, 1, 1], [0, 0, 0, 1, 1]))
    network = network_from_scipy(sp.coo_array(entries, shape=(2, 2)), ["", ""])
    assert network.edges.tolist() == [[0, 0]]
    assert network.edge_weights.tolist() == [3]


def test_the_matrix_given_is_left_as_it_was() -> None:
    matrix = sp.coo_array(([1.0, 2.0], ([0, 0], [0, 0])), shape=(1, 1))
    network_from_scipy(matrix, [""])
    assert matrix.data.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (sp.csr_array((2, 3)), r"has the shape \(2, 3\); it must be square"),
        (sp.coo_array(np.ones(3)), r"has the shape \(3,\); it must be square"),
        (sp.csr_array([[0, -1], [0, 0]]), r"holds -1.0 at \(0, 1\); weights must be positive"),
        (
            sp.csr_array([[0.0, 0.0], [math.nan, 0.0]]),
            r"holds nan at \(1, 0\); weights",
        ),
        (
            sp.csr_array([[math.inf, 0.0], [0.0, 0.0]]),
            r"holds inf at \(0, 0\); weights",
        ),
        (sp.csr_array([[1j, 0j], [0j, 0j]]), "holds complex128; it must hold numbers"),
        (sp.csr_array((0, 0)), "the network is empty"),
        (sp.csr_array((3, 3)), "there are 2 texts for 3 vertices"),
    ],
)
def test_a_matrix_that_is_not_an_adjacency_raises(matrix: Any, message: str) -> None:
    texts = ["", ""] if matrix.shape[0] else []
    with pytest.raises(NetworkError, match=message):
        network_from_scipy(matrix, texts)
