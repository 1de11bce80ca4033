"""Figures for a ranking (section 5): how far edges stand above pairs that are none.

A score that is not a number is a mistake: an edge's loses to everything, any other wins.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

NOISE = 2.0
"""Standard errors that a difference of two AUCs must exceed to count."""


class PairScores(NamedTuple):
    """What pairs score: edges, and pairs that are none."""

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
    """Return the standard error of the difference of two AUCs that answer the same questions.

    A score's placement is the share of the other side that it stands on the right side of. Both
    AUCs are means of placements, so with differences δ of placements, one by one,
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
    """Return Σ_k (R_k - R_{k-1}) P_k, precision and recall at every distinct score, best first.

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


def _placements(positive: Tensor, negative: Tensor) -> tuple[Tensor, Tensor]:
    """Return for every score which share of the other side it wins against; a tie counts half."""
    positive, negative = _or(positive, -torch.inf), _or(negative, torch.inf)
    return _share_below(positive, negative), _share_below(-negative, -positive)


def _share_below(scores: Tensor, others: Tensor) -> Tensor:
    ordered = others.sort().values
    below = torch.searchsorted(ordered, scores) + torch.searchsorted(ordered, scores, right=True)
    return below.double() / (2 * len(others))


def _or(scores: Tensor, otherwise: float) -> Tensor:
    """Return the scores with ``otherwise`` for those that are not a number."""
    return scores.masked_fill(scores.isnan(), otherwise)
