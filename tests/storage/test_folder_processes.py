"""The model folder between processes: readers and writers see one model or the other."""

import fcntl
import inspect
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dmte
from dmte.errors import StorageError
from dmte.storage import folder as storage
from dmte.storage.folder import read_parts, write_parts
from dmte.storage.manifest import read_manifest
from model_folders import OTHER_PARTS, PARTS, assert_nothing_else, expected_files, read_state

NUM_KILLS = 70


def model(letter: str) -> tuple[dict[str, bytes], str]:
    """Parts and card of model A or B; the two models share one part."""
    draw = random.Random(letter)
    parts = {f"table{i}.safetensors": draw.randbytes(200_000) for i in range(3)}
    parts["config.json"] = f'{{"model": "{letter}"}}\n'.encode()
    parts["words.json"] = random.Random(0).randbytes(50_000)
    return parts, f"# Model {letter}\n"


# The stand-in for the package keeps its __init__, which imports torch, from running in the child.
CHILD = f"""
import itertools, random, sys, types
from pathlib import Path

package = types.ModuleType("dmte")
package.__path__ = [sys.argv[1]]
sys.modules["dmte"] = package
import filelock  # takes as long as several writes
from dmte.storage.folder import write_parts

{inspect.getsource(model)}
folder, letters, saves = Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
models = [model(letter) for letter in letters]
print("ready", flush=True)
for save in range(saves):
    write_parts(folder, *models[save % len(models)])
"""


def start_writer(folder: Path, letters: str, saves: int) -> subprocess.Popen[bytes]:
    """Start a process that saves the models in turn; return when it is ready."""
    source = str(Path(dmte.__file__).parent)
    command = [sys.executable, "-I", "-c", CHILD, source, str(folder), letters, str(saves)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


@pytest.mark.slow
def test_a_killed_writer_leaves_one_model_or_the_other(tmp_path: Path) -> None:
    draw = random.Random(0)
    models = {letter: model(letter) for letter in "AB"}
    folder = tmp_path / "model"
    write_parts(folder, *models["A"])
    started = time.perf_counter()
    for letter in "BABA":
        write_parts(folder, *models[letter])
    save_seconds = (time.perf_counter() - started) / 4
    interrupted, found = 0, set()
    for kill in range(NUM_KILLS):
        with start_writer(folder, draw.choice(["AB", "BA"]), saves=1_000_000) as writer:
            time.sleep(draw.uniform(0, 4 * save_seconds))
            writer.send_signal(signal.SIGKILL)
        assert writer.returncode == -signal.SIGKILL
        parts = read_parts(folder)
        assert parts in [model_parts for model_parts, _ in models.values()]
        found.add(parts["config.json"])
        interrupted += {path.name for path in folder.iterdir()} != expected_files(
            folder, "README.md"
        )
        if kill % 3 == 0:  # in between, leftovers pile up
            letter = draw.choice("AB")
            write_parts(folder, *models[letter])
            assert read_state(folder) == models[letter]
            assert_nothing_else(folder, "README.md")
    assert len(found) == 2
    assert interrupted > NUM_KILLS // 4


@pytest.mark.slow
def test_a_reader_beside_two_writers_sees_one_model_or_the_other(tmp_path: Path) -> None:
    models = {letter: model(letter) for letter in "AB"}
    write_parts(tmp_path, *models["A"])
    found = []
    with (
        start_writer(tmp_path, "AB", saves=30) as one,
        start_writer(tmp_path, "BA", saves=30) as two,
    ):
        while one.poll() is None or two.poll() is None:
            parts = read_parts(tmp_path)
            found.append(next(letter for letter in "AB" if models[letter][0] == parts))
    assert one.returncode == two.returncode == 0
    assert set(found) == {"A", "B"}
    assert len(found) > 30
    assert_nothing_else(tmp_path, "README.md")


@pytest.mark.medium
def test_two_first_writers_do_not_disturb_each_other(tmp_path: Path) -> None:
    for attempt in range(5):
        folder = tmp_path / str(attempt)
        with start_writer(folder, "A", saves=1) as one, start_writer(folder, "B", saves=1) as two:
            pass
        assert one.returncode == two.returncode == 0
        assert read_state(folder) in (model("A"), model("B"))
        assert_nothing_else(folder, "README.md")


@pytest.mark.medium
def test_a_writer_waits_for_the_lock(tmp_path: Path) -> None:
    write_parts(tmp_path, *model("A"))
    with (tmp_path / ".lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with start_writer(tmp_path, "B", saves=1) as writer:
            with pytest.raises(subprocess.TimeoutExpired):
                writer.wait(timeout=0.3)
            assert read_state(tmp_path) == model("A")
            fcntl.flock(lock, fcntl.LOCK_UN)
    assert read_state(tmp_path) == model("B")


def test_a_folder_that_another_process_has_just_written_is_not_foreign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".config.json.01234567.dmte-tmp").touch()

    def overtaken(path: Path) -> bool:
        monkeypatch.undo()
        write_parts(tmp_path, PARTS, card="card")
        return path.exists()

    monkeypatch.setattr(storage, "_is_leftover", overtaken)
    write_parts(tmp_path, OTHER_PARTS)
    assert read_parts(tmp_path) == OTHER_PARTS


def test_a_part_that_another_process_has_just_removed_is_not_foreign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vanished = tmp_path / "config-0123456789abcdef.json"
    monkeypatch.setattr(Path, "iterdir", lambda _: iter([vanished]))
    write_parts(tmp_path, PARTS)
    assert read_parts(tmp_path) == PARTS


def test_the_lock_is_released_even_if_a_fork_keeps_the_file_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock, copies = fcntl.flock, []

    def copied(lock: int, operation: int) -> None:
        copies.append(os.dup(lock))  # as a fork does
        flock(lock, operation)

    monkeypatch.setattr(fcntl, "flock", copied)
    write_parts(tmp_path, PARTS)
    with (tmp_path / ".lock").open("rb") as lock:
        flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    for copy in copies:
        os.close(copy)
    assert copies


def test_a_reader_overtaken_by_a_writer_reads_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_parts(tmp_path, PARTS, card="old")

    def overtaken(folder: Path) -> Any:
        monkeypatch.undo()
        manifest = read_manifest(folder)
        write_parts(folder, OTHER_PARTS, card="new")
        return manifest

    monkeypatch.setattr(storage, "read_manifest", overtaken)
    assert read_parts(tmp_path) == OTHER_PARTS
    assert vars(storage)["read_manifest"] is read_manifest


def test_the_second_read_locks_writers_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_parts(tmp_path, PARTS)
    read_once, writable = storage._read_once, []

    def look(folder: Path, names: None, read: Callable[..., bytes]) -> dict[str, bytes]:
        with (tmp_path / ".lock").open("rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                writable.append(True)
            except BlockingIOError:
                writable.append(False)
        if len(writable) == 1:
            raise StorageError("overtaken")
        return read_once(folder, names, read)

    monkeypatch.setattr(storage, "_read_once", look)
    assert read_parts(tmp_path) == PARTS
    assert writable == [True, False]


@pytest.mark.medium
def test_importing_storage_does_not_import_torch() -> None:
    script = CHILD.split("print")[0].replace("folder,", "_,", 1)
    source = str(Path(dmte.__file__).parent)
    check = f"{script}\nassert 'torch' not in sys.modules and 'safetensors' not in sys.modules"
    subprocess.run([sys.executable, "-c", check, source, ".", "A", "0"], check=True)
