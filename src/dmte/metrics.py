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
    """Scores of edges and of pairs without an edge."""

    edges: Float[Tensor, " edges"]
    non_edges: Float[Tensor, " non_edges"]


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
    first: tuple[Float[Tensor, " positive"], Float[Tensor, " negative"]],
    second: tuple[Float[Tensor, " positive"], Float[Tensor, " negative"]],
) -> float:
    """Return the standard error of the difference of two AUCs on the same pairs.

    The placement of a score is the share of the other class that it is ranked correctly against.
    Both AUCs are means of placements, so with the differences δ of placements
    SE² = Var(δ positive) / #positive + Var(δ negative) / #negative (DeLong et al. 1988).

    >>> scores = torch.tensor([3.0, 1.0]), torch.tensor([2.0, 1.0])
    >>> auc_difference_error(scores, scores)
    0.0
    """
    differences = [
        one - other for one, other in zip(_placements(*first), _placements(*second), strict=True)
    ]
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
    above, ties = (others > own).double(), (others == own).double()
    return 1 + (above + ties / 2).sum(dim=1)


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

    compute: Callable[[RankedEdges], float]


LINK_METRICS = {
    "auc": LinkMetric(title="AUC", compute=RankedEdges.auc),
    "average_precision": LinkMetric(title="AP", compute=RankedEdges.average_precision),
    "mrr": LinkMetric(title="MRR", compute=RankedEdges.mrr),
    "hits_at_10": LinkMetric(title="Hits@10", compute=RankedEdges.hits_at_10),
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
