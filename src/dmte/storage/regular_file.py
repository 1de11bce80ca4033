"""Regular files, opened without waiting and without following links.

A folder from elsewhere may have a pipe, a device or a link to another file of the user in place of
a file. Opening a pipe waits forever, a device never ends, and a link leads out of the folder. A
sparse file may claim to be larger than a disk: it would fill the memory, and its checksum would
take hours.
"""

import mmap
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from dmte.errors import StorageError
from dmte.runtime.memory import available_bytes, total_bytes

UNCHECKED_BYTES = 1 << 26
"""Size up to which a file is read without looking at the free memory."""
MAPPED_SHARE = 4
"""Maximum size of a mapped file, as a multiple of the memory of the machine."""
# Windows has only the last of these.
_FLAGS = ("O_NONBLOCK", "O_NOFOLLOW", "O_BINARY")


@contextmanager
def open_regular(path: Path) -> Iterator[tuple[BufferedReader, int]]:
    """Open a regular file to read; yield it and its size in bytes.

    Raises:
        StorageError: The path is a link, a folder, a pipe, a device or a socket.
        OSError: The file is missing or cannot be opened.
    """
    _check_regular(path, path.lstat())
    flags = os.O_RDONLY
    for name in _FLAGS:
        flags |= getattr(os, name, 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        _check_regular(path, status)  # It may have been replaced.
        yield file, status.st_size


def is_regular(path: Path) -> bool:
    """Whether the path is a regular file, and not a link to one."""
    return path.is_file() and not path.is_symlink()


def copy_file(path: Path, file: BufferedReader, size: int) -> bytes:
    """Read a file of this size; the path is used in errors.

    Raises:
        StorageError: There is not enough memory.
    """
    if size > UNCHECKED_BYTES:
        _check_room(path, size, available_bytes())
    return file.read(size)


def map_file(path: Path, file: BufferedReader, size: int) -> mmap.mmap:
    """Memory-map a file of this size; writing to the memory does not change the file.

    Raises:
        StorageError: The file is empty, or much larger than the memory.
    """
    if size == 0:
        raise StorageError(f"{path} is empty; restore it from a copy, or save again")
    if size > UNCHECKED_BYTES:
        _check_room(path, size, MAPPED_SHARE * (total_bytes() or size))
    return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY)


def _check_room(path: Path, size: int, room: int | None) -> None:
    if room is not None and size > room:
        raise StorageError(
            f"{path} has {size / 1e9:,.1f} GB, but there is room for {room / 1e9:,.1f} GB; "
            "use a machine with more memory"
        )


def _check_regular(path: Path, status: os.stat_result) -> None:
    mode = status.st_mode
    if stat.S_ISREG(mode):
        return
    kinds = {stat.S_ISLNK: "a link", stat.S_ISDIR: "a folder", stat.S_ISFIFO: "a pipe"}
    kind = next((name for is_kind, name in kinds.items() if is_kind(mode)), "a device or a socket")
    raise StorageError(f"{path} is {kind}, but must be a regular file; replace it, or delete it")
