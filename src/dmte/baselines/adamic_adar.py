"""Shared neighbors weighted by their degrees (Adamic and Adar 2003).

    score(i, j) = Σ_k 1 / ln d_k over the vertices k linked to both

Directions and weights of edges are ignored. A vertex without edges scores 0.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dmte.kernels.sparse_pairs import sums_of_products
from dmte.network import TextualNetwork
from dmte.network.textual_network import adjacency_matrix


@dataclass(frozen=True, slots=True, eq=False)
class SharedNeighbors:
    """Linked pairs, and the weight of every vertex as a shared neighbor."""

    linked: sp.csr_array
    importance: Float[np.ndarray, " vertices"]

    def score(self, pairs: Int[Tensor, "pairs 2"]) -> Float[Tensor, " pairs"]:
        """Return Σ 1 / ln d over the shared neighbors of each pair."""
        return sums_of_products(self.linked, pairs, lambda rows: rows @ self.importance)

    def score_rows(self, vertices: Int[Tensor, " some"]) -> Float[Tensor, "some vertices"]:
        """Return the scores of these vertices with all vertices."""
        weighted = self.linked[vertices.numpy()].multiply(self.importance)
        return torch.from_numpy((sp.csr_array(weighted) @ self.linked.T).toarray())


@dataclass(frozen=True, slots=True, kw_only=True)
class AdamicAdar:
    """Shared neighbors weighted by the inverse logarithm of their degree."""

    def fit(self, network: TextualNetwork, seed: int) -> SharedNeighbors:  # noqa: ARG002
        """Count the neighbors of every vertex; ignores the seed."""
        edges = network.edges[network.edges[:, 0] != network.edges[:, 1]]
        ones = torch.ones(len(edges), dtype=torch.float64)
        linked = adjacency_matrix(edges, ones, network.num_vertices, directed=False)
        linked.data[:] = 1.0
        degrees = linked.sum(axis=1)
        # A shared neighbor has a degree of at least two.
        importance = np.divide(
            1.0, np.log(np.maximum(degrees, 1)), out=np.zeros_like(degrees), where=degrees > 1
        )
        return SharedNeighbors(linked, importance)
