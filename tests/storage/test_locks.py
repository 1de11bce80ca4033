"""Locks: one holder at a time, and none after its end, however it ends."""

import subprocess
import sys
from pathlib import Path
from subprocess import PIPE
from threading import Thread

import pytest

from dmte.errors import StorageError
from dmte.storage.locks import lock_place, locked

BUSY = StorageError("busy; wait")
HOLDER = """
import pathlib, sys, time
from dmte.storage.locks import locked
with locked(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_lock_fails_until_the_first_is_released(tmp_path: Path) -> None:
    refused = pytest.raises(StorageError, match="busy; wait")
    with locked(tmp_path / "file"), refused, locked(tmp_path / "file", BUSY):
        pass
    with locked(tmp_path / "file", BUSY):
        pass


@pytest.mark.medium
def test_a_killed_holder_releases_its_lock(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, tmp_path / "file"], stdout=PIPE)
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(StorageError), locked(tmp_path / "file", BUSY):
            pass
        holder.kill()
        holder.wait()
        with locked(tmp_path / "file", BUSY):
            pass


def test_without_an_error_the_second_waits(tmp_path: Path) -> None:
    order = []

    def second() -> None:
        with locked(tmp_path / "file"):
            order.append("second")

    with locked(tmp_path / "file"):
        thread = Thread(target=second)
        thread.start()
        thread.join(timeout=0.3)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_a_locked_file_keeps_its_content_and_a_folder_stays_empty(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    (tmp_path / "folder").mkdir()
    with locked(tmp_path / "file"), locked(tmp_path / "folder"):
        pass
    assert (tmp_path / "file").read_text() == "kept"
    assert not list((tmp_path / "folder").iterdir())


def test_without_support_for_locks_nothing_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", fail)
    with locked(tmp_path / "file", BUSY), locked(tmp_path / "file", BUSY):
        pass


def test_windows_locks_a_file_beside_the_locked_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lock_place(tmp_path / "journal") == tmp_path / "journal"
    monkeypatch.setattr("sys.platform", "win32")
    assert lock_place(tmp_path / "journal") == tmp_path / ".journal.lock"


@pytest.mark.medium
def test_filelock_is_imported_on_first_use() -> None:
    code = "import sys, dmte.storage.folder; sys.exit('filelock' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
