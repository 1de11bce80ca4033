"""Keeping freed memory for the next step.

A step allocates and frees the same large tables over and over. The C library of Linux hands tables
above 32 MB back to the system every time and gets them back page by page: filling a fresh table of
48 MB took 32 ms, a kept one 3 ms (one thread of a virtual machine with two cores). It also hands
back the end of its heap, once that is larger than a threshold, which can be 2 GB at most, or none:
on 10⁶ vertices that was a quarter of a step.
"""

import ctypes
import sys
from typing import Any

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
