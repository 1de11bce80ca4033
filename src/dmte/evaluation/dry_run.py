"""The number of fits an evaluation makes, and the seconds recorded of earlier fits of that kind."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from dmte.evaluation.jobs import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """The fits of one method under one condition."""

    method: str
    condition: str
    """The share of edges or labels learned from, as in "50 % strict"; empty if all are used."""
    num_fits: int
    recorded_seconds: float | None
    """Median seconds of the recorded fits of this kind; None without any."""


def plan(
    jobs: Iterable[Job], recorded: Iterable[tuple[Job, Mapping[str, Any]]] = ()
) -> list[Planned]:
    """Count the jobs by method and condition, in the order they come."""
    seconds: dict[tuple[str, str], list[float]] = {}
    for job, result in recorded:
        seconds.setdefault((job.method, job.condition), []).append(result["fit_seconds"])
    counts = Counter((job.method, job.condition) for job in jobs)
    return [
        Planned(
            method=method,
            condition=condition,
            num_fits=count,
            recorded_seconds=median(seconds[method, condition])
            if (method, condition) in seconds
            else None,
        )
        for (method, condition), count in counts.items()
    ]
