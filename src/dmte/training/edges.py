"""The edges a step learns from, in both of their roles.

An edge is *supervised* when the objective scores it and *diffused over* when it is in P. The paper
uses every training edge both ways at once; a step may also take the edges it scores out of P, so
that it cannot read off the answer. Vertices that no edge touches take part in neither role. As long
as they are no negatives either, no score and no walk ever reaches them, and training leaves them
out altogether.
"""

from dataclasses import dataclass

import scipy.sparse as sp
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dmte.diffusion.transition import TransitionTemplate
from dmte.network.split import pair_numbers
from dmte.network.textual_network import TextualNetwork, adjacency_matrix
from dmte.runtime.seeding import generator_for

MAX_UNLINKED = 5000
"""Vertices without an edge that take part in training at most."""


@dataclass(frozen=True, slots=True, eq=False)
class DirectedEdges:
    """A batch as the objective wants it: every undirected edge as its two directions."""

    source: Int[Tensor, " batch"]
    target: Int[Tensor, " batch"]
    weights: Float[Tensor, " batch"]


@dataclass(frozen=True, slots=True, eq=False)
class SupervisedEdges:
    """The distinct edges of a network among the vertices that take part, numbered from 0."""

    members: Int[Tensor, " members"]
    """The vertices that take part, ascending; vertex k here is vertex members[k] there."""
    edges: Int[Tensor, "edges 2"]
    weights: Float[Tensor, " edges"]
    are_directed: bool

    @classmethod
    def of(
        cls, network: TextualNetwork, others: Int[Tensor, " others"] | None = None
    ) -> "SupervisedEdges":
        """Return the edges of ``network``, duplicates added up.

        Includes every vertex with an edge, plus ``others``.
        """
        edges, weights = network.distinct_edges()
        mentioned = edges.flatten() if others is None else torch.cat([edges.flatten(), others])
        members, numbers = mentioned.unique(return_inverse=True)
        numbers = numbers[: edges.numel()].view(-1, 2)
        return cls(members, numbers, weights, network.directed)

    def __len__(self) -> int:
        return len(self.edges)

    def directed(self, batch: Int[Tensor, " batch"]) -> DirectedEdges:
        """Return the edges numbered ``batch``, undirected ones both ways, self-loops once."""
        (source, target), weights = self.edges[batch].T, self.weights[batch]
        if self.are_directed:
            return DirectedEdges(source, target, weights)
        proper = source != target
        return DirectedEdges(
            torch.cat([source, target[proper]]),
            torch.cat([target, source[proper]]),
            torch.cat([weights, weights[proper]]),
        )

    def relative(
        self, weights: Float[Tensor, " batch"], dtype: torch.dtype = torch.float32
    ) -> Float[Tensor, " batch"]:
        """Return weights in units of their mean, for a loss in single precision.

        It knows neither 1e-46 nor 1e39, and the unit of all weights does not matter to a mean.
        """
        return (weights / self.weights.mean()).to(dtype)

    def adjacency(self) -> sp.csr_array:
        """Return S among the members."""
        return adjacency_matrix(
            self.edges, self.weights, len(self.members), directed=self.are_directed
        )

    def template(self) -> TransitionTemplate:
        """Return the positions of the edges in P, for P without some of them."""
        return TransitionTemplate.of(
            self.edges, self.weights, len(self.members), directed=self.are_directed
        )

    def are_linked(self) -> Bool[Tensor, " members"]:
        """Return which members have an edge."""
        is_linked = torch.zeros(len(self.members), dtype=torch.bool)
        is_linked[self.edges.flatten()] = True
        return is_linked

    def out_degrees(self) -> Float[Tensor, " members"]:
        """Return d_v = Σ_j s_vj of every member."""
        edges = self.directed(torch.arange(len(self)))
        degrees = torch.zeros(len(self.members), dtype=torch.float64)
        return degrees.index_add_(0, edges.source, edges.weights.double())


def sample_unlinked(network: TextualNetwork, seed: int) -> Int[Tensor, " unlinked"]:
    """Return vertices without an edge: all of them, or as many as have one, or 5,000.

    More would cost more than the edges do, and tell no more.
    """
    is_linked = torch.zeros(network.num_vertices, dtype=torch.bool)
    is_linked[network.edges.flatten()] = True
    unlinked = (~is_linked).nonzero().flatten()
    order = torch.randperm(len(unlinked), generator=generator_for(seed, "unlinked"))
    return unlinked[order[: min(int(is_linked.sum()), MAX_UNLINKED)]]


def num_pairs(num_vertices: int) -> int:
    """Return how many pairs of different vertices there are."""
    return num_vertices * (num_vertices - 1) // 2


def num_linked_pairs(network: TextualNetwork) -> int:
    """Return how many pairs of different vertices an edge joins, one way or both."""
    proper = network.edges[network.edges[:, 0] != network.edges[:, 1]]
    return len(pair_numbers(proper, network.num_vertices).unique())
