"""File locks, which the system releases even if the holder is killed."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dmte.errors import DmteError


def lock_place(path: Path) -> Path:
    """Path to lock for a file or folder: itself, or on Windows a file beside it.

    Windows cannot open folders, and does not allow access to a locked file.
    """
    return path.with_name(f".{path.name}.lock") if sys.platform == "win32" else path


@contextmanager
def locked(place: Path, error: DmteError | None = None) -> Iterator[None]:
    """Lock a folder or file; a missing file is created.

    Without ``error``, wait until another holder releases the lock. Some network file systems do
    not support locks; there, nothing is locked.

    Raises:
        DmteError: Another process or thread holds the lock, and ``error`` is given.
    """
    # Imported here because it loads asyncio and SQLite (0.06 s), which readers do not need.
    from filelock import lock_descriptor, unlock_descriptor

    descriptor = _open(place)
    try:
        is_free = True
        with suppress(OSError):
            is_free = lock_descriptor(descriptor, blocking=error is None)
        if error is not None and not is_free:
            raise error
        try:
            yield
        finally:
            with suppress(OSError):  # Closing is not enough if a fork inherited it.
                unlock_descriptor(descriptor)
    finally:
        os.close(descriptor)


def _open(place: Path) -> int:
    try:
        return os.open(place, os.O_RDWR | os.O_CREAT, 0o666)
    except (IsADirectoryError, PermissionError):
        return os.open(place, os.O_RDONLY)
