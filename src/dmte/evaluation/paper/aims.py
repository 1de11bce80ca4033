"""What the recommended recipe was meant to reach, and whether it does.

An aim is a figure of the recipe, in per cent, or a lead in points over other methods on the seeds
that both have, at some shares of the edges or of the labels. Figures are compared as pages show
them, with one decimal; so an aim to be ahead at all is a lead of 0.1. Where a figure is missing, an
aim is not measured.

The aims were set before the recipe was, by trials whose scripts were not kept. Another one is that
it trains in at most twice the time of the paper's, which is measured elsewhere (``TIMES``).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from dmte.evaluation.paper.lookup import Everything, method_name, printed_figures
from dmte.evaluation.paper.targets import QUICK_PERCENTS, TARGETS
from dmte.evaluation.paper.verdict import (
    LABELLED,
    OURS,
    PAPER,
    Rival,
    Verdict,
    question,
    strongest,
    verdicts,
)

FLOORS: Mapping[str, Mapping[int, float]] = {
    "cora-links": {15: 95.3, 55: 96.7, 95: 97.6},
    "hepth-links": {15: 95.5, 55: 97.2, 95: 97.6},
}
"""AUC, strict, that a prototype of the recipe reached in trials with two seeds."""
PAIR_CLASSIFIER: Mapping[int, float] = {15: 95.0, 55: 97.6}
"""AUC on Cora, strict, of boosted trees that know of a pair the cosines at every hop, Adamic-Adar,
PageRank and degrees; three seeds. They score pairs and have no vectors."""
CLASS_FLOORS: Mapping[str, Mapping[int, float]] = {
    "cora-classes": {10: 84.6, 30: 87.2, 50: 88.1, 70: 88.9},
    "dblp-classes": {10: 71.7, 30: 72.6, 50: 73.8, 70: 74.3},
}
"""Macro-F1 that the better of LSA diffused and TF-IDF reached in trials."""
LEAD = 0.5
"""Points of AUC by which links are to be predicted better than by every other method."""
LEAST_LEAD = 0.1
"""The least that a page shows."""
JUDGED_LINKS = ("cora-links", "hepth-links", "dblp-links")
EVERY = "every other method"
AHEAD = f"ahead of {EVERY}"
FIRST_SEEDS, OTHER_SEEDS = 10, 3
"""Seeds that figures of links are to be reached with, and the other aims."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """What is to be reached on one target."""

    words: str
    target: str
    kind: str
    """The protocol, or that vertices are labelled."""
    needed: Mapping[int, float]
    """Figures or leads, by the percentage trained on."""
    over: str | None = None
    """Whom a lead is over, a method or every other one; none where it is a figure itself."""
    seeds: int = OTHER_SEEDS


@dataclass(frozen=True, slots=True)
class Reached:
    """What there is of one figure or lead that is needed."""

    percent: int
    needed: float
    reached: float | None
    """None where it was not measured."""
    seeds: int = 0
    """How many it is over; of a lead the fewest that any of the others has in common."""
    rival: str | None = None
    """The method that a lead is over, the smallest of all leads."""
    is_of_all: bool = True
    """Whether every method that a lead is to be over was measured, of those that are planned."""

    @property
    def shortfall(self) -> float:
        """By how much it is missed, as shown; 0 where it is reached or not measured."""
        return 0.0 if self.reached is None else max(_shown(self.needed - _shown(self.reached)), 0.0)


def aims() -> list[Aim]:
    """Return every aim; what the paper prints stands in the experiments."""
    name = method_name(PAPER)
    pairs, printed = {"cora-links": PAIR_CLASSIFIER}, {"cora-links": printed_figures("cora", PAPER)}
    leads = dict.fromkeys(QUICK_PERCENTS, LEAD)
    ahead = {target: dict.fromkeys(figures, LEAST_LEAD) for target, figures in CLASS_FLOORS.items()}
    own = [
        *_on_each(FLOORS, "strict", "at least what a prototype reached", FIRST_SEEDS),
        *_on_each(pairs, "strict", "at least what a classifier of pairs reached", FIRST_SEEDS),
        *_on_each(printed, "published", f"at least what the paper prints for {name}", FIRST_SEEDS),
        *_on_each(dict.fromkeys(JUDGED_LINKS, leads), "strict", AHEAD, over=EVERY),
        *_on_each(CLASS_FLOORS, LABELLED, "at least what references reached in trials"),
        *_on_each(ahead, LABELLED, AHEAD, over=EVERY),
    ]
    return [*own, *_never_behind(own)]


def _on_each(
    needed: Mapping[str, Mapping[int, float]],
    kind: str,
    words: str,
    seeds: int = OTHER_SEEDS,
    over: str | None = None,
) -> list[Aim]:
    """Return the same aim on every target that is named."""
    return [
        Aim(words=words, target=target, kind=kind, needed=figures, over=over, seeds=seeds)
        for target, figures in needed.items()
    ]


def _never_behind(others: Iterable[Aim]) -> list[Aim]:
    """Return the aims not to be behind the paper's recipe wherever there is another aim."""
    asked: dict[str, dict[str, dict[int, float]]] = {}
    for aim in others:
        of_kind = asked.setdefault(aim.kind, {})
        of_kind.setdefault(aim.target, {}).update(dict.fromkeys(aim.needed, 0.0))
    words = f"never behind the paper's recipe, `{PAPER}`"
    return [
        aim for kind, needed in asked.items() for aim in _on_each(needed, kind, words, over=PAPER)
    ]


