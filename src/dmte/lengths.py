"""How readily a vertex is linked, told by the length of its vector.

    v_i = (1 + d_i / 3)^a u_i        u_i of length 1, d_i the edges of i, each by its weight

What a vertex is about is the direction of its vector, and cosines see nothing else. A dot product,
by which links are predicted, counts both: of two texts that are as close, the one that many link to
is the likelier end of a link. How much that is worth differs from packages, which have hubs, to
glossaries, which have none, so held-back edges choose a, and 0 leaves vectors as they are.
"""

from collections.abc import Sequence
from statistics import fmean

from dmte.ranking import Judged, auc

POWERS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8)
"""What a is chosen from. Above, sparse networks gain a little AUC more, and the pairs that score
highest become those of hubs, linked or not: average precision falls."""

FEWEST_JUDGING = 12
"""Held-back edges by which to choose; with 10 the choice cost 14 drawn networks of 80 vertices 0.1
on average and 1.6 at worst, with 12 to 15 it gained real ones 1 to 2."""


def chosen_power(judged: Sequence[tuple[Judged, Judged]]) -> float:
    """Return the a that tells held-back edges best; of equally good ones the smallest, of few 0.

    Every training of a network holds other edges back: what these pairs score at length 1, and the
    products of their lengths for a = 1.
    """
    if not judged or min(len(unit.edges) for unit, _ in judged) < FEWEST_JUDGING:
        return 0.0
    found = {power: fmean(auc(*_scored(*one, power)) for one in judged) for power in POWERS}
    return max(POWERS, key=lambda power: found[power])


def _scored(unit: Judged, products: Judged, power: float) -> Judged:
    """Return the scores of stretched vectors."""
    return Judged(*(a * b**power for a, b in zip(unit, products, strict=True)))
