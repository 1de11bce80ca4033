"""The peak of memory while something runs."""

from collections.abc import Callable

import pytest

from dmte.runtime.memory import measure, release_freed_memory, resident_bytes


def peak_on_top(action: Callable[[], object]) -> float:
    """Return the megabytes that ``action`` takes at most, on top of those held before."""
    release_freed_memory()
    held = resident_bytes()
    peak = measure(action).peak_mb
    if held is None or peak is None:
        pytest.skip("needs Linux's /proc")
    return peak - held / 1e6
