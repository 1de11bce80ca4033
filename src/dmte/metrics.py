"""Metrics of link prediction (section 5).

A new metric is a function and a line in ``LINK_METRICS``; results, tables and plots then show it. A
score of NaN counts as a mistake: an edge loses and a non-edge wins every comparison.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

NUM_HITS = 10
NOISE = 2.0
"""Standard errors that a difference of two AUCs must exceed to count."""


class PairScores(NamedTuple):
    """Scores of edges, of pairs without an edge, and of vertices that compete with an edge's end.

    >>> scores = PairScores(torch.tensor([3.0]), torch.tensor([2.0]), torch.tensor([[4.0], [1.0]]))
    >>> scores.auc(), scores.mrr()
    (1.0, 0.75)
    """

    edges: Float[Tensor, " edges"]
    non_edges: Float[Tensor, " non_edges"]
    candidates: Float[Tensor, "ends candidates"] = torch.empty(0, 0)
    """For the first edges (i, j), the scores of (i, r), and then those of (j, r), with other
    vertices r; -∞ if r has an edge with the end."""

    def auc(self) -> float:
        """Return the AUC of the edges against the pairs without an edge."""
        return auc(self.edges, self.non_edges)

    def mrr(self) -> float:
        """Return the mean of 1 / rank of the first edges' ends; 0 without candidates."""
        if not self.candidates.numel():
            return 0.0
        own = self.edges[: len(self.candidates) // 2].repeat(2)
        return float((1 / mean_ranks(own, self.candidates)).mean())


def auc(positive: Float[Tensor, " positive"], negative: Float[Tensor, " negative"]) -> float:
    """Return P(positive > negative) + P(positive = negative) / 2 over all pairs of scores.

    >>> auc(torch.tensor([3.0, 1.0]), torch.tensor([2.0, 1.0]))
    0.625
    """
    ordered = negative[~negative.isnan()].sort().values
    contenders = positive[~positive.isnan()]
    below = torch.searchsorted(ordered, contenders)
    not_above = torch.searchsorted(ordered, contenders, right=True)
    wins = (below + not_above).sum(dtype=torch.float64) / 2
    return float(wins / (len(positive) * len(negative)))


def auc_difference_error(
    first: PairScores,
    second: PairScores,
) -> float:
    """Return the standard error of the difference of two AUCs on the same pairs.

    The placement of a score is the share of the other class that it is ranked correctly against.
    Both AUCs are means of placements, so with the differences δ of placements
    SE² = Var(δ positive) / #positive + Var(δ negative) / #negative (DeLong et al. 1988).

    >>> scores = PairScores(torch.tensor([3.0, 1.0]), torch.tensor([2.0, 1.0]))
    >>> auc_difference_error(scores, scores)
    0.0
    """
    placements = [_placements(one.edges, one.non_edges) for one in (first, second)]
    differences = [one - other for one, other in zip(*placements, strict=True)]
    return math.sqrt(sum(float(delta.var()) / len(delta) for delta in differences))


def average_precision(
    positive: Float[Tensor, " positive"], negative: Float[Tensor, " negative"]
) -> float:
    """Return Σ_k (R_k - R_{k-1}) P_k with precision P and recall R at each distinct score.

    >>> average_precision(torch.tensor([3.0, 1.0]), torch.tensor([2.0]))
    0.8333333333333333
    """
    scores = torch.cat([_or(positive, -torch.inf), _or(negative, torch.inf)])
    distinct, which = scores.unique(return_inverse=True)  # ascending
    counts = torch.zeros(2, len(distinct), dtype=torch.float64)
    counts[0].index_add_(0, which[: len(positive)], torch.ones(len(positive)).double())
    counts[1].index_add_(0, which[len(positive) :], torch.ones(len(negative)).double())
    found, passed = counts.flip(1).cumsum(dim=1)
    precision = found / (found + passed)
    return float((counts[0].flip(0) * precision).sum() / len(positive))


def mean_ranks(
    positive: Float[Tensor, " positive"], others: Float[Tensor, "positive others"]
) -> Float[Tensor, " positive"]:
    """Return the rank of each score among its own others, from 1; a tie counts half.

    >>> mean_ranks(torch.tensor([2.0]), torch.tensor([[3.0, 2.0, 1.0]])).tolist()
    [2.5]
    """
    own, others = _or(positive, -torch.inf).unsqueeze(1), _or(others, torch.inf)
    above, ties = (others > own).sum(dim=1), (others == own).sum(dim=1)
    return 1 + above + ties.double() / 2


class FullRanks(NamedTuple):
    """Ranks of hidden links among all vertices (``evaluation/full_ranking.py``)."""

    among_others: Float[Tensor, " links"]
    """Among the vertices without an edge to the ranked one."""
    in_list: Float[Tensor, " links"]
    """Among these and the other hidden neighbors."""
    num_lists: int
    """The number of ranked vertices."""


@dataclass(frozen=True, slots=True, eq=False)
class RankedEdges:
    """Scores of hidden edges and of the pairs they compete with."""

    edges: Float[Tensor, " edges"]
    non_edges: Float[Tensor, " edges"]
    ranks: Float[Tensor, " edges"]
    """The rank of every edge among the pairs of its source with candidates, from 1."""
    num_candidates: int
    """Candidates per edge."""
    is_paired: bool
    """Whether the AUC compares an edge with its own candidates, not with all non-edges."""
    full: FullRanks | None = None
    """Ranks among all vertices, if they were computed."""

    def auc(self) -> float:
        """Return the probability that an edge ranks above a non-edge."""
        if not self.is_paired:
            return auc(self.edges, self.non_edges)
        # The rank of an edge is 1, plus the candidates above it, plus half of the ties.
        return float(1 - (self.ranks - 1).mean() / self.num_candidates)

    def average_precision(self) -> float:
        """Return the average precision of the edges among the non-edges."""
        return average_precision(self.edges, self.non_edges)

    def mrr(self) -> float:
        """Return the mean of 1 / rank."""
        return float((1 / self.ranks).mean())

    def hits_at_10(self) -> float:
        """Return the share of edges with a rank of at most 10."""
        return float((self.ranks <= NUM_HITS).double().mean())

    def full_mrr(self) -> float | None:
        """Return the mean of 1 / rank among all vertices."""
        return None if self.full is None else float((1 / self.full.among_others).mean())

    def full_hits_at_10(self) -> float | None:
        """Return the share of links with a rank of at most 10 among all vertices."""
        if self.full is None:
            return None
        return float((self.full.among_others <= NUM_HITS).double().mean())

    def precision_at_10(self) -> float | None:
        """Return the share of hidden links among the ten best of a vertex."""
        if self.full is None:
            return None
        found = (self.full.in_list <= NUM_HITS).sum()
        return float(found) / (NUM_HITS * self.full.num_lists)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """The presentation of a metric."""

    title: str
    unit: Literal["%", ""] = "%"
    higher_is_better: bool = True

    @property
    def scale(self) -> float:
        """The factor from a value to the figure shown."""
        return 100.0 if self.unit else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkMetric(Metric):
    """A metric of link prediction."""

    compute: Callable[[RankedEdges], float | None]


LINK_METRICS = {
    "auc": LinkMetric(title="AUC", compute=RankedEdges.auc),
    "average_precision": LinkMetric(title="AP", compute=RankedEdges.average_precision),
    "mrr": LinkMetric(title="MRR", compute=RankedEdges.mrr),
    "hits_at_10": LinkMetric(title="Hits@10", compute=RankedEdges.hits_at_10),
    "full_mrr": LinkMetric(title="MRR all", compute=RankedEdges.full_mrr),
    "full_hits_at_10": LinkMetric(title="H@10 all", compute=RankedEdges.full_hits_at_10),
    "precision_at_10": LinkMetric(title="P@10", compute=RankedEdges.precision_at_10),
}
"""Every metric of link prediction by its name in results; the first leads the tables."""
CLASS_METRICS = {"macro_f1": Metric(title="Macro-F1"), "micro_f1": Metric(title="Micro-F1")}
"""The metrics of classification, which ``evaluation/classification.py`` computes."""


def find_metric(name: str) -> Metric:
    """Return a metric of either kind."""
    return LINK_METRICS[name] if name in LINK_METRICS else CLASS_METRICS[name]


def _placements(positive: Tensor, negative: Tensor) -> tuple[Tensor, Tensor]:
    """Return the placement of every score; a tie counts half."""
    positive, negative = _or(positive, -torch.inf), _or(negative, torch.inf)
    return _share_below(positive, negative), _share_below(-negative, -positive)


def _share_below(scores: Tensor, others: Tensor) -> Tensor:
    ordered = others.sort().values
    below = torch.searchsorted(ordered, scores) + torch.searchsorted(ordered, scores, right=True)
    return below.double() / (2 * len(others))


def _or(scores: Tensor, otherwise: float) -> Tensor:
    """Return the scores with ``otherwise`` in place of NaN."""
    return scores.masked_fill(scores.isnan(), otherwise)
