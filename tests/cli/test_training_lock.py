"""One training at a time writes to a model folder, and what a killed one leaves is no obstacle."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dmte.cli.train_job import _only_training
from dmte.embedding.embedding import Embedding
from dmte.storage.folder import is_stored

Run = Callable[..., subprocess.CompletedProcess[str]]
TRAIN = ("train", "concepts", "--dim", "8", "--quiet", "--threads", "1")
LONG = ("--epochs", "100000", "--patience", "100000")
HELD = re.compile(
    r"dmte: another training writes to (\S+) \(process (\d+) on \S+, since [\d :+-]+\); "
    r"wait until it has ended, or give another --out\n"
)


@pytest.fixture
def here(inside: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line in this process and an empty folder."""
    monkeypatch.chdir(tmp_path)
    return inside


@pytest.mark.parametrize("more", [(), ("--resume",), ("--processes", "2")], ids=str)
def test_a_second_training_is_refused_at_once(here: Run, more: tuple[str, ...]) -> None:
    with _only_training(Path("sub/model")):
        done = here(*TRAIN, "--out", "./sub/model", *more)
        assert (done.returncode, done.stdout) == (2, "")
        found = HELD.fullmatch(done.stderr)
        assert found is not None, done.stderr
        assert (found[1], found[2]) == ("sub/model", str(os.getpid()))
    assert not list(Path().iterdir())


def test_another_folder_and_other_commands_are_not_locked(
    here: Run, trained_on_concepts: Path
) -> None:
    with _only_training(trained_on_concepts):
        assert here("similar", str(trained_on_concepts), "--vertex", "b-tree").returncode == 0
        with _only_training(Path("other")):
            pass


@pytest.mark.medium
def test_a_training_leaves_nothing_but_its_model(here: Run) -> None:
    done = here(*TRAIN, "--out", "a/model", "--epochs", "1")
    assert done.returncode == 0
    assert [str(path) for path in Path().rglob("*") if path.parent != Path("a/model")] == [
        "a",
        "a/model",
    ]
    assert here(*TRAIN, "--out", "b/model", "--epochs", "0").returncode == 2
    assert not Path("b").exists()


@pytest.mark.medium
@pytest.mark.parametrize("left", [".m.checkpoint.done", ".m.checkpoint.0123abcd.done"])
def test_a_kill_while_the_checkpoint_was_removed_is_no_obstacle(here: Run, left: str) -> None:
    Path(left).mkdir()
    Path(left, "y").write_text("half of a checkpoint")
    others = (".n.checkpoint.done", ".m.checkpoint.abc.done", ".mXcheckpoint.done")
    for other in others:
        Path(other).mkdir()
    done = here(*TRAIN, "--out", "m", "--epochs", "2", "--checkpoint-every", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(path.name for path in Path().iterdir()) == sorted([*others, "m"])
    assert Embedding.load("m").vectors.shape == (432, 8)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="finds the processes in /proc")
@pytest.mark.parametrize("processes", [1, 2])
def test_a_training_in_another_process_is_refused_until_it_is_killed(
    here: Run, processes: int
) -> None:
    command = [sys.executable, "-m", "dmte", *TRAIN, *LONG, "--out", "m"]
    many = ["--processes", str(processes)] if processes > 1 else []
    with subprocess.Popen([*command, *many, "--checkpoint-every", "1"]) as first:
        try:
            while not is_stored(Path("m.checkpoint")):
                assert first.poll() is None
                time.sleep(0.05)
            started = time.monotonic()
            second = here(*TRAIN, "--out", "m", "--resume")
            seconds = time.monotonic() - started
            found = HELD.fullmatch(second.stderr)
            assert found is not None, second.stderr
            assert (second.returncode, found[2]) == (2, str(first.pid))
            assert seconds < 2
            assert first.poll() is None
        finally:
            first.send_signal(signal.SIGKILL)
    assert json.loads(Path(".m.training").read_text())["pid"] == first.pid
    third = here(*TRAIN, "--out", "m")
    assert third.returncode == 2
    assert "holds the checkpoint of an interrupted run" in third.stderr
    assert not Path(".m.training").exists()


@pytest.mark.slow
def test_of_two_simultaneous_starts_one_trains_and_one_is_refused_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for attempt in range(2):
        command = [sys.executable, "-m", "dmte", *TRAIN, "--epochs", "200", "--out", str(attempt)]
        pair = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
        errors = [process.communicate(timeout=300)[1] for process in pair]
        assert sorted(process.returncode for process in pair) == [0, 2], errors
        assert HELD.fullmatch("".join(errors))
        assert Embedding.load(str(attempt)).vectors.shape == (432, 8)
