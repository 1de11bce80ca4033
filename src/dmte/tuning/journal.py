"""The journal of a search: JSON lines that only grow, first the search, then trials and checks.

Every line is on disk before the next trial begins, so a kill leaves at most half a line at the end.
One search at a time holds the lock. optuna's own journal has four drawbacks: half a line at its end
breaks it, a killed process leaves it locked, a damaged line is not named, and reading needs optuna,
which is optional.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from dmte.errors import ConfigError, StorageError
from dmte.settings import Settings
from dmte.storage.journal import append_line, read_lines, sole_writer
from dmte.storage.stored_json import ChecksumError, read_checked


class SearchJournal:
    """The journal at ``path``, locked until ``close``; without a path nothing is stored."""

    def __init__(self, path: Path | None, header: Mapping[str, Any]) -> None:
        self.path = path
        self._header = json.loads(json.dumps(header))  # JSON has no tuples.
        self._has_begun = False
        self._lock = ExitStack()

    def read(self, take: Callable[[str, Any], None]) -> None:
        """Lock an existing journal and pass every entry to ``take`` as its kind and value.

        Raises:
            StorageError: Another search holds it, it is of another search, or it is damaged.
        """
        if self.path is None or not self.path.exists():
            return
        self._lock.enter_context(sole_writer(self.path))
        try:
            for number, line in enumerate(read_lines(self.path), 1):
                self._read_line(number, line, take)
        except StorageError:
            self.close()
            raise

    def begin(self) -> None:
        """Create the journal if there is none.

        Raises:
            StorageError: Another search has created it in the meantime.
        """
        if self.path is None or self._has_begun:
            return
        self.close()
        self._lock.enter_context(sole_writer(self.path))
        if self.path.stat().st_size:
            self.close()
            raise StorageError(
                f"another search has begun {self.path}; run the same command again to resume it"
            )
        append_line(self.path, self._header)
        self._has_begun = True

    def add(self, kind: str, value: Any) -> None:
        """Append an entry."""
        if self.path is not None:
            append_line(self.path, {kind: value})

    def close(self) -> None:
        """Release the lock."""
        self._lock.close()

    def _read_line(self, number: int, line: bytes, take: Callable[[str, Any], None]) -> None:
        try:
            entry, _ = read_checked(line)
            if number == 1:
                self._check_header(entry)
                self._has_begun = True
            else:
                ((kind, value),) = entry.items()
                take(kind, value)
        except (ValueError, TypeError, KeyError, AttributeError, ConfigError) as problem:
            what = problem if isinstance(problem, ChecksumError) else "not a tuning record"
            raise StorageError(
                f"{self.path}, line {number}: {what}; delete the file to start over"
            ) from problem

    def _check_header(self, header: Mapping[str, Any]) -> None:
        if "tuning" not in header:
            raise ValueError("no header")
        names = {"network": "another network", "seed": "another seed"}
        for name, value in self._header.items():
            if _completed(name, header.get(name)) != value:
                raise StorageError(
                    f"{self.path} holds a search with {names.get(name, f'other {name}')}; choose "
                    "another path, or delete the file to start over"
                )


def _completed(name: str, value: Any) -> Any:
    """Return a value of the header, with settings added since it was written at their defaults."""
    if name != "recipes":
        return value
    found = {recipe: Settings.from_dict(stored).to_dict() for recipe, stored in value.items()}
    return json.loads(json.dumps(found))
