"""Convert networkx graphs and sparse matrices to networks.

A symmetric matrix is S of an undirected network, in which an edge is two directed edges of equal
weight (section 4.3). So only its upper half is kept; a self-loop counts once.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import torch

from dmte.errors import NetworkError
from dmte.network.formats.build import network_from_tables
from dmte.network.formats.table import Table
from dmte.network.textual_network import Labels, TextualNetwork

if TYPE_CHECKING:
    import networkx  # type: ignore[import-untyped]


def network_from_networkx(
    graph: "networkx.Graph", *, text: str = "text", weight: str = "weight", label: str = "label"
) -> TextualNetwork:
    """Convert a networkx graph; the network is directed if the graph is.

    Texts, weights and labels are read from the attributes with these names. A missing text is
    empty; a missing weight is 1 if other edges have weights, as in networkx. Weights of parallel
    edges are added. The id of a vertex is its ``str()``.

    >>> import networkx
    >>> graph = networkx.Graph([(1, 2)])
    >>> graph.nodes[1]["text"] = "one"
    >>> network_from_networkx(graph).texts
    ('one', '')

    Raises:
        NetworkError: Two vertices have the same id, or an attribute has a wrong type or value.
    """
    vertices, edges = list(graph.nodes(data=True)), list(graph.edges(data=True))
    columns: dict[str, list[object]] = {
        "source": [str(source) for source, _, _ in edges],
        "target": [str(target) for _, target, _ in edges],
    }
    if any(weight in attributes for _, _, attributes in edges):
        columns["weight"] = [attributes.get(weight, 1.0) for _, _, attributes in edges]
    return network_from_tables(
        Table(
            name="the graph",
            columns={
                "id": [str(vertex) for vertex, _ in vertices],
                "text": [attributes.get(text) for _, attributes in vertices],
                "label": [attributes.get(label) for _, attributes in vertices],
            },
            place=lambda row: f"the vertex {vertices[row][0]!r}",
        ),
        Table(
            name="the graph",
            columns=columns,
            place=lambda row: f"the edge {edges[row][:2]!r}",
        ),
        directed=bool(graph.is_directed()),
    )


def network_from_scipy(
    adjacency: sp.sparray | sp.spmatrix,
    texts: Sequence[str],
    *,
    ids: Sequence[str] | None = None,
    labels: Labels | None = None,
    directed: bool | None = None,
) -> TextualNetwork:
    """Convert an adjacency matrix to a network; explicit zeros are not edges.

    With ``directed=None``, the network is undirected if the matrix is symmetric. Without ``ids``,
    the ids are "0", "1", "2", ...

    >>> network_from_scipy(sp.csr_array([[0, 2], [2, 0]]), ["left", "right"])
    TextualNetwork(2 vertices, 1 undirected edge, no labels)

    Raises:
        NetworkError: The matrix is not square, has a weight that is not positive and finite, or is
            not symmetric although ``directed`` is False.
    """
    matrix = _as_weights(adjacency)
    asymmetry = sp.coo_array(matrix - matrix.T)
    asymmetry.eliminate_zeros()
    if directed is False and asymmetry.nnz:
        row, column = (int(places[0]) for places in asymmetry.coords)
        raise NetworkError(
            f"the adjacency matrix is not symmetric: it holds {matrix[row, column]} at "
            f"({row}, {column}) but {matrix[column, row]} at ({column}, {row}); "
            "make it symmetric, or pass directed=True"
        )
    directed = bool(asymmetry.nnz) if directed is None else directed
    kept = (matrix if directed else sp.triu(matrix)).tocoo()
    return TextualNetwork(
        ids=tuple(map(str, range(matrix.shape[0]))) if ids is None else tuple(ids),
        texts=tuple(texts),
        edges=torch.from_numpy(np.stack(kept.coords, axis=1).astype(np.int64)),
        weights=None if np.all(kept.data == 1) else torch.from_numpy(kept.data),
        directed=directed,
        labels=labels,
    )


def _as_weights(adjacency: Any) -> sp.csr_array:
    """Matrix in float64 with duplicates summed and every entry positive."""
    if adjacency.ndim != 2 or adjacency.shape[0] != adjacency.shape[1]:
        raise NetworkError(
            f"the adjacency matrix has the shape {adjacency.shape}; it must be square, with a row "
            "and a column per vertex"
        )
    if adjacency.dtype.kind not in "buif":
        raise NetworkError(f"the adjacency matrix holds {adjacency.dtype}; it must hold numbers")
    matrix: sp.csr_array = sp.csr_array(adjacency, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    bad = np.flatnonzero(~(np.isfinite(matrix.data) & (matrix.data > 0)))
    if bad.size:
        row, column = (int(place[bad[0]]) for place in matrix.tocoo().coords)
        raise NetworkError(
            f"the adjacency matrix holds {matrix.data[bad[0]]} at ({row}, {column}); "
            "weights must be positive, finite numbers"
        )
    return matrix
