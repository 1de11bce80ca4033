"""Independent small computations in parallel, each on one thread of torch.

Operations on small tensors gain little from several threads, and lose much if another program uses
a processor: torch's threads wait for the slowest. So independent computations run side by side.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_on_single_threads(act: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Return the result of ``act`` for every item; each uses one thread of torch.

    The results do not depend on the number of threads.

    >>> map_on_single_threads(lambda number: (number, torch.get_num_threads()), [7, 8])
    [(7, 1), (8, 1)]
    """
    num_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        if num_threads == 1 or len(items) == 1:
            return [act(item) for item in items]
        with ThreadPoolExecutor(
            min(num_threads, len(items)), initializer=torch.set_num_threads, initargs=(1,)
        ) as pool:
            return list(pool.map(act, items))
    finally:
        torch.set_num_threads(num_threads)
