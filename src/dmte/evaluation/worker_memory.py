"""How many workers the free memory holds."""

from collections.abc import Iterable

from dmte.embedding.method import PredictsMemory
from dmte.evaluation.jobs import Job
from dmte.network import TextualNetwork
from dmte.runtime.formatting import readable_bytes
from dmte.runtime.memory import MARGIN, available_bytes, release_freed_memory, resident_bytes


def workers_that_fit(
    jobs: Iterable[Job], network: TextualNetwork, workers: int
) -> tuple[int, dict[str, str]]:
    """Return how many of ``workers`` the free memory holds, and the methods that are too large.

    A worker holds what this process holds, and what the method predicts for a fit, if it does.
    """
    release_freed_memory()
    free, held = available_bytes(), resident_bytes() or 0
    if free is None:
        return workers, {}
    room, available, needed = MARGIN * free, readable_bytes(free), dict[str, int]()
    for job in {(job.method, str(job.settings)): job for job in jobs}.values():
        method = job.configured_method()
        fit = method.memory_bytes(network) if isinstance(method, PredictsMemory) else 0
        needed[job.method] = max(held + fit, needed.get(job.method, 0))
    too_large = {
        name: f"it needs about {readable_bytes(need)} of memory, and {available} are free"
        for name, need in needed.items()
        if need > room
    }
    largest = max((need for need in needed.values() if need <= room), default=held)
    return max(1, min(workers, int(room / max(1, largest)))), too_large
