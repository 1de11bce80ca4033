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
from dmte.storage.stored_json import ChecksumError, read_checked


class Journal:
    """The results of fits, in a file that only grows.

    A killed run leaves at most half a line at the end. The next run drops it; readers skip it,
    since another run may be writing. ``num_unchecked`` results are older than checksums.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._results, self.num_unchecked = _read(path)

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
            self._results, self.num_unchecked = _read(self.path)
            yield

    def add(self, job: Job, result: Mapping[str, Any]) -> None:
        """Store a result on disk; call this within ``growing``.

        Raises:
            StorageError: The file cannot be written.
        """
        append_line(self.path, {"cell": job.describe(), "result": result})
        self._results[job.key] = result


def _read(path: Path) -> tuple[dict[str, Mapping[str, Any]], int]:
    """Read every result by the key of its fit, and count those without a checksum.

    Raises:
        StorageError: The file cannot be read, or a line is damaged.
    """
    results, num_unchecked = {}, 0
    for number, line in enumerate(read_lines(path), start=1):
        try:
            entry, is_checked = read_checked(line)
            job, result = _parts(**entry)
            check_fit(job["kind"], result)
        except (ValueError, TypeError, KeyError, RecursionError) as problem:
            what = problem if isinstance(problem, ChecksumError) else "not a result"
            raise StorageError(
                f"{path}, line {number}: {what}; delete the line to compute it again"
            ) from problem
        results[json.dumps(job, sort_keys=True)] = result
        num_unchecked += not is_checked
    return results, num_unchecked


def _parts(*, cell: Mapping[str, Any], result: Any) -> tuple[Mapping[str, Any], Any]:
    """The fit and the result of an entry, which has nothing else."""
    return cell, result
