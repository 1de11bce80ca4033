"""The edges a step learns from, in both of their roles.

An edge is *supervised* when the objective scores it and *diffused over* when it is in P. The paper
uses every training edge both ways at once; a step may also take the edges it scores out of P, so
that it cannot read off the answer. Vertices that no edge touches take part in neither role. As long
as they are no negatives either, no score and no walk ever reaches them, and training leaves them
out altogether.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from dmte.network.split import draw_non_edges, strict_split
from dmte.network.textual_network import TextualNetwork
from dmte.runtime.seeding import generator_for
from dmte.training.edges import num_linked_pairs, num_pairs

NUM_NON_EDGES = 5000
"""Non-edges to validate on at least: they cost little, and few of them would add noise."""


@dataclass(frozen=True, slots=True, eq=False)
class ValidationEdges:
    """Edges kept out of training and pairs that are no edge, to stop early on."""

    edges: Int[Tensor, "edges 2"]
    non_edges: Int[Tensor, "non_edges 2"]


def split_validation(
    network: TextualNetwork, fraction: float, seed: int, number: int = 0
) -> tuple[TextualNetwork, ValidationEdges | None]:
    """Return what to train on and what to validate on; a fraction of zero holds nothing back.

    Another ``number`` holds other edges back. Self-loops, which say nothing, are never asked about.

    Raises:
        SplitError: There are too few edges to hold some back.
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
    """Return how many edges can be asked about when a fraction is held back.

    They have to be told from pairs that are no edge; where nearly all are linked, none can.
    """
    linked = num_linked_pairs(network)
    free = num_pairs(network.num_vertices) - linked
    return min(int(fraction * linked), free)


@dataclass(slots=True)
class Best:
    """The best look at the held-back edges so far."""

    auc: float = 0.0
    epoch: int = 0
    checks_without_improvement: int = 0
    last_auc: float = 0.0
    """Of the last look, best or not."""
    parameters: dict[str, Tensor] | None = None
