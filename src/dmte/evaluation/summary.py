"""Summaries of results: mean, standard deviation and confidence interval over seeds."""

import json
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from typing import Any

from dmte.embedding.method import NeedsMore
from dmte.evaluation.classification import LABEL_FRACTIONS
from dmte.evaluation.jobs import DIGITS, ClassJob, Job, LinkJob, class_jobs, link_jobs
from dmte.evaluation.methods import METHODS, describe_settings
from dmte.metrics import CLASS_METRICS, LINK_METRICS
from dmte.network import TextualNetwork
from dmte.runtime.provenance import environment, machine

CONFIDENCE = 0.95

LIBRARIES = ("numpy", "scipy", "scikit-learn")
"""Libraries whose versions are recorded, besides torch."""

Results = Iterable[tuple[Job, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Summary:
    """A figure over seeds."""

    mean: float
    std: float | None
    """The standard deviation over seeds; ``None`` for a single seed."""
    interval: tuple[float, float] | None
    """The 95 % confidence interval of the mean by Student's t."""
    values: Sequence[float]


def summarize(values: Sequence[float]) -> Summary:
    """Return mean, standard deviation and 95 % interval of one value per seed.

    >>> summarize([0.9, 0.92]).interval
    (0.78294, 1.03706)
    """
    from scipy.stats import t as student

    mean = statistics.fmean(values)
    if len(values) < 2:
        return Summary(round(mean, DIGITS), None, None, values)
    std = statistics.stdev(values)
    reach = float(student.ppf((1 + CONFIDENCE) / 2, len(values) - 1)) * std / math.sqrt(len(values))
    interval = (round(mean - reach, DIGITS), round(mean + reach, DIGITS))
    return Summary(round(mean, DIGITS), round(std, DIGITS), interval, values)


def link_results(results: Results) -> list[dict[str, Any]]:
    """Return a row per method, protocol, training fraction and way to score."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for job, result in _by_seed(results, LinkJob):
        for way in result["scores"]:
            key = (job.method, _settings_key(job), job.protocol, job.train_fraction, way)
            groups.setdefault(key, []).append(result)
    return [
        {
            "method": method,
            "settings": dict(settings),
            "protocol": protocol,
            "train_fraction": fraction,
            "score": way,
        }
        | _figures([result["scores"][way] for result in group], LINK_METRICS)
        | _costs(group)
        | {
            name: round(statistics.fmean(result.get(name, 0) for result in group), 1)
            for name in ("hidden_edges", "unscored_edges", "self_loops", "trained_on")
            if any(name in result for result in group)
        }
        for (method, settings, protocol, fraction, way), group in groups.items()
    ]


def class_results(results: Results) -> list[dict[str, Any]]:
    """Return a row per method and share of labelled vertices."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for job, result in _by_seed(results, ClassJob):
        for share in result["scores"]:
            groups.setdefault((job.method, _settings_key(job), share), []).append(result)
    return [
        {"method": method, "settings": dict(settings), "label_fraction": float(share)}
        | _figures([result["scores"][share] for result in group], CLASS_METRICS)
        | _costs(group)
        for (method, settings, share), group in groups.items()
    ]


def median_seconds(results: Results) -> dict[str, float]:
    """Return the median seconds of each method's fits.

    Other load on the machine makes some fits several times slower, which a median ignores.
    """
    seconds: dict[str, list[float]] = {}
    for job, result in results:
        seconds.setdefault(job.method, []).append(result["fit_seconds"])
    return {method: round(statistics.median(taken), 2) for method, taken in seconds.items()}


def evaluate_links(
    network: TextualNetwork,
    methods: Sequence[str],
    train_fractions: Sequence[float],
    *,
    protocol: str = "strict",
    num_seeds: int = 10,
) -> list[dict[str, Any]]:
    """Evaluate link prediction on ``network``; rows are those of ``link_results``.

    If it has features, versions of DMTE learn from those and other methods from the texts.

    >>> from dmte.network import read_network
    >>> rows = evaluate_links(read_network("concepts"), ["tfidf"], [0.5], num_seeds=2)
    >>> rows[0]["method"], len(rows[0]["auc"]["values"])
    ('tfidf', 2)

    Raises:
        ConfigError: A method or the protocol does not exist.
        SplitError: The network does not allow this split.
    """
    fractions, has_features = train_fractions, network.features is not None
    jobs = link_jobs("", methods, fractions, [protocol], num_seeds, from_features=has_features)
    return link_results((job, job.run(network)) for job in jobs)


def evaluate_classes(
    network: TextualNetwork,
    methods: Sequence[str],
    label_fractions: Sequence[float] = LABEL_FRACTIONS,
    *,
    num_seeds: int = 10,
) -> list[dict[str, Any]]:
    """Evaluate classification on ``network``; rows are those of ``class_results``.

    If it has features, versions of DMTE learn from those and other methods from the texts.

    Raises:
        ConfigError: A method does not exist or has no vectors.
        SplitError: The labels of the network do not allow this split.
    """
    has_features = network.features is not None
    jobs = class_jobs("", methods, label_fractions, num_seeds, from_features=has_features)
    return class_results((job, job.run(network)) for job in jobs)


def provenance(jobs: Iterable[Job]) -> dict[str, Any]:
    """Return versions and machine of this process, and the seeds and settings of the jobs."""
    jobs = list(jobs)
    return {
        "versions": environment()["versions"] | {name: version(name) for name in LIBRARIES},
        "threads": 1,
        "machine": machine(),
        "seeds": sorted({job.seed for job in jobs}),
        "settings": {job.method: _own_settings(job) for job in jobs},
    }


def made_by(results: Results) -> list[dict[str, Any]]:
    """Count the jobs by build, the most frequent first; older results have no build."""
    makers = Counter(json.dumps(result.get("made")) for _, result in results)
    return [{"by": json.loads(made), "cells": count} for made, count in makers.most_common()]


def _own_settings(job: Job) -> dict[str, Any]:
    """Return a method's settings without a job's changes, which every row has."""
    method = job.configured_method()
    if isinstance(method, NeedsMore):  # The job's fingerprint replaces a missing model.
        return describe_settings(method)
    return describe_settings(replace(job, settings={}).configured_method())


def _by_seed(results: Results, kind: type[Job]) -> list[tuple[Any, Mapping[str, Any]]]:
    """Sort the jobs of one kind by method and seed."""
    order = {name: position for position, name in enumerate(METHODS)}
    return sorted(
        ((job, result) for job, result in results if isinstance(job, kind)),
        key=lambda pair: (order[pair[0].method], pair[0].seed),
    )


def _settings_key(job: Job) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(job.settings.items()))


def _figures(scores: Sequence[Mapping[str, float]], names: Iterable[str]) -> dict[str, Any]:
    """Summarize every metric that all results have; older ones may lack a new metric."""
    return {
        name: asdict(summarize([score[name] for score in scores]))
        for name in names
        if all(name in score for score in scores)
    }


def _costs(group: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the mean and the minimum time of the fits, and their peak memory."""
    peaks = [result["peak_mb"] for result in group if result.get("peak_mb") is not None]
    seconds = [result["fit_seconds"] for result in group]
    return {
        "fit_seconds": round(statistics.fmean(seconds), 2),
        "fastest_seconds": min(seconds),
        "peak_mb": max(peaks, default=None),
    }
