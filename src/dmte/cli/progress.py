"""Progress of many fits at the command line, and the counts of a dry run."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, ProgressColumn, Task
from rich.progress_bar import ProgressBar
from rich.table import Column
from rich.text import Text

from dmte.errors import ConfigError, Interrupted
from dmte.runtime.formatting import plural

if TYPE_CHECKING:
    from dmte.evaluation.dry_run import Planned
    from dmte.evaluation.jobs import Job
    from dmte.evaluation.parallel import ReadNetwork, Shares, Timetable

WorkersOption = Annotated[
    int | None, typer.Option(help="Fits at a time, a thread each; by default one per core.")
]
BAR_WIDTH = 16

DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Count the fits and make none.")]


def run_with_progress(
    jobs: "Sequence[Job]",
    read: "ReadNetwork",
    workers: int | None,
    *,
    quiet: bool,
    may_refuse: bool = False,
) -> "Iterator[tuple[Job, dict[str, Any]]]":
    """Yield the results of the jobs, with how far it is and how long it will take on stderr.

    Methods that cannot learn from the network end it, or are told of where they may refuse.
    """
    from dmte.evaluation.parallel import Shares, Timetable, run_jobs

    refusals: dict[str, str] | None = {} if may_refuse else None
    count = num_workers(workers)
    times, shares = Timetable(jobs, min(count, max(len(jobs), 1))), Shares(jobs)
    with _bar(times, shares, len(jobs), quiet=quiet) as show:
        try:
            for job, result in run_jobs(jobs, read, count, shares, refusals):
                times.note(job, shares.seconds(job))
                show(job)
                yield job, result
        except KeyboardInterrupt as problem:
            raise Interrupted(f"interrupted after {times.done} of {len(jobs)} fits") from problem
    for method, reason in (refusals or {}).items():
        print(f"{method}: left out, {reason}", file=sys.stderr)


def num_workers(given: int | None) -> int:
    """Return how many fits are made at a time.

    Raises:
        ConfigError: It is none.
    """
    from dmte.evaluation.parallel import available_cores

    count = available_cores() if given is None else given
    if count < 1:
        raise ConfigError(f"workers must be at least 1, not {count}")
    return count


@contextmanager
def _bar(
    times: "Timetable", shares: "Shares", total: int, *, quiet: bool
) -> "Iterator[Callable[[Job], None]]":
    """Show how many jobs are done: as a bar in a terminal, as lines in a file."""
    console = Console(stderr=True, soft_wrap=True)
    is_bar = console.is_terminal and not quiet
    columns = (FitsBar(shares), MofNCompleteColumn(), FitsUnderway(times, shares))
    with Progress(*columns, console=console, transient=True, disable=not is_bar) as bar:
        task = bar.add_task("", total=total)

        def show(job: "Job") -> None:
            bar.update(task, advance=1)
            if not is_bar and not quiet:
                left = f"about {timedelta(seconds=round(times.seconds_left()))} left"
                print(f"{times.done}/{total}  {job.title()}, {left}", file=sys.stderr)

        yield show


class FitsBar(ProgressColumn):
    """A bar of the fits that are done and of the shares of those that are being made."""

    def __init__(self, shares: "Shares") -> None:
        super().__init__()
        self._shares = shares

    def render(self, task: Task) -> ProgressBar:
        """Return the bar as it is now."""
        begun = sum(fit.share for fit in self._shares.underway())
        return ProgressBar(
            task.total, min(task.completed + begun, task.total or 0), width=BAR_WIDTH
        )


class FitsUnderway(ProgressColumn):
    """The fit that has been made longest, how far it is, and the time until all are done."""

    def __init__(self, times: "Timetable", shares: "Shares") -> None:
        super().__init__(table_column=Column(no_wrap=True))
        self._times, self._shares = times, shares

    def render(self, task: Task) -> Text:
        """Return the words as they are now."""
        underway = self._shares.underway()
        if not underway:
            return Text("finishing" if task.completed else "starting")
        longest = underway[0]
        share = f": {100 * longest.share:.0f} %" if longest.share else ""
        seconds = self._times.seconds_left(underway)
        left = f", about {timedelta(seconds=round(seconds))} left" if seconds else ""
        return Text(f"{longest.job.title()}{share}{left}")


def show_plan(plans: "Mapping[str, Sequence[Planned]]", as_json: bool = False) -> None:
    """Print the fits that are missing on every network."""
    if as_json:
        rows = [
            {"network": network, **asdict(planned)}
            for network, fits in plans.items()
            for planned in fits
        ]
        json.dump({"plan": rows}, sys.stdout, indent=2)
        print()
        return
    for network, fits in plans.items():
        print(f"{network}\n\n{plan_table(fits)}\n")
    total = sum(planned.num_fits for fits in plans.values() for planned in fits)
    print(f"{total:,} {plural(total, 'fit')}. Nothing was fitted.")


def plan_table(plan: "Sequence[Planned]") -> str:
    """Align the counts, with the recorded seconds of a fit if there are any."""
    method, condition = (
        max([len(head), *(len(getattr(planned, head)) for planned in plan)])
        for head in ("method", "condition")
    )
    lines = [f"{'method':<{method}}  {'condition':<{condition}}{'fits':>7}"]
    has_seconds = any(planned.recorded_seconds is not None for planned in plan)
    lines[0] += f"{'recorded s a fit':>18}" if has_seconds else ""
    for planned in plan:
        line = f"{planned.method:<{method}}  {planned.condition:<{condition}}{planned.num_fits:>7,}"
        seconds = planned.recorded_seconds
        lines.append(line + ("" if seconds is None else f"{seconds:>18,.1f}"))
    return "\n".join(lines)
