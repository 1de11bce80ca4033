"""Link prediction (section 5.1): rank hidden edges above other pairs.

    strict      as many unlinked pairs as hidden edges, drawn uniformly; the ordinary AUC over all
                hidden edges, including those of vertices that lost all their edges
    published   each hidden edge (i, j) whose ends both kept an edge against (i, r), r drawn from
                the ends of such edges, r ≠ j; the share of wins, a tie counting half. The tables
                of CANE and DMTE were made this way

A task fixes the pairs for all methods. Average precision takes one non-edge per hidden edge. MRR
and Hits@10 rank j among NUM_CANDIDATES other vertices r by the scores of (i, j) and (i, r). Under
*strict* no edge links r to i; under *published* r is drawn as for the AUC. The papers print neither
metric. Of more than MAX_SCORED hidden edges, as many are drawn and scored.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dmte.embedding.embedding import Embedding
from dmte.embedding.method import PairScorer
from dmte.errors import SplitError
from dmte.evaluation.full_ranking import FullRanking, full_ranks_by_way
from dmte.metrics import LINK_METRICS, FullRanks, RankedEdges, mean_ranks
from dmte.network import TextualNetwork
from dmte.network.split import (
    Leaks,
    count_leaks,
    draw_non_edges,
    draw_unlinked,
    published_split,
    strict_split,
)
from dmte.runtime.seeding import generator_for

NUM_CANDIDATES = 100
"""Vertices among which the end of a hidden edge is ranked. Under *published* they are draws of r;
the papers drew one, and more reduce the noise."""
MAX_SCORED = 100_000
"""Hidden edges that are scored at most. The standard error of an AUC of 90 % is then 0.07 points.
The networks of the committed results have fewer."""
BLOCK_EDGES = 8192
"""Hidden edges whose candidates are scored at a time."""

ScorePairs = Callable[[Tensor], Tensor]


class LinkScores(dict[str, float]):
    """The value of every metric of ``LINK_METRICS``, by its name.

    >>> LinkScores(auc=0.9).auc
    0.9
    """

    def __getattr__(self, name: str) -> float:
        """Look up a metric."""
        try:
            return self[name]
        except KeyError as problem:
            raise AttributeError(name) from problem


@dataclass(frozen=True, slots=True, eq=False)
class LinkTask:
    """A network to learn from, hidden edges, and the pairs they are compared with."""

    train: TextualNetwork
    edges: Int[Tensor, "edges 2"]
    non_edges: Int[Tensor, "edges 2"]
    """One non-edge per hidden edge."""
    candidates: Int[Tensor, "edges draws"]
    """The vertices r to rank the second end of every hidden edge against."""
    is_paired: bool
    """Whether the AUC compares an edge with its own candidates only, or with all non-edges."""
    num_unscored: int = 0
    """Hidden edges beyond MAX_SCORED, which are not in ``edges``."""
    full: FullRanking | None = None
    """Hidden edges to rank among all vertices, if they are."""

    def leaks(self) -> Leaks:
        """Count the hidden edges that training edges reveal; none if strict."""
        return count_leaks(self.train, self.edges)

    def auc(self, scorer: PairScorer) -> float:
        """Return the AUC of a fitted method."""
        return self.evaluate(scorer.score).auc

    def evaluate(self, score: ScorePairs) -> LinkScores:
        """Return every metric of a scoring function."""
        return self._evaluate(lambda pairs: {"own": score(pairs)}, {})["own"]

    def evaluate_ways(self, scorer: PairScorer) -> dict[str, LinkScores]:
        """Return every metric for each way a fitted method can score."""
        full = full_ranks_by_way(scorer, self.full)
        return self._evaluate(partial(scores_by_way, scorer), full)

    def _evaluate(
        self, score: Callable[[Tensor], Mapping[str, Tensor]], full: Mapping[str, FullRanks]
    ) -> dict[str, LinkScores]:
        edges, non_edges = score(self.edges), score(self.non_edges)
        ranks: dict[str, list[Tensor]] = {way: [] for way in edges}
        for part in torch.arange(len(self.edges)).split(BLOCK_EDGES):
            candidates = self.candidates[part]
            sources = self.edges[part, :1].expand_as(candidates)
            others = score(torch.stack([sources, candidates], dim=2).flatten(0, 1))
            for way, own in edges.items():
                ranks[way].append(mean_ranks(own[part], others[way].view(candidates.shape)))
        return {
            way: self._metrics(full.get(way), own, non_edges[way], torch.cat(ranks[way]))
            for way, own in edges.items()
        }

    def _metrics(
        self,
        full: FullRanks | None,
        edges: Float[Tensor, " edges"],
        non_edges: Float[Tensor, " edges"],
        ranks: Float[Tensor, " edges"],
    ) -> LinkScores:
        ranked = RankedEdges(
            edges, non_edges, ranks, self.candidates.shape[1], self.is_paired, full
        )
        found = {name: metric.compute(ranked) for name, metric in LINK_METRICS.items()}
        return LinkScores({name: value for name, value in found.items() if value is not None})


def scores_by_way(
    scorer: PairScorer, pairs: Int[Tensor, "pairs 2"]
) -> Mapping[str, Float[Tensor, " pairs"]]:
    """Score pairs by dot product and cosine of an embedding, or by a method's own score."""
    if not isinstance(scorer, Embedding):
        return {"own": scorer.score(pairs)}
    return {str(way): found for way, found in scorer.scores(pairs).items()}


