"""Validation edges and early stopping."""

from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from dmte.network.split import draw_non_edges, strict_split
from dmte.network.textual_network import TextualNetwork
from dmte.runtime.seeding import generator_for
from dmte.training.edges import num_linked_pairs, num_pairs

NUM_NON_EDGES = 5000
"""Minimum number of non-edges: they cost little time, and few would add noise."""


@dataclass(frozen=True, slots=True, eq=False)
class ValidationEdges:
    """Edges held out of training and pairs without an edge, for early stopping."""

    edges: Int[Tensor, "edges 2"]
    non_edges: Int[Tensor, "non_edges 2"]


def split_validation(
    network: TextualNetwork, fraction: float, seed: int, number: int = 0
) -> tuple[TextualNetwork, ValidationEdges | None]:
    """Split a network into training edges and validation edges, none with a fraction of 0.

    Every ``number`` gives another split. Self-loops are always training edges.

    Raises:
        SplitError: There are too few edges for the split.
    """
    if fraction == 0:
        return network, None
    generator = generator_for(seed, "validation", number)
    split = strict_split(network, 1 - fraction, generator)
    wanted = max(len(split.hidden), NUM_NON_EDGES)
    free = num_pairs(network.num_vertices) - num_linked_pairs(network)
    non_edges = draw_non_edges(network, min(wanted, free), generator)
    loops = network.edges[:, 0] == network.edges[:, 1]
    train = split.train.with_edges(
        torch.cat([split.train.edges, network.edges[loops]]),
        torch.cat([split.train.edge_weights, network.edge_weights[loops]]),
    )
    return train, ValidationEdges(split.hidden, non_edges)


def num_validation_edges(network: TextualNetwork, fraction: float) -> int:
    """Return the number of validation edges for a fraction, at most that of unlinked pairs."""
    linked = num_linked_pairs(network)
    free = num_pairs(network.num_vertices) - linked
    return min(int(fraction * linked), free)


@dataclass(slots=True)
class Best:
    """The best validation result so far."""

    auc: float = 0.0
    epoch: int = 0
    checks_without_improvement: int = 0
    last_auc: float = 0.0
    """The latest validation AUC."""
    parameters: dict[str, Tensor] | None = None
