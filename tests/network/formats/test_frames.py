"""Networks from data frames of several libraries."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from dmte.errors import NetworkError
from dmte.network.formats.columns import Columns
from dmte.network.formats.frames import network_from_frames

Make = Callable[[dict[str, Any]], Any]


@pytest.fixture(params=[pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def frame(request: pytest.FixtureRequest) -> Make:
    make: Make = request.param
    return make


def test_two_frames_make_a_network(frame: Make) -> None:
    network = network_from_frames(
        frame({"id": [7, 8], "text": ["x", None], "label": [["a", "b"], None]}),
        frame({"source": [8, 7], "target": [7, 7], "weight": [2, 3]}),
        directed=True,
    )
    assert (network.ids, network.texts) == (("7", "8"), ("x", ""))
    assert network.labels == (frozenset("ab"), frozenset())
    assert network.edges.tolist() == [[1, 0], [0, 0]]
    assert network.edge_weights.tolist() == [2, 3]
    assert network.directed


def test_either_frame_may_be_missing(frame: Make) -> None:
    assert network_from_frames(None, frame({"from": ["a"], "to": ["b"]})).ids == ("a", "b")
    assert network_from_frames(frame({"id": ["a"]})).ids == ("a",)


def test_columns_may_be_named(frame: Make) -> None:
    columns = Columns(id="doi", source="x", target="y", weight="z")
    vertices = frame({"id": ["p", "q"], "doi": ["a", "b"]})
    edges = frame({"z": [2.5], "y": ["b"], "x": ["a"], "weight": [1.0]})
    network = network_from_frames(vertices, edges, columns=columns)
    assert network.ids == ("a", "b")
    assert network.edges.tolist() == [[0, 1]]
    assert network.edge_weights.tolist() == [2.5]


def test_an_error_names_the_row_and_the_frame(frame: Make) -> None:
    vertices = frame({"id": ["a", "b"]})
    with pytest.raises(NetworkError, match="row 1 of the edges frame: the target must be one of t"):
        network_from_frames(vertices, frame({"source": ["a", "a"], "target": ["b", "c"]}))
    with pytest.raises(NetworkError, match="row 1 of the edges frame: the edge has no target"):
        network_from_frames(vertices, frame({"source": ["a", "a"], "target": ["b", None]}))
    with pytest.raises(NetworkError, match=r"row 1 of the vertices frame: .* by row 0 of the vert"):
        network_from_frames(frame({"id": ["a", "a"]}))


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_missing_values_of_pandas_are_missing(missing: object) -> None:
    cells = pd.Series(["x", missing], dtype=object)
    network = network_from_frames(pd.DataFrame({"id": [1, 2], "text": cells, "label": cells}))
    assert network.texts == ("x", "")
    assert network.labels == (frozenset("x"), frozenset())


def test_pandas_numbers_beside_missing_ones_stay_whole() -> None:
    vertices = pd.DataFrame({"id": [7, 8], "label": [1.0, np.nan]})
    edges = pd.DataFrame({"source": pd.Series([7, 8], dtype="Int64"), "target": [8.0, 7.0]})
    network = network_from_frames(vertices, edges)
    assert network.labels == (frozenset("1"), frozenset())
    assert network.edges.tolist() == [[0, 1], [1, 0]]


def test_pandas_columns_may_be_numbered() -> None:
    network = network_from_frames(None, pd.DataFrame([["a", "b", 2.5]]))
    assert network.ids == ("a", "b")
    assert network.weights is None


def test_categories_are_their_names() -> None:
    vertices = pd.DataFrame({"id": ["a", "b"], "label": pd.Categorical(["x", None])})
    assert network_from_frames(vertices).labels == (frozenset("x"), frozenset())
    polars = pl.DataFrame({"id": ["a"], "label": ["x"]}, schema_overrides={"label": pl.Categorical})
    assert network_from_frames(polars).labels == (frozenset("x"),)


def test_links_in_a_frame_are_edges(frame: Make) -> None:
    network = network_from_frames(frame({"id": ["a", "b"], "links": [["b"], ["a"]]}))
    assert network.edges.tolist() == [[0, 1]]


@pytest.mark.parametrize(
    "thing", [pl.LazyFrame({"id": ["a"]}), 3, {"id": ["a"]}, np.zeros((2, 2))], ids=type
)
def test_an_object_that_is_not_a_frame_in_memory_raises(thing: Any) -> None:
    with pytest.raises(NetworkError, match=r"the vertices frame is a .*, which is not a data"):
        network_from_frames(thing)


def test_frames_with_two_columns_of_one_name_raise() -> None:
    with pytest.raises(NetworkError, match="the edges frame has columns with equal names"):
        network_from_frames(None, pd.DataFrame([["a", "b"]], columns=["source", "source"]))


def test_an_empty_frame_raises_for_vertices_and_means_no_edges(frame: Make) -> None:
    with pytest.raises(NetworkError, match="the vertices frame holds no vertices"):
        network_from_frames(frame({"id": []}))
    edgeless = network_from_frames(frame({"id": ["a"]}), frame({"source": [], "target": []}))
    assert len(edgeless.edges) == 0
