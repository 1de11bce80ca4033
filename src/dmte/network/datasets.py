r"""Data sets by name: their files, where they are published, and where they are stored locally.

    concepts                   included in this package
    cora, hepth, dblp, zhihu   downloaded into a data folder, one subfolder each, for example
                               cora/data.txt, cora/graph.txt and cora/group.txt

The data folder is ``$DMTE_DATA`` if set, else ``$XDG_DATA_HOME/dmte`` or ``~/.local/share/dmte``.
A file is verified by its git blob id, the SHA-1 of ``blob <bytes>\0`` and the content. GitHub
publishes this id, so a file can be verified without a reference copy.
"""

import hashlib
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dmte.errors import NetworkError
from dmte.runtime.spelling import propose
from dmte.runtime.user_folders import user_folder

DATA_VARIABLE = "DMTE_DATA"
"""Environment variable for the data folder, which has one subfolder per data set."""

UNKNOWN_SIZE_LIMIT = 256 * 2**20  # 256 MiB; the largest known file has 4 MB


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of a data set, identified by its content."""

    name: str
    blob: str
    """Git blob id."""
    size: int | None = None
    """Number of bytes, if known."""

    @property
    def limit(self) -> int:
        """Maximum number of bytes accepted."""
        return UNKNOWN_SIZE_LIMIT if self.size is None else self.size

    def is_at(self, path: Path) -> bool:
        """Whether the file at this path exists and has this content.

        Raises:
            NetworkError: The path exists but cannot be read.
        """
        try:
            if not path.is_file() or self.size not in (None, path.stat().st_size):
                return False
            return blob_id(path) == self.blob
        except OSError as error:
            raise NetworkError(
                f"{path} cannot be read: {error.strerror}; check its permissions"
            ) from None


@dataclass(frozen=True, slots=True)
class Origin:
    """The folder of a GitHub repository in which a data set is published."""

    repository: str
    folder: str


@dataclass(frozen=True, slots=True)
class Dataset:
    """A network with a name."""

    name: str
    description: str
    num_vertices: int
    num_edges: int
    """Number of lines of graph.txt, including loops and duplicates."""
    files: tuple[DataFile, ...] = ()
    """Required files."""
    origin: Origin | None = None
    """The place of publication; ``None`` for a bundled data set."""

    @property
    def bundled(self) -> bool:
        """Whether it is included in this package."""
        return self.origin is None


@dataclass(frozen=True, slots=True)
class Presence:
    """Which files of a data set exist in a data folder."""

    folder: Path
    """The subfolder of the data set."""
    missing: tuple[str, ...]
    """Files that do not exist."""
    different: tuple[str, ...]
    """Files whose content differs from the published one."""


def _read_datasets() -> dict[str, Dataset]:
    """Read ``data/datasets.toml``, a table per data set."""
    entries = tomllib.loads((resources.files("dmte") / "data" / "datasets.toml").read_text("utf-8"))
    return {name: _dataset(name, entry) for name, entry in entries.items()}


def _dataset(name: str, entry: dict[str, Any]) -> Dataset:
    files = tuple(DataFile(**file) for file in entry.pop("files", ()))
    origin = Origin(**entry.pop("origin")) if "origin" in entry else None
    return Dataset(name, files=files, origin=origin, **entry)


DATASETS: Mapping[str, Dataset] = MappingProxyType(_read_datasets())
"""Every data set, by the name used on the command line."""


def get_dataset(name: str) -> Dataset:
    """Return the data set with this name.

    Raises:
        NetworkError: No data set has this name.
    """
    if name not in DATASETS:
        raise NetworkError(f"there is no data set {name!r}; {propose(name, DATASETS)}")
    return DATASETS[name]


def data_folder() -> Path:
    """Return the data folder, which need not exist.

    Raises:
        NetworkError: ``DMTE_DATA`` is not set and the user has no home folder.
    """
    if named := os.environ.get(DATA_VARIABLE):
        return Path(named)
    found = user_folder("XDG_DATA_HOME", ".local/share")
    if found is None:
        raise NetworkError(
            f"the user has no home folder for data sets; set {DATA_VARIABLE} to a folder"
        )
    return found


def find_dataset(name: str) -> Path:
    """Return the folder of a data set, after checking that every file exists.

    Raises:
        NetworkError: A file is missing.
    """
    dataset = get_dataset(name)
    if dataset.bundled:
        return Path(str(resources.files("dmte") / "data"))
    root = data_folder()
    needed = [f"{name}/{file.name}" for file in dataset.files]
    missing = " and ".join(file for file in needed if not holds((root / file).exists))
    if not missing:
        return root / name
    found = f"{root} lacks {missing}, and {DATA_VARIABLE} is not set"
    if os.environ.get(DATA_VARIABLE):
        found = f"{DATA_VARIABLE} is {root}, which lacks {missing}"
    raise NetworkError(
        f"the data set {name} is not included in this package: {found}; set {DATA_VARIABLE} to a "
        f"folder that holds {' and '.join(needed)}, or run 'dmte datasets download {name}' to "
        f"download the missing files into {root / name}"
    )


def check_dataset(dataset: Dataset, root: Path) -> Presence:
    """Compare the files of a data set in a data folder with the published ones.

    Raises:
        NetworkError: A file cannot be read.
    """
    folder = root / dataset.name
    there = [file for file in dataset.files if holds((folder / file.name).exists)]
    return Presence(
        folder=folder,
        missing=tuple(file.name for file in dataset.files if file not in there),
        different=tuple(file.name for file in there if not file.is_at(folder / file.name)),
    )


def check_published(name: str) -> None:
    """Check that the local files of a data set are the published ones; missing files are ignored.

    Raises:
        NetworkError: A file differs from the published one.
    """
    found = check_dataset(get_dataset(name), data_folder())
    if not found.different:
        return
    files = " and ".join(str(found.folder / file) for file in found.different)
    raise NetworkError(
        f"{files}: not the published file (its git blob id differs), so results cannot be compared "
        f"with the paper's; move it and run 'dmte datasets download {name}', or use 'dmte evaluate'"
    )


def blob_id(path: Path) -> str:
    """Git blob id of a file."""
    digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as file:
        while chunk := file.read(2**20):
            digest.update(chunk)
    return digest.hexdigest()


def holds(check: Callable[[], bool]) -> bool:
    """Result of a check of a path, or False if the path cannot be accessed."""
    try:
        return check()
    except (OSError, ValueError):
        return False
