"""The figures of the paper, drawn from measured results."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from dmte.evaluation.paper.results import Results, Row, find_row
from dmte.evaluation.paper.targets import TARGETS
from dmte.plotting.figure import Line, draw_lines

Content = tuple[list[Line], tuple[str, str]]
"""Lines, and the names of the axes."""


def draw_figure(results: Results, paths: Sequence[Path]) -> None:
    """Draw the results of a target to every path, if it is a figure in the paper.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    if results.target in FIGURES:
        draw_lines(*FIGURES[results.target](results), paths)


def _hops(results: Results) -> Content:
    """Return AUC over the number of hops, a line per share of the edges."""
    lines = []
    for percent in sorted({row.percent for row in results.rows}):
        found = {
            hops: find_row(results.rows, "dmte-paper", "published", percent, variant.settings)
            for hops, variant in enumerate(TARGETS[results.target].variants, start=1)
        }
        measured = {hops: row for hops, row in found.items() if row is not None}
        lines.append(_line(f"{percent} % of the edges", measured))
    return lines, ("hops H", "AUC, published protocol, %")


def _classes(results: Results) -> Content:
    """Return Macro-F1 over the share of labelled vertices, a line per method."""
    lines = [
        _line(method, {row.percent: row for row in results.rows if row.method == method})
        for method in dict.fromkeys(row.method for row in results.rows)
    ]
    return lines, ("labelled vertices trained on, %", "Macro-F1, %")


def _line(name: str, rows: Mapping[int, Row]) -> Line:
    return Line(
        name,
        x=list(rows),
        y=[100 * row.main.mean for row in rows.values()],
        spread=[100 * (row.main.std or 0) for row in rows.values()],
    )


FIGURES: Mapping[str, Callable[[Results], Content]] = MappingProxyType(
    {"hops": _hops, "dblp-classes": _classes}
)
"""Targets that are figures in the paper."""
