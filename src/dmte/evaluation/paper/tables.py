"""The rows of the paper's tables as data: one TOML file each, in ``experiments/``.

A file names the method, its settings and the printed figures.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dmte.errors import StorageError
from dmte.runtime.experiment_files import experiment_files
from dmte.settings import NUM_SEEDS as NUM_SEEDS

PERCENTS = (15, 25, 35, 45, 55, 65, 75, 85, 95)
"""The shares of the edges that Tables 1 and 2 train on."""
NAMES: Mapping[str, str] = MappingProxyType(
    {
        "tridnr-labels": "TriDNR with labels",
        "random": "random vectors",
        "adamic-adar": "Adamic-Adar",
        "tfidf": "TF-IDF",
        "lsa": "LSA",
        "lsa-diffused": "LSA diffused",
        "fastrp": "FastRP",
        "sentence": "sentence encoder",
        "sentence-diffused": "sentence encoder diffused",
        "dmte-paper": "DMTE (WAvg)",
        "dmte-released": "the authors' program",
    }
)
"""Names in tables for methods that the paper lacks or names in several ways."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One row of a table."""

    table: int
    order: int
    """The position in the table, from 1."""
    row: str
    """The name in the paper."""
    network: str
    method: str
    variant: str | None = None
    """The version of DMTE, if any."""
    seeds: int = NUM_SEEDS
    quick: bool = True
    """Whether a quick run includes it."""
    settings: Mapping[str, Any]
    """Settings that differ from the method's defaults."""
    printed: Mapping[int, float]
    """AUC in per cent by the percentage of edges trained on."""


@cache
def load_experiments() -> tuple[Experiment, ...]:
    """Read every row of every table, in the order of the paper.

    Raises:
        StorageError: A file is damaged, or there are no files.
    """
    found = [_load(path) for path in experiment_files()]
    return tuple(sorted(found, key=lambda experiment: (experiment.table, experiment.order)))


def method_name(method: str) -> str:
    """Return the name of a method in the paper, or ours if the paper does not have it."""
    rows = {row.method: row.row for row in load_experiments()}
    return NAMES.get(method) or rows.get(method) or method


def printed_figures(network: str, method: str) -> Mapping[int, float]:
    """Return the printed AUCs by the percentage trained on; empty if the paper has none."""
    rows = load_experiments()
    return next((row.printed for row in rows if (row.network, row.method) == (network, method)), {})


def with_tuples(value: Any) -> Any:
    """Replace the lists of TOML or JSON by tuples, as settings have them."""
    if isinstance(value, dict):
        return {name: with_tuples(one) for name, one in value.items()}
    return tuple(map(with_tuples, value)) if isinstance(value, list) else value


def _load(path: Path) -> Experiment:
    try:
        values = tomllib.loads(path.read_text("utf-8"))
        values["printed"] = {int(percent): figure for percent, figure in values["printed"].items()}
        return Experiment(**values)
    except (tomllib.TOMLDecodeError, TypeError, KeyError, ValueError) as problem:
        raise StorageError(f"{path} is not a row of a table: {problem}") from problem
