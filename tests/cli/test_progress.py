"""Progress of many fits on a terminal and in a file."""

import time
from collections.abc import Callable

import pytest
from rich.text import Text

from dmte.cli.progress import FitsProgress, num_workers, plan_table
from dmte.errors import ConfigError
from dmte.evaluation.dry_run import Planned
from dmte.evaluation.jobs import Job, link_jobs
from dmte.evaluation.parallel import Shares

CELLS: list[Job] = [*link_jobs("", ["deepwalk"], [0.5], ["strict"], 2)]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Set the time of the fits and of rich's estimate."""
    now = [1000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    monkeypatch.setattr("rich.console.monotonic", lambda: now[0])
    return lambda seconds: now.__setitem__(0, 1000.0 + seconds)


@pytest.fixture
def shares(monkeypatch: pytest.MonkeyPatch) -> Shares:
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes stderr for a terminal.
    monkeypatch.setenv("COLUMNS", "100")
    return Shares(CELLS)


def drawn(progress: FitsProgress) -> str:
    with progress.console.capture() as captured:
        progress.console.print(*progress.get_renderables())
    return Text.from_ansi(captured.get()).plain.strip(" ━╸╺\n")


def test_the_bar_shows_the_longest_fit_its_share_and_the_time_left(
    shares: Shares, clock: Callable[[float], None]
) -> None:
    progress = FitsProgress(shares, len(CELLS), quiet=False)
    assert drawn(progress) == "0/2  starting -:--:--"
    begun, done = shares.arrays
    begun[0], begun[1] = 1000.0, 1001.0
    for second in range(1, 4):
        clock(10 * second)
        done[0] = 0.1 * second
        line = drawn(progress)
    assert line == "0/2  deepwalk, 50 % strict, seed 0: 30 % 0:02:50"  # 1.7 fits at 100 s each
    (task,) = progress.tasks
    assert task.completed == pytest.approx(0.3)


def test_a_file_gets_a_line_per_fit_with_the_time_left(
    clock: Callable[[float], None], capsys: pytest.CaptureFixture[str]
) -> None:
    progress = FitsProgress(Shares(CELLS * 2), 4, quiet=False)
    for second in (10.0, 20.0):
        clock(second)
        progress.advance_to_next(CELLS[0])
    title = "deepwalk, 50 % strict, seed 0"
    assert capsys.readouterr().err == f"1/4  {title}\n2/4  {title}, about 0:00:20 left\n"


def test_quiet_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with FitsProgress(Shares(CELLS), len(CELLS), quiet=True) as progress:
        progress.advance_to_next(CELLS[0])
    assert capsys.readouterr() == ("", "")


def test_a_plan_has_a_line_per_method_and_condition() -> None:
    new = Planned(method="line", condition="50 % strict", num_fits=1, recorded_seconds=None)
    known = Planned(method="tfidf", condition="", num_fits=2000, recorded_seconds=4.51)
    lines = [line.split() for line in plan_table([new, known]).splitlines()]
    assert lines == [
        ["method", "condition", "fits", "recorded", "s", "a", "fit"],
        ["line", "50", "%", "strict", "1"],
        ["tfidf", "2,000", "4.5"],
    ]
    assert "recorded" not in plan_table([new])


def test_fewer_than_one_worker_raises() -> None:
    assert num_workers(None) >= 1
    with pytest.raises(ConfigError, match="workers must be at least 1"):
        num_workers(0)
