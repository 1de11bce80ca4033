"""Validation edges and early stopping."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dmte.distributed.columns import Columns
from dmte.kernels.pair_scores import dot_products
from dmte.metrics import PairScores
from dmte.model.assemble import combine_halves
from dmte.model.diffusion_maps import DiffusionMaps
from dmte.network.split import draw_non_edges, strict_split
from dmte.network.textual_network import TextualNetwork, adjacency_matrix
from dmte.runtime.seeding import generator_for
from dmte.training.edges import num_linked_pairs, num_pairs
from dmte.training.rounds import Numbering, TextRows, gathered

NUM_NON_EDGES = 5000
"""Minimum number of non-edges: they cost little time, and few would add noise."""


MAX_EDGES = 10_000
"""Maximum number of validation edges. The standard error of an AUC of 90 is then 0.2, and the
rest are better used for training."""

MAX_RANKED = 500
"""Maximum number of edges whose ends are ranked. Their scores take as long as an epoch's steps."""

MAX_CANDIDATES = 5000
"""Maximum number of vertices that they are ranked among."""

CRITERIA: Mapping[str, Callable[[PairScores], float]] = MappingProxyType(
    {
        "balanced": lambda scores: scores.auc() + scores.mrr(),
        "auc": PairScores.auc,
        "top": PairScores.mrr,
    }
)
"""What validation edges choose by, for every value of the setting ``favor``."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Ends of validation edges, and the vertices that the other ends are ranked among."""

    ends: Int[Tensor, " ends"]
    """The first ends of some edges, then their second ends."""
    vertices: Int[Tensor, " candidates"]
    linked: tuple[Int[Tensor, " linked"], Int[Tensor, " linked"]]
    """Positions of ends and candidates with an edge between them, or of the same vertex."""

    @classmethod
    def of(
        cls,
        network: TextualNetwork,
        edges: Int[Tensor, "edges 2"],
        vertices: Int[Tensor, " some"],
    ) -> "Candidates":
        """Use at most MAX_CANDIDATES of the vertices, evenly spread."""
        step = max(1, math.ceil(len(vertices) / MAX_CANDIDATES))
        ends, vertices = edges.T.flatten(), vertices[::step]
        concerned = network.edges[torch.isin(network.edges, ends).any(dim=1)]
        all_pairs = torch.cat([concerned, ends.unsqueeze(1).expand(-1, 2)])  # Each is its own.
        ones = torch.ones(len(all_pairs), dtype=torch.float64)
        neighbors = adjacency_matrix(all_pairs, ones, network.num_vertices, directed=False)
        linked = neighbors[ends.numpy()][:, vertices.numpy()].tocoo().coords
        own, other = (torch.from_numpy(positions.astype(np.int64)) for positions in linked)
        return cls(ends, vertices, (own, other))

    def without_linked(
        self, scores: Float[Tensor, "ends candidates"]
    ) -> Float[Tensor, "ends candidates"]:
        """Return the scores, with -∞ for linked vertices."""
        scores[self.linked] = -torch.inf
        return scores


