"""Memory: keep freed memory for the next step, and measure what is free and what is used.

A training step allocates and frees the same large tables. glibc returns tables above 32 MB to the
system and gets them back page by page: filling a new table of 48 MB took 32 ms, a kept one 3 ms
(one thread of a virtual machine with two cores). glibc also returns the end of its heap above a
threshold of at most 2 GB, or none; on 10⁶ vertices that cost a quarter of a step.

If X is fixed, steps need only small tables, and the large ones of other phases would be kept for
nothing: without it, the peak fell from 1.65 to 1.0 GB on DBLP. Then huge pages (``dmte``) make new
tables cheap.
"""

import ctypes
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, TypeVar

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # Parameters of mallopt, from malloc.h of glibc.
_LARGEST, _NEVER = 2**31 - 1, -1


def keep_freed_memory() -> bool:
    """Let glibc keep freed memory for the whole process; return whether it does.

    Kept memory in pieces of other sizes is not used again, which raises the peak. Without glibc
    nothing happens.
    """
    mallopt = _from_glibc("mallopt")
    if mallopt is None:
        return False
    return bool(mallopt(_MMAP_THRESHOLD, _LARGEST) and mallopt(_TRIM_THRESHOLD, _NEVER))


def release_freed_memory() -> None:
    """Return kept memory to the system, for example before a measurement."""
    trim = _from_glibc("malloc_trim")
    if trim is not None:
        trim(0)


def _from_glibc(name: str) -> Any:
    """A function of the C library, or None if it is not glibc."""
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None


# ── Amounts of memory: read from Linux, elsewhere from psutil if installed ──

MARGIN = 0.9
"""Fraction of the available memory that training and evaluation may use."""
MEMINFO = Path("/proc/meminfo")
STATUS, CLEAR_REFS = Path("/proc/self/status"), Path("/proc/self/clear_refs")
OWN_GROUPS, GROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
NO_LIMIT = 1 << 60  # Without a limit, version 1 of control groups has a number near 2⁶³.
RESET_PEAK = "5"  # proc(5): resets VmHWM to the current use.


def available_bytes() -> int | None:
    """Bytes that this process can still allocate, or None if unknown."""
    free = [_kilobytes(MEMINFO, "MemAvailable"), *map(_room, _groups()), *_rooms_below_limits()]
    known = [room for room in free if room is not None]
    return min(known) if known else _from_psutil(lambda psutil: psutil.virtual_memory().available)


def total_bytes() -> int | None:
    """Bytes of memory of the machine, or None if unknown."""
    known = _kilobytes(MEMINFO, "MemTotal")
    return known or _from_psutil(lambda psutil: psutil.virtual_memory().total)


def resident_bytes() -> int | None:
    """Bytes that this process uses, or None if unknown."""
    known = _kilobytes(STATUS, "VmRSS")
    return known or _from_psutil(lambda psutil: psutil.Process().memory_info().rss)


def limit_allocations(num_bytes: float) -> None:
    """Let this process use ``num_bytes`` in all; an allocation beyond them raises an error.

    Linux only. ``is_out_of_memory`` recognizes the errors. Files that are mapped do not count.
    """
    held, used = _kilobytes(STATUS, "VmData"), resident_bytes()
    if sys.platform != "linux" or held is None or used is None:
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = held + max(0, int(num_bytes) - used)
    limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


def is_out_of_memory(problem: BaseException) -> bool:
    """Return whether an error says that memory cannot be allocated.

    >>> is_out_of_memory(MemoryError()), is_out_of_memory(RuntimeError("shapes differ"))
    (True, False)
    """
    # torch has no error class of its own for a lack of memory.
    words = ("allocate memory", "bad_alloc")
    return isinstance(problem, MemoryError) or any(word in str(problem) for word in words)


def _rooms_below_limits() -> Iterator[int]:
    """Yield the bytes left below the limits of this process (``ulimit -v`` and ``-d``)."""
    if sys.platform != "linux":
        return
    import resource

    for kind, name in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        limit, used = resource.getrlimit(kind)[0], _kilobytes(STATUS, name)
        if limit != resource.RLIM_INFINITY and used is not None:
            yield max(0, limit - used)


def _from_psutil(read: Callable[[Any], int]) -> int | None:
    """Read a figure from psutil, or None without psutil (the extra ``memory``)."""
    try:
        return read(import_module("psutil"))
    except ImportError:
        return None


def _kilobytes(path: Path, name: str) -> int | None:
    lines = (_read(path) or "").splitlines()
    found = (line.split() for line in lines if line.startswith(f"{name}:"))
    return next((1024 * int(words[1]) for words in found), None)


def _groups() -> list[Path]:
    """Folders of the control groups of this process and of their parents."""
    folders = [GROUPS, GROUPS / "memory"]
    for line in (_read(OWN_GROUPS) or "").splitlines():
        _, kinds, inside = line.split(":", 2)
        if kinds in ("", "memory"):
            place = (GROUPS / kinds / inside.lstrip("/")).resolve()
            folders += [place, *(above for above in place.parents if GROUPS in above.parents)]
    return folders


def _room(folder: Path) -> int | None:
    """Bytes left below the limit of a control group; cached file pages count as free."""
    for limit, used, reclaimable in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        most, taken = _read(folder / limit), _read(folder / used)
        if most is None or taken is None or not most.isdigit() or int(most) > NO_LIMIT:
            continue
        facts = dict(line.split() for line in (_read(folder / "memory.stat") or "").splitlines())
        return max(0, int(most) - int(taken) + int(facts.get(reclaimable, 0)))
    return None


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:  # Another system, or a container that hides it.
        return None


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Measured(Generic[T]):
    """A result with its time and memory."""

    result: T
    seconds: float
    peak_mb: float | None
    """Includes interpreter, torch and network; None if the system does not report it."""


def measure(action: Callable[[], T]) -> Measured[T]:
    """Run ``action`` and measure its time and its peak of used memory."""
    release_freed_memory()
    has_peak = _reset_peak()
    started = time.perf_counter()
    result = action()
    seconds = time.perf_counter() - started
    peak = _kilobytes(STATUS, "VmHWM") if has_peak else None
    return Measured(result, seconds, None if peak is None else peak / 1e6)


def _reset_peak() -> bool:
    with suppress(OSError):
        CLEAR_REFS.write_text(RESET_PEAK)
        return True
    return False
