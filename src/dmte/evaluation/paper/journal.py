"""Finished cells, kept as they finish: a line of JSON each, on disk before the next begins."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dmte.errors import StorageError
from dmte.evaluation.jobs import Cell
from dmte.evaluation.paper.shapes import RESULTS, misfit
from dmte.storage.journal import append_line, read_lines, sole_writer


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
