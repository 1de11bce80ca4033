"""The objective: four parts and their weights α (section 4.3), by negative sampling (section 4.4).

For a directed edge from i to j each part predicts a vector of i from one of j:

    part                  predicted   given   equation
    text_text             v_i^t       v_j^t   L_tt
    structure_structure   v_i^s       u_j^s   L_ss
    structure_text        v_i^s       v_j^t   L_st
    text_structure        v_i^t       u_j^s   L_ts

It is s_ij (log σ(v_i · v_j) + Σ_k log σ(-v_k · v_j)). The paper maximizes it; a loss has the
opposite sign. Sums over edges are divided by Σ s_ij, which keeps the step size independent of the
batch.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import logsigmoid

from dmte.distributed.columns import ALL_COLUMNS, Columns
from dmte.kernels.pair_scores import score_pairs
from dmte.model.diffusion_maps import Halves
from dmte.settings import PARTS, ObjectiveWeights, Settings


class Scores(NamedTuple):
    """The dot products of every part."""

    positive: Float[Tensor, "parts batch"]
    """v_i · v_j."""
    negative: Float[Tensor, "parts batch negatives"]
    """v_k · v_j, or -∞ where k is not a negative of the edge."""


def score_edges(
    halves: Halves,
    source: Int[Tensor, " batch"],
    target: Int[Tensor, " batch"],
    negatives: Int[Tensor, "batch negatives"] | Int[Tensor, " negatives"],
    columns: Columns = ALL_COLUMNS,
) -> Scores:
    """Return the scores of all four parts, or of ``text_text`` alone without a structure half.

    ``negatives`` are those of each edge, or the same for all edges. Scores are summed over the
    columns of all processes.
    """
    if halves.structure is None or halves.diffused_structure is None:
        lefts: tuple[Tensor, ...] = (halves.text,)
        rights = lefts
    else:
        lefts, rights = (halves.text, halves.structure), (halves.text, halves.diffused_structure)
    predicted = source.unsqueeze(1)
    if negatives.ndim == 2:
        predicted = torch.cat([predicted, negatives], dim=1)
    scores = columns.sum(score_pairs(lefts, rights, predicted, target)).flatten(2)
    if negatives.ndim == 1:
        # Threads add up the gradient of an index in brackets in any order, those of index_select in
        # one.
        products = [
            (right @ left.index_select(0, negatives).T).index_select(0, target)
            for left in lefts
            for right in rights
        ]
        scores = torch.cat([scores, columns.sum(torch.stack(products, dim=2))], dim=1)
    if len(lefts) > 1:
        text_text, text_structure, structure_text, both_structure = scores.unbind(2)
        scores = torch.stack([text_text, both_structure, structure_text, text_structure], dim=2)
    ordered = scores.permute(2, 0, 1)
    return Scores(ordered[:, :, 0], ordered[:, :, 1:])


def part_losses(scores: Scores, edge_weights: Float[Tensor, " batch"]) -> Float[Tensor, " parts"]:
    """Return the loss of each part: -Σ s_ij (log σ(+) + Σ_k log σ(-)) / Σ s_ij."""
    gained = logsigmoid(scores.positive) + logsigmoid(-scores.negative).sum(dim=2)
    return -(gained @ edge_weights) / edge_weights.sum()


def ranking_losses(
    scores: Scores,
    edge_weights: Float[Tensor, " batch"],
    sharpness: float,
    softmax_weight: float = 0.0,
) -> Float[Tensor, " parts"]:
    """Return the loss of each part if an edge only has to score above its negatives.

    -Σ s_ij (mean_k log σ(τ (v_i · v_j - v_k · v_j)) + μ log softmax_k(τ v · v_j)_i) / Σ s_ij

    The softmax is over i and the negatives. It gives the negatives closest to j most of the weight,
    and so improves the top of a ranking.
    """
    positive, negative = sharpness * scores.positive.unsqueeze(2), sharpness * scores.negative
    gained = logsigmoid(positive - negative).mean(dim=2)
    if softmax_weight:
        total = torch.cat([positive, negative], dim=2).logsumexp(dim=2)
        gained = gained + softmax_weight * (positive.squeeze(2) - total)
    return -(gained @ edge_weights) / edge_weights.sum()


LOSSES: Mapping[str, Callable[[Scores, Tensor, Settings], Tensor]] = MappingProxyType(
    {
        "pointwise": lambda scores, edge_weights, _: part_losses(scores, edge_weights),
        "ranking": lambda scores, edge_weights, settings: ranking_losses(
            scores, edge_weights, settings.sharpness, settings.softmax_weight or 0.0
        ),
    }
)
"""Every loss, a function of scores, edge weights and settings."""


def weighted_sum(parts: Float[Tensor, " parts"], weights: ObjectiveWeights) -> Float[Tensor, ""]:
    """Return Σ α L over these parts."""
    alpha = parts.new_tensor([getattr(weights, name) for name in PARTS[: len(parts)]])
    return alpha @ parts
