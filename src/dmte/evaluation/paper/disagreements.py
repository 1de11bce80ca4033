"""Where figures measured here and figures or words of the paper disagree, measured facts only.

A sentence is chosen by the figures, so that it stays true when they change.
"""

from collections.abc import Callable, Sequence

from dmte.evaluation.paper.lookup import (
    NOTHING,
    Everything,
    Row,
    Rows,
    auc_percent,
    find_row,
    method_name,
    printed_figures,
    rows_of,
)
from dmte.evaluation.paper.tables import PERCENTS, Experiment, load_experiments
from dmte.evaluation.paper.targets import HOP_WEIGHTS, QUICK_PERCENTS

FAR = 3.0
"""Points of AUC from which on a figure is far from what is printed."""
WITHOUT_DIFFUSION = "dmte-paper-no-diffusion"


def gaps_to_print(everything: Everything) -> str:
    """Return a table of ours minus the paper's, and whose figures are far off."""
    rows = rows_of(everything, "cora-links")
    found = {
        f"{one.row} ({_num_seeds(rows, one.method)})": gaps
        for one in load_experiments()
        if one.network == "cora" and (gaps := _gaps(rows, one))
    }
    if not found:
        return NOTHING
    percents = [percent for percent in PERCENTS if any(percent in gaps for gaps in found.values())]
    heads = " | ".join(f"{percent} %" for percent in percents)
    lines = [f"| row of Table 1 (seeds) | {heads} |", "| --- " * (len(percents) + 1) + "|"]
    for name, gaps in found.items():
        shown = (f"{gaps[one]:+.1f}" if one in gaps else NOTHING for one in percents)
        lines.append(f"| {name} | {' | '.join(shown)} |")
    above = [f"{name} {_most(gaps)}" for name, gaps in found.items() if max(gaps.values()) > FAR]
    below = [f"{name} {_each(gaps)}" for name, gaps in found.items() if min(gaps.values()) < -FAR]
    return "\n\n".join(
        [
            "**Cora, published: AUC in per cent, ours minus the paper's.**",
            "\n".join(lines),
            f"{_listed('above', above)}\n{_listed('below', below)}",
        ]
    )


def _gaps(rows: Rows, row: Experiment) -> dict[int, float]:
    """Return ours minus the paper's as the page shows it, by the percentage trained on."""
    return {
        percent: round(auc_percent(found) - printed, 1)
        for percent, printed in row.printed.items()
        if (found := find_row(rows, row.method, "published", percent)) is not None
    }


def _num_seeds(rows: Rows, method: str) -> int:
    """Return the fewest seeds of a method's figures; 0 if there is none."""
    found = (find_row(rows, method, "published", percent) for percent in PERCENTS)
    return min((len(row["auc"]["values"]) for row in found if row is not None), default=0)


def _most(gaps: dict[int, float]) -> str:
    percent = max(gaps, key=lambda one: gaps[one])
    times = sum(gap > FAR for gap in gaps.values())
    return f"at {times} of {len(gaps)} ratios, most at {percent} % by {gaps[percent]:.1f}"


def _each(gaps: dict[int, float]) -> str:
    far = [f"{-gap:.1f} at {percent} %" for percent, gap in gaps.items() if gap < -FAR]
    return f"by {', '.join(far)}"


def _listed(where: str, methods: Sequence[str]) -> str:
    named = "; ".join(methods) or "none"
    return f"More than {FAR:g} points {where} what is printed: {named}."


def order_of_versions(everything: Everything) -> str:
    """Return the versions of DMTE, best first, here and in print, and what diffusion adds."""
    rows = rows_of(everything, "cora-links")
    orders = [text for percent in QUICK_PERCENTS if (text := _orders(rows, percent))]
    if not orders:
        return NOTHING
    added = [text for percent in QUICK_PERCENTS if (text := _added(rows, percent))]
    last = f" {method_name('dmte-paper')} minus w/o diffusion: {'; '.join(added)}." if added else ""
    return (
        "**The versions of DMTE, best first, Cora, published.** "
        f"{' '.join(orders)} A version that is not named at a ratio was not measured there.{last}"
    )


