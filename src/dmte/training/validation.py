"""Validation edges and early stopping."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dmte.distributed.columns import Columns
from dmte.kernels.pair_scores import dot_products
from dmte.metrics import PairScores
from dmte.model.assemble import combine_halves
from dmte.model.diffusion_maps import DiffusionMaps
from dmte.network.split import draw_non_edges, strict_split
from dmte.network.textual_network import TextualNetwork
from dmte.runtime.seeding import generator_for
from dmte.training.edges import num_linked_pairs, num_pairs
from dmte.training.rounds import Numbering, TextRows, gathered

NUM_NON_EDGES = 5000
"""Minimum number of non-edges: they cost little time, and few would add noise."""


MAX_EDGES = 10_000
"""Maximum number of validation edges. The standard error of an AUC of 90 is then 0.2, and the
rest are better used for training."""


@dataclass(frozen=True, slots=True, eq=False)
class ValidationEdges:
    """Edges held out of training and pairs without an edge, for early stopping."""

    edges: Int[Tensor, "edges 2"]
    non_edges: Int[Tensor, "non_edges 2"]

    def pairs(self) -> Int[Tensor, "pairs 2"]:
        """Return the edges, then the pairs without one."""
        return torch.cat([self.edges, self.non_edges])


class ValidationScores(NamedTuple):
    """Scores of the validation pairs."""

    text: PairScores
    """Text scores at the best validation epoch."""
    walks: PairScores | None
    """Scores of the random structure half, if requested."""
    lengths: PairScores
    """Products of the two lengths for a = 1 (see ``model.assemble``)."""


@torch.no_grad()
def score_validation(
    pairs: Int[Tensor, "pairs 2"],
    model: DiffusionMaps,
    texts: TextRows,
    structure: Float[Tensor, "vertices own"] | None,
    columns: Columns,
) -> Float[Tensor, " pairs"]:
    """Return the dot products of pairs of vectors, from the own columns of both halves."""
    width, num_vertices = model.encoder.dim, int(pairs.max()) + 1
    parts = columns.shares(len(pairs)) if model.mixes_columns else [slice(0, len(pairs))]
    # Usually few vertices occur in validation pairs; multiply only those by M.
    numberings = [Numbering.of(pairs[part].flatten(), num_vertices) for part in parts]
    shares = [numbering.vertices for numbering in numberings]
    text = texts.columns(torch.cat(shares))
    if not model.mixes_columns:
        own = None if structure is None else structure[shares[0]]
        scores = dot_products(combine_halves(text, own), numberings[0].positions[pairs])
        return columns.sum(scores)
    text = columns.gather(text, [len(share) for share in shares], width)
    vectors = combine_halves(model.mix(text), gathered(structure, shares, columns, width))
    part = columns.own(len(pairs))
    scores = vectors.new_zeros(len(pairs))
    numbers = numberings[parts.index(part)].positions[pairs[part]]
    scores[part] = dot_products(vectors, numbers)
    return columns.sum(scores)


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
    linked = num_linked_pairs(network)
    split = strict_split(network, 1 - min(fraction, MAX_EDGES / max(1, linked)), generator)
    wanted = max(len(split.hidden), NUM_NON_EDGES)
    free = num_pairs(network.num_vertices) - linked
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
    return min(int(fraction * linked), free, MAX_EDGES)


@dataclass(slots=True)
class Best:
    """The best validation result so far."""

    auc: float = 0.0
    epoch: int = 0
    checks_without_improvement: int = 0
    last_auc: float = 0.0
    """The latest validation AUC."""
    parameters: dict[str, Tensor] | None = None
