"""``docs/reproduction.md``: results in words and tables, every figure taken from a results file."""

import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from dmte.evaluation.methods import METHODS
from dmte.evaluation.paper.aims import aims_table
from dmte.evaluation.paper.authors_program import released_section, training_edges_section
from dmte.evaluation.paper.coverage import coverage
from dmte.evaluation.paper.differences import differences
from dmte.evaluation.paper.lookup import (
    NOTHING,
    Everything,
    Results,
    Rows,
    method_name,
    printed_figures,
    rows_of,
    shown,
    shown_auc,
)
from dmte.evaluation.paper.tables import PERCENTS, Experiment, load_experiments
from dmte.evaluation.paper.targets import HOP_WEIGHTS, SENSITIVITY, TARGETS
from dmte.evaluation.paper.verdict import verdict_table, verdicts
from dmte.runtime.formatting import plural


def section(results: Results, others: Everything = MappingProxyType({})) -> str:
    """Return the table of a target in Markdown, and what is missing in it.

    What it compares with the results of other targets is shown where there are ``others``.
    """
    compared = _with_rows_beside(results, others)
    return SECTIONS[results["target"]](compared) + _missing(results)


def _with_rows_beside(results: Results, others: Everything) -> Results:
    """Return results with the rows of another target that their section compares them with."""
    beside = rows_of(others, BESIDE.get(results["target"], NOTHING))
    return {**results, "rows": [*results["rows"], *beside]} if beside else results


def document(everything: Everything, folder: str) -> str:
    """Return the whole page, with the targets that have results; ``folder`` is where they are."""
    parts = [_opening(everything, folder)]
    for name, target in TARGETS.items():
        if name in everything:
            picture = f"![{target.title}]({folder}/{name}/figure.png)\n\n"
            figure = picture if name in PICTURED else NOTHING
            parts.append(f"## {target.title}\n\n{figure}{section(everything[name], everything)}")
    parts += [_recipe(everything), differences(everything)]
    return "\n".join(filter(None, parts))


def _recipe(everything: Everything) -> str:
    """Return where the recipe stands; nothing where it was not measured."""
    if not verdicts(everything):
        return NOTHING
    return (
        f"## The recommended recipe\n\n{aims_table(everything)}\n"
        "The recipe beside the best of all other methods, and beside the best of the paper's "
        "versions, each with the better of its scores, dot product or cosine, and on the seeds "
        f"that both have.\n\n{verdict_table(everything)}"
    )


def _opening(everything: Everything, folder: str) -> str:
    made = [
        f"- `{name}`: {_seeds(results)}; {_made(results)}" for name, results in everything.items()
    ]
    written = dict.fromkeys(_written(results) for results in everything.values())
    return f"""# Reproduction

Made by `dmte reproduce report` from the [results]({folder}); no figure on this page is typed by
hand. `dmte reproduce TARGET` makes the results, `dmte reproduce all --quick` a short version.
Scores are in per cent: the mean over seeds ± the standard deviation of one seed.

*Published* is the protocol behind the tables of CANE and DMTE: the lines of the edge list are split
as they are, and a hidden edge (i, j) competes with (i, r) among vertices that kept an edge.
*Strict* drops self-loops, merges (i, j) with (j, i), and asks about every hidden edge. Pairs are
scored by the dot product.

{chr(10).join(made)}

A fit takes one thread; what made it stands beside it in `cells.jsonl`. Fits whose maker is not
recorded are of earlier revisions, which did not write it down. Another processor changes the last
decimals. Means and tables were put together by {"; ".join(written)}.
"""


def _made(results: Results) -> str:
    """Return how many fits each maker made."""
    return ", ".join(
        f"{one['cells']:,} {plural(one['cells'], 'fit')} {_maker(one['by'])}"
        for one in results["made"]
    )


def _maker(by: Mapping[str, Any] | None) -> str:
    if by is None:
        return "whose maker is not recorded"
    revision = f" at {by['revision']}" if by["revision"] else NOTHING
    return f"by dmte {by['dmte']}{revision}, torch {by['torch']}, on {by['processor']}"


def _written(results: Results) -> str:
    """Return what put the results of a target together."""
    versions = ", ".join(f"{name} {number}" for name, number in results["versions"].items())
    machine = results["machine"]
    return f"{versions} on {machine['system']}, {machine['processor']}"


