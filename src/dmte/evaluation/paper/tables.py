"""Rows of the paper's tables as data: one TOML file each, in ``experiments/``.

A file names the method, its settings and the figures that were printed. They are kept at the top of
the repository for people, and in the package when it is installed.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dmte.errors import StorageError
from dmte.settings import NUM_SEEDS as NUM_SEEDS

PERCENTS = (15, 25, 35, 45, 55, 65, 75, 85, 95)
"""The shares of the edges that Tables 1 and 2 train on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One row of a table."""

    table: int
    order: int
    """Its place in the table, from 1."""
    row: str
    """What the paper calls it."""
    network: str
    method: str
    variant: str | None = None
    """The version of DMTE, if it is one."""
    seeds: int = NUM_SEEDS
    quick: bool = True
    """Whether a quick run includes it."""
    settings: Mapping[str, Any]
    """What differs from the method's defaults."""
    printed: Mapping[int, float]
    """AUC in per cent by the percentage of edges trained on."""


@cache
def load_experiments() -> tuple[Experiment, ...]:
    """Return every row of every table, in the order of the paper.

    Raises:
        StorageError: A file is not what it should be, or there is none.
    """
    found = [_load(path) for path in sorted(_folder().glob("*.toml"))]
    if not found:
        raise StorageError(f"there are no experiments in {_folder()}; the installation is damaged")
    return tuple(sorted(found, key=lambda experiment: (experiment.table, experiment.order)))


def _folder() -> Path:
    installed = Path(__file__).parents[2] / "experiments"
    return installed if installed.is_dir() else Path(__file__).parents[4] / "experiments"


def _load(path: Path) -> Experiment:
    try:
        values = tomllib.loads(path.read_text("utf-8"))
        values["printed"] = {int(percent): figure for percent, figure in values["printed"].items()}
        return Experiment(**values)
    except (tomllib.TOMLDecodeError, TypeError, KeyError, ValueError) as problem:
        raise StorageError(f"{path} is no experiment: {problem}") from problem
