"""Indexes in the user's cache folder: made here or not used."""

import hashlib
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from dmte.embedding.embedding import Embedding
from dmte.errors import DmteWarning
from dmte.search import approximate, index_cache
from dmte.search.approximate import ApproximateIndex
from dmte.storage.folder import write_parts
from hostile_files import PLANTS, within

pytest.importorskip("usearch", reason="approximate search needs the extra dmte[search]")
K = 5


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, and no reading of other bytes than those that were built."""
    built: set[bytes] = set()
    build, load = ApproximateIndex.to_bytes, ApproximateIndex.from_bytes

    def to_bytes(index: ApproximateIndex) -> bytes:
        built.add(data := build(index))
        return data

    def from_bytes(data: bytes) -> ApproximateIndex:
        assert data in built
        return load(data)

    monkeypatch.setattr(ApproximateIndex, "to_bytes", to_bytes)
    monkeypatch.setattr(ApproximateIndex, "from_bytes", from_bytes)
    monkeypatch.setattr(index_cache, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    vectors = torch.randn(200, 8, generator=torch.Generator().manual_seed(0))
    Embedding([f"v{row}" for row in range(200)], vectors, text_dim=4).save(tmp_path / "model")
    return tmp_path / "model"


def search(folder: Path, vertex: str = "v5") -> list[str]:
    found = Embedding.load(folder).most_similar(vertex, K, approximate=True)
    return [neighbor.id for neighbor in found]


def kept(cache: Path) -> list[Path]:
    return sorted((cache / "indexes").iterdir(), key=lambda path: path.stat().st_mtime_ns)


def builds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the number of rows of every index that is built."""
    rows: list[int] = []
    build = ApproximateIndex.of

    def of(table: object) -> ApproximateIndex:
        rows.append(len(table))  # type: ignore[arg-type]
        return build(table)  # type: ignore[arg-type]

    monkeypatch.setattr(ApproximateIndex, "of", of)
    return rows


