"""Progress of many fits: what a terminal shows while they are made."""

import time

import pytest
from rich.progress import Progress, Task

from dmte.cli.progress import BAR_WIDTH, FitsBar, FitsUnderway, num_workers, plan_table
from dmte.errors import ConfigError
from dmte.evaluation.dry_run import Planned
from dmte.evaluation.jobs import Job, link_jobs
from dmte.evaluation.parallel import Shares, Timetable

CELLS: list[Job] = [*link_jobs("", ["deepwalk"], [0.5], ["strict"], 2)]


@pytest.fixture
def task() -> Task:
    bar = Progress(disable=True)
    bar.add_task("", total=len(CELLS))
    return bar.tasks[0]


def test_nothing_is_underway_at_first(task: Task) -> None:
    shares = Shares(CELLS)
    assert FitsUnderway(Timetable(CELLS, 1), shares).render(task).plain == "starting"
    assert FitsBar(shares).render(task).completed == 0


def test_the_longest_fit_its_share_and_the_time_left_are_shown(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 1000.0)
    shares = Shares(CELLS)
    begun, done, _ = shares.arrays
    begun[0], done[0] = 900.0, 0.5
    begun[1] = 998.0
    words = FitsUnderway(Timetable(CELLS, 2), shares).render(task).plain
    assert words == "deepwalk, 50 % strict, seed 0: 50 %, about 0:02:29 left"
    bar = FitsBar(shares).render(task)
    assert (bar.completed, bar.total, bar.width) == (0.5, 2, BAR_WIDTH)


def test_a_plan_is_a_line_per_method_and_share() -> None:
    new = Planned(method="line", condition="50 % strict", num_fits=1, recorded_seconds=None)
    known = Planned(method="tfidf", condition="", num_fits=2000, recorded_seconds=4.51)
    lines = [line.split() for line in plan_table([new, known]).splitlines()]
    assert lines == [
        ["method", "condition", "fits", "recorded", "s", "a", "fit"],
        ["line", "50", "%", "strict", "1"],
        ["tfidf", "2,000", "4.5"],
    ]
    assert "recorded" not in plan_table([new])


def test_there_is_at_least_one_worker() -> None:
    assert num_workers(None) >= 1
    with pytest.raises(ConfigError, match="workers must be at least 1"):
        num_workers(0)
