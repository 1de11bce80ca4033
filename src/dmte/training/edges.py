"""The edges of a training step.

An edge is *supervised* if the objective scores it, and *diffused over* if it is in P. In the paper
every training edge is both at once. A step may also remove the edges it scores from P, so that the
model cannot read the answer from P. Vertices without edges are left out of training unless they are
negatives, since no score and no walk reaches them.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import scipy.sparse as sp
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dmte.diffusion.transition import TransitionTemplate
from dmte.network.split import pair_numbers
from dmte.network.textual_network import TextualNetwork, adjacency_matrix
from dmte.runtime.seeding import generator_for
from dmte.settings import Settings

MAX_UNLINKED = 5000
"""Maximum number of vertices without edges in training."""

MIN_BATCH_SIZE, MAX_STEPS = 8192, 50
"""Smallest automatic batch size, and maximum number of automatic steps per epoch, if every step
propagates the whole graph."""

TABLE_BATCH_SIZE = 1024
"""Automatic batch size of steps that read rows of hop tables."""

ROUNDS = 5
"""Minimum number of rounds that all edges are divided into: a fifth of them is hidden from P at a
time (tuned by hand)."""

MAX_EPOCH_EDGES = 20_480
"""Maximum number of edges of an epoch, and of a round, if X is fixed. The model has few parameters,
so that an epoch of a large network need not use all edges: with 10⁵ drawn vertices and 5 · 10⁵
edges, the AUC is 90.5 with this number and 90.6 with 32,768."""


class StepSizes(NamedTuple):
    """The maximum numbers of edges of a step, a round and an epoch."""

    batch: int
    round: int
    epoch: int


def step_sizes(settings: Settings, num_edges: int) -> StepSizes:
    """Return the sizes for a number of edges.

    >>> [step_sizes(Settings(), number) for number in (100, 50_000)]
    [StepSizes(batch=20, round=20, epoch=100), StepSizes(batch=1024, round=10000, epoch=20480)]
    >>> step_sizes(Settings(), 5_000_000)
    StepSizes(batch=1024, round=20480, epoch=20480)
    """
    if settings.has_frozen_encoder:
        batch = settings.batch_size or min(max(512, num_edges // 20), TABLE_BATCH_SIZE)
        widest, epoch = settings.round_edges or MAX_EPOCH_EDGES, MAX_EPOCH_EDGES
    else:
        batch = settings.batch_size or max(MIN_BATCH_SIZE, math.ceil(num_edges / MAX_STEPS))
        widest, epoch = settings.round_edges or batch, num_edges
    if settings.hide_supervised:
        widest = min(widest, max(1, math.ceil(num_edges / ROUNDS)))
    elif not settings.has_frozen_encoder:
        widest = num_edges
    epoch = min(epoch, num_edges)
    return StepSizes(min(batch, widest), widest, epoch)


def repeats_edges(settings: Settings, num_edges: int) -> bool:
    """Return whether training sees edges several times, and so could learn them by heart.

    >>> [repeats_edges(Settings(), number) for number in (100_000, 200_000)]
    [True, False]
    """
    return num_edges < settings.epochs * step_sizes(settings, num_edges).epoch


def even_parts(numbers: Int[Tensor, " some"], size: int) -> tuple[Int[Tensor, " part"], ...]:
    """Divide numbers into as few equal parts as possible, of at most ``size``.

    If two edges of a round were left over, the step on them would be as long as any other.

    >>> [len(part) for part in even_parts(torch.arange(9), 4)]
    [3, 3, 3]
    """
    return numbers.tensor_split(math.ceil(len(numbers) / size))


@dataclass(frozen=True, slots=True, eq=False)
class DirectedEdges:
    """A batch of directed edges, with both directions of undirected ones."""

    source: Int[Tensor, " batch"]
    target: Int[Tensor, " batch"]
    weights: Float[Tensor, " batch"]


@dataclass(frozen=True, slots=True, eq=False)
class SupervisedEdges:
    """The distinct edges of a network, with the training vertices numbered from 0."""

    members: Int[Tensor, " members"]
    """The training vertices, ascending; vertex k here is vertex members[k] of the network."""
    edges: Int[Tensor, "edges 2"]
    weights: Float[Tensor, " edges"]
    are_directed: bool

    @classmethod
    def of(
        cls, network: TextualNetwork, others: Int[Tensor, " others"] | None = None
    ) -> "SupervisedEdges":
        """Return the edges of ``network``, with the weights of duplicates summed.

        The members are all vertices with an edge, and ``others``.
        """
        edges, weights = network.distinct_edges()
        mentioned = edges.flatten() if others is None else torch.cat([edges.flatten(), others])
        members, numbers = mentioned.unique(return_inverse=True)
        numbers = numbers[: edges.numel()].view(-1, 2)
        return cls(members, numbers, weights, network.directed)

    def __len__(self) -> int:
        return len(self.edges)

    def directed(self, batch: Int[Tensor, " batch"]) -> DirectedEdges:
        """Return the edges with the numbers ``batch``: undirected ones both ways, loops once."""
        (source, target), weights = self.edges[batch].T, self.weights[batch]
        if self.are_directed:
            return DirectedEdges(source, target, weights)
        proper = source != target
        return DirectedEdges(
            torch.cat([source, target[proper]]),
            torch.cat([target, source[proper]]),
            torch.cat([weights, weights[proper]]),
        )

    def paired(self, batch: Int[Tensor, " batch"]) -> DirectedEdges:
        """Return the edges like ``directed``, with both directions of an edge side by side.

        So both directions are in the same part of a batch, which then has fewer vertices.
        """
        ends = self.edges[batch]
        both = torch.stack([ends, ends.flip(1)], dim=1)
        kept = torch.ones(len(batch), 2, dtype=torch.bool)
        kept[:, 1] = (ends[:, 0] != ends[:, 1]) & (not self.are_directed)
        source, target = both[kept].T
        return DirectedEdges(source, target, self.weights[batch].unsqueeze(1).expand(-1, 2)[kept])

    def relative(
        self, weights: Float[Tensor, " batch"], dtype: torch.dtype = torch.float32
    ) -> Float[Tensor, " batch"]:
        """Return weights divided by the mean weight, so that extreme ones fit single precision.

        The loss is a weighted mean, so this factor does not change it.
        """
        return (weights / self.weights.mean()).to(dtype)

    def adjacency(self) -> sp.csr_array:
        """Return S of the members."""
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
    """Sample vertices without edges: at most 5,000, and no more than have edges.

    More would cost more time than the edges, without a gain.
    """
    is_linked = torch.zeros(network.num_vertices, dtype=torch.bool)
    is_linked[network.edges.flatten()] = True
    unlinked = (~is_linked).nonzero().flatten()
    order = torch.randperm(len(unlinked), generator=generator_for(seed, "unlinked"))
    return unlinked[order[: min(int(is_linked.sum()), MAX_UNLINKED)]]


def num_pairs(num_vertices: int) -> int:
    """Return the number of pairs of different vertices."""
    return num_vertices * (num_vertices - 1) // 2


def num_linked_pairs(network: TextualNetwork) -> int:
    """Return the number of pairs of different vertices with an edge in either direction."""
    proper = network.edges[network.edges[:, 0] != network.edges[:, 1]]
    return len(pair_numbers(proper, network.num_vertices).unique())
