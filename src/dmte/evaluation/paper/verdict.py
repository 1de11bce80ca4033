"""Where the recommended recipe stands beside the best of the others and the paper.

A method counts with the better of its ways to score, dot product or cosine, and two methods are
compared on the seeds that both have. A lead is over what was measured, so what was not is named.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from dmte.evaluation.methods import METHODS, NOT_FOR
from dmte.evaluation.paper.tables import load_experiments
from dmte.evaluation.paper.targets import QUICK_PERCENTS, RECIPE, RELEASED

Row = Mapping[str, Any]
Everything = Mapping[str, Mapping[str, Any]]
OURS, PAPER = "dmte", "dmte-paper"
LABELLED = "labelled"
TIMES = (
    "That the recipe trains in at most twice the time of the paper's is an aim too, and not judged "
    "here: how long either trains is measured where nothing else runs, by `benchmarks/reach.py` of "
    "the source repository."
)


@dataclass(frozen=True, slots=True)
class Rival:
    """Another method, and what both have on their common seeds, in per cent."""

    method: str
    score: float
    ours: float
    seeds: int
    """How many are common."""

    @property
    def lead(self) -> float:
        """By how much the recipe is better."""
        return self.ours - self.score

    @property
    def is_papers(self) -> bool:
        """Whether it is one of the paper's own versions."""
        return self.method.startswith(PAPER)


@dataclass(frozen=True, slots=True)
class Verdict:
    """One figure of the recipe beside the same of others, in per cent."""

    target: str
    asked: str
    ours: float
    seeds: int
    rivals: Sequence[Rival]
    """Every other method that was measured."""
    printed: float | None
    """What the paper prints for its word averages."""

    @property
    def best(self) -> Rival | None:
        """The strongest method that is not DMTE."""
        return strongest(rival for rival in self.rivals if not rival.is_papers)

    @property
    def paper(self) -> Rival | None:
        """The strongest of the paper's own versions, measured here."""
        return strongest(rival for rival in self.rivals if rival.is_papers)


def strongest(rivals: Iterable[Rival]) -> Rival | None:
    """Return the rival over whom the lead is smallest; none of none."""
    return min(rivals, key=lambda rival: rival.lead, default=None)


def verdicts(everything: Everything) -> list[Verdict]:
    """Return every figure the recipe is judged by, of the targets that have results."""
    found = []
    for target in RECIPE:
        rows = [row for row in _rows(everything, target) if _is_judged(row)]
        for asked in dict.fromkeys(_asked(row) for row in rows):
            values = _values([row for row in rows if _asked(row) == asked])
            if OURS in values:
                found.append(_verdict(target, asked, values))
    return found


def _rows(everything: Everything, target: str) -> Sequence[Row]:
    return everything[target]["rows"] if target in everything else []


def _values(rows: Sequence[Row]) -> dict[str, list[float]]:
    """Return every method's figures, a seed after the other, by its better way to score."""
    values: dict[str, list[float]] = {}
    for row in rows:
        figure = row["macro_f1" if "macro_f1" in row else "auc"]
        one = [100 * value for value in figure["values"]]
        if fmean(one) > fmean(values.get(row["method"], [0.0])):
            values[row["method"]] = one
    return values


def _verdict(target: str, asked: str, values: Mapping[str, list[float]]) -> Verdict:
    ours = values[OURS]
    others = [(method, figures) for method, figures in values.items() if method != OURS]
    return Verdict(
        target=target,
        asked=asked,
        ours=fmean(ours),
        seeds=len(ours),
        rivals=[_rival(method, figures, ours) for method, figures in others],
        printed=_printed(target, asked),
    )


def _rival(method: str, figures: Sequence[float], ours: Sequence[float]) -> Rival:
    common = min(len(figures), len(ours))  # Seeds are counted from 0 in both.
    return Rival(method, fmean(figures[:common]), fmean(ours[:common]), common)


def _is_judged(row: Row) -> bool:
    """Return whether the recipe is judged here: all published ratios, three of the strict ones."""
    if "protocol" not in row:
        return True
    percent = round(100 * row["train_fraction"])
    return row["protocol"] == "published" or percent in QUICK_PERCENTS


def _asked(row: Row) -> str:
    if "protocol" not in row:
        return question(f"{100 * row['label_fraction']:g}", LABELLED)
    return question(f"{100 * row['train_fraction']:g}", row["protocol"])


def question(percent: int | str, kind: str) -> str:
    """Return what is asked at a share, by a protocol or of labelled vertices."""
    return f"{percent} % {kind}" if kind == LABELLED else f"{percent} %, {kind}"


def _printed(target: str, asked: str) -> float | None:
    if not asked.endswith("published"):
        return None
    name, percent = target.split("-")[0], int(asked.split()[0])
    for row in load_experiments():
        if (row.network, row.method) == (name, PAPER):
            return row.printed[percent]
    return None


def verdict_table(everything: Everything) -> str:
    """Return the verdicts in Markdown, and who has no part in them."""
    found = verdicts(everything)
    lines = [
        "| | asked | dmte (seeds) | lead over the best other (common seeds) | which | "
        "lead over the paper's versions (common seeds) | which | the paper prints |",
        "| --- " * 8 + "|",
    ]
    for one in found:
        shown = [*_shown(one.best), *_shown(one.paper)]
        printed = "" if one.printed is None else f"{one.printed:.1f}"
        lines.append(
            f"| {one.target} | {one.asked} | {one.ours:.1f} ({one.seeds}) | "
            f"{' | '.join(shown)} | {printed} |"
        )
    return "\n".join([*lines, "", *_missing(found), TIMES]) + "\n"


def _shown(rival: Rival | None) -> tuple[str, str]:
    if rival is None:
        return "", ""
    return f"{rival.lead:+z.1f} ({rival.seeds})", f"`{rival.method}` {rival.score:.1f}"


def _missing(found: Sequence[Verdict]) -> list[str]:
    """Return one line of the methods that some verdict on a target does without, if there are."""
    parts = []
    for target in dict.fromkeys(one.target for one in found):
        own = [one for one in found if one.target == target]
        missing = [method for method in METHODS if any(_lacks(one, method) for one in own)]
        if missing:
            parts.append(f"{target} {', '.join(f'`{method}`' for method in missing)}")
    note = "A lead is over what was measured. Not measured, at one share at least: "
    return [f"{note}{'; '.join(parts)}.", ""] if parts else []


def _lacks(one: Verdict, method: str) -> bool:
    """Return whether a method that could be measured is not among the rivals."""
    not_for = NOT_FOR["classes" if one.asked.endswith(LABELLED) else "links"]
    if method in (OURS, RELEASED) or method in not_for:
        return False
    return all(rival.method != method for rival in one.rivals)
