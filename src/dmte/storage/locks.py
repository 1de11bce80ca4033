"""Locks that the system releases however their holder ends, a kill included."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dmte.errors import DmteError


def lock_place(path: Path) -> Path:
    """Return what to lock for a file or folder: itself, or on Windows a file beside it.

    Windows opens no folders, and refuses to read and write a file that is locked.
    """
    return path.with_name(f".{path.name}.lock") if sys.platform == "win32" else path


@contextmanager
def locked(place: Path, refusal: DmteError | None = None) -> Iterator[None]:
    """Hold the lock of a folder, or of a file, which is made if it does not exist.

    Without a ``refusal``, wait until another holder releases it. On a file system without locks,
    as some network file systems are, nothing is locked.

    Raises:
        DmteError: Another process or thread holds it: the ``refusal``, which says what to do.
    """
    # Loads asyncio and SQLite, 0.06 s, which a command that only reads a model does not need.
    from filelock import lock_descriptor, unlock_descriptor

    descriptor = _open(place)
    try:
        is_free = True
        with suppress(OSError):
            is_free = lock_descriptor(descriptor, blocking=refusal is None)
        if refusal is not None and not is_free:
            raise refusal
        try:
            yield
        finally:
            with suppress(OSError):  # Closing is not enough if a fork has inherited it.
                unlock_descriptor(descriptor)
    finally:
        os.close(descriptor)


def _open(place: Path) -> int:
    try:
        return os.open(place, os.O_RDWR | os.O_CREAT, 0o666)
    except (IsADirectoryError, PermissionError):
        return os.open(place, os.O_RDONLY)
