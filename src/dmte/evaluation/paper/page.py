"""The tables of a target in Markdown: a row per method, a column per share trained on."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from dmte.evaluation.jobs import EVERY_EDGE, ClassJob, Job, LinkJob
from dmte.evaluation.methods import METHODS
from dmte.evaluation.paper.results import CaseStudy, Results, Row, Score, Title, find_row
from dmte.evaluation.paper.tables import load_experiments, method_name, printed_figures
from dmte.evaluation.paper.targets import TARGETS, Target

PROTOCOLS: Mapping[str, str] = MappingProxyType(
    {
        "published": "AUC, published protocol",
        "strict": "AUC, strict protocol",
        EVERY_EDGE: "AUC on every edge, training edges included",
    }
)
"""Captions of tables of link prediction, in their order."""
MEASURES: Mapping[str, str] = MappingProxyType({"macro_f1": "Macro-F1", "micro_f1": "Micro-F1"})
"""Captions of tables of classification."""
WIDEST_WITH_SPREAD = 4
"""Tables with more columns show means only; the costs show the largest standard deviation."""
PICTURED = frozenset({"hops", "dblp-classes"})
"""Targets that are figures in the paper."""
NO_FIGURE = ""

FigureKey = tuple[str, str, str, int]
"""Method, settings, protocol and share of one figure of a table."""


def document(everything: Mapping[str, Results], folder: str) -> str:
    """Return one page with the tables of every target; ``folder`` has their figures."""
    parts = ["# Results\n\nAUC and F1 in per cent, ± the standard deviation over seeds.\n"]
    for name, target in TARGETS.items():
        if name in everything:
            picture = f"![{target.title}]({folder}/{name}/figure.png)\n\n"
            figure = picture if name in PICTURED else NO_FIGURE
            parts.append(f"## {target.title}\n\n{figure}{section(everything[name])}")
    return "\n".join(parts)


def section(results: Results) -> str:
    """Return the tables of a target, the costs of its fits, and missing methods."""
    target = TARGETS[results.target]
    if results.case_study is not None:
        return _case_study(results.case_study)
    tables = _links(target, results.rows) if target.task == "links" else _classes(target, results)
    return "\n".join([*tables, _costs(results), *_missing(results)])


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown.

    >>> print(table(["method", "AUC"], [["LSA", "88.3"]]), end="")
    | method | AUC |
    | --- | --- |
    | LSA | 88.3 |
    """
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def shown(score: Score | None, *, with_spread: bool = True) -> str:
    """Format a score in per cent with its standard deviation; empty if it is missing."""
    if score is None:
        return NO_FIGURE
    spread = f" ± {100 * score.std:.1f}" if with_spread and score.std is not None else NO_FIGURE
    return f"{100 * score.mean:.1f}{spread}"


def _links(target: Target, rows: Sequence[Row]) -> list[str]:
    """Return a table for every protocol."""
    protocols = [name for name in PROTOCOLS if any(row.protocol == name for row in rows)]
    if len(target.variants) > 1:
        return [_variants_table(target, rows, protocol) for protocol in protocols]
    return [
        _compared_with_print(target, rows)
        if protocol == "published" and _printed_methods(target)
        else _protocol_table(target, rows, protocol)
        for protocol in protocols
    ]


def _printed_methods(target: Target) -> list[str]:
    """Return the methods of a target that are in the paper, in its order."""
    planned = {method for fits in target.fits for method in fits.methods}
    rows = [one.method for one in load_experiments() if one.network == target.network]
    return [method for method in rows if method in planned]


def _methods(target: Target, rows: Sequence[Row]) -> list[str]:
    """Return the methods of a table: those of the paper in its order, then others."""
    printed, measured = _printed_methods(target), {row.method for row in rows}
    return printed + [one for one in METHODS if one in measured and one not in printed]


def _compared_with_print(target: Target, rows: Sequence[Row]) -> str:
    """Return our figures by the published protocol, the paper's, and the differences."""
    lines = []
    for method in _methods(target, rows):
        found = [find_row(rows, method, "published", percent) for percent in target.percents]
        ours = [_shown_row(row, with_spread=False) for row in found]
        printed = printed_figures(target.network, method)
        if printed or any(ours):
            lines.append([method_name(method), "ours", *ours])
        if printed:
            differences = [
                f"{100 * row.main.mean - printed[row.percent]:+z.1f}" if row else NO_FIGURE
                for row in found
            ]
            lines.append([NO_FIGURE, "paper", *_shown_print(printed, target)])
            lines.append([NO_FIGURE, "difference", *differences])
    return table([PROTOCOLS["published"], NO_FIGURE, *_heads(target)], lines)


def _shown_print(printed: Mapping[int, float], target: Target) -> list[str]:
    return [f"{printed[percent]:.1f}" for percent in target.percents]


