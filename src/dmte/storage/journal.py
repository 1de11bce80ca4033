"""Finished cells, kept as they finish: a line of JSON each, on disk before the next begins."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from dmte.errors import StorageError
from dmte.storage.locks import lock_place, locked


def append_line(path: Path, entry: Mapping[str, Any]) -> None:
    """Add a line of JSON to a file that only grows; it is on disk when this returns.

    Raises:
        StorageError: It cannot be written.
    """
    line = json.dumps(entry, separators=(",", ":")) + "\n"
    try:
        with _opened(path) as file:
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())
    except OSError as problem:
        raise StorageError(f"{path} cannot be written: {problem.strerror}") from problem


def read_lines(path: Path) -> list[bytes]:
    """Return the lines of such a file, if it is there, without half a line at the end.

    Raises:
        StorageError: It cannot be read.
    """
    return _whole(_content(path)).splitlines()


@contextmanager
def sole_writer(path: Path) -> Iterator[None]:
    """Keep such a file from every other run, and cut off what a killed one left at its end.

    Raises:
        StorageError: Another run adds to it, or it cannot be written.
    """
    busy = f"another run adds to {path}; wait until it has ended, or give another --out"
    _opened(path).close()
    with locked(lock_place(path), StorageError(busy)):
        _cut_half_line(path)
        yield


def _cut_half_line(path: Path) -> None:
    """Cut off what a killed process left at the end of such a file; nobody else may be writing.

    Raises:
        StorageError: It cannot be read or written.
    """
    content = _content(path)
    whole = _whole(content)
    if len(whole) < len(content):
        try:
            os.truncate(path, len(whole))
        except OSError as problem:
            raise StorageError(f"{path} cannot be written: {problem.strerror}") from problem


def _whole(content: bytes) -> bytes:
    return content[: content.rfind(b"\n") + 1]


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as problem:
        raise StorageError(f"{path} cannot be read: {problem.strerror}") from problem


def _opened(path: Path) -> BinaryIO:
    """Return the file to add to; it and its folder are made where there is none."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("ab")
    except OSError as problem:
        raise StorageError(f"{path} cannot be written: {problem.strerror}") from problem
