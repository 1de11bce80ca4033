"""Regular files, opened without waiting and without following links.

A folder from elsewhere may have a pipe, a device or a link to another file of the user in place of
a file. Opening a pipe waits forever, a device never ends, and a link leads out of the folder.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from dmte.errors import StorageError

# Windows has only the last of these.
_FLAGS = ("O_NONBLOCK", "O_NOFOLLOW", "O_BINARY")


@contextmanager
def open_regular(path: Path) -> Iterator[tuple[BinaryIO, int]]:
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


def _check_regular(path: Path, status: os.stat_result) -> None:
    mode = status.st_mode
    if stat.S_ISREG(mode):
        return
    kinds = {stat.S_ISLNK: "a link", stat.S_ISDIR: "a folder", stat.S_ISFIFO: "a pipe"}
    kind = next((name for is_kind, name in kinds.items() if is_kind(mode)), "a device or a socket")
    raise StorageError(f"{path} is {kind}, but must be a regular file; replace it, or delete it")
