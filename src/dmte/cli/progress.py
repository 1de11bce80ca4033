"""Progress of many fits, and the counts of a dry run."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Column
from rich.text import Text

from dmte.cli.output import print_json
from dmte.cli.terminal import console, visible_output
from dmte.errors import ConfigError, Interrupted
from dmte.runtime.formatting import plural

if TYPE_CHECKING:
    from dmte.evaluation.dry_run import Planned
    from dmte.evaluation.jobs import Job
    from dmte.evaluation.parallel import ReadNetwork, Shares
    from dmte.network import TextualNetwork

WorkersOption = Annotated[
    int | None,
    typer.Option(help="Fits to run at a time, one thread each. Default: one per core."),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Count the fits without running.")]
BAR_WIDTH, DAY = 16, 86_400.0


def run_with_progress(
    jobs: "Sequence[Job]",
    network: "TextualNetwork",
    read: "ReadNetwork",
    workers: int | None,
    *,
    quiet: bool,
    skip_unable: bool = False,
) -> "Iterator[tuple[Job, dict[str, Any]]]":
    """Yield the results of the jobs, with progress and remaining time on stderr.

    A method that cannot learn from the network aborts the run, or is skipped with a message if
    ``skip_unable``. One that needs more than the free memory is always skipped with a message.
    """
    from dmte.evaluation.parallel import Shares, run_jobs
    from dmte.evaluation.worker_memory import workers_that_fit

    unable: dict[str, str] | None = {} if skip_unable else None
    wanted = num_workers(workers)
    count, too_large = workers_that_fit(jobs, network, wanted)
    if count < wanted and not quiet:
        print(f"{count} {plural(count, 'fit')} at a time, for lack of memory", file=sys.stderr)
    jobs = [job for job in jobs if job.method not in too_large]
    shares = Shares(jobs)
    with FitsProgress(shares, len(jobs), quiet=quiet) as progress, visible_output():
        try:
            for job, result in run_jobs(jobs, read, count, shares, unable, too_large):
                progress.advance_to_next(job)
                yield job, result
        except KeyboardInterrupt as problem:
            done = f"{progress.num_done} of {len(jobs)} fits"
            raise Interrupted(f"interrupted after {done}") from problem
    for name, reason in ((unable or {}) | too_large).items():
        print(f"{name}: left out, {reason}", file=sys.stderr)


def num_workers(given: int | None) -> int:
    """Number of fits at a time, by default one per core.

    Raises:
        ConfigError: The number is below 1.
    """
    from dmte.evaluation.parallel import available_cores

    count = available_cores() if given is None else given
    if count < 1:
        raise ConfigError(f"workers must be at least 1, not {count}")
    return count


@contextmanager
def bar_on_stderr(*columns: ProgressColumn, quiet: bool) -> Iterator[Progress]:
    """A bar on stderr, hidden unless that is a terminal."""
    stderr = console(stderr=True, soft_wrap=True)
    hidden = quiet or not stderr.is_terminal
    bar = Progress(*columns, console=stderr, transient=True, disable=hidden)
    with bar, visible_output():
        yield bar


def description_column(**options: Any) -> TextColumn:
    """The description of a task as it is: a name in it may look like markup."""
    return TextColumn("{task.description}", markup=False, **options)


@contextmanager
def spinner(message: str, *, quiet: bool) -> Iterator[None]:
    """A message with a spinner on stderr, hidden unless that is a terminal."""
    stderr = console(stderr=True)
    hidden = quiet or not stderr.is_terminal
    with nullcontext() if hidden else stderr.status(Text(message)), visible_output():
        yield


class FitsProgress(Progress):
    """A bar on a terminal, lines in a file; running fits count by their finished share."""

    def __init__(self, shares: "Shares", total: int, *, quiet: bool) -> None:
        stderr = console(stderr=True, soft_wrap=True)
        self._shares, self._quiet, self.num_done = shares, quiet, 0
        super().__init__(
            BarColumn(BAR_WIDTH),
            description_column(table_column=Column(no_wrap=True)),
            TimeRemainingColumn(),
            console=stderr,
            transient=True,
            disable=quiet or not stderr.is_terminal,
            speed_estimate_period=DAY,
        )
        self.add_task("", total=total)

    def get_renderables(self) -> Iterable[RenderableType]:
        """Update the counts; rich calls this several times a second."""
        self._count()
        return super().get_renderables()

    def advance_to_next(self, job: "Job") -> None:
        """Count a finished fit, and print a line if there is no bar."""
        self.num_done += 1
        self._count()
        if self.disable and not self._quiet:
            (task,) = self.tasks
            left = task.time_remaining
            about = "" if left is None else f", about {timedelta(seconds=round(left))} left"
            print(f"{self.num_done}/{task.total:.0f}  {job.title()}{about}", file=sys.stderr)

    def _count(self) -> None:
        for task in self.tasks:
            running = self._shares.underway()
            words = "finishing" if self.num_done else "starting"
            if running:
                share = f": {100 * running[0].share:.0f} %" if running[0].share else ""
                words = f"{running[0].job.title()}{share}"
            completed = self.num_done + sum(fit.share for fit in running)
            described = f"{self.num_done}/{task.total:.0f}  {words}"
            self.update(task.id, completed=completed, description=described)


def show_plan(plans: "Mapping[str, Sequence[Planned]]", as_json: bool = False) -> None:
    """Print the missing fits of every network."""
    if as_json:
        rows = [
            {"network": network, **asdict(planned)}
            for network, fits in plans.items()
            for planned in fits
        ]
        print_json({"plan": rows})
        return
    for network, fits in plans.items():
        print(f"{network}\n\n{plan_table(fits)}\n")
    total = sum(planned.num_fits for fits in plans.values() for planned in fits)
    print(f"{total:,} {plural(total, 'fit')}. Nothing was fitted.")


def plan_table(plan: "Sequence[Planned]") -> str:
    """Table of the counts, with the recorded seconds of a fit if there are any."""
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
