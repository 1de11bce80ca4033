r"""Data sets by name: what they are, where they are published, and where they lie on this machine.

    concepts                   comes with this package
    cora, hepth, dblp, zhihu   lie in a folder of data sets, one subfolder each, for example
                               cora/data.txt, cora/graph.txt and cora/group.txt

That folder is the one ``DMTE_DATA`` names or, without it, the user's: ``$XDG_DATA_HOME/dmte`` or
``~/.local/share/dmte``. A file is known by its git blob id, the SHA-1 of ``blob <bytes>\0`` and
the content, which its origin publishes: so even a file that nobody here has seen can be verified.
"""

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType

from dmte.errors import NetworkError
from dmte.runtime.spelling import propose

DATA_VARIABLE = "DMTE_DATA"
"""The environment variable that names a folder of data sets, one subfolder each."""

UNKNOWN_SIZE_LIMIT = 256 * 2**20  # 256 MiB, far above the largest known file, which has 4 MB


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of a data set, by its content."""

    name: str
    blob: str
    """Its git blob id."""
    size: int | None
    """Its number of bytes, where that is known."""

    @property
    def limit(self) -> int:
        """The most bytes it may have."""
        return UNKNOWN_SIZE_LIMIT if self.size is None else self.size

    def is_at(self, path: Path) -> bool:
        """Return whether the file at this path has exactly this content.

        Raises:
            NetworkError: There is something that cannot be read.
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
    """Where a data set is published: a folder of a repository on GitHub."""

    repository: str
    folder: str


@dataclass(frozen=True, slots=True)
class Dataset:
    """A network known by name."""

    name: str
    description: str
    num_vertices: int
    num_edges: int
    """The lines of graph.txt, loops and repetitions included."""
    files: tuple[DataFile, ...] = ()
    """What its folder must hold."""
    origin: Origin | None = None
    """Where it is published; one without an origin comes with this package."""

    @property
    def bundled(self) -> bool:
        """Whether it comes with this package."""
        return self.origin is None


@dataclass(frozen=True, slots=True)
class Presence:
    """How much of a data set lies in a folder of data sets."""

    folder: Path
    """The data set's own folder."""
    missing: tuple[str, ...]
    """The files that are not there."""
    different: tuple[str, ...]
    """The files that are there, but have another content than the published ones."""


def _files(**known: tuple[str, int | None]) -> tuple[DataFile, ...]:
    return tuple(DataFile(f"{name}.txt", blob, size) for name, (blob, size) in known.items())


_CANE, _DMTE = "thunlp/CANE", "dylanz0426/DMTE"
_ALL = (
    Dataset("concepts", "concepts of mathematics and computing that mention each other", 432, 1393),
    Dataset(
        "cora",
        "machine learning papers in 7 classes",
        2277,
        5214,
        _files(
            data=("fa346bbb43a489841c12b8c822311155516950ce", 1_692_799),
            graph=("b7e2ca7cb7f48cf4e0e14e2445142c446ab8b38c", 46_378),
            group=("86bbc6b37db7c2fdfe54dc2faa4ebe1437a442fd", 4_487),
        ),
        Origin(_CANE, "datasets/cora"),
    ),
    Dataset(
        "hepth",
        "papers on high energy physics",
        1038,
        1990,
        _files(
            data=("819bd564c0e5f8d2038864cf6893337c7dedaaca", 353_747),
            graph=("3e74da67140ed8eae0e1af9b812849e7a3a5eeec", 15_666),
        ),
        Origin(_CANE, "datasets/HepTh"),
    ),
    Dataset(
        "dblp",
        "computer science papers in 4 classes",
        60_744,
        52_914,
        _files(
            data=("f3bc683a137cbe5e42bc62be0eb9f3ae43fbb050", 3_983_246),
            graph=("df018fa3696c93ba58fdd51acb03c8450f7d275c", 584_534),
            group=("ab617516221b969a4ed503f6448331c7be70938c", 121_488),
        ),
        Origin(_DMTE, "datasets/dblp"),
    ),
    Dataset(
        "zhihu",
        "users of a Chinese question forum",
        10_000,
        43_894,
        _files(
            data=("ec4932a37d80de84583f0c01548ef3d98344e4dc", None),
            graph=("fbd2d2d54252168a4ba32ddf4ec385f38fd59cde", 386_040),
        ),
        Origin(_CANE, "datasets/zhihu"),
    ),
)

DATASETS: Mapping[str, Dataset] = MappingProxyType({dataset.name: dataset for dataset in _ALL})
"""Every data set, by the name the command line uses."""


def get_dataset(name: str) -> Dataset:
    """Return the data set of this name.

    Raises:
        NetworkError: There is none.
    """
    if name not in DATASETS:
        raise NetworkError(f"there is no data set {name!r}; {propose(name, DATASETS)}")
    return DATASETS[name]


def data_folder() -> Path:
    """Return the folder of data sets, which need not exist.

    Raises:
        NetworkError: ``DMTE_DATA`` is not set, and the user has no home.
    """
    if named := os.environ.get(DATA_VARIABLE):
        return Path(named)
    home = Path(os.environ.get("XDG_DATA_HOME", ""))
    if home.is_absolute():  # the XDG specification ignores others
        return home / "dmte"
    try:
        return Path.home() / ".local" / "share" / "dmte"
    except RuntimeError:
        raise NetworkError(
            f"the user has no home folder for data sets; set {DATA_VARIABLE} to a folder"
        ) from None


def find_dataset(name: str) -> Path:
    """Return the folder that holds every file of a data set.

    Raises:
        NetworkError: A file is missing; says which, where it goes and how to get it.
    """
    dataset = get_dataset(name)
    if dataset.bundled:
        return Path(str(files("dmte") / "data"))
    root = data_folder()
    needed = [f"{name}/{file.name}" for file in dataset.files]
    missing = " and ".join(file for file in needed if not holds((root / file).exists))
    if not missing:
        return root / name
    found = f"{root} lacks {missing}, and {DATA_VARIABLE} is not set"
    if os.environ.get(DATA_VARIABLE):
        found = f"{DATA_VARIABLE} is {root}, which lacks {missing}"
    raise NetworkError(
        f"the data set {name} does not come with this package: {found}; set {DATA_VARIABLE} to a "
        f"folder that holds {' and '.join(needed)}, or run 'dmte datasets download {name}', which "
        f"puts what is missing into {root / name}"
    )


def check_dataset(dataset: Dataset, root: Path) -> Presence:
    """Return which files of a data set are missing from a folder of data sets, or different.

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


def refuse_unpublished(name: str) -> None:
    """Check that what is here of a data set is what was published; nothing need be here.

    Raises:
        NetworkError: A file is another; says which and how to get the right one.
    """
    found = check_dataset(get_dataset(name), data_folder())
    if not found.different:
        return
    files = " and ".join(str(found.folder / file) for file in found.different)
    raise NetworkError(
        f"{files}: not as published (by git blob id), which the paper's figures stand on; move it "
        f"away and run 'dmte datasets download {name}', or measure your own with 'dmte evaluate'"
    )


def blob_id(path: Path) -> str:
    """Return the git blob id of a file."""
    digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as file:
        while chunk := file.read(2**20):
            digest.update(chunk)
    return digest.hexdigest()


def holds(check: Callable[[], bool]) -> bool:
    """Return whether a path is what ``check`` asks, which it is not when it cannot be looked at."""
    try:
        return check()
    except (OSError, ValueError):
        return False
