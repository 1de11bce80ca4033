"""The model folder after a crash: it holds the old parts or the new."""

import itertools
import os
import random
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dmte.storage.folder import is_stored, read_parts, write_parts
from model_folders import (
    OTHER_CARD,
    OTHER_PARTS,
    PARTS,
    WITH_CARD,
    WITHOUT_CARD,
    State,
    assert_nothing_else,
    read_state,
)


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