def reached(aim: Aim, found: Sequence[Verdict]) -> list[Reached]:
    """Return what the verdicts have of every figure that an aim needs."""
    by_question = {(one.target, one.asked): one for one in found}
    return [
        _reached(aim, percent, by_question.get((aim.target, question(percent, aim.kind))))
        for percent in aim.needed
    ]


def _reached(aim: Aim, percent: int, verdict: Verdict | None) -> Reached:
    needed = aim.needed[percent]
    if verdict is None:
        return Reached(percent, needed, None)
    if aim.over is None:
        return Reached(percent, needed, verdict.ours, verdict.seeds)
    counted = [rival for rival in verdict.rivals if _counts(rival, aim.over)]
    closest = strongest(counted)
    if closest is None:
        return Reached(percent, needed, None)
    measured = {rival.method for rival in verdict.rivals}
    is_of_all = aim.over != EVERY or _planned(aim.target) <= measured
    seeds = min(rival.seeds for rival in counted)
    return Reached(percent, needed, closest.lead, seeds, closest.method, is_of_all)


@cache
def _planned(target: str) -> frozenset[str]:
    """Return the other methods that a full run of the target measures."""
    plan = TARGETS[target].plan(TARGETS[target].network)
    return frozenset(cell.method for cell in plan) - {OURS}


def _counts(rival: Rival, over: str) -> bool:
    return over in (EVERY, rival.method)


def aims_table(everything: Everything) -> str:
    """Return every aim in Markdown, what it needs and what is reached."""
    found = verdicts(everything)
    lines = [
        "What the recipe was meant to reach: an AUC or Macro-F1 in per cent, or a lead in points "
        "over the closest of the other methods that were measured, on the seeds that both have. "
        "Compared as shown, with one decimal. Seeds of a lead are those of the method with fewest.",
        "",
        "| aim | asked | needed | reached | seeds (needed) | |",
        "| --- " * 6 + "|",
    ]
    for aim in aims():
        figures = reached(aim, found)
        percents = " / ".join(map(str, aim.needed))
        shown = [
            aim.words,
            f"{aim.target}, {question(percents, aim.kind)}",
            _listed([_figure(aim, one.needed) for one in figures]),
            " / ".join(_figure(aim, one.reached) for one in figures),
            f"{_listed([str(one.seeds) for one in figures])} ({aim.seeds})",
            outcome(aim, figures),
        ]
        lines.append(f"| {' | '.join(shown)} |")
    return "\n".join(lines) + "\n"


def outcome(aim: Aim, figures: Sequence[Reached]) -> str:
    """Return whether an aim is met, by how much it is missed and what was not measured."""
    measured = [one for one in figures if one.reached is not None]
    if not measured:
        return "not measured"
    missed = [one for one in measured if one.shortfall]
    absent = [str(one.percent) for one in figures if one.reached is None]
    parts = [_missed(missed)] if missed else []
    if absent:
        parts.append(f"not measured at {', '.join(absent)} %")
    if not all(one.is_of_all for one in measured):
        parts.append("not all others measured")
    if min(one.seeds for one in measured) < aim.seeds:
        parts.append("fewer seeds than needed")
    return "; ".join(parts if missed or absent else ["met", *parts])


def _missed(figures: Sequence[Reached]) -> str:
    """Return by how much, and because of whom."""
    shown = ", ".join(f"{one.shortfall:.1f} at {one.percent} %" for one in figures)
    rivals = ", ".join(dict.fromkeys(f"`{one.rival}`" for one in figures if one.rival))
    return f"missed by {shown}{f' ({rivals})' if rivals else ''}"


def _listed(shown: Sequence[str]) -> str:
    """Return what is shown at every share, once where it is everywhere the same."""
    return shown[0] if len(set(shown)) == 1 else " / ".join(shown)


def _figure(aim: Aim, figure: float | None) -> str:
    if figure is None:
        return "–"
    return f"{_shown(figure):.1f}" if aim.over is None else f"{_shown(figure):+.1f}"


def _shown(figure: float) -> float:
    """Return a figure as pages show it, without a zero below zero."""
    return round(figure, 1) + 0.0
