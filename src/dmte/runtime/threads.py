"""Independent computations side by side, each on one thread of torch.

With several threads, torch's threads wait for the slowest in every operation. Small tensors gain
little from that, and if another program uses a processor, a step of a hundred operations becomes
several times as slow.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Protocol, TypeVar, runtime_checkable

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")


@runtime_checkable
class Each(Protocol):
    """Computes a function of every item."""

    def __call__(self, act: Callable[[Item], Result], items: Sequence[Item], /) -> list[Result]:
        """Return the results, in the order of the items."""


def in_order(act: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Compute a function of one item after the other."""
    return [act(item) for item in items]


@contextmanager
def side_by_side() -> Iterator[Each]:
    """Yield a function that computes two items at once, each on one thread of torch.

    >>> with side_by_side() as each:
    ...     each(abs, [-1, -2])
    [1, 2]
    """
    num_threads = torch.get_num_threads()
    if num_threads == 1:
        yield in_order
        return
    torch.set_num_threads(1)
    try:
        with ThreadPoolExecutor(1, initializer=torch.set_num_threads, initargs=(1,)) as helper:

            def each(act: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
                later = [helper.submit(act, item) for item in items[1:]]
                return [act(items[0]), *(one.result() for one in later)]

            yield each
    finally:
        torch.set_num_threads(num_threads)


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
