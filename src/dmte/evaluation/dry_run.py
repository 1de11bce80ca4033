"""The number of fits of an evaluation, with the recorded seconds of earlier fits."""

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
    """The share of training edges or labels, as in "50 % strict"; empty if all are used."""
    num_fits: int
    recorded_seconds: float | None
    """Median seconds of the recorded fits; ``None`` if there are none."""


def plan(
    jobs: Iterable[Job], recorded: Iterable[tuple[Job, Mapping[str, Any]]] = ()
) -> list[Planned]:
    """Count the jobs by method and condition, in their order."""
    seconds: dict[tuple[str, str], list[float]] = {}
    for job, result in recorded:
        seconds.setdefault((job.method, job.condition), []).append(result["fit_seconds"])
    counts = Counter((job.method, job.condition) for job in jobs)
    return [
        Planned(
            method=key[0],
            condition=key[1],
            num_fits=count,
            recorded_seconds=median(seconds[key]) if key in seconds else None,
        )
        for key, count in counts.items()
    ]
