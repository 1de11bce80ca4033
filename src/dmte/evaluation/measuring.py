"""What a fit costs: its time, and the most memory the process held meanwhile."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from dmte.allocator import release_freed_memory

T = TypeVar("T")

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_FORGET_THE_PEAK = "5"  # proc(5): resets VmHWM to what is held now.


@dataclass(frozen=True, slots=True)
class Measured(Generic[T]):
    """A result and what it cost."""

    result: T
    seconds: float
    peak_mb: float | None
    """Interpreter, torch and network included; none where the system does not tell."""


def measure(action: Callable[[], T]) -> Measured[T]:
    """Return what ``action`` returns, with its time and the peak of memory in use."""
    release_freed_memory()
    is_told = _forget_the_peak()
    started = time.perf_counter()
    result = action()
    seconds = time.perf_counter() - started
    return Measured(result, seconds, _peak_mb() if is_told else None)


def _forget_the_peak() -> bool:
    with suppress(OSError):
        _CLEAR.write_text(_FORGET_THE_PEAK)
        return True
    return False


def _peak_mb() -> float:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024 / 1e6