def _seeds(results: Results) -> str:
    seeds = results["seeds"]
    return f"seeds {seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"seed {seeds[0]}"


def _links(results: Results) -> str:
    """Return paper, published and strict side by side, a line per method and ratio."""
    network = results["network"]["name"]
    printed = [row for row in load_experiments() if row.network == network]
    lines = [
        "| method | trained on | paper | published | strict |",
        "| --- | --- | --- | --- | --- |",
    ]
    ours = {row["method"] for row in results["rows"]}
    for experiment in printed:
        lines += _link_lines(results["rows"], experiment.row, experiment.method, experiment)
    for method in METHODS:
        if method in ours - {experiment.method for experiment in printed}:
            lines += _link_lines(results["rows"], method_name(method), method, None)
    return "\n".join(lines) + "\n" + _costs(results)


def _link_lines(rows: Rows, name: str, method: str, experiment: Experiment | None) -> list[str]:
    lines = []
    for percent in PERCENTS:
        figures = [
            str(experiment.printed[percent]) if experiment else NOTHING,
            *(shown_auc(rows, method, protocol, percent) for protocol in ("published", "strict")),
        ]
        if any(figures):
            lines.append(f"| {name} | {percent} % | {' | '.join(figures)} |")
    return lines


def _missing(results: Results) -> str:
    """Return what of the target's plan was not measured, or with fewer seeds."""
    planned = coverage(results)
    missing = [method_name(one.method) for one in planned if one.is_missing]
    short = [
        f"{method_name(one.method)} ({_extremes(one.fewest, one.most)} of {one.planned})"
        for one in planned
        if one.is_short
    ]
    notes = {
        "Not measured here yet": missing,
        "Measured with fewer seeds than planned": short,
    }
    return "".join(f"\n{what}: {', '.join(which)}.\n" for what, which in notes.items() if which)


def _extremes(fewest: int, most: int) -> str:
    return f"{fewest}" if fewest == most else f"{fewest} to {most}"


def _costs(results: Results) -> str:
    """Return over how many seeds every method was measured, and what a fit took."""
    lines = [
        "",
        "Seconds are the median of a method's fits in this section, one thread each. They are by "
        "the clock, beside other fits and other work, so a fit takes less where nothing else runs, "
        "and two methods need not have been disturbed alike. What a process keeps for later fits, "
        "such as the sentence encoder's vectors, is not in it.",
        "",
        "| method | seeds | median seconds a fit | peak MB |",
        "| --- | --- | --- | --- |",
    ]
    for method in METHODS:
        own = [row for row in results["rows"] if row["method"] == method]
        if own:
            seconds = results["median_seconds"][method]
            peak = max(row["peak_mb"] or 0 for row in own)
            lines.append(
                f"| {method_name(method)} | {_num_seeds(own)} | {seconds:.1f} | {peak:,} |"
            )
    return "\n".join(lines) + "\n"


def _num_seeds(rows: Rows) -> str:
    """Return how many seeds there are, from the fewest to the most."""
    figure = "macro_f1" if "macro_f1" in rows[0] else "auc"
    counts = [len(row[figure]["values"]) for row in rows]
    return _extremes(min(counts), max(counts))


def _hops(results: Results) -> str:
    rows = results["rows"]
    percents = sorted({round(100 * row["train_fraction"]) for row in rows})
    heads = [
        f"{percent} %, {protocol}" for protocol in ("published", "strict") for percent in percents
    ]
    lines = [f"| H | {' | '.join(heads)} |", "| --- " * (len(heads) + 1) + "|"]
    for hops in range(1, len(HOP_WEIGHTS) + 1):
        figures = [
            shown_auc(rows, "dmte-paper", protocol, percent, hops)
            for protocol in ("published", "strict")
            for percent in percents
        ]
        if any(figures):
            lines.append(f"| {hops} | {' | '.join(figures)} |")
    weights = ", ".join(f"{weight:g}" for weight in HOP_WEIGHTS)
    return (
        "\n".join(lines)
        + f"\n\nDMTE (WAvg) with λ the first H of {weights}; the paper prints neither λ nor the "
        "figures behind its plot. H = 1 is no diffusion.\n"
    )


