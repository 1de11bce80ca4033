"""Data sets by name, and the folders that are searched for them."""

import re
import subprocess
from pathlib import Path

import pytest

from dmte.errors import NetworkError
from dmte.network import read_network
from dmte.network.datasets import (
    DATASETS,
    UNKNOWN_SIZE_LIMIT,
    DataFile,
    Dataset,
    Origin,
    blob_id,
    check_dataset,
    check_published,
    data_folder,
    find_dataset,
    get_dataset,
)

HELLO = DataFile("data.txt", "ce013625030ba8dba906f756967f9e9ca394464a", 6)  # git hash-object
TINY = Dataset("tiny", "one line", 1, 0, (HELLO,), Origin("someone/something", "tiny"))
PUBLISHED = [dataset for dataset in DATASETS.values() if not dataset.bundled]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder of the user, and no other."""
    monkeypatch.delenv("DMTE_DATA", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return tmp_path / "dmte"


def place(root: Path, content: bytes) -> Path:
    (root / "tiny").mkdir(parents=True, exist_ok=True)
    (root / "tiny" / "data.txt").write_bytes(content)
    return root


def test_the_blob_id_equals_gits(tmp_path: Path) -> None:
    assert blob_id(place(tmp_path, b"hello\n") / "tiny" / "data.txt") == HELLO.blob
    assert blob_id(place(tmp_path, b"") / "tiny" / "data.txt").startswith("e69de29bb2d1d6434b8b29a")


def test_every_data_set_has_counts_and_valid_blob_ids() -> None:
    assert [dataset.name for dataset in DATASETS.values()] == list(DATASETS)
    for dataset in DATASETS.values():
        assert dataset.num_vertices > 0
        assert dataset.num_edges > 0
    blobs = [file.blob for dataset in PUBLISHED for file in dataset.files]
    assert all(re.fullmatch("[0-9a-f]{40}", blob) for blob in blobs)
    assert len(set(blobs)) == len(blobs) == 10


def test_a_file_of_unknown_size_has_a_generous_limit() -> None:
    unknown = [file for dataset in PUBLISHED for file in dataset.files if file.size is None]
    assert [file.limit for file in unknown] == [UNKNOWN_SIZE_LIMIT]
    largest = max(file.size or 0 for dataset in PUBLISHED for file in dataset.files)
    assert 10 * largest < UNKNOWN_SIZE_LIMIT


def test_the_bundled_data_set_has_the_stated_size() -> None:
    network = read_network("concepts")
    stated = DATASETS["concepts"]
    assert (network.num_vertices, len(network.edges)) == (stated.num_vertices, stated.num_edges)
    assert (find_dataset("concepts") / "concepts.jsonl").is_file()


@pytest.mark.parametrize("dataset", PUBLISHED, ids=lambda dataset: dataset.name)
def test_downloaded_files_equal_the_published_ones(dataset: Dataset, data_folder: Path) -> None:
    found = check_dataset(dataset, data_folder)
    assert not found.different
    assert found.missing in ((), ("data.txt",))
    for file in dataset.files:
        path = found.folder / file.name
        if path.exists():
            git = subprocess.run(["git", "hash-object", path], capture_output=True, check=True)
            assert git.stdout.decode().strip() == file.blob
            lines = {"graph.txt": dataset.num_edges, "data.txt": dataset.num_vertices}
            assert path.read_bytes().count(b"\n") == lines.get(
                file.name, path.read_bytes().count(b"\n")
            )


def test_changed_and_missing_files_are_found(tmp_path: Path) -> None:
    assert check_dataset(TINY, tmp_path).missing == ("data.txt",)
    good = check_dataset(TINY, place(tmp_path, b"hello\n"))
    assert (good.folder, good.missing, good.different) == (tmp_path / "tiny", (), ())
    for other in (b"hallo\n", b"hello\n\n", b""):
        assert check_dataset(TINY, place(tmp_path, other)).different == ("data.txt",)


def test_a_folder_in_place_of_a_file_counts_as_different(tmp_path: Path) -> None:
    (tmp_path / "tiny" / "data.txt").mkdir(parents=True)
    assert check_dataset(TINY, tmp_path).different == ("data.txt",)


def test_an_unreadable_file_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    root = place(tmp_path, b"hello\n")
    monkeypatch.setattr(Path, "open", fail)
    with pytest.raises(NetworkError, match=r"tiny/data.txt cannot be read: Permission denied; "):
        check_dataset(TINY, root)


def test_the_variable_sets_the_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DMTE_DATA", "somewhere")
    assert data_folder() == Path("somewhere")


@pytest.mark.parametrize("named", [None, ""])
def test_without_the_variable_the_data_folder_is_the_users(
    named: str | None, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if named is not None:
        monkeypatch.setenv("DMTE_DATA", named)
    assert data_folder() == home


@pytest.mark.parametrize("other", [None, "", "relative"])
def test_the_users_data_folder_is_below_home_by_default(
    other: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_DATA_HOME")
    if other is not None:
        monkeypatch.setenv("XDG_DATA_HOME", other)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data_folder() == tmp_path / ".local" / "share" / "dmte"


def test_a_missing_home_folder_raises_with_the_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def homeless(_: type[Path]) -> Path:
        raise RuntimeError

    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setattr(Path, "home", classmethod(homeless))
    with pytest.raises(NetworkError, match="set DMTE_DATA to a folder"):
        data_folder()


def test_a_network_is_read_from_the_users_folder(home: Path) -> None:
    (home / "hepth").mkdir(parents=True)
    (home / "hepth" / "data.txt").write_text("one\ntwo\n")
    (home / "hepth" / "graph.txt").write_text("0\t1\n")
    assert read_network("hepth").texts == ("one", "two")


def test_a_missing_file_raises_with_its_folder_and_the_download_command(home: Path) -> None:
    (home / "cora").mkdir(parents=True)
    (home / "cora" / "graph.txt").touch()
    with pytest.raises(NetworkError) as error:
        read_network("cora")
    message = str(error.value)
    assert f"{home} lacks cora/data.txt and cora/group.txt, and DMTE_DATA is not set;" in message
    assert "'dmte datasets download cora'" in message
    assert message.endswith(f"download the missing files into {home / 'cora'}")


def test_a_file_that_differs_from_the_published_one_raises_with_its_name(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dmte.network.datasets.DATASETS", {"tiny": TINY})
    check_published("tiny")  # A missing file is ignored.
    place(home, b"hello\n")
    check_published("tiny")
    place(home, b"hello")
    with pytest.raises(NetworkError) as error:
        check_published("tiny")
    assert str(error.value).startswith(f"{home / 'tiny' / 'data.txt'}: not the published file")
    assert "'dmte datasets download tiny'" in str(error.value)


def test_an_unknown_name_raises_with_a_close_one() -> None:
    with pytest.raises(NetworkError, match="no data set 'COR'; did you mean cora"):
        get_dataset("COR")
