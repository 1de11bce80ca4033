"""A structure half for networks whose texts say too little: where walks from a vertex end.

    V_s = Σ_{h=4}^{7} P^h R, rows at length 1     R has random rows, drawn and never learned
    v_i = √(1 - β) v_i^t ⊕ √β v_i^s               β is the share of a score that links alone have

V_s is the diffusion map (Definition 4) of random rows, which compares where walks of four to seven
steps end, in few dimensions (FastRP, Chen et al. 2019). P is the walk of Definition 2. The recipe
has no other structure half, and this one only where held-back edges are told clearly better with
it: where texts name what they link to it adds nothing. A vertex without an edge has none.
"""

import math
from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from dmte.model.assemble import shared
from dmte.ranking import NOISE, Judged, auc, auc_difference_error

SHARES = (0.2, 0.5, 0.8)
"""What β is chosen from, beside 0."""

LEAST_GAIN = 0.0025
"""AUC that links alone must add; less is not worth twice the columns. Where texts say something it
was 0.001 at most, on eight networks."""


def chosen_share(judged: Sequence[tuple[Judged, Judged]]) -> float:
    """Return the β that tells held-back edges best, or 0 where that is no clear gain.

    Every training of a network holds other edges back, and has judged them by text and by walks.
    """
    gains = {share: _gain(judged, share) for share in SHARES}
    clear = [share for share in SHARES if gains[share].is_clear]
    return max(clear, key=lambda share: gains[share].mean, default=0.0)


class _Gain(NamedTuple):
    mean: float
    error: float

    @property
    def is_clear(self) -> bool:
        return self.mean >= max(LEAST_GAIN, NOISE * self.error)


def _gain(judged: Sequence[tuple[Judged, Judged]], share: float) -> _Gain:
    """Return how much better held-back edges are told with a share than by texts alone."""
    pairs = [(shared(text, walks, share), text) for text, walks in judged]
    errors = [auc_difference_error(mixed, text) for mixed, text in pairs]
    mean = fmean(auc(*mixed) - auc(*text) for mixed, text in pairs)
    return _Gain(mean, math.hypot(*errors) / len(pairs))
