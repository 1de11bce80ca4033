"""The work of ``dmte reproduce``: run the missing fits, write tables and figures."""

import os
import sys
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

from dmte.cli.progress import run_with_progress, show_plan
from dmte.errors import ConfigError, Interrupted, MissingExtraError, NetworkError, StorageError
from dmte.evaluation.dry_run import Planned, plan
from dmte.evaluation.jobs import Job, unable
from dmte.evaluation.methods import ALL, METHODS, choose_methods
from dmte.evaluation.paper.journal import Journal
from dmte.evaluation.paper.page import document, section
from dmte.evaluation.paper.results import read_results, write_results
from dmte.evaluation.paper.targets import TARGETS, Target, journal_of
from dmte.network import TextualNetwork, read_network
from dmte.network.datasets import check_published
from dmte.plotting.paper_figures import draw_figure
from dmte.runtime.experiment_files import target_groups
from dmte.runtime.formatting import plural


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Selection among the fits of a target."""

    methods: Container[str]
    are_named: bool
    """Whether methods were named; a quick run then includes slow ones."""
    seeds: int | None
    quick: bool

    def of(self, jobs: Callable[..., list[Job]], network: Any) -> list[Job]:
        """The selected fits of those that ``jobs`` lists for the network."""
        return [
            job
            for job in jobs(network, quick=self.quick, slow_too=self.are_named)
            if job.method in self.methods and (self.seeds is None or job.seed < self.seeds)
        ]


def choose_fits(
    target: str, methods: Sequence[str] | None, seeds: int | None, *, quick: bool
) -> Wanted:
    """Select fits of a target; 0 ``seeds`` select none.

    Raises:
        ConfigError: A method is unknown, ``seeds`` is negative, or the target has no such fit.
    """
    if seeds is not None and seeds < 0:
        raise ConfigError(f"seeds must be at least 1, or 0 to fit nothing, not {seeds}")
    named = list(METHODS) if methods is None else choose_methods(methods)
    # With ALL, methods that cannot run here are reported, like any other planned method.
    chosen = set(METHODS if ALL in (methods or ()) else named)
    wanted = Wanted(methods=chosen, are_named=methods is not None, seeds=seeds, quick=quick)
    if seeds != 0 and not any(wanted.of(one.plan, one.network) for one in _targets(target)):
        raise _nothing_left(target, chosen)
    return wanted


def measure(
    target: str, out: Path, wanted: Wanted, workers: int | None, *, dry_run: bool, quiet: bool
) -> None:
    """Run the missing fits of a target; print and write the tables.

    Raises:
        NetworkError: The data set is missing, or differs from the published one.
        ConfigError: None of the methods can run here.
        StorageError: Another process runs the same fits, or stored results are damaged.
    """
    plans: dict[str, list[Planned]] = {}
    grouped = _by_network(_targets(target))
    for name in grouped:
        check_published(name)  # All before the first fit, which may take hours.
    for name, targets in grouped.items():
        network = _read(targets, is_optional=target in target_groups())
        if network is None:
            continue
        journals = {one.name: journal_of(out, one) for one in targets}
        jobs = {one.name: wanted.of(one.jobs, network) for one in targets}
        _check_able(jobs, journals)
        if dry_run:
            missing = missing_fits(jobs, journals, quiet=quiet)
            plans[name] = plan(chain(*missing.values()), _recorded(targets, network, journals))
            continue
        with ExitStack() as locks:
            for member in filter(jobs.get, journals):
                locks.enter_context(journals[member].growing())
            missing = missing_fits(jobs, journals, quiet=quiet)
            _complete(network, name, missing, journals, workers, quiet=quiet)
            for one in targets:
                _show(out, one, one.results(network, journals[one.name]))
    if dry_run:
        show_plan(plans)


def _recorded(
    targets: Sequence[Target], network: TextualNetwork, journals: Mapping[str, Journal]
) -> Iterator[tuple[Job, Mapping[str, Any]]]:
    """Yield every finished fit of the targets with its result."""
    for target in targets:
        journal = journals[target.name]
        yield from ((job, journal[job]) for job in target.jobs(network) if job in journal)


def report(out: Path, page: Path) -> None:
    """Write a page with the tables of all results in ``out``.

    Raises:
        ConfigError: There are no results.
        StorageError: Results are damaged, or the page cannot be written.
    """
    found = read_results(out)
    if not found:
        raise ConfigError(
            f"{out} holds no results; produce some with dmte reproduce TARGET --out {out}"
        )
    text = document(found, os.path.relpath(out, page.parent))
    with _opened(page) as file:
        file.write(text)
    print(page)


def _targets(name: str) -> list[Target]:
    members = target_groups().get(name, (name,))
    return [target for target in TARGETS.values() if target.name in members]


def _nothing_left(target: str, chosen: Container[str]) -> ConfigError:
    """Error for a selection without any fit."""
    jobs = (job for one in _targets(target) for job in one.plan(one.network))
    measured = list(dict.fromkeys(job.method for job in jobs))
    if any(method in chosen for method in measured):
        return ConfigError(f"{target} has no quick fits; leave out --quick")
    return ConfigError(f"{target} has no fits of these methods; it has {', '.join(measured)}")


def _by_network(targets: Sequence[Target]) -> dict[str, list[Target]]:
    """Group the targets by network, to keep all cores busy with the fits of a group."""
    grouped: dict[str, list[Target]] = {}
    for target in targets:
        grouped.setdefault(target.network, []).append(target)
    return grouped


def _read(targets: Sequence[Target], *, is_optional: bool) -> TextualNetwork | None:
    """Read the network of the targets; an optional one that is missing is reported."""
    try:
        return read_network(targets[0].network)
    except NetworkError as problem:
        if not is_optional:
            raise
        print(f"{', '.join(one.name for one in targets)}: left out, {problem}", file=sys.stderr)
        return None


def _check_able(wanted: Mapping[str, Sequence[Job]], journals: Mapping[str, Journal]) -> None:
    """Check that some fit was made before or can be made here.

    Raises:
        ConfigError: No fit exists and no method can run; the message says why.
    """
    jobs = [(job, job in journals[name]) for name, some in wanted.items() for job in some]
    reasons = unable(job for job, _ in jobs)
    if jobs and not any(is_done or job.method not in reasons for job, is_done in jobs):
        why = "; ".join(dict.fromkeys(reasons.values()))
        raise ConfigError(f"{', '.join(reasons)} cannot run here: {why}")


def missing_fits(
    wanted: Mapping[str, Sequence[Job]], journals: Mapping[str, Journal], *, quiet: bool
) -> dict[str, list[Job]]:
    """Unfinished fits of every target that can run here."""
    missing = {}
    for name, jobs in wanted.items():
        missing[name] = _able([job for job in jobs if job not in journals[name]])
        if not quiet:
            done = sum(job in journals[name] for job in jobs)
            left = f"{len(missing[name])} {plural(len(missing[name]), 'fit')} to make"
            unchecked = journals[name].num_unchecked
            older = f" ({unchecked:,} stored without a checksum)" if unchecked else ""
            print(f"{name}: {left}, {done} done before{older}", file=sys.stderr)
    return missing


def _able(jobs: Sequence[Job]) -> list[Job]:
    """The fits whose method can run here; the others are reported with the reason."""
    reasons = unable(jobs)
    for method, reason in reasons.items():
        print(f"{method}: left out, {reason}", file=sys.stderr)
    return [job for job in jobs if job.method not in reasons]


def _complete(
    network: TextualNetwork,
    name: str,
    missing: Mapping[str, Sequence[Job]],
    journals: Mapping[str, Journal],
    workers: int | None,
    *,
    quiet: bool,
) -> None:
    """Run the fits of all targets and store each as it finishes."""
    goes_to = {job.key: journals[name] for name, jobs in missing.items() for job in jobs}
    read = partial(read_network, name)
    everything = list(chain(*missing.values()))
    try:
        for job, result in run_with_progress(everything, network, read, workers, quiet=quiet):
            goes_to[job.key].add(job, result)
    except Interrupted as problem:
        raise Interrupted(f"{problem}; the same command resumes from there") from problem


def _show(out: Path, target: Target, results: Mapping[str, Any]) -> None:
    """Write a target's results, table and figure; print the table."""
    if not results["rows"]:
        print(f"{target.name}: left out, no fit is finished", file=sys.stderr)
        return
    folder = write_results(out, results).parent
    found = read_results(out)[target.name]
    table = section(found)
    (folder / "table.md").write_text(f"# {target.title}\n\n{table}", "utf-8")
    try:
        draw_figure(found, [folder / "figure.png", folder / "figure.svg"])
    except MissingExtraError as problem:
        print(f"no figure: {problem}", file=sys.stderr)
    print(f"## {target.title}\n\n{table}")


def _opened(page: Path) -> TextIO:
    """Open the page for writing and create its folder.

    Raises:
        StorageError: The page cannot be written.
    """
    try:
        if not page.parent.exists():
            page.parent.mkdir(parents=True)
        return page.open("w", encoding="utf-8")
    except OSError as problem:
        raise StorageError(
            f"{page} cannot be written: {problem.strerror}; give --page another file"
        ) from problem
