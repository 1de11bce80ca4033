"""Starting processes, here of small programs, and the environment variables that they read."""

import logging
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dmte.distributed import launcher
from dmte.distributed.launcher import supervise
from dmte.distributed.membership import RENDEZVOUS, Place
from dmte.errors import ConfigError

Start = Callable[..., tuple[int, list[str]]]

PROGRAM = """
import os, sys, time
folder = os.path.dirname(os.environ["DMTE_RENDEZVOUS"])
rank, restart = int(os.environ["RANK"]), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
with open(sys.argv[1], "a") as file:
    mode = oct(os.stat(folder).st_mode & 0o777)
    file.write(f"{rank} {restart} {mode} {os.path.basename(folder)}\\n")
with open(os.environ["TMPDIR"] + f"/left-behind-{rank}", "w"):
    pass
"""
"""What every process does first."""


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Supervise two processes of a program, which leave no temporary file."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    def run(program: str, restarts: int = 0, grace_seconds: float = 20.0) -> tuple[int, list[str]]:
        command = [sys.executable, "-S", "-c", PROGRAM + program, str(tmp_path / "starts")]
        monkeypatch.setattr(launcher, "python_command", lambda *_: command)
        monkeypatch.setattr(launcher, "GRACE_SECONDS", grace_seconds)
        messages: list[str] = []
        return supervise(["train"], 2, restarts, messages.append), messages

    yield run
    assert not list(temporary.iterdir())


def starts(folder: Path) -> list[list[str]]:
    """Rank, number of restarts, mode and name of the folder of every process so far."""
    file = folder / "starts"
    return sorted(line.split() for line in file.read_text().splitlines()) if file.exists() else []


def test_processes_that_succeed_start_once(start: Start, tmp_path: Path) -> None:
    assert start("", restarts=3) == (0, [])
    assert [line[:2] for line in starts(tmp_path)] == [["0", "0"], ["1", "0"]]


def test_all_restart_after_a_kill_in_a_new_private_folder(start: Start, tmp_path: Path) -> None:
    code, messages = start("os.kill(os.getpid(), 9) if rank else time.sleep(60)", restarts=1)
    assert code == 1
    killed = "a process was killed by SIGKILL"
    assert messages == [
        f"{killed}; all processes restart from the last checkpoint (at most 1 more times)",
        f"{killed}; giving up; resume from the last checkpoint, if there is one, with --resume",
    ]
    second = [line for line in starts(tmp_path) if line[0] == "1"]
    assert [line[1:3] for line in second] == [["0", "0o700"], ["1", "0o700"]]
    assert second[0][3] != second[1][3]


def test_a_signal_without_a_name_is_described(start: Start) -> None:
    _, (message,) = start("os.kill(os.getpid(), 40) if rank else time.sleep(60)")
    assert message.startswith("a process was killed by signal 40; giving up")


def test_an_error_is_not_repeated_although_others_notice_it_first(start: Start) -> None:
    """Exit code 75 says that the other process is gone."""
    program = "if rank == 0: time.sleep(0.5)\nsys.exit(75 if rank else 2)"
    assert start(program, restarts=3) == (2, [])


def test_all_restart_if_one_does_not_answer(start: Start) -> None:
    program = "time.sleep(60) if rank == restart == 0 else sys.exit(0 if restart else 75)"
    code, (message,) = start(program, restarts=3, grace_seconds=0.3)
    assert code == 0
    assert message.startswith("a process did not answer in time; all processes restart")


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_launcher_reaches_all_processes(
    start: Start, tmp_path: Path, kind: signal.Signals
) -> None:
    program = """
import signal
signal.signal(signal.SIGTERM, signal.default_int_handler)
with open(sys.argv[1] + f"-{rank}", "w") as file:
    try:
        file.write("ready")
        file.flush()
        time.sleep(60)
    except KeyboardInterrupt:
        file.write(", stopped")
        sys.exit(130)
"""
    files = [tmp_path / f"starts-{rank}" for rank in range(2)]

    def stop() -> None:
        while not all(file.exists() and file.read_text() for file in files):
            time.sleep(0.01)
        os.kill(os.getpid(), kind)

    before = signal.getsignal(kind)
    threading.Thread(target=stop, daemon=True).start()
    assert start(program, restarts=3) == (128 + kind, [])
    assert [file.read_text() for file in files] == ["ready, stopped"] * 2
    assert signal.getsignal(kind) is before


def test_nothing_of_the_callers_process_changes(start: Start, tmp_path: Path) -> None:
    """Neither its logging nor its environment; also in a thread, which gets no signals."""
    environment = dict(os.environ)
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(start, "time.sleep(0.5)")
        while not starts(tmp_path):
            time.sleep(0.01)
        assert logging.getLogger("anything").isEnabledFor(logging.CRITICAL)
        assert dict(os.environ) == environment
        assert done.result() == (0, [])


GROUP = {"RANK": "1", "WORLD_SIZE": "3"}
HERE = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Set environment variables, and no others of torchrun."""

    def use(**values: str) -> None:
        for name in (*GROUP, *HERE, "LOCAL_RANK", "LOCAL_WORLD_SIZE", RENDEZVOUS):
            monkeypatch.delenv(name, raising=False)
        for name, value in values.items():
            monkeypatch.setenv(name, value)

    return use


def test_the_place_of_a_process_is_that_of_torchrun(variables: Callable[..., None]) -> None:
    variables()
    assert Place.from_environment() == Place()
    variables(**GROUP)
    assert Place.from_environment() == Place(1, 3, local_rank=1)
    variables(**GROUP, LOCAL_RANK="0", LOCAL_WORLD_SIZE="2", TORCHELASTIC_RESTART_COUNT="4")
    place = Place.from_environment()
    assert place == Place(1, 3, local_rank=0, num_local=2, num_restarts=4)
    assert place.prints_messages


@pytest.mark.parametrize(
    ("name", "value", "bounds"),
    [
        ("RANK", "x", "0 to 2"),
        ("RANK", "3", "0 to 2"),
        ("RANK", "-1", "0 to 2"),
        ("RANK", "", "0 to 2"),
        ("WORLD_SIZE", "two", "1 to 65535"),
        ("WORLD_SIZE", "0", "1 to 65535"),
        ("WORLD_SIZE", "9" * 5000, "1 to 65535"),
        ("LOCAL_RANK", "1.5", "0 to 2"),
        ("LOCAL_WORLD_SIZE", "٢", "1 to 3"),
        ("TORCHELASTIC_RESTART_COUNT", "nan", "0 to 65535"),
    ],
)
def test_variables_without_a_meaning_raise(
    variables: Callable[..., None], name: str, value: str, bounds: str
) -> None:
    variables(**(GROUP | {name: value}))
    with pytest.raises(ConfigError) as caught:
        Place.from_environment()
    assert str(caught.value) == (
        f"the environment variable {name} must be a number from {bounds}, not {value[:40]!r}"
    )


@pytest.mark.parametrize("missing", [*HERE])
def test_a_group_of_torchrun_needs_an_address(variables: Callable[..., None], missing: str) -> None:
    variables(**GROUP, **{name: value for name, value in HERE.items() if name != missing})
    with pytest.raises(ConfigError, match=missing), Place.from_environment().joined_group(1.0):
        pass


def test_the_file_of_the_launcher_must_be_in_its_folder(
    variables: Callable[..., None], tmp_path: Path
) -> None:
    variables(**GROUP, **{RENDEZVOUS: str(tmp_path / "rendezvous")})
    with pytest.raises(ConfigError, match=RENDEZVOUS):
        Place.from_environment()
