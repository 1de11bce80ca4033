"""What a fit takes, said before it is done: memory by counting, time by trying a little of it."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

FLOAT_BYTES = 4


@dataclass(frozen=True, slots=True)
class Cost:
    """What one fit takes on this machine."""

    memory_bytes: int
    """At its peak, on top of what Python and torch take themselves."""
    seconds: float


def fastest_seconds(run: Callable[[], object], times: int = 2) -> float:
    """Return how long the fastest of some runs took; the first also warms the allocator."""
    taken = []
    for _ in range(times):
        started = perf_counter()
        run()
        taken.append(perf_counter() - started)
    return min(taken)
