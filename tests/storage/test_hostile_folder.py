"""A folder with pipes, devices, links and giants in place of files: one error, at once."""

import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dmte.errors import StorageError
from dmte.storage import manifest, regular_file
from dmte.storage.folder import check_writable, map_parts, read_parts, write_parts
from hostile_files import GIANT, PLANTS, sparse, within
from hostile_models import alter_manifest, rewrite_manifest, write_folder
from model_folders import OTHER_PARTS, PARTS, listed_files

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="has neither pipes nor signals")


@pytest.mark.parametrize("read", [read_parts, lambda folder: map_parts(folder, ["config.json"])])
@pytest.mark.parametrize("file", ["config.json", "manifest.json", "README.md"])
@pytest.mark.parametrize("plant", PLANTS)
def test_what_is_not_a_regular_file_of_the_listed_size_raises_at_once(
    tmp_path: Path, plant: str, file: str, read: Callable[[Path], object]
) -> None:
    write_parts(tmp_path, PARTS, card="card")
    path = tmp_path / listed_files(tmp_path).get(file, file)
    path.unlink()
    PLANTS[plant](path)
    with within(5), pytest.raises(StorageError, match=r"manifest\.json|config-|README\.md"):
        read(tmp_path)


@pytest.mark.parametrize("plant", PLANTS)
def test_a_lock_that_is_not_a_regular_file_is_not_used(tmp_path: Path, plant: str) -> None:
    write_parts(tmp_path, PARTS)
    lock = tmp_path / ".lock"
    lock.unlink()
    PLANTS[plant](lock)
    with within(5):
        assert read_parts(tmp_path) == PARTS
        (tmp_path / listed_files(tmp_path)["config.json"]).unlink()
        with pytest.raises(StorageError, match="is missing, but listed"):
            read_parts(tmp_path)
        if plant != "sparse giant":
            with pytest.raises(StorageError, match=r"\.lock must be a regular file"):
                write_parts(tmp_path, OTHER_PARTS)


@pytest.mark.parametrize("plant", [name for name in PLANTS if name != "sparse giant"])
def test_writing_over_what_is_not_a_regular_file_raises_at_once(tmp_path: Path, plant: str) -> None:
    write_parts(tmp_path, PARTS)
    path = tmp_path / listed_files(tmp_path)["config.json"]
    path.unlink()
    PLANTS[plant](path)
    with within(5), pytest.raises(StorageError, match="must be a regular file"):
        write_parts(tmp_path, PARTS)
    other = tmp_path / "other"
    other.mkdir()
    PLANTS[plant](other / path.name)
    with within(5), pytest.raises(StorageError, match=r"but no manifest\.json"):
        check_writable(other)


def test_a_sparse_part_of_the_listed_size_is_not_read_into_memory(tmp_path: Path) -> None:
    write_parts(tmp_path, PARTS)
    sparse(tmp_path / listed_files(tmp_path)["config.json"])
    rewrite_manifest(tmp_path, lambda it: it["parts"]["config.json"].update(size=GIANT))
    for read in (read_parts, lambda folder: map_parts(folder, ["config.json"])):
        with within(5), pytest.raises(StorageError, match=r"has 4,398\.0 GB, but there is room"):
            read(tmp_path)


def test_a_part_may_need_as_much_memory_as_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_parts(tmp_path, PARTS)
    monkeypatch.setattr(regular_file, "UNCHECKED_BYTES", 0)
    monkeypatch.setattr(regular_file, "available_bytes", lambda: 2100)
    assert read_parts(tmp_path) == PARTS
    monkeypatch.setattr(regular_file, "available_bytes", lambda: 2099)
    with pytest.raises(StorageError, match="there is room for"):
        read_parts(tmp_path)
    monkeypatch.setattr(regular_file, "available_bytes", lambda: None)  # Another system.
    assert read_parts(tmp_path) == PARTS


def test_a_manifest_larger_than_any_is_not_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_parts(tmp_path, PARTS)
    size = (tmp_path / "manifest.json").stat().st_size
    monkeypatch.setattr(manifest, "MOST_BYTES", size - 1)
    with pytest.raises(StorageError, match=f"manifest.json has {size} bytes, more than {size - 1}"):
        read_parts(tmp_path)


@pytest.mark.parametrize("size", [-1, "7", 7.0, True, None, [7]])
def test_a_size_that_is_not_a_number_of_bytes_is_damage(tmp_path: Path, size: object) -> None:
    write_parts(tmp_path, {"config.json": b"{}"})
    rewrite_manifest(tmp_path, lambda it: it["parts"]["config.json"].update(size=size))
    with pytest.raises(StorageError, match=r"manifest\.json is damaged"):
        read_parts(tmp_path)


def test_a_link_to_the_folder_itself_is_followed(tmp_path: Path) -> None:
    write_parts(tmp_path / "model", PARTS)
    (tmp_path / "latest").symlink_to("model")
    assert read_parts(tmp_path / "latest") == PARTS
    write_parts(tmp_path / "latest", OTHER_PARTS)
    assert read_parts(tmp_path / "model") == OTHER_PARTS


def test_a_deep_manifest_is_damage(tmp_path: Path) -> None:
    write_parts(tmp_path, PARTS)
    (tmp_path / "manifest.json").write_text("[" * 1_000_000)
    with within(5), pytest.raises(StorageError, match=r"manifest\.json is damaged"):
        read_parts(tmp_path)


@pytest.mark.medium
def test_an_altered_manifest_is_read_or_raises_one_error(tmp_path: Path) -> None:
    errors: list[str] = []
    for number in range(400):
        folder = tmp_path / str(number)
        write_folder(folder, PARTS)
        words = alter_manifest(folder, random.Random(number))
        try:
            with within(5):
                assert read_parts(folder).items() <= PARTS.items()
        except StorageError as problem:
            errors.append(str(problem))
        except BaseException as error:
            error.add_note(f"{number}: {words}")
            raise
    assert 200 < len(errors) < 400
    assert max(map(len, errors)) < 500
