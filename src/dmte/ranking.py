"""The area under the ROC curve (section 5): how often an edge outscores a pair that is none."""

import torch
from jaxtyping import Float
from torch import Tensor


def auc(positive: Float[Tensor, " positive"], negative: Float[Tensor, " negative"]) -> float:
    """Return P(positive > negative) + P(positive = negative) / 2 over all pairs of scores.

    >>> auc(torch.tensor([3.0, 1.0]), torch.tensor([2.0, 1.0]))
    0.625
    """
    # What is not a number wins nothing and loses to nothing.
    ordered = negative[~negative.isnan()].sort().values
    contenders = positive[~positive.isnan()]
    below = torch.searchsorted(ordered, contenders)
    not_above = torch.searchsorted(ordered, contenders, right=True)
    wins = (below + not_above).sum(dtype=torch.float64) / 2
    return float(wins / (len(positive) * len(negative)))
