"""The model folder: reads return what was written, or raise."""

import errno
import fcntl
import hashlib
import inspect
import itertools
import json
import os
import random
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

import dmte
from dmte.errors import StorageError
from dmte.storage import folder as storage
from dmte.storage.codec import (
    decode_json,
    decode_tensors,
    encode_json,
    encode_tensors,
    view_tensors,
)
from dmte.storage.folder import check_writable, is_stored, map_parts, read_parts, write_parts
from dmte.storage.manifest import read_manifest

PARTS = {
    "config.json": b'{"dim": 2}\n',
    "vectors.safetensors": b"\x00\x01\x02" * 700,
    "ids.json": b"",
}
OTHER_PARTS = {
    "config.json": b'{"dim": 3}\n',
    "vectors.safetensors": b"\x07" * 900,
    "ids.json": b"",
}

State = tuple[Mapping[str, bytes], str | None]
WITH_CARD: State = (PARTS, "old")
OTHER_CARD: State = (OTHER_PARTS, "new")
WITHOUT_CARD: State = (OTHER_PARTS, None)
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


def listed_files(folder: Path) -> dict[str, str]:
    """File of every part according to the manifest."""
    manifest = json.loads((folder / "manifest.json").read_bytes())
    return {name: entry["file"] for name, entry in manifest["parts"].items()}


def expected_files(folder: Path, *others: str) -> set[str]:
    return {".lock", "manifest.json", *listed_files(folder).values(), *others}


def assert_nothing_else(folder: Path, *others: str) -> None:
    assert {path.name for path in folder.iterdir()} == expected_files(folder, *others)


# ── Writing and reading ──


