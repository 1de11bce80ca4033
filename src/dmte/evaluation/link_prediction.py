"""Link prediction (section 5.1): hide edges, learn from the rest, rank hidden edges above others.

    strict      as many unlinked pairs as hidden edges, drawn uniformly; the ordinary AUC over all
                hidden edges, vertices that lost all their edges included
    published   each hidden edge (i, j) whose ends both kept an edge against (i, r), r drawn from
                the ends of such edges, r ≠ j; the share of wins, a tie counting half. The tables
                of CANE and DMTE were made this way

A task holds the questions, so every method answers the same ones.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import torch
from jaxtyping import Int
from torch import Tensor

from dmte.embedding import PairScorer
from dmte.errors import SplitError
from dmte.network import TextualNetwork
from dmte.network.split import draw_non_edges, published_split, strict_split
from dmte.randomness import generator_for
from dmte.ranking import auc

NEGATIVES_PER_EDGE = 10
"""Draws of r per hidden edge under *published*; the tables drew one, more only cut the noise."""


@dataclass(frozen=True, slots=True, eq=False)
class LinkTask:
    """A network to learn from, hidden edges, and the unlinked pairs they are compared with."""

    train: TextualNetwork
    edges: Int[Tensor, "edges 2"]
    non_edges: Int[Tensor, "edges draws 2"]
    is_paired: bool
    """Whether an edge competes only with its own non-edges, or with all of them."""

    def auc(self, scorer: PairScorer) -> float:
        """Return how often ``scorer`` puts a hidden edge above an unlinked pair."""
        positive = scorer.score(self.edges)
        negative = scorer.score(self.non_edges.flatten(0, 1)).view(self.non_edges.shape[:2])
        if not self.is_paired:
            return auc(positive, negative.flatten())
        wins = (positive.unsqueeze(1) > negative).double()
        ties = (positive.unsqueeze(1) == negative).double()
        return float((wins + ties / 2).mean())


def strict_task(network: TextualNetwork, train_fraction: float, seed: int) -> LinkTask:
    """Return the task of the strict protocol.

    Raises:
        SplitError: The network cannot be split so.
    """
    generator = generator_for(seed, "strict split")
    split = strict_split(network, train_fraction, generator)
    non_edges = draw_non_edges(network, len(split.hidden), generator)
    return LinkTask(split.train, split.hidden, non_edges.unsqueeze(1), is_paired=False)


def published_task(network: TextualNetwork, train_fraction: float, seed: int) -> LinkTask:
    """Return the task of the published protocol.

    Raises:
        SplitError: The network cannot be split so, or no hidden edge can be asked about.
    """
    generator = generator_for(seed, "published split")
    split = published_split(network, train_fraction, generator)
    has_edge = torch.zeros(network.num_vertices, dtype=torch.bool)
    has_edge[split.train.edges.flatten()] = True
    edges = split.hidden[has_edge[split.hidden].all(dim=1)]
    candidates = split.hidden.unique()
    candidates = candidates[has_edge[candidates]]
    if len(edges) == 0 or len(candidates) < 2:
        raise SplitError("no hidden edge has two ends that kept an edge; train on more of them")
    shape = (len(edges), NEGATIVES_PER_EDGE)
    others = candidates[torch.randint(len(candidates), shape, generator=generator)]
    while bool((clash := others == edges[:, 1:]).any()):
        again = torch.randint(len(candidates), (int(clash.sum()),), generator=generator)
        others[clash] = candidates[again]
    sources = edges[:, :1].expand(shape)
    return LinkTask(split.train, edges, torch.stack([sources, others], dim=2), is_paired=True)


PROTOCOLS: Mapping[str, Callable[[TextualNetwork, float, int], LinkTask]] = MappingProxyType(
    {"strict": strict_task, "published": published_task}
)
"""Both protocols, by the name the command line uses."""
