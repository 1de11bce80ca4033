"""The model folder: reads return what was written, or raise."""

import errno
import hashlib
import os
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from dmte.errors import StorageError
from dmte.storage.codec import encode_tensors, view_tensors
from dmte.storage.folder import check_writable, is_stored, map_parts, read_parts, write_parts
from hostile_models import rewrite_manifest
from model_folders import OTHER_PARTS, PARTS, assert_nothing_else, listed_files

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


def test_a_file_that_cannot_be_read_raises_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_parts(tmp_path, PARTS)
    path = tmp_path / listed_files(tmp_path)["config.json"]

    def fail(file: Path, *options: int) -> int:
        if file == path:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(file))
        return open_file(file, *options)

    open_file = os.open
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", fail)
        with pytest.raises(StorageError, match=r"cannot read .*\.json: Permission denied; check"):
            read_parts(tmp_path)
    assert read_parts(tmp_path)["config.json"] == path.read_bytes()


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
    assert (view_tensors(read_parts(tmp_path)["some.safetensors"])["a"] < 7.0).all()


@pytest.mark.parametrize("damage", [b"", b"short", None])
def test_a_mapped_part_that_is_damaged_raises(tmp_path: Path, damage: bytes | None) -> None:
    write_parts(tmp_path, PARTS)
    path = tmp_path / listed_files(tmp_path)["config.json"]
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + b"?" if damage is None else damage)
    with pytest.raises(StorageError, match=r"empty|bytes instead of|is damaged"):
        map_parts(tmp_path, ["config.json"])
