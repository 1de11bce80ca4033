"""The tables and figures of the paper as targets, with the fits each needs.

A target is a TOML file in ``experiments/targets/``, named after it. It has a folder of results with
all finished fits, so that an interrupted run resumes and a longer run reuses a quick one.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dmte.errors import StorageError
from dmte.evaluation.jobs import EVERY_EDGE, Job, LinkJob, class_jobs
from dmte.evaluation.link_prediction import PROTOCOLS
from dmte.evaluation.methods import METHODS
from dmte.evaluation.paper.case_study import CaseJob
from dmte.evaluation.paper.journal import Journal
from dmte.evaluation.paper.tables import load_experiments, with_tuples
from dmte.evaluation.summary import class_results, link_results, made_by, median_seconds, provenance
from dmte.network import TextualNetwork
from dmte.runtime.experiment_files import experiment_files

TASKS = ("links", "classes", "case-study")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fits:
    """Methods that are fitted with the same number of seeds and the same settings."""

    methods: tuple[str, ...]
    seeds: int
    slow: bool = False
    """Whether a quick run leaves them out unless they are named."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings that differ from the methods' defaults."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """Settings that a target compares, with their name in its table."""

    name: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    quick: bool = True
    """Whether a quick run includes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A table or figure of the paper, or an additional one."""

    name: str
    title: str
    place: int
    """The position among the targets, from 1."""
    network: str
    task: str
    groups: tuple[str, ...] = ()
    """Names under which several targets are reproduced together."""
    percents: tuple[int, ...] = ()
    """Shares of training edges or labelled vertices."""
    protocols: tuple[str, ...] = ()
    quick_percents: tuple[int, ...] = ()
    """Shares of the edges in a quick run; it has all shares of the labelled vertices."""
    quick_seeds: int
    fits: tuple[Fits, ...]
    variants: tuple[Variant, ...] = (Variant(),)

    def __post_init__(self) -> None:
        """Check the names in the target.

        Raises:
            ValueError: A task, protocol or method is unknown.
        """
        _check("task", [self.task], TASKS)
        _check("protocol", self.protocols, (*PROTOCOLS, EVERY_EDGE))
        _check("method", [method for fits in self.fits for method in fits.methods], METHODS)

    def jobs(
        self, network: TextualNetwork, *, quick: bool = False, slow_too: bool = False
    ) -> list[Job]:
        """Return the fits on a network, seed by seed; see ``plan``."""
        name = f"{self.network} {network.fingerprint()[:12]}"
        return self.plan(name, quick=quick, slow_too=slow_too)

    def plan(self, network: str, *, quick: bool = False, slow_too: bool = False) -> list[Job]:
        """Return the fits on the network of this name and fingerprint, seed by seed.

        A quick run has few seeds and ratios, and slow methods only if ``slow_too``.
        """
        variants = [one for one in self.variants if one.quick or not quick]
        percents = self.quick_percents if quick and self.task == "links" else self.percents
        jobs: list[Job] = []
        for fits in self.fits:
            if quick and fits.slow and not slow_too:
                continue
            seeds = min(fits.seeds, self.quick_seeds) if quick else fits.seeds
            plain = self._plain_jobs(network, fits.methods, percents, seeds)
            jobs += [
                replace(job, settings={**fits.settings, **variant.settings})
                for job in plain
                for variant in variants
            ]
        return sorted(jobs, key=lambda job: job.seed)

    def _plain_jobs(
        self, network: str, methods: tuple[str, ...], percents: tuple[int, ...], num_seeds: int
    ) -> Iterable[Job]:
        """List the fits of methods with their default settings."""
        if self.task == "classes":
            shares = [percent / 100 for percent in percents]
            return class_jobs(network, methods, shares, num_seeds)
        each = [(method, seed) for seed in range(num_seeds) for method in methods]
        if self.task == "case-study":
            return [CaseJob(network=network, method=method, seed=seed) for method, seed in each]
        return [
            LinkJob(
                network=network,
                method=method,
                seed=seed,
                protocol=protocol,
                train_fraction=percent / 100,
            )
            for method, seed in each
            for percent in percents
            for protocol in self.protocols
        ]

    def results(self, network: TextualNetwork, journal: Journal) -> dict[str, Any]:
        """Summarize the finished fits and their builds."""
        done = [(job, journal[job]) for job in self.jobs(network) if job in journal]
        rows = link_results(done) + class_results(done)
        cases = [result for job, result in done if isinstance(job, CaseJob)]
        rows += [{name: case[name] for name in case if name != "made"} for case in cases]
        about = {
            "name": self.network,
            "vertices": network.num_vertices,
            "edges": len(network.edges),
            "fingerprint": network.fingerprint(),
        }
        context = provenance(job for job, _ in done)
        of_jobs = {"made": made_by(done), "median_seconds": median_seconds(done)}
        head = {"target": self.name, "title": self.title, "network": about}
        return head | context | of_jobs | {"rows": rows}


def journal_of(folder: Path, target: Target) -> Journal:
    """Return the finished fits of a target."""
    return Journal(folder / target.name / "cells.jsonl")


def load_target(path: Path) -> Target:
    """Read a target from its file.

    Raises:
        StorageError: The file is not valid.
    """
    try:
        values = with_tuples(tomllib.loads(path.read_text("utf-8")))
        fits = tuple(fits for entry in values.pop("fits") for fits in _read_fits(entry))
        if "variants" in values:
            values["variants"] = tuple(Variant(**entry) for entry in values["variants"])
        return Target(name=path.stem, fits=fits, **values)
    except (tomllib.TOMLDecodeError, TypeError, KeyError, ValueError) as problem:
        raise StorageError(f"{path} is not a target: {problem}") from problem


def _read_fits(entry: Mapping[str, Any]) -> list[Fits]:
    """Read an entry of ``fits``; ``rows_of`` means every row of the paper on a network."""
    if set(entry) != {"rows_of"}:
        return [Fits(**entry)]
    rows = [row for row in load_experiments() if row.network == entry["rows_of"]]
    if not rows:
        raise ValueError(f"rows_of: the paper has no table of {entry['rows_of']!r}")
    return [
        Fits(methods=(row.method,), seeds=row.seeds, slow=not row.quick, settings=row.settings)
        for row in rows
    ]


def _check(kind: str, names: Iterable[str], known: Iterable[str]) -> None:
    known = tuple(known)
    for name in names:
        if name not in known:
            raise ValueError(f"unknown {kind} {name!r}; known are {', '.join(known)}")


_LOADED = sorted(map(load_target, experiment_files("targets")), key=lambda target: target.place)
TARGETS: Mapping[str, Target] = MappingProxyType({target.name: target for target in _LOADED})
"""Every target by its name, in the order of pages."""
