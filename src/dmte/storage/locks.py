"""File locks, which the system releases even if the holder is killed."""

import json
import os
import socket
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from dmte.errors import DmteError, StorageError, warn

PATIENCE_SECONDS = 1.0
"""How long a process waits for a lock before it says so."""
_POLL_SECONDS = 0.05
_MOST_BYTES = 1000  # Of the description of a holder.


def lock_place(path: Path) -> Path:
    """Path to lock for a file or folder: itself, or on Windows a file beside it.

    Windows cannot open folders, and does not allow access to a locked file.
    """
    return path.with_name(f".{path.name}.lock") if sys.platform == "win32" else path


@contextmanager
def locked(place: Path, error: DmteError | None = None) -> Iterator[None]:
    """Lock a folder or file; a missing file is created.

    Without ``error``, wait until another holder releases the lock, after a second with a warning.
    Some network file systems do not support locks; there, nothing is locked.

    Raises:
        DmteError: Another process or thread holds the lock, and ``error`` is given.
        StorageError: The place is neither a folder nor a regular file.
    """
    descriptor = _open(place)
    try:
        if not _try_lock(descriptor):
            if error is not None:
                raise error
            _wait(descriptor, place)
        try:
            yield
        finally:
            _unlock(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def run_lock(place: Path, busy: Callable[[str], DmteError]) -> Iterator[None]:
    """Lock a file for a whole run; it names the process, and is removed at the end.

    A file that a killed run has left is not locked, and used again. Missing parent folders are
    created, and removed at the end if they are empty.

    Raises:
        DmteError: Another run holds the lock; ``busy`` makes the error from its description.
        StorageError: The file cannot be written.
    """
    missing = [folder for folder in place.parents if not folder.exists()]
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        descriptor = _take(place, busy)
    except OSError as error:
        raise StorageError(
            f"cannot write to {place.parent}: {error.strerror or error}; check its permissions, or "
            "choose another folder"
        ) from error
    try:
        yield
    finally:
        with suppress(OSError):  # Windows does not remove an open file.
            place.unlink()
        _unlock(descriptor)
        os.close(descriptor)
        with suppress(OSError):  # A folder is in use.
            for folder in missing:
                folder.rmdir()


def _take(place: Path, busy: Callable[[str], DmteError]) -> int:
    """Lock the file and describe this process in it; return its descriptor."""
    while True:
        with ExitStack() as opened:
            descriptor = _open(place, follow=False)
            opened.callback(os.close, descriptor)
            if not _try_lock(descriptor):
                raise busy(_holder(place))
            if _is_at(descriptor, place):  # Otherwise the last holder has just removed it.
                _describe_holder(descriptor)
                opened.pop_all()
                return descriptor


def _describe_holder(descriptor: int) -> None:
    since = datetime.now(UTC).astimezone().isoformat(sep=" ", timespec="seconds")
    holder = {"pid": os.getpid(), "host": socket.gethostname(), "since": since}
    # Windows locks the first byte, which others then cannot read.
    os.ftruncate(descriptor, 0)
    os.write(descriptor, f" {json.dumps(holder)}\n".encode())


def _holder(place: Path) -> str:
    """Describe the holder of a lock; the file may have been written by anyone."""
    try:
        with place.open("rb") as file:
            file.seek(1)
            holder = json.loads(file.read(_MOST_BYTES))
        pid, host, since = (str(holder[name])[:100] for name in ("pid", "host", "since"))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "another process"
    described = f"process {pid} on {host}, since {since}"
    return "".join(letter if letter.isprintable() else "?" for letter in described)


def _is_at(descriptor: int, place: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), place.stat())
    except FileNotFoundError:
        return False


def _wait(descriptor: int, place: Path) -> None:
    started, is_announced = time.monotonic(), False
    while not _try_lock(descriptor):
        if not is_announced and time.monotonic() - started > PATIENCE_SECONDS:
            is_announced = True
            warn(f"waiting for another process, which has locked {place}")
        time.sleep(_POLL_SECONDS)


def _try_lock(descriptor: int) -> bool:
    """Return whether this descriptor has the lock now, or the file system has no locks."""
    # Imported here because it loads asyncio and SQLite (0.06 s), which readers do not need.
    from filelock import lock_descriptor

    try:
        return lock_descriptor(descriptor, blocking=False)
    except OSError:
        return True


def _unlock(descriptor: int) -> None:
    """Release the lock: closing is not enough if a fork has inherited the descriptor."""
    from filelock import unlock_descriptor

    with suppress(OSError):
        unlock_descriptor(descriptor)


def _open(place: Path, *, follow: bool = True) -> int:
    flags = getattr(os, "O_NONBLOCK", 0) | (0 if follow else getattr(os, "O_NOFOLLOW", 0))
    try:
        descriptor = os.open(place, os.O_RDWR | os.O_CREAT | flags, 0o666)
    except (IsADirectoryError, PermissionError):
        descriptor = os.open(place, os.O_RDONLY | flags)
    mode = os.fstat(descriptor).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        os.close(descriptor)
        raise StorageError(f"{place} is a pipe or a device, which cannot be locked; delete it")
    return descriptor
