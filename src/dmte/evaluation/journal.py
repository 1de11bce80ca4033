"""Finished cells, kept as they finish: a line of JSON each, on disk before the next begins."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dmte.errors import StorageError
from dmte.evaluation.cells import Cell
from dmte.evaluation.shapes import RESULTS, misfit


class Journal:
    """The results of cells, in a file that only grows.

    A run that was killed leaves at most half a line at the end, which is dropped.
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

    def add(self, cell: Cell, result: Mapping[str, Any]) -> None:
        """Keep a result; it is on disk when this returns.

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
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
    except OSError as problem:
        raise StorageError(f"{path} cannot be written: {problem.strerror}") from problem


def read_lines(path: Path) -> list[bytes]:
    """Return the lines of such a file, if it is there; half a line at the end is cut off it.

    Raises:
        StorageError: It cannot be read.
    """
    try:
        content = path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            os.truncate(path, len(whole))
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise StorageError(f"{path} cannot be read: {problem.strerror}") from problem
    return whole.splitlines()


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
