"""The result of a search: trials, the comparison on fresh splits, and the chosen settings."""

import math
import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from dmte.metrics import NOISE
from dmte.settings import Settings


@dataclass(frozen=True, slots=True)
class Trial:
    """One point of the search space and its scores."""

    number: int
    point: Mapping[str, Any]
    settings: Settings
    aucs: tuple[float, ...]
    """AUC on the tuning edges, per split."""
    seconds: float
    is_complete: bool
    problem: str | None = None
    """The reason why training failed, if it did."""

    @property
    def auc(self) -> float:
        """The mean over splits."""
        return statistics.fmean(self.aucs) if self.aucs else math.nan

    @property
    def seconds_a_fit(self) -> float:
        """Mean seconds of one training."""
        return self.seconds / max(len(self.aucs), 1)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Trial":
        """Restore a trial from ``to_dict``."""
        settings = Settings.from_dict(values["settings"])
        return cls(**{**values, "settings": settings, "aucs": tuple(values["aucs"])})


@dataclass(frozen=True, slots=True)
class Check:
    """AUC of the best trial and the default on one fresh split."""

    trial: int
    split: int
    best: float
    default: float
    error: float
    """DeLong's standard error of the difference."""
    seconds: float

    @property
    def difference(self) -> float:
        """AUC of the best minus that of the default."""
        return self.best - self.default


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a search."""

    network: str
    """The network's fingerprint."""
    seed: int
    num_trials: int
    num_splits: int
    default: Trial
    best: Trial
    """The trial with the highest AUC, possibly the default."""
    checks: tuple[Check, ...]
    """Comparisons on fresh splits; empty if the best is the default."""

    @property
    def gain(self) -> float:
        """Mean difference of the best and the default on fresh splits."""
        return statistics.fmean(check.difference for check in self.checks) if self.checks else 0.0

    @property
    def error(self) -> float:
        """The standard error of the gain."""
        count = len(self.checks)
        if not count:
            return 0.0
        within = math.sqrt(sum(check.error**2 for check in self.checks)) / count
        if count == 1:
            return within
        spread = statistics.stdev(check.difference for check in self.checks) / math.sqrt(count)
        return max(within, spread)

    @property
    def is_better(self) -> bool:
        """Whether the best beats the default by more than noise."""
        return bool(self.checks) and self.gain > NOISE * self.error

    @property
    def is_worse(self) -> bool:
        """Whether the default beats the best by more than noise."""
        return bool(self.checks) and self.gain < -NOISE * self.error

    @property
    def settings(self) -> Settings:
        """The best trial's settings if it is better, otherwise the default."""
        return (self.best if self.is_better else self.default).settings

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "network": self.network,
            "seed": self.seed,
            "trials": self.num_trials,
            "kept": "best" if self.is_better else "default",
            "settings": self.settings.to_dict(),
            "search": {
                "splits": self.num_splits,
                "default": _figures(self.default),
                "best": _figures(self.best),
            },
            "fresh": None if not self.checks else self._fresh(),
        }

    def _fresh(self) -> dict[str, Any]:
        return {
            "splits": len(self.checks),
            "default": statistics.fmean(check.default for check in self.checks),
            "best": statistics.fmean(check.best for check in self.checks),
            "difference": self.gain,
            "standard_error": self.error,
        }


def _figures(trial: Trial) -> dict[str, Any]:
    return {
        "trial": trial.number,
        "auc": trial.auc,
        "aucs": list(trial.aucs),
        "fit_seconds": round(trial.seconds_a_fit, 3),
    }