def _classes(results: Results) -> str:
    rows = results["rows"]
    shares = sorted({row["label_fraction"] for row in rows})
    heads = " | ".join(f"{100 * share:g} %" for share in shares)
    lines = [f"| Macro-F1 | {heads} |", "| --- " * (len(shares) + 1) + "|"]
    lines += _class_lines(rows, shares, "macro_f1")
    lines += ["", f"| Micro-F1 | {heads} |", "| --- " * (len(shares) + 1) + "|"]
    lines += _class_lines(rows, shares, "micro_f1")
    is_figure = results["target"] in PICTURED
    note = " The paper prints its Figure 5 without numbers." if is_figure else NOTHING
    measured = {row["method"] for row in rows}
    note += "".join(f" {words}" for method, words in OF_LABELS.items() if method in measured)
    return (
        f"All {results['network']['vertices']:,} vertices are trained on, and the labelled ones "
        f"classified by a linear SVM.{note}\n\n" + "\n".join(lines) + "\n" + _costs(results)
    )


def _class_lines(rows: Rows, shares: Sequence[float], figure: str) -> list[str]:
    found = {(row["method"], row["label_fraction"]): shown(row[figure]) for row in rows}
    return [
        f"| {method_name(method)} | "
        + " | ".join(found.get((method, share), NOTHING) for share in shares)
        + " |"
        for method in METHODS
        if any((method, share) in found for share in shares)
    ]


def _case_study(results: Results) -> str:
    row = results["rows"][0]
    lines = [
        f"Query: *{row['query']}*",
        "",
        "| | ours | the paper, and its rank in ours |",
        "| --- | --- | --- |",
    ]
    for place, (own, printed) in enumerate(zip(row["closest"], row["printed"], strict=True), 1):
        ours, theirs = (
            f"{'**' if item['linked'] else ''}{item['text']}{'**' if item['linked'] else ''}"
            for item in (own, printed)
        )
        lines.append(f"| {place} | {ours} | {theirs} ({printed['rank']:,}) |")
    return "\n".join(lines) + "\n\nBold titles are linked to the query in the data.\n"


def _sensitivity(results: Results) -> str:
    rows = results["rows"]
    printed = printed_figures("cora", "dmte-paper")
    percents = sorted({round(100 * row["train_fraction"]) for row in rows})
    heads = [f"{percent} %" for percent in percents]
    lines = [f"| DMTE (WAvg), published | {' | '.join(heads)} |", "| --- " * (len(heads) + 1) + "|"]
    lines.append(f"| the paper | {' | '.join(str(printed[percent]) for percent in percents)} |")
    for name, settings in SENSITIVITY.items():
        wanted = json.loads(json.dumps(settings))
        own = [row for row in rows if json.loads(json.dumps(row["settings"])) == wanted]
        figures = [shown_auc(own, "dmte-paper", "published", percent) for percent in percents]
        if any(figures):
            lines.append(f"| {name} | {' | '.join(figures)} |")
    return (
        "Each line changes what it names of the settings behind Table 1. Which lines there are was "
        "decided after a look at such changes on edges held back from training edges, where none "
        "was clearly better than the settings of Table 1; those figures were not kept.\n\n"
        + "\n".join(lines)
        + "\n"
    )


OF_LABELS: Mapping[str, str] = MappingProxyType(
    {
        "tridnr": "TriDNR learns without labels here.",
        "tridnr-labels": "TriDNR with labels has a fit for every share, which learns from the "
        "labels of the training vertices.",
    }
)
"""What classification says of methods that may learn from labels."""
PICTURED = frozenset({"hops", "dblp-classes"})
"""Targets that are figures in the paper."""
BESIDE: Mapping[str, str] = MappingProxyType(
    {"training-edges": "cora-links", "released": "cora-links"}
)
"""Targets whose sections have rows of another target beside their own."""

SECTIONS: Mapping[str, Callable[[Results], str]] = MappingProxyType(
    {
        "cora-links": _links,
        "zhihu-links": _links,
        "hepth-links": _links,
        "dblp-links": _links,
        "cora-classes": _classes,
        "hops": _hops,
        "dblp-classes": _classes,
        "case-study": _case_study,
        "training-edges": training_edges_section,
        "released": released_section,
        "sensitivity": _sensitivity,
    }
)
"""How the results of a target are shown."""
