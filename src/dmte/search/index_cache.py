"""Approximate indexes in the user's cache folder.

Building an index takes minutes for a million rows, so the index of stored vectors is kept. usearch
trusts the bytes of an index: others than its own crash the process. So indexes are read only from
the user's cache folder, which no other user can write to, and never from the folder of a model,
which may come from a stranger. The name of a file is a hash of the vectors, the settings of the
index and the version of usearch. The file begins with the SHA-256 of the rest: a damaged one is
built again.
"""

import hashlib
import json
import os
import platform
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from jaxtyping import Float

from dmte.errors import StorageError, warn
from dmte.runtime.user_folders import cache_folder
from dmte.search.approximate import BLOCK, SETTINGS, ApproximateIndex, library_version
from dmte.storage.atomic_file import new_file
from dmte.storage.regular_file import is_regular, open_regular

MOST_BYTES = 4 << 30
"""Size of all kept indexes, above which the ones that were not used for longest are removed."""
CHECKSUM_BYTES = 32


@dataclass(slots=True, eq=False)
class IndexCache:
    """The indexes of the halves of a table, built at first use."""

    is_stored: bool = False
    """Whether the table is stored: its indexes are kept for later processes."""
    _loaded: dict[str, ApproximateIndex] = field(default_factory=dict)

    def of(self, half: str, table: Float[np.ndarray, "rows dim"]) -> ApproximateIndex:
        """Return the index of a half: from memory, from the cache folder, or newly built.

        Raises:
            MissingExtraError: usearch is not installed.
        """
        if half not in self._loaded:
            kept = self.is_stored
            self._loaded[half] = _read_or_build(table) if kept else ApproximateIndex.of(table)
        return self._loaded[half]


def index_folder() -> Path:
    """Return the folder of the kept indexes; it is created, and only the user can use it.

    Raises:
        StorageError: There is no such folder, or it belongs to another user.
    """
    root = cache_folder()
    if root is None:
        raise StorageError("the user has no home folder; set XDG_CACHE_HOME to a folder")
    for folder in (root, root / "indexes"):
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _make_private(folder)
        except OSError as problem:
            raise StorageError(f"{folder} cannot be used: {problem.strerror}") from problem
    return root / "indexes"


def _make_private(folder: Path) -> None:
    if sys.platform == "win32":  # Folders of a user are private.
        return
    status = folder.stat()
    if status.st_uid != os.geteuid():
        raise StorageError(f"{folder} belongs to another user; set XDG_CACHE_HOME to a folder")
    if status.st_mode & 0o077:
        folder.chmod(0o700)


def _read_or_build(table: Float[np.ndarray, "rows dim"]) -> ApproximateIndex:
    try:
        path = index_folder() / f"{_key(table)}.index"
    except StorageError as problem:
        warn(f"the index is not kept and will be built again: {problem}")
        return ApproximateIndex.of(table)
    found = _read(path, len(table))
    if found is None:
        found = ApproximateIndex.of(table)
        try:
            _write(path, found.to_bytes())
        except StorageError as problem:
            warn(f"the index is not kept and will be built again: {problem}")
    return found


def _read(path: Path, num_rows: int) -> ApproximateIndex | None:
    """Return the index at a path, or None if there is none or it is damaged."""
    try:
        with open_regular(path) as (file, _):
            checksum, data = file.read(CHECKSUM_BYTES), file.read()
    except (OSError, StorageError):
        return None
    if hashlib.sha256(data).digest() != checksum:
        return None
    index = ApproximateIndex.from_bytes(data)
    with suppress(OSError):
        os.utime(path)  # It has just been used.
    return index if len(index) == num_rows else None


def _write(path: Path, data: bytes) -> None:
    with new_file(path, replace=True) as file:
        file.write(hashlib.sha256(data).digest())
        file.write(data)
    _remove_oldest(path)


def _remove_oldest(kept: Path) -> None:
    """Remove indexes, the oldest first, until the others are small enough."""
    with suppress(OSError):
        files = [path for path in kept.parent.iterdir() if is_regular(path) and path != kept]
        files.sort(key=lambda path: path.stat().st_mtime)
        room = MOST_BYTES - kept.stat().st_size - sum(path.stat().st_size for path in files)
        for path in files:
            if room >= 0:
                break
            room += path.stat().st_size
            path.unlink()


def _key(table: Float[np.ndarray, "rows dim"]) -> str:
    """Return the name of an index: a hash of everything that it depends on."""
    digest = hashlib.sha256()
    for first in range(0, len(table), BLOCK):  # A half is not contiguous.
        digest.update(np.ascontiguousarray(table[first : first + BLOCK]).data)
    facts = [table.shape, table.dtype.str, digest.hexdigest(), dict(SETTINGS)]
    facts += [library_version(), platform.machine()]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()
