"""Comparison of the recommended recipe with the best other method and the paper's best version.

A method is scored by dot product or cosine, whichever is better. Two methods are compared on their
common seeds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from dmte.evaluation.paper.page import table
from dmte.evaluation.paper.results import Results, Row
from dmte.evaluation.paper.targets import TARGETS

OURS, PAPER = "dmte", "dmte-paper"
STRICT_PERCENTS = (15, 55, 95)
"""Ratios of the strict protocol at which methods are compared."""


@dataclass(frozen=True, slots=True)
class Rival:
    """Scores of another method and the recipe on their common seeds, in per cent."""

    method: str
    score: float
    ours: float

    @property
    def lead(self) -> float:
        """The recipe's lead in points."""
        return self.ours - self.score


@dataclass(frozen=True, slots=True)
class Standing:
    """A score of the recipe, in per cent, with those of other methods."""

    target: str
    protocol: str
    """Empty for classification."""
    percent: int
    ours: float
    rivals: Sequence[Rival]

    @property
    def best(self) -> Rival | None:
        """The strongest method that is not DMTE."""
        return strongest([one for one in self.rivals if not one.method.startswith(PAPER)])

    @property
    def paper(self) -> Rival | None:
        """The strongest of the paper's own versions."""
        return strongest([one for one in self.rivals if one.method.startswith(PAPER)])


def strongest(rivals: Sequence[Rival]) -> Rival | None:
    """Return the rival with the smallest lead of the recipe, if there are rivals."""
    return min(rivals, key=lambda rival: rival.lead, default=None)


def standings(everything: Mapping[str, Results]) -> list[Standing]:
    """Compare the recipe on every target of the group ``recipe`` that has results."""
    found = []
    for name, target in TARGETS.items():
        rows = everything[name].rows if name in everything and "recipe" in target.groups else ()
        compared = [
            one for one in rows if one.protocol != "strict" or one.percent in STRICT_PERCENTS
        ]
        for protocol, percent in sorted({(one.protocol, one.percent) for one in compared}):
            own = [one for one in compared if (one.protocol, one.percent) == (protocol, percent)]
            values = _better_scores(own)
            if OURS in values:
                found.append(_standing(name, protocol, percent, values))
    return found


def standings_table(everything: Mapping[str, Results]) -> str:
    """Return the comparison in Markdown."""
    heads = ["", "dmte", "best other method", "lead", "best of the paper's versions", "lead"]
    return table(
        heads,
        [
            [
                f"{one.target}{one.protocol and f', {one.protocol}'}, {one.percent} %",
                f"{one.ours:.1f}",
                *_columns(one.best),
                *_columns(one.paper),
            ]
            for one in standings(everything)
        ],
    )


def _better_scores(rows: Sequence[Row]) -> dict[str, list[float]]:
    """Return every method's better scores, one per seed, in per cent."""
    values: dict[str, list[float]] = {}
    for row in rows:
        scores = [100 * value for value in row.main.values]
        if fmean(scores) > fmean(values.get(row.method, [0.0])):
            values[row.method] = scores
    return values


def _standing(
    target: str, protocol: str, percent: int, values: Mapping[str, Sequence[float]]
) -> Standing:
    ours = values[OURS]
    rivals = []
    for method, scores in values.items():
        common = min(len(scores), len(ours))  # Seeds count from 0 in both.
        if method != OURS:
            rivals.append(Rival(method, fmean(scores[:common]), fmean(ours[:common])))
    return Standing(target, protocol, percent, fmean(ours), rivals)


def _columns(rival: Rival | None) -> tuple[str, str]:
    if rival is None:
        return "", ""
    return f"`{rival.method}` {rival.score:.1f}", f"{rival.lead:+z.1f}"