def _orders(rows: Rows, percent: int) -> str:
    """Return both orders of the versions that were measured, if there are several."""
    versions = [row for row in load_experiments() if row.network == "cora" and row.variant]
    printed = {row.row: row.printed[percent] for row in versions}
    ours = {
        row.row: auc_percent(found)
        for row in versions
        if (found := find_row(rows, row.method, "published", percent)) is not None
    }
    if len(ours) < 2:
        return NOTHING
    best_first = sorted(ours, key=lambda name: -ours[name])
    theirs = sorted(ours, key=lambda name: -printed[name])
    are_same = "the same order" if best_first == theirs else "another order"
    return (
        f"At {percent} % ours{_with_figures(best_first, ours)}; printed, in "
        f"{are_same}{_with_figures(theirs, printed)}."
    )


def _with_figures(names: Sequence[str], figures: dict[str, float]) -> str:
    """Return how far the first is from the last, and every figure."""
    apart = figures[names[0]] - figures[names[-1]]
    listed = ", ".join(f"{name} {figures[name]:.1f}" for name in names)
    return f", {apart:.1f} apart: {listed}"


def _added(rows: Rows, percent: int) -> str:
    """Return what diffusion adds here and in print."""
    methods = ("dmte-paper", WITHOUT_DIFFUSION)
    diffused, plain = (find_row(rows, method, "published", percent) for method in methods)
    if diffused is None or plain is None:
        return NOTHING
    ours = auc_percent(diffused) - auc_percent(plain)
    theirs, without = (printed_figures("cora", method)[percent] for method in methods)
    return f"{ours:+.1f} at {percent} %, printed {theirs - without:+.1f}"


def rise_with_hops(everything: Everything) -> str:
    """Return whether AUC rises with H, and where it is best."""
    rows = rows_of(everything, "hops")
    curves = {percent: _curve(rows, percent) for percent in PERCENTS}
    found = {percent: curve for percent, curve in curves.items() if 1 in curve and len(curve) > 1}
    if not found:
        return NOTHING
    parts = []
    for percent, curve in found.items():
        first, last, best = 1, max(curve), _best(curve)
        parts.append(
            f"at {percent} % {auc_percent(curve[first]):.1f} with H = {first}, "
            f"{auc_percent(curve[last]):.1f} with H = {last}, "
            f"best {auc_percent(curve[best]):.1f} with H = {best}"
        )
    rising = sum(_rises(curve) for curve in found.values())
    return (
        "**Figure 4.** The paper says that AUC first rises with H and then stops. Here the best H "
        f"is above H = 1 by more than the standard deviation of one seed at {rising} of "
        f"{len(found)} ratios (published): {'; '.join(parts)}."
    )


def _curve(rows: Rows, percent: int) -> dict[int, Row]:
    """Return the rows that were measured, by H."""
    every = range(1, len(HOP_WEIGHTS) + 1)
    found = {hops: find_row(rows, "dmte-paper", "published", percent, hops) for hops in every}
    return {hops: row for hops, row in found.items() if row is not None}


def _best(curve: dict[int, Row]) -> int:
    return max(curve, key=lambda hops: auc_percent(curve[hops]))


def _rises(curve: dict[int, Row]) -> bool:
    """Return whether the best H is above H = 1 by more than either spreads; no spread is none."""
    best, first = curve[_best(curve)]["auc"], curve[1]["auc"]
    return bool(best["mean"] - first["mean"] > max(best["std"] or 0.0, first["std"] or 0.0))


def titles_in_common(everything: Everything) -> str:
    """Return how many of the titles of Table 3 are found here, and where the others stand."""
    rows = rows_of(everything, "case-study")
    if not rows:
        return NOTHING
    row = rows[0]
    ours = len(row["closest"])
    ranks = [title["rank"] for title in row["printed"]]
    others = [f"{rank:,}" for rank in ranks if rank > ours]
    count = len(ranks) - len(others)
    vertices = everything["case-study"]["network"]["vertices"]
    rest = f" The ranks of the others are {', '.join(others)}." if others else NOTHING
    return (
        f"**Table 3.** Of the {len(ranks)} titles that the paper prints, {count} "
        f"{'is' if count == 1 else 'are'} among the {ours} closest here, of {vertices:,}.{rest}"
    )


DISAGREEMENTS: tuple[Callable[[Everything], str], ...] = (
    gaps_to_print,
    order_of_versions,
    rise_with_hops,
    titles_in_common,
)
"""Every paragraph, in the order of the paper; one without figures is empty."""
