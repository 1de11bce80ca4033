"""Link prediction (section 5.1): hide edges, learn from the rest, rank hidden edges above others.

    strict      as many unlinked pairs as hidden edges, drawn uniformly; the ordinary AUC over all
                hidden edges, vertices that lost all their edges included
    published   each hidden edge (i, j) whose ends both kept an edge against (i, r), r drawn from
                the ends of such edges, r ≠ j; the share of wins, a tie counting half. The tables
                of CANE and DMTE were made this way

A task holds the questions, so every method answers the same ones. Average precision takes one pair
that is no edge per hidden edge. MRR and Hits@10 rank j among NUM_CANDIDATES other vertices r by the
scores of (i, j) and (i, r): under *strict* no edge links r to i, under *published* r is drawn as
for the AUC. The papers print neither; the same candidates for all methods make them comparable.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dmte.embedding.embedding import Embedding
from dmte.embedding.method import PairScorer
from dmte.errors import SplitError
from dmte.metrics import LINK_METRICS, RankedEdges
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
"""Vertices a hidden edge's end is ranked among; draws of r under *published*, where the tables drew
one, and more only cut the noise."""

ScorePairs = Callable[[Tensor], Tensor]


class LinkScores(dict[str, float]):
    """The value of every metric of ``LINK_METRICS``, by its name.

    >>> LinkScores(auc=0.9).auc
    0.9
    """

    def __getattr__(self, name: str) -> float:
        """Return a value by its name."""
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
    """A pair that is no edge for every hidden edge."""
    candidates: Int[Tensor, "edges draws"]
    """The vertices r with which the second end of every hidden edge competes."""
    is_paired: bool
    """Whether for the AUC an edge competes only with its own candidates, or with all non-edges."""

    def leaks(self) -> Leaks:
        """Return which of the hidden edges can be read off the training edges; none if strict."""
        return count_leaks(self.train, self.edges)

    def auc(self, scorer: PairScorer) -> float:
        """Return the AUC of the scores of ``scorer``."""
        return self.evaluate(scorer.score).auc

    def evaluate(self, score: ScorePairs) -> LinkScores:
        """Return every metric of the scores that ``score`` gives the pairs."""
        return self._metrics(*(score(pairs) for pairs in self._pairs()))

    def evaluate_ways(self, scorer: PairScorer) -> dict[str, LinkScores]:
        """Return every metric for each way a fitted method can score, scoring each pair once."""
        scores = [scores_by_way(scorer, pairs) for pairs in self._pairs()]
        return {way: self._metrics(*(some[way] for some in scores)) for way in scores[0]}

    def _pairs(self) -> list[Int[Tensor, "pairs 2"]]:
        sources = self.edges[:, :1].expand_as(self.candidates)
        others = torch.stack([sources, self.candidates], dim=2).flatten(0, 1)
        return [self.edges, self.non_edges, others]

    def _metrics(
        self,
        edges: Float[Tensor, " edges"],
        non_edges: Float[Tensor, " edges"],
        others: Float[Tensor, " candidates"],
    ) -> LinkScores:
        candidates = others.view(self.candidates.shape)
        ranked = RankedEdges(edges, non_edges, candidates, self.is_paired)
        return LinkScores({name: metric.compute(ranked) for name, metric in LINK_METRICS.items()})


def scores_by_way(
    scorer: PairScorer, pairs: Int[Tensor, "pairs 2"]
) -> Mapping[str, Float[Tensor, " pairs"]]:
    """Return the scores by dot product and cosine of an embedding, of others their own."""
    if not isinstance(scorer, Embedding):
        return {"own": scorer.score(pairs)}
    return {str(way): found for way, found in scorer.scores(pairs).items()}


def strict_task(network: TextualNetwork, train_fraction: float, seed: int) -> LinkTask:
    """Return the task of the strict protocol.

    Raises:
        SplitError: The network cannot be split so.
    """
    generator = generator_for(seed, "strict split")
    split = strict_split(network, train_fraction, generator)
    non_edges = draw_non_edges(network, len(split.hidden), generator)
    edges, candidates = draw_unlinked(network, split.hidden, NUM_CANDIDATES, generator)
    return LinkTask(split.train, edges, non_edges, candidates, is_paired=False)


def published_task(network: TextualNetwork, train_fraction: float, seed: int) -> LinkTask:
    """Return the task of the published protocol.

    Raises:
        SplitError: The network cannot be split so, or no hidden edge can be asked about.
    """
    generator = generator_for(seed, "published split")
    split = published_split(network, train_fraction, generator)
    return _paired_task(split.train, split.hidden, generator)


def every_edge_task(network: TextualNetwork, train_fraction: float, seed: int) -> LinkTask:
    """Return the published task as the released script later asked it: training edges as well.

    No method may be judged by it. It is here to show what that does to the figures.

    Raises:
        SplitError: The network cannot be split so.
    """
    generator = generator_for(seed, "published split")
    split = published_split(network, train_fraction, generator)
    return _paired_task(split.train, network.edges, generator)


def _paired_task(
    train: TextualNetwork, asked: Int[Tensor, "asked 2"], generator: torch.Generator
) -> LinkTask:
    """Return the edges ``asked`` whose ends kept an edge, each with its own candidates."""
    has_edge = torch.zeros(train.num_vertices, dtype=torch.bool)
    has_edge[train.edges.flatten()] = True
    edges = asked[has_edge[asked].all(dim=1)]
    pool = asked.unique()
    pool = pool[has_edge[pool]]
    if len(edges) == 0 or len(pool) < 2:
        raise SplitError("no hidden edge has two ends that kept an edge; train on more of them")
    shape = (len(edges), NUM_CANDIDATES)
    others = pool[torch.randint(len(pool), shape, generator=generator)]
    while bool((clash := others == edges[:, 1:]).any()):
        again = torch.randint(len(pool), (int(clash.sum()),), generator=generator)
        others[clash] = pool[again]
    non_edges = torch.stack([edges[:, 0], others[:, 0]], dim=1)
    return LinkTask(train, edges, non_edges, others, is_paired=True)


PROTOCOLS: Mapping[str, Callable[[TextualNetwork, float, int], LinkTask]] = MappingProxyType(
    {"strict": strict_task, "published": published_task}
)
"""Both protocols, by the name the command line uses."""