def test_an_index_is_kept_in_the_cache_until_the_vectors_change(
    cache: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = builds(monkeypatch)
    exact = [one.id for one in Embedding.load(model).most_similar("v5", K)]
    assert search(model) == search(model) == exact
    assert (len(built), len(kept(cache))) == (1, 1)
    embedding = Embedding.load(model)
    Embedding(embedding.ids, embedding.vectors.flip(0).clone(), 4).save(model)
    assert search(model, "v194") == [f"v{199 - int(name[1:])}" for name in exact]
    assert (len(built), len(kept(cache))) == (2, 2)


def test_another_version_or_setting_needs_another_index(
    cache: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    search(model)
    monkeypatch.setattr(index_cache, "library_version", lambda: "99.0")
    search(model)
    monkeypatch.setattr(index_cache, "SETTINGS", {**approximate.SETTINGS, "connectivity": 8})
    search(model)
    assert len(kept(cache)) == 3


def test_each_half_and_type_has_its_own_index(cache: Path, model: Path) -> None:
    embedding = Embedding.load(model)
    for half in ("both", "text", "structure"):
        embedding.most_similar("v5", K, half=half, approximate=True)
    Embedding(embedding.ids, embedding.vectors.double(), 4).save(model)
    search(model)
    assert len(kept(cache)) == 4


def test_vectors_that_are_not_stored_leave_no_index(cache: Path) -> None:
    embedding = Embedding(("a", "b"), torch.eye(2), 2)
    assert embedding.most_similar("a", 1, approximate=True)[0].id == "b"
    assert not cache.exists()


def test_an_index_in_a_model_folder_is_neither_read_nor_changed(cache: Path, model: Path) -> None:
    exact = [one.id for one in Embedding.load(model).most_similar("v5", K)]
    digest = hashlib.sha256(b"of the vectors").hexdigest()
    about = f'{{"half": "both", "rows": 200, "sha256": "{digest}"}}'.encode()
    parts = {"about.json": about, "graph.usearch": os.urandom(5000)}
    write_parts(model / "index-both", parts)
    before = {path: path.read_bytes() for path in model.rglob("*") if path.is_file()}
    assert search(model) == exact
    assert {path: path.read_bytes() for path in model.rglob("*") if path.is_file()} == before
    assert len(kept(cache)) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other permissions")
@pytest.mark.parametrize("mode", [None, 0o777, 0o755])
def test_only_the_user_can_use_the_cache(cache: Path, model: Path, mode: int | None) -> None:
    if mode is not None:
        (cache / "indexes").mkdir(parents=True)
        cache.chmod(mode)
        (cache / "indexes").chmod(mode)
    search(model)
    for folder in (cache, cache / "indexes"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def flip(path: Path, byte: int) -> None:
    data = bytearray(path.read_bytes())
    data[byte] ^= 1
    path.write_bytes(data)


def replace(path: Path, plant: str) -> None:
    path.unlink()
    PLANTS[plant](path)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "an altered checksum": lambda path: flip(path, 3),
    "an altered index": lambda path: flip(path, 100),
    "an altered end": lambda path: flip(path, -1),
    "half of it": lambda path: os.truncate(path, path.stat().st_size // 2),
    "nothing": lambda path: os.truncate(path, 0),
    "a pipe": lambda path: replace(path, "pipe"),
    "a link": lambda path: replace(path, "link"),
    "a device": lambda path: replace(path, "device"),
}


@pytest.mark.skipif(sys.platform == "win32", reason="has no pipes")
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_index_is_not_used_and_built_again(
    cache: Path, model: Path, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, built = search(model), builds(monkeypatch)
    (path,) = kept(cache)
    DAMAGES[damage](path)
    if damage in ("a pipe", "a device"):  # Not replaced: the user may have put it there.
        with within(5), pytest.warns(DmteWarning, match="the index is not kept"):
            assert search(model) == found
        return
    with within(5):
        assert search(model) == found
        assert search(model) == found
    assert built == [200]


def test_an_index_of_other_vectors_under_the_same_name_is_not_used(
    cache: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = search(model)
    (path,) = kept(cache)
    fewer = ApproximateIndex.of(torch.randn(50, 8).numpy()).to_bytes()
    path.write_bytes(hashlib.sha256(fewer).digest() + fewer)
    built = builds(monkeypatch)
    assert search(model) == found
    assert built == [200]


@pytest.mark.parametrize("problem", ["in the way", "another user", "no home"])
def test_a_cache_that_cannot_be_used_is_a_warning(
    cache: Path, model: Path, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = [one.id for one in Embedding.load(model).most_similar("v5", K)]
    if problem == "in the way":
        cache.write_text("a file")
    elif problem == "another user":
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    else:
        monkeypatch.setattr(index_cache, "cache_folder", lambda: None)
    with pytest.warns(DmteWarning, match="the index is not kept and will be built again: "):
        assert search(model) == exact


def test_the_indexes_that_were_not_used_for_longest_are_removed(
    cache: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedding = Embedding.load(model)
    for half in ("both", "text"):
        embedding.most_similar("v5", half=half, approximate=True)
    first, second = kept(cache)
    for age, path in ((20, first), (10, second)):
        then = path.stat().st_mtime - age
        os.utime(path, (then, then))
    search(model)  # The first one is used again.
    assert kept(cache) == [second, first]
    monkeypatch.setattr(index_cache, "MOST_BYTES", int(2.5 * first.stat().st_size))
    Embedding.load(model).most_similar("v5", half="structure", approximate=True)
    assert second not in kept(cache)
    assert first in kept(cache)
    assert len(kept(cache)) == 2
    monkeypatch.setattr(index_cache, "MOST_BYTES", 0)
    Embedding.load(model).most_similar("v5", half="text", approximate=True)
    assert kept(cache) == [second]  # The one in use is never removed.


def test_the_cache_folder_follows_the_platform(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dmte.runtime.user_folders import cache_folder

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "dmte"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    for platform, expected in (
        ("linux", ".cache"),
        ("darwin", "Library/Caches"),
        ("win32", "AppData/Local"),
    ):
        monkeypatch.setattr(sys, "platform", platform)
        assert cache_folder() == tmp_path / expected / "dmte"
