"""Networks from other libraries: networkx graphs and sparse matrices.

A symmetric matrix is S of an undirected network, each edge of which is two directed edges of equal
weight (section 4.3), so that only its upper half is kept; a self-loop counts once.
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
    """Return the network of a networkx graph, directed as the graph is.

    Texts, weights and labels are the attributes of these names. A vertex without a text has an
    empty one, and an edge without a weight among weighted ones has 1, as in networkx. Parallel
    edges add. An id is ``str()`` of the vertex.

    >>> import networkx
    >>> graph = networkx.Graph([(1, 2)])
    >>> graph.nodes[1]["text"] = "one"
    >>> network_from_networkx(graph).texts
    ('one', '')

    Raises:
        NetworkError: Two vertices have the same id, or an attribute is not what it should be.
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
    """Return the network whose ``adjacency()`` is this matrix; explicit zeros are no edges.

    Directed None means: as the matrix is, undirected when it is symmetric. Without ids, vertices
    are called "0", "1", "2", ...

    >>> network_from_scipy(sp.csr_array([[0, 2], [2, 0]]), ["left", "right"])
    TextualNetwork(2 vertices, 1 undirected edge, no labels)

    Raises:
        NetworkError: The matrix is not square, has a bad weight, or is not symmetric as asked.
    """
    matrix = _as_weights(adjacency)
    lopsided = sp.coo_array(matrix - matrix.T)
    lopsided.eliminate_zeros()
    if directed is False and lopsided.nnz:
        row, column = (int(places[0]) for places in lopsided.coords)
        raise NetworkError(
            f"the adjacency matrix is not symmetric: it holds {matrix[row, column]} at "
            f"({row}, {column}) but {matrix[column, row]} at ({column}, {row}); "
            "make it symmetric, or say that it is directed"
        )
    directed = bool(lopsided.nnz) if directed is None else directed
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
    """Return the matrix in float64, every entry once and above zero."""
    if adjacency.ndim != 2 or adjacency.shape[0] != adjacency.shape[1]:
        raise NetworkError(
            f"the adjacency matrix has the shape {adjacency.shape}; it must be square, with a row "
            "and a column for every vertex"
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