def test_written_parts_are_read_back(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "model"
    write_parts(folder, PARTS, card="# A card, with ümlaut\n")
    assert read_parts(folder) == PARTS
    assert read_parts(folder, ["ids.json"]) == {"ids.json": b""}
    assert (folder / "README.md").read_text(encoding="utf-8") == "# A card, with ümlaut\n"
    assert_nothing_else(folder, "README.md")


def test_a_part_is_named_after_its_content(tmp_path: Path) -> None:
    write_parts(tmp_path, PARTS)
    digest = hashlib.sha256(PARTS["config.json"]).hexdigest()
    assert (tmp_path / f"config-{digest[:16]}.json").read_bytes() == PARTS["config.json"]


def test_the_same_parts_give_the_same_files(tmp_path: Path) -> None:
    folders = [tmp_path / "first", tmp_path / "second"]
    write_parts(folders[0], PARTS, card="card")
    write_parts(folders[1], dict(reversed(PARTS.items())), card="card")
    first, second = ({p.name: p.read_bytes() for p in folder.iterdir()} for folder in folders)
    assert first == second


def test_a_folder_is_stored_once_it_has_a_manifest(tmp_path: Path) -> None:
    assert not is_stored(tmp_path)
    assert not is_stored(tmp_path / "missing")
    write_parts(tmp_path, PARTS)
    assert is_stored(tmp_path)


def test_overwriting_removes_old_parts_and_leaves_the_users_files_alone(tmp_path: Path) -> None:
    write_parts(tmp_path, PARTS, card="old")
    own = ["notes.txt", "notes-0123456789abcdef.txt", ".notes.dmte-tmp", "config.json"]
    for name in own:
        (tmp_path / name).write_text("mine")
    (tmp_path / "folder-0123456789abcdef.d").mkdir()
    write_parts(tmp_path, OTHER_PARTS, card="new")
    assert read_parts(tmp_path) == OTHER_PARTS
    assert_nothing_else(tmp_path, "README.md", "folder-0123456789abcdef.d", *own)
    assert {(tmp_path / name).read_text() for name in own} == {"mine"}


def test_leftovers_of_killed_writes_are_removed(tmp_path: Path) -> None:
    write_parts(tmp_path, PARTS)
    for name in (".config-0123456789abcdef.json.01234567.dmte-tmp", ".README.md.89abcdef.dmte-tmp"):
        (tmp_path / name).write_text("half a")
    (tmp_path / f"config-{hashlib.sha256(b'whole').hexdigest()[:16]}.json").write_bytes(b"whole")
    write_parts(tmp_path, PARTS)
    assert_nothing_else(tmp_path)


def test_leftovers_of_a_killed_first_write_do_not_prevent_a_write(tmp_path: Path) -> None:
    write_parts(tmp_path, PARTS)
    (tmp_path / "manifest.json").rename(tmp_path / ".manifest.json.01234567.dmte-tmp")
    write_parts(tmp_path, OTHER_PARTS)
    assert read_parts(tmp_path) == OTHER_PARTS
    assert_nothing_else(tmp_path)


def test_an_unchanged_part_is_not_written_again(tmp_path: Path) -> None:
    write_parts(tmp_path, PARTS)
    path = tmp_path / listed_files(tmp_path)["vectors.safetensors"]
    before = path.stat()
    write_parts(tmp_path, PARTS | {"config.json": b"{}"})
    after = path.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_damaged_part_is_written_again(tmp_path: Path) -> None:
    write_parts(tmp_path, PARTS)
    (tmp_path / listed_files(tmp_path)["vectors.safetensors"]).write_bytes(b"\xff" * 2100)
    write_parts(tmp_path, PARTS)
    assert read_parts(tmp_path) == PARTS


def test_a_damaged_part_is_removed_with_the_other_old_parts(tmp_path: Path) -> None:
    write_parts(tmp_path, PARTS)
    (tmp_path / listed_files(tmp_path)["vectors.safetensors"]).write_bytes(b"\xff" * 2100)
    write_parts(tmp_path, OTHER_PARTS)
    assert_nothing_else(tmp_path)


def test_a_copy_without_the_lock_can_be_read(tmp_path: Path) -> None:
    write_parts(tmp_path, PARTS)
    (tmp_path / ".lock").unlink()
    assert read_parts(tmp_path) == PARTS
    with pytest.raises(StorageError, match=r"no part words\.json"):
        read_parts(tmp_path, ["words.json"])
    assert not (tmp_path / ".lock").exists()


# ── The card ──


def test_a_save_without_a_card_removes_the_old_one(tmp_path: Path) -> None:
    write_parts(tmp_path, PARTS, card="old")
    write_parts(tmp_path, PARTS)
    assert_nothing_else(tmp_path)


def test_a_readme_of_the_user_is_neither_checked_nor_overwritten(tmp_path: Path) -> None:
    write_parts(tmp_path, PARTS, card="old")
    write_parts(tmp_path, PARTS)
    (tmp_path / "README.md").write_text("mine")
    write_parts(tmp_path, OTHER_PARTS)
    assert read_parts(tmp_path) == OTHER_PARTS
    with pytest.raises(StorageError, match=r"README\.md is not from dmte; move it"):
        write_parts(tmp_path, PARTS, card="new")
    assert (tmp_path / "README.md").read_text() == "mine"
    assert read_parts(tmp_path) == OTHER_PARTS


@pytest.mark.parametrize("card", ["old", "new"])
def test_the_previous_and_the_new_card_are_accepted(tmp_path: Path, card: str) -> None:
    write_parts(tmp_path, PARTS, card="old")
    write_parts(tmp_path, PARTS, card="new")
    (tmp_path / "README.md").write_text(card)
    assert read_parts(tmp_path) == PARTS


def test_a_card_may_be_missing_only_if_there_was_none_before(tmp_path: Path) -> None:
    write_parts(tmp_path, PARTS, card="old")
    (tmp_path / "README.md").unlink()
    assert read_parts(tmp_path) == PARTS
    write_parts(tmp_path, PARTS, card="old")
    write_parts(tmp_path, PARTS, card="new")
    (tmp_path / "README.md").unlink()
    with pytest.raises(StorageError, match=r"README\.md is missing"):
        read_parts(tmp_path)


# ── Errors ──


@pytest.mark.parametrize(
    "name",
    ["", "config", ".json", ".hidden.json", "a/b.json", "../b.json", "b.", "a b.json", "ü.json"],
)
def test_a_part_with_an_unfit_name_raises(tmp_path: Path, name: str) -> None:
    with pytest.raises(StorageError, match=f"^{re.escape(repr(name))} cannot name a part"):
        write_parts(tmp_path / "model", {name: b""})
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("name", ["thesis.txt", "manifest.json", "notes-0123456789abcdef.txt"])
def test_a_foreign_folder_raises_and_stays_unchanged(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("{}")
    with pytest.raises(StorageError, match=re.escape(name)):
        write_parts(tmp_path, PARTS)
    with pytest.raises(StorageError, match="dmte"):
        read_parts(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_path_that_is_a_file_raises(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("mine")
    for folder in (path, path / "model"):
        with pytest.raises(StorageError, match="file is a file; choose a folder"):
            write_parts(folder, PARTS)
    with pytest.raises(StorageError, match="file is a file; give the folder"):
        read_parts(path)
    assert path.read_text() == "mine"


def test_a_folder_that_does_not_exist_raises(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"model does not exist; give the folder of a saved"):
        read_parts(tmp_path / "model")


def test_a_folder_that_cannot_be_made_raises_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="File name too long; check its") as caught:
        write_parts(tmp_path / ("x" * 300), PARTS)
    assert isinstance(caught.value.__cause__, OSError)


def test_a_file_that_cannot_be_read_raises_with_the_reason(tmp_path: Path) -> None:
    write_parts(tmp_path, PARTS)
    path = tmp_path / listed_files(tmp_path)["config.json"]
    path.unlink()
    path.mkdir()
    with pytest.raises(StorageError, match=f"cannot read .*{path.name}: Is a directory"):
        read_parts(tmp_path)


def test_a_full_disk_leaves_the_old_parts_and_no_leftovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_parts(tmp_path, PARTS, card="old")

    def fail(descriptor: int) -> None:
        if os.fstat(descriptor).st_size == len("the card of OTHER_PARTS"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(StorageError, match="No space left on device"):
            write_parts(tmp_path, OTHER_PARTS, card="the card of OTHER_PARTS")
    assert read_parts(tmp_path) == PARTS
    assert_nothing_else(tmp_path, "README.md")


def test_a_missing_part_raises_with_the_existing_ones(tmp_path: Path) -> None:
    write_parts(tmp_path, PARTS)
    expected = r"has no part words\.json; it holds config\.json, ids\.json, vectors\.safetensors$"
    with pytest.raises(StorageError, match=expected):
        read_parts(tmp_path, ["config.json", "words.json"])


def test_a_missing_file_raises_with_its_name(tmp_path: Path) -> None:
    write_parts(tmp_path, PARTS)
    path = tmp_path / listed_files(tmp_path)["config.json"]
    path.unlink()
    with pytest.raises(StorageError, match=f"{path.name} is missing, but listed in manifest.json"):
        read_parts(tmp_path)


def test_a_truncated_file_raises_with_both_sizes(tmp_path: Path) -> None:
    write_parts(tmp_path, PARTS)
    path = tmp_path / listed_files(tmp_path)["vectors.safetensors"]
    os.truncate(path, 2099)
    with pytest.raises(StorageError, match=f"{path.name} has 2099 bytes instead of 2100; restore"):
        read_parts(tmp_path)
    assert read_parts(tmp_path, ["config.json"]) == {"config.json": PARTS["config.json"]}


def rewrite_manifest(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the manifest and update its SHA-256, as a newer version or a forger would."""
    content = json.loads((folder / "manifest.json").read_bytes())
    del content["sha256"]
    change(content)
    content["sha256"] = hashlib.sha256(encode_json(content)).hexdigest()
    (folder / "manifest.json").write_bytes(encode_json(content))


def test_a_newer_format_raises_and_is_not_overwritten(tmp_path: Path) -> None:
    write_parts(tmp_path, PARTS)
    rewrite_manifest(tmp_path, lambda content: content.update(format=2, parts=[]))
    for use in (lambda: read_parts(tmp_path), lambda: write_parts(tmp_path, PARTS)):
        with pytest.raises(StorageError, match=r"manifest\.json has format 2.* upgrade dmte$"):
            use()


def test_a_flipped_format_is_damage_and_not_a_newer_format(tmp_path: Path) -> None:
    write_parts(tmp_path, PARTS)
    path = tmp_path / "manifest.json"
    path.write_bytes(path.read_bytes().replace(b'"format": 1', b'"format": 3'))
    with pytest.raises(StorageError, match=r"manifest\.json is damaged"):
        read_parts(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.pop("parts"),
        lambda content: content.pop("card"),
        lambda content: content.update(parts=[]),
        lambda content: content.update(extra=1),
        lambda content: content["parts"]["config.json"].pop("size"),
        lambda content: content["parts"]["config.json"].update(sha256=1),
        lambda content: content["parts"]["config.json"].update(file="../secret.json"),
        lambda content: content["parts"].update(
            {"/etc/a.json": {"file": f"/etc/a-{'0' * 16}.json", "size": 1, "sha256": "0" * 64}}
        ),
    ],
)
def test_a_manifest_in_another_shape_raises(
    tmp_path: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    write_parts(tmp_path, PARTS)
    rewrite_manifest(tmp_path, change)
    with pytest.raises(
        StorageError, match=r"manifest\.json is damaged, or was not written by dmte"
    ):
        read_parts(tmp_path)


# ── Flipped bits ──


def flip(path: Path, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)


@pytest.mark.medium
def test_a_flipped_bit_is_detected_and_its_file_named(tmp_path: Path) -> None:
    draw = random.Random(0)
    write_parts(tmp_path, PARTS, card="# The card before\n")
    write_parts(tmp_path, OTHER_PARTS, card="# The card\n")
    files = sorted(path for path in tmp_path.iterdir() if path.stat().st_size)
    assert len(files) == 4  # two parts (the third is empty), the manifest and the card
    for path in files * 75:
        bit = draw.randrange(8 * path.stat().st_size)
        flip(path, bit)
        with pytest.raises(StorageError, match=re.escape(path.name)):
            read_parts(tmp_path)
        flip(path, bit)
        assert read_parts(tmp_path) == OTHER_PARTS


@pytest.mark.medium
def test_no_byte_of_the_manifest_or_the_card_can_change(tmp_path: Path) -> None:
    write_parts(tmp_path, {"a.json": b"{}"}, card="# Card\n")
    for path in (tmp_path / "manifest.json", tmp_path / "README.md"):
        for byte in range(path.stat().st_size):
            bit = 8 * byte + byte % 8
            flip(path, bit)
            with pytest.raises(StorageError, match=re.escape(path.name)):
                read_parts(tmp_path, [])
            flip(path, bit)
    assert read_parts(tmp_path) == {"a.json": b"{}"}


# ── Crashes ──


class Crash(BaseException):
    """Simulated end of the process."""


def crash_from_operation(number: int, patch: pytest.MonkeyPatch) -> None:
    """Fail every change of the file system from the given one on; truncate unsynced data."""
    operations = itertools.count(1)

    def crashing(operation: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            reads = operation is open_file and "rb" in (*args[1:], *options.values())
            if not reads and next(operations) >= number:
                if operation is fsync:
                    lose_half(args[0])
                raise Crash
            return operation(*args, **options)

        return call

    fsync, open_file = os.fsync, Path.open
    patch.setattr(os, "fsync", crashing(fsync))
    patch.setattr(os, "mkdir", crashing(os.mkdir))
    patch.setattr(Path, "open", crashing(open_file))
    patch.setattr(Path, "replace", crashing(Path.replace))
    patch.setattr(Path, "unlink", crashing(Path.unlink))


def lose_half(descriptor: int) -> None:
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode):
        os.truncate(descriptor, status.st_size // 2)


def crashed(folder: Path, state: State, number: int) -> bool:
    """Write the state with a crash at the given operation; False if there were fewer operations."""
    with pytest.MonkeyPatch.context() as patch:
        crash_from_operation(number, patch)
        try:
            write_parts(folder, *state)
        except Crash:
            return True
    return False


def read_state(folder: Path) -> State:
    card = folder / "README.md"
    return read_parts(folder), card.read_text() if card.exists() else None


CHANGES = {
    "first": ([], WITH_CARD),
    "first without a card": ([], WITHOUT_CARD),
    "over another": ([WITH_CARD], OTHER_CARD),
    "over the same": ([WITH_CARD], WITH_CARD),
    "adding a card": ([WITHOUT_CARD], WITH_CARD),
    "removing the card": ([WITH_CARD], WITHOUT_CARD),
    "after removing the card": ([WITH_CARD, WITHOUT_CARD], OTHER_CARD),
}


@pytest.mark.parametrize("change", list(CHANGES))
def test_a_crash_at_any_operation_leaves_the_old_parts_or_the_new(
    tmp_path: Path, change: str
) -> None:
    before, (parts, card) = CHANGES[change]
    readable = [*(parts for parts, _ in before[-1:]), parts]
    cards = [*(card for _, card in before[-1:]), card, *([] if before else [None])]
    for number in itertools.count(1):
        folder = tmp_path / str(number)
        for state in before:
            write_parts(folder, *state)
        if not crashed(folder, (parts, card), number):
            break
        if before or is_stored(folder):
            found_parts, found_card = read_state(folder)
            assert found_parts in readable
            assert found_card in cards
        write_parts(folder, parts, card)
        assert read_state(folder) == (parts, card)
        assert_nothing_else(folder, *(["README.md"] if card else []))
    assert read_state(folder) == (parts, card)
    assert number > 8


@pytest.mark.medium
def test_repeated_crashes_leave_the_old_parts_or_the_new(tmp_path: Path) -> None:
    draw = random.Random(0)
    states = [WITH_CARD, WITHOUT_CARD, OTHER_CARD]
    write_parts(tmp_path, *WITH_CARD)
    previous, crashes = PARTS, 0
    for _ in range(200):
        state = draw.choice(states)
        crashes += crashed(tmp_path, state, draw.randrange(1, 25))
        found = read_parts(tmp_path)
        assert found in (previous, state[0])
        previous = found
    assert crashes > 50
    write_parts(tmp_path, *OTHER_CARD)
    assert read_state(tmp_path) == OTHER_CARD
    assert_nothing_else(tmp_path, "README.md")


def test_a_write_waits_for_the_disk_before_each_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order matters in a power cut, which loses cached writes; a kill does not."""
    write_parts(tmp_path, PARTS, card="old")
    steps: list[tuple[str, int | str]] = []
    fsync, replace, unlink = os.fsync, Path.replace, Path.unlink

    def logged_fsync(descriptor: int) -> None:
        fsync(descriptor)
        steps.append(("sync", os.fstat(descriptor).st_ino))

    def logged_replace(path: Path, target: Path) -> Path:
        assert ("sync", path.stat().st_ino) in steps
        steps.append(("replace", re.sub(r"-[0-9a-f]{16}", "", target.name)))
        return replace(path, target)

    def logged_unlink(path: Path) -> None:
        steps.append(("unlink", re.sub(r"-[0-9a-f]{16}", "", path.name)))
        unlink(path)

    monkeypatch.setattr(os, "fsync", logged_fsync)
    monkeypatch.setattr(Path, "replace", logged_replace)
    monkeypatch.setattr(Path, "unlink", logged_unlink)
    write_parts(tmp_path, OTHER_PARTS, card="new")
    folder_synced = ("sync", tmp_path.stat().st_ino)
    order = [step for step in steps if step[0] != "sync" or step == folder_synced]
    changed = {"config.json", "vectors.safetensors"}
    assert set(order[:2]) == {("replace", name) for name in changed}
    assert order[2:7] == [
        folder_synced,
        ("replace", "manifest.json"),
        folder_synced,
        ("replace", "README.md"),
        folder_synced,
    ]
    assert set(order[7:]) == {("unlink", name) for name in changed}


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


# ── Several processes at once ──


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

    def look(folder: Path, names: None, read: Callable[[Path], bytes]) -> dict[str, bytes]:
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


# ── Tensors and JSON ──


@pytest.mark.medium
def test_importing_storage_does_not_import_torch() -> None:
    script = CHILD.split("print")[0].replace("folder,", "_,", 1)
    source = str(Path(dmte.__file__).parent)
    check = f"{script}\nassert 'torch' not in sys.modules and 'safetensors' not in sys.modules"
    subprocess.run([sys.executable, "-c", check, source, ".", "A", "0"], check=True)


def test_tensors_come_back_as_they_were() -> None:
    table = torch.arange(12.0).reshape(3, 4)
    tensors = {
        "table": table,
        "view": table[1:],
        "transposed": table.T,
        "expanded": torch.ones(1).expand(5),
        "half": table.to(torch.bfloat16),
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "state": torch.Generator().get_state(),
        "flags": torch.tensor([True, False]),
        "step": torch.tensor(7),
        "empty": torch.empty(0, 3),
    }
    unpacked = decode_tensors(encode_tensors(tensors))
    assert unpacked.keys() == tensors.keys()
    for name, tensor in tensors.items():
        torch.testing.assert_close(unpacked[name], tensor.detach(), rtol=0, atol=0)
        assert unpacked[name].is_contiguous()
        unpacked[name].zero_()  # what was read may be trained on


def test_equal_tensors_give_equal_bytes() -> None:
    tensors = {name: torch.full((3, 2), i) for i, name in enumerate("dbca")}
    again = {name: tensors[name].T.contiguous().T for name in sorted(tensors)}
    assert encode_tensors(tensors) == encode_tensors(again)


@pytest.mark.parametrize(
    "data",
    [b"", b"not safetensors", encode_tensors({"a": torch.ones(9)})[:-1]],
    ids=["empty", "foreign", "cut short"],
)
def test_bytes_that_are_not_tensors_raise(data: bytes) -> None:
    with pytest.raises(StorageError, match=f"^{len(data)} bytes are not safetensors"):
        decode_tensors(data)


def test_json_comes_back_as_it_was() -> None:
    value = {
        "ids": ["é", "水", "\n"],
        "dim": 200,
        "rate": 1e-3,
        "seed": None,
        "deep": [{"a": True}],
    }
    data = encode_json(value)
    assert decode_json(data) == value
    assert "水".encode() in data
    assert data == encode_json(dict(reversed(value.items())))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, object(), "\ud800"])
def test_a_value_without_a_json_form_raises(value: object) -> None:
    with pytest.raises(StorageError, match="has no JSON form"):
        encode_json({"value": value})


@pytest.mark.parametrize(
    "data", [b"", b"{", b'"\xff"', b"[" * 100_000], ids=["empty", "cut short", "latin", "deep"]
)
def test_bytes_that_are_not_json_raise_by_name(data: bytes) -> None:
    with pytest.raises(StorageError, match=r"^config\.json is not JSON"):
        decode_json(data, "config.json")


def test_an_unwritable_folder_is_detected_without_a_change(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    check_writable(tmp_path / "new" / "deep")
    assert not (tmp_path / "new").exists()
    for place in (tmp_path, tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(StorageError, match="choose a"):
            check_writable(place)
    write_parts(tmp_path / "ours", PARTS)
    check_writable(tmp_path / "ours")


def test_mapped_parts_are_the_parts_checked_and_writing_to_them_changes_no_file(
    tmp_path: Path,
) -> None:
    tensors = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.tensor([True, False])}
    write_parts(tmp_path, {"some.safetensors": encode_tensors(tensors)})
    mapped = map_parts(tmp_path, ["some.safetensors"])["some.safetensors"]
    assert mapped[:] == read_parts(tmp_path)["some.safetensors"]
    arrays = view_tensors(mapped)
    assert {name: torch.from_numpy(array).tolist() for name, array in arrays.items()} == {
        name: tensor.tolist() for name, tensor in tensors.items()
    }
    arrays["a"][:] = 7.0
    assert decode_tensors(read_parts(tmp_path)["some.safetensors"])["a"].equal(tensors["a"])


@pytest.mark.parametrize("damage", [b"", b"short", None])
def test_a_mapped_part_that_is_damaged_raises(tmp_path: Path, damage: bytes | None) -> None:
    write_parts(tmp_path, PARTS)
    path = tmp_path / listed_files(tmp_path)["config.json"]
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + b"?" if damage is None else damage)
    with pytest.raises(StorageError, match=r"empty|bytes instead of|is damaged"):
        map_parts(tmp_path, ["config.json"])


def test_bytes_that_are_not_safetensors_cannot_be_viewed() -> None:
    with pytest.raises(StorageError, match="are not safetensors"):
        view_tensors(b"not at all")
