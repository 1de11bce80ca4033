"""Locks: one holder at a time, and none after its end, however it ends."""

import json
import os
import re
import socket
import subprocess
import sys
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from subprocess import PIPE
from threading import Thread, Timer

import pytest

from dmte.errors import DmteWarning, StorageError
from dmte.storage import locks
from dmte.storage.locks import lock_place, locked, run_lock
from hostile_files import PLANTS, within

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


def test_a_process_that_waits_says_so_after_a_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "PATIENCE_SECONDS", 0.05)
    holding = ExitStack()
    holding.enter_context(locked(tmp_path / "file"))
    release = Timer(0.3, holding.close)
    release.start()
    said = r"^waiting for another process, which has locked .*file$"
    with pytest.warns(DmteWarning, match=said) as warned, locked(tmp_path / "file"):
        release.join()
    assert len(warned) == 1


def busy(holder: str) -> StorageError:
    return StorageError(f"busy ({holder}); wait")


def test_a_second_run_is_refused_with_the_holder(tmp_path: Path) -> None:
    place = tmp_path / "new" / "deep" / "lock"
    with run_lock(place, busy):
        with pytest.raises(StorageError) as refused, run_lock(place, busy):
            pass
        found = re.fullmatch(
            r"busy \(process (\d+) on (.+), since (.+)\); wait", str(refused.value)
        )
        assert found is not None
        assert (found[1], found[2]) == (str(os.getpid()), socket.gethostname())
        assert abs(datetime.fromisoformat(found[3]) - datetime.now(UTC)) < timedelta(minutes=1)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "left", ["", ' {"pid": 1, "host": "elsewhere", "since": "long ago"}' + " " * 2000, "\0" * 9]
)
def test_a_file_of_a_killed_run_is_used_again(tmp_path: Path, left: str) -> None:
    place = tmp_path / "lock"
    place.write_text(left)
    with run_lock(place, busy):
        assert json.loads(place.read_text())["pid"] == os.getpid()
        with pytest.raises(StorageError, match=f"process {os.getpid()} on"), run_lock(place, busy):
            pass
    assert not place.exists()


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("", "another process"),
        ("[" * 5000, "another process"),
        (' {"pid": 1}', "another process"),
        (' {"pid": 1, "host": "a\\u001b[2J\\n", "since": 0}', "process 1 on a?[2J?, since 0"),
    ],
)
def test_the_holder_of_a_lock_is_shown_without_control_characters(
    tmp_path: Path, content: str, shown: str
) -> None:
    place = tmp_path / "lock"
    with run_lock(place, busy):
        place.write_text(content)
        with pytest.raises(StorageError, match=re.escape(f"({shown})")), run_lock(place, busy):
            pass


def test_a_lock_removed_between_opening_and_locking_is_taken_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, open_lock, opened = tmp_path / "lock", locks._open, []

    def removed_once(path: Path, *, follow: bool) -> int:
        opened.append(open_lock(path, follow=follow))
        if len(opened) == 1:
            path.unlink()  # Its holder has ended.
        return opened[-1]

    monkeypatch.setattr(locks, "_open", removed_once)
    with run_lock(place, busy):
        assert len(opened) == 2
        with pytest.raises(StorageError, match="busy"), run_lock(place, busy):
            pass


@pytest.mark.parametrize("plant", ["pipe", "link", "device", "socket"])
def test_a_lock_of_a_run_must_be_a_regular_file(tmp_path: Path, plant: str) -> None:
    PLANTS[plant](tmp_path / "lock")
    before = Path("/etc/passwd").read_bytes()
    with within(5), pytest.raises(StorageError), run_lock(tmp_path / "lock", busy):
        pass
    assert Path("/etc/passwd").read_bytes() == before
