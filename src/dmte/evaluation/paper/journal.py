"""Storage of finished fits: a line of JSON each, on disk before the next fit is stored."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dmte.errors import StorageError
from dmte.evaluation.jobs import Job
from dmte.evaluation.paper.results import check_fit
from dmte.storage.journal import append_line, read_lines, sole_writer


class Journal:
    """The results of fits, in a file that only grows.

    A killed run leaves at most half a line at the end. The next run drops it; readers skip it,
    since another run may be writing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._results = _read(path)

    def __contains__(self, job: Job) -> bool:
        return job.key in self._results

    def __getitem__(self, job: Job) -> Mapping[str, Any]:
        return self._results[job.key]

    def __len__(self) -> int:
        return len(self._results)

    @contextmanager
    def growing(self) -> Iterator[None]:
        """Lock the file against other writers, after reading what they added before.

        Raises:
            StorageError: Another run holds the lock, or the file cannot be written.
        """
        with sole_writer(self.path):
            self._results = _read(self.path)
            yield

    def add(self, job: Job, result: Mapping[str, Any]) -> None:
        """Store a result on disk; call this within ``growing``.

        Raises:
            StorageError: The file cannot be written.
        """
        append_line(self.path, {"cell": job.describe(), "result": result})
        self._results[job.key] = result


def _read(path: Path) -> dict[str, Mapping[str, Any]]:
    """Read every result by the key of its fit.

    Raises:
        StorageError: The file cannot be read, or a line is damaged.
    """
    results = {}
    for number, line in enumerate(read_lines(path), start=1):
        try:
            entry = json.loads(line)
            job, result = entry["cell"], entry["result"]
            check_fit(job["kind"], result)
        except (ValueError, TypeError, KeyError, RecursionError) as problem:
            raise StorageError(
                f"{path}, line {number}: not a result; delete the line to compute it again"
            ) from problem
        results[json.dumps(job, sort_keys=True)] = result
    return results
