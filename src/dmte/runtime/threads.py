"""Independent small computations side by side, each on one thread of torch.

Operations on small tensors gain little from several threads, and lose much if another program uses
a processor: torch's threads wait for the slowest.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import torch


def run_in_turns(tasks: Sequence[Iterator[None]]) -> None:
    """Advance every iterator to its end, on as many threads as torch may use.

    A thread advances one iterator by one item, and then takes the one that has waited longest. So
    two threads finish three equal tasks in one and a half times the time of one. The results do not
    depend on the number of threads.

    >>> seen = []
    >>> run_in_turns([map(seen.append, "ab"), map(seen.append, "cd")])
    >>> sorted(seen)
    ['a', 'b', 'c', 'd']
    """
    num_threads = torch.get_num_threads()
    waiting = deque(tasks)

    def work() -> None:
        torch.set_num_threads(1)  # A number of this thread only.
        while waiting:
            try:
                task = waiting.popleft()
            except IndexError:  # Another thread has just taken the last one.
                return
            if next(task, _ENDED) is not _ENDED:
                waiting.append(task)

    try:
        with ThreadPoolExecutor(max(1, min(num_threads, len(tasks)))) as pool:
            for worker in [pool.submit(work) for _ in range(min(num_threads, len(tasks)))]:
                worker.result()
    finally:
        torch.set_num_threads(num_threads)


_ENDED = object()
