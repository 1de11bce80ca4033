"""The unit that step.py and processes.py measure: a round of training.

If X is fixed, a round computes the hop tables once and then takes several steps. Otherwise every
step propagates the whole graph, and a round here is one step.
"""

import torch
from jaxtyping import Int
from torch import Tensor

from dmte.training.fold import Fold


def round_edges(fold: Fold, generator: torch.Generator) -> Int[Tensor, " edges"]:
    """Draw the numbers of the edges of a round."""
    size = fold.sizes.round if fold.settings.has_frozen_encoder else fold.sizes.batch
    return torch.randperm(len(fold.edges), generator=generator)[:size]


def train_round(fold: Fold, generator: torch.Generator) -> int:
    """Train on a round of random edges and return the number of steps."""
    edges = round_edges(fold, generator)
    return sum(1 for _ in fold.train_round(edges, generator))
