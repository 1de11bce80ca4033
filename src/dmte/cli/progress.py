"""Many fits at the command line: how far they are, how long it takes, and what it would take."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Column

from dmte.errors import ConfigError, Interrupted

if TYPE_CHECKING:
    from dmte.evaluation.dry_run import Planned
    from dmte.evaluation.jobs import Cell
    from dmte.evaluation.parallel import ReadNetwork, Shares

WorkersOption = Annotated[
    int | None, typer.Option(help="Fits at a time, a thread each; by default one per core.")
]
BAR_WIDTH, DAY = 16, 86_400.0

DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Say what it would take, and fit nothing.")
]


def run_with_progress(
    cells: "Sequence[Cell]",
    read: "ReadNetwork",
    workers: int | None,
    *,
    quiet: bool,
    may_refuse: bool = False,
) -> "Iterator[tuple[Cell, dict[str, Any]]]":
    """Yield the results of the cells, with how far it is and how long it will take on stderr.

    Methods that cannot learn from the network end it, or are told of where they may refuse.
    """
    from dmte.evaluation.parallel import Shares, run_cells

    refusals: dict[str, str] | None = {} if may_refuse else None
    count = num_workers(workers)
    shares = Shares(cells)
    with FitsProgress(shares, len(cells), quiet=quiet) as progress:
        try:
            for cell, result in run_cells(cells, read, count, shares, refusals):
                progress.advance_to_next(cell)
                yield cell, result
        except KeyboardInterrupt as problem:
            done = f"{progress.num_done} of {len(cells)} fits"
            raise Interrupted(f"interrupted after {done}") from problem
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
def bar_on_stderr(*columns: ProgressColumn, quiet: bool) -> Iterator[Progress]:
    """Show a bar while the context lasts, if stderr is a terminal."""
    console = Console(stderr=True, soft_wrap=True)
    hidden = quiet or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        yield bar


class FitsProgress(Progress):
    """A bar in a terminal, lines in a file; running fits count by the share that is done."""

    def __init__(self, shares: "Shares", total: int, *, quiet: bool) -> None:
        console = Console(stderr=True, soft_wrap=True)
        self._shares, self._quiet, self.num_done = shares, quiet, 0
        super().__init__(
            BarColumn(BAR_WIDTH),
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=quiet or not console.is_terminal,
            speed_estimate_period=DAY,
        )
        self._task = self.add_task("", total=total)

    def get_renderables(self) -> Iterable[RenderableType]:
        """Return what is drawn, several times a second."""
        self._count()
        return super().get_renderables()

    def advance_to_next(self, cell: "Cell") -> None:
        """Count a fit that is done, and print a line about it if there is no bar."""
        self.num_done += 1
        self._count()
        if self.disable and not self._quiet:
            (task,) = self.tasks
            left = task.time_remaining
            about = "" if left is None else f", about {timedelta(seconds=round(left))} left"
            print(f"{self.num_done}/{task.total:.0f}  {cell.title()}{about}", file=sys.stderr)

    def _count(self) -> None:
        for task in self.tasks:
            running = self._shares.underway()
            words = "finishing" if self.num_done else "starting"
            if running:
                share = f": {100 * running[0].share:.0f} %" if running[0].share else ""
                words = f"{running[0].cell.title()}{share}"
            completed = self.num_done + sum(fit.share for fit in running)
            described = f"{self.num_done}/{task.total:.0f}  {words}"
            self.update(task.id, completed=completed, description=described)


def show_plan(
    plans: "Mapping[str, Sequence[Planned]]", workers: int | None, as_json: bool = False
) -> None:
    """Print what the fits on every network would take."""
    count = num_workers(workers)
    everything = [planned for methods in plans.values() for planned in methods]
    seconds = sum(planned.seconds for planned in everything) / count
    if as_json:
        rows = [
            {"network": network, **asdict(planned)}
            for network, methods in plans.items()
            for planned in methods
        ]
        json.dump({"plan": rows, "workers": count, "seconds": seconds}, sys.stdout, indent=2)
        print()
        return
    for network, methods in plans.items():
        print(f"{network}\n\n{plan_table(methods)}\n")
    fits = sum(planned.num_fits for planned in everything)
    memory = max((planned.memory_bytes for planned in everything), default=0)
    print(
        f"{fits:,} fits, about {timedelta(seconds=round(seconds))} with {count} at a time, each "
        f"taking up to {memory / 1e6:,.0f} MB on top of Python, torch and the network. "
        "Scoring what is fitted comes on top. Nothing was fitted."
    )


def plan_table(methods: "Sequence[Planned]") -> str:
    """Return what every method takes as aligned lines."""
    width = max((len(planned.method) for planned in methods), default=0)
    lines = [f"{'method':<{width}}{'fits':>7}{'s a fit':>10}{'MB a fit':>10}{'in all':>12}"]
    for planned in methods:
        head = f"{planned.method:<{width}}{planned.num_fits:>7,}"
        if planned.problem is not None:
            lines.append(f"{head}  {planned.problem}")
            continue
        in_all = timedelta(seconds=round(planned.seconds))
        figures = f"{planned.seconds_a_fit:>10.1f}{planned.memory_bytes / 1e6:>10,.0f}"
        lines.append(f"{head}{figures}{in_all!s:>12}")
    return "\n".join(lines)
