"""How much of what a target plans was measured.

A table shows what is there and hides what is not. So every figure is counted twice, in how many
seeds it is planned and in how many it was measured, and a method is told by the extremes of its
figures: its ratios, protocols, settings or shares of labels.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dmte.evaluation.jobs import Cell, ClassCell, LinkCell
from dmte.evaluation.methods import METHODS
from dmte.evaluation.paper.targets import TARGETS

Figure = tuple[str, ...]
"""A method, its settings and what it was asked."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """Seeds of a method on a target."""

    method: str
    planned: int
    fewest: int
    """Of the figure with the fewest; 0 where one is missing."""
    most: int

    @property
    def is_missing(self) -> bool:
        """Whether nothing of it was measured."""
        return self.most == 0

    @property
    def is_short(self) -> bool:
        """Whether it was measured, and not as often as planned."""
        return not self.is_missing and self.fewest < self.planned


def coverage(results: Mapping[str, Any]) -> list[Coverage]:
    """Return every method that is planned for the target of the results, in the usual order."""
    cells = TARGETS[results["target"]].plan(results["network"]["name"])
    planned = Counter(figure for cell in cells for figure in _asked_of(cell))
    measured = {_figure(row): _num_seeds(row) for row in results["rows"] if "method" in row}
    found = []
    for method in METHODS:
        own = [figure for figure in planned if figure[0] == method]
        if own:
            seeds = [measured.get(figure, 0) for figure in own]
            most_planned = max(planned[figure] for figure in own)
            found.append(Coverage(method, most_planned, min(seeds), max(seeds)))
    return found


def _asked_of(cell: Cell) -> list[Figure]:
    """Return the figures a cell is a seed of; the case study has none."""
    fields: dict[str, Any] = {"method": cell.method, "settings": cell.settings}
    if isinstance(cell, LinkCell):
        more = {"protocol": cell.protocol, "train_fraction": cell.train_fraction}
        return [_figure(fields | more)]
    if isinstance(cell, ClassCell):
        return [_figure(fields | {"label_fraction": share}) for share in cell.label_fractions]
    return []


def _figure(row: Mapping[str, Any]) -> Figure:
    """Return what a row is about, whichever way pairs are scored; JSON has lists for tuples."""
    settings = json.dumps(row["settings"], sort_keys=True)
    if "label_fraction" in row:
        return row["method"], settings, f"{row['label_fraction']:g}"
    return row["method"], settings, row["protocol"], f"{row['train_fraction']:g}"


def _num_seeds(row: Mapping[str, Any]) -> int:
    return len(row["macro_f1" if "macro_f1" in row else "auc"]["values"])
