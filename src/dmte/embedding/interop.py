"""Conversion of vectors for pandas, polars, gensim and networkx, which are optional.

``Embedding`` has a method for every function here.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jaxtyping import Float
from torch import Tensor

from dmte.network.textual_network import TextualNetwork
from dmte.runtime.optional import require

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


def to_pandas(ids: Sequence[str], vectors: Float[Tensor, "vertices dim"]) -> "pd.DataFrame":
    """Return a frame with a row per vertex, indexed by id, and a column per dimension."""
    pandas = require("pandas", extra="pandas", purpose="a pandas frame")
    columns = [f"v{column}" for column in range(vectors.shape[1])]
    index = pandas.Index(list(ids), name="id")
    frame: pd.DataFrame = pandas.DataFrame(
        vectors.detach().numpy().copy(), index=index, columns=columns
    )
    return frame


def to_polars(ids: Sequence[str], vectors: Float[Tensor, "vertices dim"]) -> "pl.DataFrame":
    """Return a frame of ids and vectors."""
    polars = require("polars", extra="polars", purpose="a polars frame")
    arrays = polars.Series(
        "vector",
        vectors.detach().numpy().copy(),
        dtype=polars.Array(polars.Float32, vectors.shape[1]),
    )
    frame: pl.DataFrame = polars.DataFrame({"id": list(ids), "vector": arrays})
    return frame


def to_keyed_vectors(ids: Sequence[str], vectors: Float[Tensor, "vertices dim"]) -> Any:
    """Return gensim's KeyedVectors with the ids as keys."""
    models = require("gensim.models", extra="gensim", purpose="KeyedVectors", package="gensim")
    keyed = models.KeyedVectors(vector_size=vectors.shape[1])
    keyed.add_vectors(list(ids), vectors.detach().numpy().copy())
    return keyed


def to_networkx(network: TextualNetwork, vectors: Float[Tensor, "vertices dim"], name: str) -> Any:
    """Return a graph whose vertices have a text, labels and their row as the attribute ``name``."""
    networkx = require("networkx", extra="networkx", purpose="a networkx graph")
    graph = networkx.DiGraph() if network.directed else networkx.Graph()
    rows = vectors.detach().numpy().copy()
    for position, vertex in enumerate(network.ids):
        more = {} if network.labels is None else {"label": sorted(network.labels[position])}
        graph.add_node(vertex, text=network.texts[position], **{name: rows[position]}, **more)
    edges, weights = network.distinct_edges()
    for (source, target), weight in zip(edges.tolist(), weights.tolist(), strict=True):
        graph.add_edge(network.ids[source], network.ids[target], weight=weight)
    return graph
