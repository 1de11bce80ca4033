"""The unit of every evaluation: one fit of one method, and its scores.

The result of a job depends only on its fields and the network, so it is computed once and stored.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from typing import Any, ClassVar, Protocol, runtime_checkable

import scipy.sparse as sp
from torch import Tensor

from dmte.embedding.method import LearnsFromLabels, Method, unavailable_reason
from dmte.errors import ConfigError
from dmte.evaluation.classification import LABEL_FRACTIONS, ClassTask, class_task
from dmte.evaluation.link_prediction import PROTOCOLS, LinkTask, every_edge_task
from dmte.evaluation.methods import (
    choose_methods,
    configure,
    describe_settings,
    find_method,
    settings_for_features,
)
from dmte.network import TextualNetwork
from dmte.recipes import PAPER
from dmte.runtime.memory import Measured, measure
from dmte.training.method import DmteMethod

DIGITS = 5
"""Decimals of a stored score between 0 and 1."""
EVERY_EDGE = "every-edge"
"""Scoring of the released script, an experiment that does not compare methods."""

_TASKS = {**PROTOCOLS, EVERY_EDGE: every_edge_task}


@runtime_checkable
class HasVectors(Protocol):
    """A fitted method with a vector per vertex, which classification needs."""

    vectors: Tensor | sp.csr_array


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(ABC):
    """One fit: a method with its settings, on a network, with a seed."""

    kind: ClassVar[str]
    """The name of the class in stored results, which must not change."""
    network: str
    """The network's name and the beginning of its fingerprint."""
    method: str
    settings: dict[str, Any] = field(default_factory=dict)
    """Settings that differ from the method's own."""
    seed: int

    @property
    def key(self) -> str:
        """The description as one line of JSON."""
        return json.dumps(self.describe(), sort_keys=True)

    def describe(self) -> dict[str, Any]:
        """Return the fields and a digest of all settings, defaults included.

        The digest omits settings of DMTE that equal the paper's, so that new settings do not change
        it for the paper's versions.
        """
        method = self.configured_method()
        settings = describe_settings(method)
        if isinstance(method, DmteMethod):
            paper = PAPER.to_dict()
            settings = {name: value for name, value in settings.items() if value != paper[name]}
        digest = sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:12]
        return {"kind": self.kind} | asdict(self) | {"settings_digest": digest}

    @property
    def condition(self) -> str:
        """The share of training edges or labels as text; empty if there is no choice."""
        return ""

    @property
    def kind_of_fit(self) -> str:
        """The method and the condition as text."""
        return ", ".join(filter(None, (self.method, self.condition)))

    def title(self) -> str:
        """Return the method, condition and seed as text."""
        return f"{self.kind_of_fit}, seed {self.seed}"

    def configured_method(self) -> Method:
        """Return the method with this job's settings."""
        method = find_method(self.method)
        return configure(method, self.settings) if self.settings else method

    @abstractmethod
    def check(self, network: TextualNetwork) -> None:
        """Split the network without a fit.

        Raises:
            SplitError: The network does not allow this split.
        """

    @abstractmethod
    def run(self, network: TextualNetwork) -> dict[str, Any]:
        """Fit and score; return scores, time and memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkJob(Job):
    """Link prediction at one training fraction."""

    kind: ClassVar[str] = "LinkCell"

    protocol: str
    train_fraction: float

    def run(self, network: TextualNetwork) -> dict[str, Any]:
        """Fit and score; return scores by dot product and cosine, and counts of leaks."""
        task = self._task(network)
        fit = measure(lambda: self.configured_method().fit(task.train, self.seed))
        ways, leaks = task.evaluate_ways(fit.result), task.leaks()
        return {
            "scores": {way: _rounded(figures) for way, figures in ways.items()},
            "hidden_edges": len(task.edges),
            "self_loops": leaks.self_loops,
            "trained_on": leaks.trained_on,
            **({"unscored_edges": task.num_unscored} if task.num_unscored else {}),
        } | cost(fit)

    @property
    def condition(self) -> str:
        """The share of edges and the protocol."""
        return f"{100 * self.train_fraction:g} % {self.protocol}"

    def check(self, network: TextualNetwork) -> None:
        """Split the edges."""
        self._task(network)

    def _task(self, network: TextualNetwork) -> LinkTask:
        return _TASKS[self.protocol](network, self.train_fraction, self.seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassJob(Job):
    """Classification with vectors from all edges, at several shares of the labelled vertices."""

    kind: ClassVar[str] = "ClassCell"

    label_fractions: tuple[float, ...] = LABEL_FRACTIONS

    def run(self, network: TextualNetwork) -> dict[str, Any]:
        """Fit and score at every share; the seed draws vectors and splits."""
        tasks = self._tasks(network)
        method = self.method_for(network)
        unlabelled = replace(network, labels=None)  # Hides the test labels.
        fit = measure(lambda: method.fit(unlabelled, self.seed))
        if not isinstance(fit.result, HasVectors):
            raise ConfigError(f"{self.method} has no vectors to classify vertices by")
        vectors = fit.result.vectors
        scores = {share: _rounded(asdict(task.evaluate(vectors))) for share, task in tasks.items()}
        return {"scores": scores} | cost(fit)

    @property
    def condition(self) -> str:
        """The share of labels, if there is only one."""
        if len(self.label_fractions) > 1:
            return ""
        return f"{100 * self.label_fractions[0]:g} % labelled"

    def method_for(self, network: TextualNetwork) -> Method:
        """Return the method, with the training labels if it learns from labels.

        Raises:
            ConfigError: The method learns from labels, and the job has several shares.
        """
        method = self.configured_method()
        if not isinstance(method, LearnsFromLabels):
            return method
        if len(self.label_fractions) > 1:
            raise ConfigError(
                f"{self.method} learns from the labels of one share of the vertices, so it needs "
                f"one fit per share; use {len(self.label_fractions)} jobs, one per share"
            )
        (task,) = self._tasks(network).values()
        return method.with_labels(task.known_labels(network))

    def check(self, network: TextualNetwork) -> None:
        """Split the labelled vertices."""
        self._tasks(network)

    def _tasks(self, network: TextualNetwork) -> dict[str, ClassTask]:
        return {
            f"{share:g}": class_task(network, share, self.seed) for share in self.label_fractions
        }


def link_jobs(
    network: str,
    methods: Sequence[str],
    train_fractions: Sequence[float],
    protocols: Sequence[str],
    num_seeds: int,
    *,
    from_features: bool = False,
) -> list[LinkJob]:
    """List a job per method, training fraction, protocol and seed, seed by seed.

    Repeated values count once, since repeated fits would narrow the interval. With
    ``from_features``, versions of DMTE read the features of the vertices instead of the texts.

    Raises:
        ConfigError: A method or protocol does not exist, or a number is out of range.
    """
    unknown = sorted(set(protocols) - set(PROTOCOLS))
    if unknown:
        raise ConfigError(f"protocol must be one of {', '.join(PROTOCOLS)}, not {unknown[0]}")
    _check_fractions("train_fraction", train_fractions)
    return [
        LinkJob(
            network=network,
            method=method,
            settings=settings_for_features(method) if from_features else {},
            protocol=protocol,
            train_fraction=fraction,
            seed=seed,
        )
        for seed in _seeds(num_seeds)
        for method in choose_methods(methods, task="links", from_features=from_features)
        for fraction in dict.fromkeys(train_fractions)
        for protocol in dict.fromkeys(protocols)
    ]


def class_jobs(
    network: str,
    methods: Sequence[str],
    label_fractions: Sequence[float],
    num_seeds: int,
    *,
    from_features: bool = False,
) -> list[ClassJob]:
    """List a job per method and seed; repeated values and features are as in ``link_jobs``.

    A method that learns from labels has a job per share of labels.

    Raises:
        ConfigError: A method does not exist or has no vectors, or a number is out of range.
    """
    _check_fractions("label_fraction", label_fractions)
    return [
        ClassJob(
            network=network,
            method=method,
            settings=settings_for_features(method) if from_features else {},
            label_fractions=shares,
            seed=seed,
        )
        for seed in _seeds(num_seeds)
        for method in choose_methods(methods, task="classes", from_features=from_features)
        for shares in _shares_per_fit(method, tuple(dict.fromkeys(label_fractions)))
    ]


def _shares_per_fit(method: str, shares: tuple[float, ...]) -> list[tuple[float, ...]]:
    if isinstance(find_method(method), LearnsFromLabels):
        return [(share,) for share in shares]
    return [shares]


def unable(jobs: Iterable[Job]) -> dict[str, str]:
    """Return the methods among the jobs that cannot run here, with the reasons."""
    different = {(job.method, json.dumps(job.settings)): job for job in jobs}
    reasons = {
        job.method: unavailable_reason(job.configured_method()) for job in different.values()
    }
    return {method: reason for method, reason in reasons.items() if reason is not None}


def cost(fit: Measured[Any]) -> dict[str, Any]:
    """Return the time and memory of a fit."""
    return {
        "fit_seconds": round(fit.seconds, 2),
        "peak_mb": None if fit.peak_mb is None else round(fit.peak_mb),
    }


def _check_fractions(name: str, fractions: Sequence[float]) -> None:
    wrong = [fraction for fraction in fractions if not 0 < fraction < 1]
    if wrong:
        raise ConfigError(f"{name} must be between 0 and 1, not {wrong[0]:g}")
    if not fractions:
        raise ConfigError(f"give at least one {name}")


def _seeds(num_seeds: int) -> range:
    if num_seeds < 1:
        raise ConfigError(f"seeds must be at least 1, not {num_seeds}")
    return range(num_seeds)


def _rounded(scores: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, DIGITS) for name, value in scores.items()}
