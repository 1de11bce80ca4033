"""Where the recommended recipe stands: beside the best of the others, the paper, and in time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dmte.evaluation.experiments import load_experiments
from dmte.evaluation.reproduction import QUICK_PERCENTS, RECIPE

Rows = Sequence[Mapping[str, Any]]
OURS, PAPER = "dmte", "dmte-paper"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One figure of the recipe beside the same of the best other method, all in per cent."""

    target: str
    asked: str
    ours: float
    seeds: int
    best: float | None
    best_method: str | None
    paper_method: float | None
    """The paper's own version, measured here."""
    printed: float | None
    """What the paper prints for it."""

    @property
    def lead(self) -> float | None:
        """By how much the recipe is better than the best other."""
        return None if self.best is None else self.ours - self.best


def verdicts(everything: Mapping[str, Mapping[str, Any]]) -> list[Verdict]:
    """Return every figure the recipe is judged by, of the targets that have results."""
    found = []
    for target in RECIPE:
        rows = everything[target]["rows"] if target in everything else []
        figure = "macro_f1" if target.endswith("classes") else "auc"
        # By the dot product, or by a method's own score.
        rows = [row for row in rows if row.get("score") != "cosine" and _is_judged(row)]
        for asked in dict.fromkeys(_asked(row) for row in rows):
            same = [row for row in rows if _asked(row) == asked]
            means = {row["method"]: 100 * row[figure]["mean"] for row in same}
            own = [row for row in same if row["method"] == OURS]
            if own:
                found.append(_verdict(target, asked, means, len(own[0][figure]["values"])))
    return found


def _verdict(target: str, asked: str, means: Mapping[str, float], seeds: int) -> Verdict:
    others = {method: mean for method, mean in means.items() if not method.startswith(OURS)}
    best = max(others, key=lambda method: others[method], default=None)
    return Verdict(
        target=target,
        asked=asked,
        ours=means[OURS],
        seeds=seeds,
        best=None if best is None else others[best],
        best_method=best,
        paper_method=means.get(PAPER),
        printed=_printed(target, asked),
    )


def _is_judged(row: Mapping[str, Any]) -> bool:
    """Return whether the recipe is judged here: all published ratios, three of the strict ones."""
    if "protocol" not in row:
        return True
    percent = round(100 * row["train_fraction"])
    return row["protocol"] == "published" or percent in QUICK_PERCENTS


def _asked(row: Mapping[str, Any]) -> str:
    if "protocol" not in row:
        return f"{100 * row['label_fraction']:g} % labelled"
    return f"{100 * row['train_fraction']:g} %, {row['protocol']}"


def _printed(target: str, asked: str) -> float | None:
    if not asked.endswith("published"):
        return None
    name, percent = target.split("-")[0], int(asked.split()[0])
    for row in load_experiments():
        if (row.network, row.method) == (name, PAPER):
            return row.printed[percent]
    return None


def verdict_table(everything: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the verdicts in Markdown, and what a fit took beside the paper's version."""
    lines = [
        "| | asked | dmte | seeds | best other | its score | lead | DMTE (WAvg), ours | printed |",
        "| --- " * 9 + "|",
    ]
    for one in verdicts(everything):
        figures = [one.best, one.lead, one.paper_method, one.printed]
        best, lead, paper, printed = ("" if value is None else f"{value:.1f}" for value in figures)
        lines.append(
            f"| {one.target} | {one.asked} | {one.ours:.1f} | {one.seeds} | "
            f"{one.best_method or ''} | {best} | {lead} | {paper} | {printed} |"
        )
    return "\n".join(lines) + "\n\n" + _times(everything)


def _times(everything: Mapping[str, Mapping[str, Any]]) -> str:
    lines = ["| | seconds a fit, dmte | DMTE (WAvg) |", "| --- | --- | --- |"]
    for target in RECIPE:
        rows = everything[target]["rows"] if target in everything else []
        times = [
            max((row["fit_seconds"] for row in rows if row["method"] == method), default=None)
            for method in (OURS, PAPER)
        ]
        if None not in times:
            lines.append(f"| {target} | {times[0]:.1f} | {times[1]:.1f} |")
    return "\n".join(lines) + "\n"
