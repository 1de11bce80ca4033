"""Keeping freed memory for the next step.

A step allocates and frees the same large tables over and over. The C library of Linux hands tables
above 32 MB back to the system every time and gets them back page by page: filling a fresh table of
48 MB took 32 ms, a kept one 3 ms (one thread of a virtual machine with two cores). It also hands
back the end of its heap, once that is larger than a threshold, which can be 2 GB at most, or none:
on 10⁶ vertices that was a quarter of a step.
"""

import ctypes
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, TypeVar

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # The parameters of mallopt, from glibc's malloc.h.

_LARGEST, _NEVER = 2**31 - 1, -1


def keep_freed_memory() -> bool:
    """Make the C library keep what is freed, for the whole process; return whether it does.

    The peak of memory in use stays what it was. Without glibc nothing changes.
    """
    mallopt = _from_glibc("mallopt")
    if mallopt is None:
        return False
    return bool(mallopt(_MMAP_THRESHOLD, _LARGEST) and mallopt(_TRIM_THRESHOLD, _NEVER))


def release_freed_memory() -> None:
    """Hand what was kept back to the system, for instance before memory is measured."""
    trim = _from_glibc("malloc_trim")
    if trim is not None:
        trim(0)


def _from_glibc(name: str) -> Any:
    """Return a function of the C library, or None where it is another's."""
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None


# ── How much memory there is: from Linux itself, elsewhere from psutil if it is installed ──

MEMINFO = Path("/proc/meminfo")

STATUS = Path("/proc/self/status")

OWN_GROUPS = Path("/proc/self/cgroup")

GROUPS = Path("/sys/fs/cgroup")

NO_LIMIT = 1 << 60  # Version 1 of control groups writes a number near 2⁶³ where there is none.


def available_bytes() -> int | None:
    """Return how many bytes more this process can take, or None if that is unknown."""
    free = [_kilobytes(MEMINFO, "MemAvailable"), *map(_room, _groups())]
    known = [room for room in free if room is not None]
    return min(known) if known else _from_psutil(lambda psutil: psutil.virtual_memory().available)


def total_bytes() -> int | None:
    """Return how many bytes the machine has in all, or None if that is unknown."""
    known = _kilobytes(MEMINFO, "MemTotal")
    return known or _from_psutil(lambda psutil: psutil.virtual_memory().total)


def resident_bytes() -> int | None:
    """Return how many bytes this process holds, or None if that is unknown."""
    known = _kilobytes(STATUS, "VmRSS")
    return known or _from_psutil(lambda psutil: psutil.Process().memory_info().rss)


def _from_psutil(read: Callable[[Any], int]) -> int | None:
    """Return what psutil knows, or None without psutil (the extra ``memory``)."""
    try:
        return read(import_module("psutil"))
    except ImportError:
        return None


def _kilobytes(path: Path, name: str) -> int | None:
    lines = (_read(path) or "").splitlines()
    found = (line.split() for line in lines if line.startswith(f"{name}:"))
    return next((1024 * int(words[1]) for words in found), None)


def _groups() -> list[Path]:
    """Return the folders of the control groups of this process, and of those around them."""
    folders = [GROUPS, GROUPS / "memory"]
    for line in (_read(OWN_GROUPS) or "").splitlines():
        _, kinds, inside = line.split(":", 2)
        if kinds in ("", "memory"):
            place = (GROUPS / kinds / inside.lstrip("/")).resolve()
            folders += [place, *(above for above in place.parents if GROUPS in above.parents)]
    return folders


def _room(folder: Path) -> int | None:
    """Return what the limit of a control group leaves; pages of files can be given back."""
    for limit, used, given_back in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        most, taken = _read(folder / limit), _read(folder / used)
        if most is None or taken is None or not most.isdigit() or int(most) > NO_LIMIT:
            continue
        facts = dict(line.split() for line in (_read(folder / "memory.stat") or "").splitlines())
        return max(0, int(most) - int(taken) + int(facts.get(given_back, 0)))
    return None


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:  # Another system, or a container that does not show it.
        return None


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