@dataclass(frozen=True, slots=True, eq=False)
class ValidationEdges:
    """Edges held out of training and pairs without an edge, for early stopping."""

    edges: Int[Tensor, "edges 2"]
    non_edges: Int[Tensor, "non_edges 2"]
    candidates: Candidates

    @classmethod
    def of(
        cls,
        network: TextualNetwork,
        edges: Int[Tensor, "edges 2"],
        non_edges: Int[Tensor, "non_edges 2"],
        *,
        ranked: bool,
    ) -> "ValidationEdges":
        """Return edges of ``network``, whose ends are compared with candidates if ``ranked``."""
        some = edges[: MAX_RANKED if ranked else 0]
        return cls(edges, non_edges, Candidates.of(network, some, non_edges.unique()))

    def pairs(self) -> Int[Tensor, "pairs 2"]:
        """Return the edges, then the pairs without one."""
        return torch.cat([self.edges, self.non_edges])

    def scores(
        self, of_pairs: Float[Tensor, " pairs"], of_candidates: Float[Tensor, "ends candidates"]
    ) -> PairScores:
        """Divide the scores of ``pairs``, and leave out candidates with an edge."""
        edges, non_edges = of_pairs.split([len(self.edges), len(self.non_edges)])
        return PairScores(edges, non_edges, self.candidates.without_linked(of_candidates))


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
    validation: ValidationEdges,
    model: DiffusionMaps,
    texts: TextRows,
    structure: Float[Tensor, "vertices own"] | None,
    columns: Columns,
) -> PairScores:
    """Return the dot products of vectors, from the own columns of both halves.

    With M or rows of length 1, every process scores a share of the pairs and of the ranked ends.
    """
    width, pairs = model.encoder.dim, validation.pairs()
    ends, vertices = validation.candidates.ends, validation.candidates.vertices
    shares = _shares(validation, columns) if model.mixes_columns else [_Share.whole(validation)]
    # Usually few vertices occur in validation pairs; multiply only those by M.
    numberings = [share.numbering(validation) for share in shares]
    rows = [numbering.vertices for numbering in numberings]
    text = texts.columns(torch.cat(rows))
    if model.mixes_columns:
        text = model.mix(columns.gather(text, [len(some) for some in rows], width))
        halves = combine_halves(text, gathered(structure, rows, columns, width))
    else:
        halves = combine_halves(text, None if structure is None else structure[rows[0]])
    own = shares.index(_Share.own(validation, columns)) if model.mixes_columns else 0
    share, positions = shares[own], numberings[own].positions
    of_pairs = halves.new_zeros(len(pairs))
    of_pairs[share.pairs] = dot_products(halves, positions[pairs[share.pairs]])
    of_candidates = halves.new_zeros(len(ends), len(vertices))
    of_candidates[share.ends] = halves[positions[ends[share.ends]]] @ halves[positions[vertices]].T
    return validation.scores(columns.sum(of_pairs), columns.sum(of_candidates))


class _Share(NamedTuple):
    """The pairs and the ranked ends that a process scores."""

    pairs: slice
    ends: slice

    @classmethod
    def whole(cls, validation: ValidationEdges) -> "_Share":
        return cls(slice(0, len(validation.pairs())), slice(0, len(validation.candidates.ends)))

    @classmethod
    def own(cls, validation: ValidationEdges, columns: Columns) -> "_Share":
        whole = cls.whole(validation)
        return cls(columns.own(whole.pairs.stop), columns.own(whole.ends.stop))

    def numbering(self, validation: ValidationEdges) -> Numbering:
        """Number the vertices to score."""
        pairs, candidates = validation.pairs(), validation.candidates
        found = torch.cat(
            [pairs[self.pairs].flatten(), candidates.ends[self.ends], candidates.vertices]
        )
        return Numbering.of(found, int(pairs.max()) + 1)


def _shares(validation: ValidationEdges, columns: Columns) -> list[_Share]:
    whole = _Share.whole(validation)
    parts = zip(columns.shares(whole.pairs.stop), columns.shares(whole.ends.stop), strict=True)
    return [_Share(*part) for part in parts]


def split_validation(
    network: TextualNetwork, fraction: float, seed: int, number: int = 0, *, ranked: bool = False
) -> tuple[TextualNetwork, ValidationEdges | None]:
    """Split a network into training edges and validation edges, none with a fraction of 0.

    Every ``number`` gives another split. Self-loops are always training edges. With ``ranked``, the
    ends of some validation edges are ranked among other vertices too.

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
    return train, ValidationEdges.of(network, split.hidden, non_edges, ranked=ranked)


def num_validation_edges(network: TextualNetwork, fraction: float) -> int:
    """Return the number of validation edges for a fraction, at most that of unlinked pairs."""
    linked = num_linked_pairs(network)
    free = num_pairs(network.num_vertices) - linked
    return min(int(fraction * linked), free, MAX_EDGES)


@dataclass(slots=True)
class Best:
    """The best validation result so far."""

    value: float = 0.0
    """What it was chosen by (``CRITERIA``)."""
    auc: float = 0.0
    epoch: int = 0
    checks_without_improvement: int = 0
    last_auc: float = 0.0
    """The latest validation AUC."""
    parameters: dict[str, Tensor] | None = None
