"""Append-only files of JSON lines, for results that must survive a kill and detect damage.

Every line has a checksum. Lines of earlier versions have none, and are read as they are.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from dmte.errors import StorageError
from dmte.storage.locks import lock_place, locked
from dmte.storage.stored_json import CHECKSUM, with_checksum

_BEYOND_THE_END = re.compile(rb',"%s":"[0-9a-f]{16}"\}.' % CHECKSUM.encode(), re.DOTALL)
"""The end of a line and another character: its line feed is damaged."""


def append_line(path: Path, entry: Mapping[str, Any]) -> None:
    """Append a line of JSON with a checksum, and wait until it is on the disk.

    Raises:
        StorageError: The file cannot be written.
    """
    line = with_checksum(json.dumps(entry, separators=(",", ":"))) + "\n"
    try:
        with _opened(path) as file:
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())
    except OSError as problem:
        raise StorageError(f"{path} cannot be written: {problem.strerror}") from problem


def read_lines(path: Path) -> list[bytes]:
    """Read the complete lines; an incomplete last line is ignored, a missing file is empty.

    ``stored_json.read_checked`` verifies a line.

    Raises:
        StorageError: The file cannot be read.
    """
    lines = _whole(_content(path)).split(b"\n")
    return lines if lines[-1] else lines[:-1]


@contextmanager
def sole_writer(path: Path) -> Iterator[None]:
    """Lock the file against other runs, and remove the incomplete line of a killed run.

    Raises:
        StorageError: Another run holds the lock, or the file cannot be written.
    """
    busy = f"another run adds to {path}; wait until it has ended, or give another --out"
    _opened(path).close()
    with locked(lock_place(path), StorageError(busy)):
        _cut_half_line(path)
        yield


def _cut_half_line(path: Path) -> None:
    """Remove an incomplete last line; requires the lock.

    Raises:
        StorageError: The file cannot be read or written.
    """
    content = _content(path)
    whole = _whole(content)
    if len(whole) < len(content):
        try:
            os.truncate(path, len(whole))
        except OSError as problem:
            raise StorageError(f"{path} cannot be written: {problem.strerror}") from problem


def _whole(content: bytes) -> bytes:
    """The lines without the first half of one that a kill left, which nothing can follow."""
    end = content.rfind(b"\n") + 1
    return content if _BEYOND_THE_END.search(content, end) else content[:end]


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as problem:
        raise StorageError(f"{path} cannot be read: {problem.strerror}") from problem


def _opened(path: Path) -> BinaryIO:
    """Open the file to append; create it and its folder if needed."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("ab")
    except OSError as problem:
        raise StorageError(f"{path} cannot be written: {problem.strerror}") from problem