def strict_task(
    network: TextualNetwork, train_fraction: float, seed: int, *, max_scored: int | None = None
) -> LinkTask:
    """Draw the task of the strict protocol, with at most ``max_scored`` or MAX_SCORED edges.

    Raises:
        SplitError: The network does not allow this split.
    """
    generator = generator_for(seed, "strict split")
    split = strict_split(network, train_fraction, generator)
    hidden = _sample(split.hidden, max_scored or MAX_SCORED, generator)
    non_edges = draw_non_edges(network, len(hidden), generator)
    edges, candidates = draw_unlinked(network, hidden, NUM_CANDIDATES, generator)
    return LinkTask(
        split.train,
        edges,
        non_edges,
        candidates,
        is_paired=False,
        num_unscored=len(split.hidden) - len(hidden),
        full=FullRanking.draw(split.train, split.hidden, seed),
    )


def published_task(network: TextualNetwork, train_fraction: float, seed: int) -> LinkTask:
    """Draw the task of the published protocol.

    Raises:
        SplitError: The network does not allow this split, or no hidden edge can be scored.
    """
    generator = generator_for(seed, "published split")
    split = published_split(network, train_fraction, generator)
    full = FullRanking.draw(split.train, split.hidden, seed)
    return replace(_paired_task(split.train, split.hidden, generator), full=full)


def every_edge_task(network: TextualNetwork, train_fraction: float, seed: int) -> LinkTask:
    """Draw the published task of the later released script, which scores training edges as well.

    It shows the effect on the figures and is not for comparing methods.

    Raises:
        SplitError: The network does not allow this split.
    """
    generator = generator_for(seed, "published split")
    split = published_split(network, train_fraction, generator)
    return _paired_task(split.train, network.edges, generator)


def _paired_task(
    train: TextualNetwork, scored: Int[Tensor, "scored 2"], generator: torch.Generator
) -> LinkTask:
    """Draw candidates for the edges in ``scored`` whose ends kept an edge."""
    has_edge = torch.zeros(train.num_vertices, dtype=torch.bool)
    has_edge[train.edges.flatten()] = True
    able = scored[has_edge[scored].all(dim=1)]
    edges = _sample(able, MAX_SCORED, generator)
    pool = scored.unique()
    pool = pool[has_edge[pool]]
    if len(edges) == 0 or len(pool) < 2:
        raise SplitError("no hidden edge has two ends that kept an edge; train on more of them")
    shape = (len(edges), NUM_CANDIDATES)
    others = pool[torch.randint(len(pool), shape, generator=generator)]
    while bool((clash := others == edges[:, 1:]).any()):
        again = torch.randint(len(pool), (int(clash.sum()),), generator=generator)
        others[clash] = pool[again]
    non_edges = torch.stack([edges[:, 0], others[:, 0]], dim=1)
    num_unscored = len(able) - len(edges)
    return LinkTask(train, edges, non_edges, others, is_paired=True, num_unscored=num_unscored)


def _sample(
    edges: Int[Tensor, "edges 2"], size: int, generator: torch.Generator
) -> Int[Tensor, "some 2"]:
    """Draw at most ``size`` of the edges; all of them, in their order, if there are no more."""
    if len(edges) <= size:
        return edges
    return edges[torch.randperm(len(edges), generator=generator)[:size]]


PROTOCOLS: Mapping[str, Callable[[TextualNetwork, float, int], LinkTask]] = MappingProxyType(
    {"strict": strict_task, "published": published_task}
)
"""Both protocols, by the name the command line uses."""