def _protocol_table(target: Target, rows: Sequence[Row], protocol: str) -> str:
    """Return our figures by a protocol that the paper does not use."""
    with_spread = len(target.percents) <= WIDEST_WITH_SPREAD
    lines = []
    for method in _methods(target, rows):
        found = [find_row(rows, method, protocol, percent) for percent in target.percents]
        figures = [_shown_row(row, with_spread=with_spread) for row in found]
        if any(figures):
            lines.append([method_name(method), *figures])
    return table([PROTOCOLS[protocol], *_heads(target)], lines)


def _variants_table(target: Target, rows: Sequence[Row], protocol: str) -> str:
    """Return a row per variant of the settings, below the paper's figures."""
    ((method,),) = (fits.methods for fits in target.fits)
    printed = printed_figures(target.network, method)
    lines = []
    if protocol == "published":
        lines.append(["Table 1 of the paper", *_shown_print(printed, target)])
    for variant in target.variants:
        figures = [
            _shown_row(find_row(rows, method, protocol, percent, variant.settings))
            for percent in target.percents
        ]
        if any(figures):
            lines.append([variant.name, *figures])
    named = f"{method_name(method)}, {PROTOCOLS[protocol]}"
    return table([named, *_heads(target)], lines)


def _classes(target: Target, results: Results) -> list[str]:
    """Return a table for every measure."""
    found = {(row.method, row.percent): row.scores for row in results.rows}
    methods = [method for method in METHODS if any(method == one for one, _ in found)]
    return [
        table(
            [caption, *_heads(target)],
            [
                [
                    method_name(method),
                    *(shown(found.get((method, one), {}).get(name)) for one in target.percents),
                ]
                for method in methods
            ],
        )
        for name, caption in MEASURES.items()
    ]


def _case_study(case: CaseStudy) -> str:
    rows = [
        [str(place), _title(own), f"{_title(printed)} ({printed.rank:,})"]
        for place, (own, printed) in enumerate(zip(case.closest, case.printed, strict=True), 1)
    ]
    heads = [NO_FIGURE, "ours", "the paper, and its rank in ours"]
    return (
        f"Query: *{case.query}*\n\n{table(heads, rows)}\n"
        "Bold titles are linked to the query in the data.\n"
    )


def _title(title: Title) -> str:
    return f"**{title.text}**" if title.linked else title.text


def _costs(results: Results) -> str:
    """Return seeds, largest standard deviation, time and memory of every method."""
    lines = []
    for method in METHODS:
        own = [row for row in results.rows if row.method == method]
        if own:
            counts = [len(row.main.values) for row in own]
            spreads = [row.main.std for row in own if row.main.std is not None]
            peak = max(row.peak_mb or 0 for row in own)
            lines.append(
                [
                    method_name(method),
                    _extremes(min(counts), max(counts)),
                    f"{100 * max(spreads):.1f}" if spreads else NO_FIGURE,
                    f"{results.median_seconds[method]:.1f}",
                    f"{peak:,.0f}",
                ]
            )
    return table(["method", "seeds", "± at most", "median seconds a fit", "peak MB"], lines)


def _missing(results: Results) -> list[str]:
    """List the methods that were not measured, or with fewer seeds than planned."""
    missing, short = [], []
    for method, (fewest, most, planned) in coverage(results).items():
        name = method_name(method)
        if most == 0:
            missing.append(name)
        elif fewest < planned:
            short.append(f"{name} ({_extremes(fewest, most)} of {planned})")
    notes = {"Not measured here yet": missing, "Measured with fewer seeds than planned": short}
    return [f"{what}: {', '.join(which)}.\n" for what, which in notes.items() if which]


def coverage(results: Results) -> dict[str, tuple[int, int, int]]:
    """Return the fewest, the most and the planned seeds of every method's figures."""
    plan = TARGETS[results.target].plan(results.network)
    planned = Counter(key for job in plan for key in _figures(job))
    measured = {
        _key(row.method, row.settings, row.protocol, row.percent): len(row.main.values)
        for row in results.rows
    }
    found = {}
    for method in METHODS:
        own = [key for key in planned if key[0] == method]
        if own:
            seeds = [measured.get(key, 0) for key in own]
            found[method] = min(seeds), max(seeds), max(planned[key] for key in own)
    return found


def _figures(job: Job) -> list[FigureKey]:
    """Return the figures that a fit contributes to; the case study has none."""
    if isinstance(job, LinkJob):
        percent = round(100 * job.train_fraction)
        return [_key(job.method, job.settings, job.protocol, percent)]
    shares = job.label_fractions if isinstance(job, ClassJob) else ()
    return [_key(job.method, job.settings, "", round(100 * share)) for share in shares]


def _key(method: str, settings: Mapping[str, object], protocol: str, percent: int) -> FigureKey:
    return method, json.dumps(settings, sort_keys=True), protocol, percent


def _shown_row(row: Row | None, *, with_spread: bool = True) -> str:
    return shown(None if row is None else row.main, with_spread=with_spread)


def _heads(target: Target) -> list[str]:
    return [f"{percent} %" for percent in target.percents]


def _extremes(fewest: int, most: int) -> str:
    return f"{fewest}" if fewest == most else f"{fewest} to {most}"
