"""Finished cells, kept as they finish: a line of JSON each, on disk before the next begins."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from dmte.errors import StorageError
from dmte.evaluation.cells import Cell
from dmte.evaluation.shapes import RESULTS, misfit
from dmte.locks import hold


class Journal:
    """The results of cells, in a file that only grows.

    A run that was killed leaves at most half a line at the end, which is dropped by the next run;
    whoever only reads passes over it, for it may be what another run writes just now.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._results = _read(path)

    def __contains__(self, cell: Cell) -> bool:
        return cell.key in self._results

    def __getitem__(self, cell: Cell) -> Mapping[str, Any]:
        return self._results[cell.key]

    def __len__(self) -> int:
        return len(self._results)

    @contextmanager
    def growing(self) -> Iterator[None]:
        """Let nobody else add to it meanwhile, having taken over what others added before.

        Raises:
            StorageError: Another run adds to it, or it cannot be written.
        """
        with sole_writer(self.path):
            self._results = _read(self.path)
            yield

    def add(self, cell: Cell, result: Mapping[str, Any]) -> None:
        """Keep a result, while it is growing; it is on disk when this returns.

        Raises:
            StorageError: It cannot be written.
        """
        append_line(self.path, {"cell": cell.describe(), "result": result})
        self._results[cell.key] = result


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
    with _opened(path) as file:
        hold(file.fileno(), StorageError(busy))
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


def _read(path: Path) -> dict[str, Mapping[str, Any]]:
    """Return every result by its cell's key.

    Raises:
        StorageError: The file cannot be read, or a line is none of ours, or damaged.
    """
    results = {}
    for number, line in enumerate(read_lines(path), start=1):
        try:
            key, result = _understand(line)
        except (ValueError, TypeError, KeyError, RecursionError) as problem:
            raise StorageError(
                f"{path}, line {number} holds no result; delete the line to compute it anew"
            ) from problem
        results[key] = result
    return results


def _understand(line: bytes) -> tuple[str, Mapping[str, Any]]:
    """Return the key of a line's cell and its result; raises whatever comes where it is none."""
    entry = json.loads(line)
    cell, result = entry["cell"], entry["result"]
    wrong = misfit(result, RESULTS[cell["kind"]])
    if wrong is not None:
        raise ValueError(wrong)
    return json.dumps(cell, sort_keys=True), result
