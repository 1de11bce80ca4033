"""The textual network G = (V, E, T) (Definition 1).

Vertices have an id and a text, edges a positive weight s_ij. An undirected edge is two directed
edges of equal weight (section 4.3); a self-loop is its own reverse and counts once. Weights of
duplicate edges are added. Isolated vertices and empty texts are allowed; the paper does not mention
them.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dmte.errors import NetworkError
from dmte.runtime.formatting import html_table, plural
from dmte.runtime.spelling import find_position

Labels = Sequence[frozenset[str]]


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class TextualNetwork:
    """A graph whose vertices have texts; immutable, and validated on construction.

    >>> network = TextualNetwork(
    ...     ids=("a", "b", "c"), texts=("left", "right", ""), edges=torch.tensor([[0, 1]])
    ... )
    >>> network
    TextualNetwork(3 vertices, 1 undirected edge, no labels)
    >>> network.adjacency().toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    >>> network.num_vertices, network.position("b"), network.classes
    (3, 1, [])
    >>> twice = network.with_edges(torch.tensor([[0, 1], [1, 0]]))
    >>> twice.edge_weights.tolist(), [part.tolist() for part in twice.distinct_edges()]
    ([1.0, 1.0], [[[0, 1]], [2.0]])
    >>> network.with_features(torch.zeros(3, 8)).features.shape
    torch.Size([3, 8])
    """

    ids: Sequence[str]
    """Unique name of every vertex."""
    texts: Sequence[str]
    """Text of every vertex; may be empty."""
    edges: Int[Tensor, "edges 2"]
    """Source and target of every edge as positions in ``ids``."""
    weights: Float[Tensor, " edges"] | None = None
    """s_ij > 0 of every edge; ``None`` if unweighted, so that every s_ij is 1."""
    directed: bool = False
    """Whether edges have a direction."""
    labels: Labels | None = None
    """Set of labels of every vertex, possibly empty; ``None`` if no vertex has labels."""
    features: Float[Tensor, "vertices features"] | None = None
    """Row of numbers per vertex, made by an external model, for the encoder ``features``."""
    _positions: Mapping[str, int] = field(init=False)
    """Position of every id in ``ids``."""
    _fingerprint: str | None = field(init=False, default=None)
    """The fingerprint, once it has been computed."""

    def __post_init__(self) -> None:
        self._check_kinds()
        positions = dict(zip(self.ids, range(len(self.ids)), strict=True))
        object.__setattr__(self, "_positions", positions)
        object.__setattr__(self, "ids", tuple(self.ids))
        object.__setattr__(self, "texts", tuple(self.texts))
        if self.labels is not None:
            object.__setattr__(self, "labels", tuple(self.labels))
        self._check_vertices()
        self._check_edges()

    def _check_kinds(self) -> None:
        for what, values in (("ids", self.ids), ("texts", self.texts)):
            if not all(issubclass(kind, str) for kind in set(map(type, values))):
                strange = next(value for value in values if not _is_a(value, str))
                raise NetworkError(f"{what} must be strings, not {strange!r}")
        if any(issubclass(kind, str) for kind in set(map(type, self.labels or ()))):
            raise NetworkError("labels must be one set of strings per vertex, as in {'cat'}")
        if not (_is_a(self.edges, Tensor) and self.edges.ndim == 2 and self.edges.shape[1] == 2):
            raise NetworkError(
                "edges must be a tensor with one row (source, target) per edge, as in "
                f"torch.tensor([[0, 1], [0, 2]]), not {getattr(self.edges, 'shape', self.edges)}"
            )
        if self.edges.is_floating_point():
            raise NetworkError("edges must be integers, positions in ids")
        if self.weights is not None and not (
            _is_a(self.weights, Tensor) and self.weights.ndim == 1
        ):
            raise NetworkError("weights must be a tensor with one number per edge")

    def _check_vertices(self) -> None:
        num_vertices = len(self.ids)
        if num_vertices == 0:
            raise NetworkError("the network is empty: it needs at least one vertex")
        if len(self._positions) < num_vertices:
            name = next(name for at, name in enumerate(self.ids) if self._positions[name] != at)
            raise NetworkError(f"the id {name!r} occurs more than once; ids must be unique")
        if len(self.texts) != num_vertices:
            raise NetworkError(
                f"there are {len(self.texts)} texts for {num_vertices} vertices; "
                "every vertex needs a text, which may be empty"
            )
        if self.labels is not None and len(self.labels) != num_vertices:
            raise NetworkError(
                f"there are {len(self.labels)} label sets for {num_vertices} vertices; "
                "give one per vertex, empty for a vertex without a label"
            )

        self._check_features()

    def _check_features(self) -> None:
        if self.features is None:
            return
        if not (_is_a(self.features, Tensor) and self.features.ndim == 2):
            raise NetworkError("features must be a tensor with one row of numbers per vertex")
        if len(self.features) != len(self.ids):
            raise NetworkError(
                f"there are {len(self.features)} rows of features for {len(self.ids)} vertices"
            )
        if self.features.shape[1] == 0 or not bool(torch.isfinite(self.features).all()):
            raise NetworkError("features must be finite numbers, at least one per vertex")

    def _check_edges(self) -> None:
        num_vertices, weights = len(self.ids), self.edge_weights
        if len(self.edges) and not 0 <= self.edges.min() <= self.edges.max() < num_vertices:
            outside = ((self.edges < 0) | (self.edges >= num_vertices)).any(dim=1)
            at = int(outside.nonzero()[0])
            raise NetworkError(
                f"edge {at} joins vertices {self.edges[at].tolist()}, but there are only "
                f"{num_vertices} texts (vertices 0 to {num_vertices - 1}); "
                "every vertex needs a text, which may be empty"
            )
        if len(weights) != len(self.edges):
            raise NetworkError(f"there are {len(weights)} weights for {len(self.edges)} edges")
        bad = ~(torch.isfinite(weights) & (weights > 0))
        if bool(bad.any()):
            at = int(bad.nonzero()[0])
            raise NetworkError(
                f"edge {at} has the weight {float(weights[at])}; weights must be positive numbers"
            )

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        classes = self.classes
        return (
            f"TextualNetwork({self.num_vertices:,} {plural(self.num_vertices, 'vertex')}, "
            f"{len(self.edges):,} {kind} {plural(len(self.edges), 'edge')}, "
            f"{len(classes) or 'no'} {plural(len(classes), 'label')})"
        )

    def _repr_html_(self) -> str:
        labels = self.labels or [frozenset()] * self.num_vertices
        rows = zip(self.ids, self.texts, map(", ".join, map(sorted, labels)), strict=True)
        return html_table(repr(self), ("id", "text", "labels"), rows, self.num_vertices)

    @property
    def num_vertices(self) -> int:
        """N, the number of vertices."""
        return len(self.ids)

    @property
    def edge_weights(self) -> Float[Tensor, " edges"]:
        """s_ij of every edge in the order of ``edges``; ones when the network is unweighted."""
        if self.weights is None:
            return torch.ones(len(self.edges), dtype=torch.float64)
        return self.weights.to(torch.float64)

    @property
    def classes(self) -> list[str]:
        """Every label that occurs, sorted."""
        return sorted(frozenset().union(*self.labels)) if self.labels else []

    def position(self, name: str) -> int:
        """Position of the vertex ``name`` in ``ids``.

        Raises:
            UnknownVertexError: There is no such vertex; the message suggests close names.
        """
        return find_position(self._positions, name)

    def adjacency(self) -> sp.csr_array:
        """Adjacency matrix S; s_ij is the summed weight of the directed edges from i to j."""
        return adjacency_matrix(
            self.edges, self.edge_weights, self.num_vertices, directed=self.directed
        )

    def distinct_edges(self) -> tuple[Int[Tensor, "edges 2"], Float[Tensor, " edges"]]:
        """Edges without duplicates, and summed weights; an undirected edge is (low, high)."""
        ends = self.edges if self.directed else self.edges.sort(dim=1).values
        numbers = ends[:, 0].long() * self.num_vertices + ends[:, 1]
        distinct, which = numbers.unique(return_inverse=True)
        weights = torch.zeros(len(distinct), dtype=torch.float64)
        edges = torch.stack([distinct // self.num_vertices, distinct % self.num_vertices], dim=1)
        return edges, weights.index_add_(0, which, self.edge_weights)

    def with_edges(
        self, edges: Int[Tensor, "some 2"], weights: Float[Tensor, " some"] | None = None
    ) -> "TextualNetwork":
        """Copy of the network with other edges."""
        return replace(self, edges=edges, weights=weights)

    def with_features(self, features: Float[Tensor, "vertices features"]) -> "TextualNetwork":
        """Copy of the network with a row of numbers per vertex.

        Raises:
            NetworkError: The number of rows differs from the number of vertices, or a number is not
                finite.
        """
        return replace(self, features=features)

    def fingerprint(self) -> str:
        """SHA-256 of everything in the network, computed once.

        >>> edges = torch.tensor([[0, 1]])
        >>> one = TextualNetwork(ids=("a", "b"), texts=("x", "y"), edges=edges)
        >>> one.fingerprint() == one.with_edges(edges).fingerprint()
        True
        >>> one.fingerprint() == one.with_edges(edges[:0]).fingerprint()
        False
        """
        known = self._fingerprint or self._digest()
        object.__setattr__(self, "_fingerprint", known)
        return known

    def _digest(self) -> str:
        labels = None if self.labels is None else [sorted(classes) for classes in self.labels]
        words = [list(self.ids), list(self.texts), self.directed, labels]
        digest = hashlib.sha256(json.dumps(words).encode())
        digest.update(self.edges.to(torch.int64).numpy().tobytes())
        digest.update(self.edge_weights.numpy().tobytes())
        if self.features is not None:
            digest.update(self.features.numpy().tobytes())
        return digest.hexdigest()


def adjacency_matrix(
    edges: Int[Tensor, "edges 2"],
    weights: Float[Tensor, " edges"],
    num_vertices: int,
    *,
    directed: bool,
) -> sp.csr_array:
    """Adjacency matrix S: weights of duplicates added, undirected edges in both directions."""
    source, target = edges.numpy().T
    values = weights.numpy()
    if not directed:
        proper = source != target
        source, target, values = (
            np.concatenate([source, target[proper]]),
            np.concatenate([target, source[proper]]),
            np.concatenate([values, values[proper]]),
        )
    entries = sp.coo_array((values, (source, target)), shape=(num_vertices, num_vertices))
    matrix: sp.csr_array = entries.tocsr()
    matrix.sort_indices()
    return matrix


def _is_a(value: object, kind: type) -> bool:
    """``isinstance`` of any object, since callers may ignore annotations."""
    return isinstance(value, kind)
