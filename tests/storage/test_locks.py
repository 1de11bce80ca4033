"""Locks: one holder at a time, and none after its end, however it ends."""

import subprocess
import sys
from pathlib import Path

import pytest

from dmte.errors import StorageError
from dmte.storage.locks import hold

if sys.platform == "win32":
    pytest.skip("no locks here", allow_module_level=True)

BUSY = StorageError("busy; wait")
HOLDER = """
import fcntl, sys, time
file = open(sys.argv[1])
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(60)
"""


def test_the_second_is_refused_until_the_first_has_closed_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    with path.open() as first, path.open() as second:
        hold(first.fileno(), BUSY)
        with pytest.raises(StorageError, match="busy; wait"):
            hold(second.fileno(), BUSY)
        first.close()
        hold(second.fileno(), BUSY)


def test_a_holder_that_is_killed_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, path], stdout=subprocess.PIPE)
    with path.open() as file, holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(StorageError):
            hold(file.fileno(), BUSY)
        holder.kill()
        holder.wait()
        hold(file.fileno(), BUSY)


def test_where_there_are_no_locks_nothing_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", fail)
    with (tmp_path / "file").open("w") as file:
        hold(file.fileno(), BUSY)
