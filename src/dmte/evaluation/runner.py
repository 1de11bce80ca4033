"""Many cells, on all cores.

Every worker is a process of one thread: on two cores two fits side by side finish earlier than one
after the other with two threads each, and the results do not depend on the number of cores.
"""

import multiprocessing
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from statistics import fmean
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from dmte.errors import DmteError, TrainingError
from dmte.evaluation.cells import Cell
from dmte.network import TextualNetwork
from dmte.network.textual_network import Labels

ReadNetwork = Callable[[], TextualNetwork]


def available_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_cells(
    cells: Sequence[Cell], read: ReadNetwork, workers: int
) -> Iterator[tuple[Cell, dict[str, Any]]]:
    """Yield every cell with its result, as they finish; ``read`` gives a worker the network.

    Raises:
        TrainingError: A worker died, usually for want of memory.
    """
    if not cells:
        return
    others = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")  # A fork would inherit torch's dead threads.
    pool = ProcessPoolExecutor(
        min(workers, len(cells)), context, initializer=_begin_work, initargs=(read,)
    )
    waiting = {pool.submit(_work, cell): cell for cell in cells}
    try:
        for done in as_completed(waiting):
            yield waiting[done], done.result()
    except BrokenProcessPool as problem:
        raise TrainingError(
            "a worker process died, perhaps for want of memory; fewer --workers need less"
        ) from problem
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - others:
            child.kill()  # It may be minutes from the end of a fit that nobody waits for.


def handing_over(network: TextualNetwork) -> ReadNetwork:
    """Return what gives every worker this network, wherever it was read from.

    Its source may have been a pipe, which cannot be read again, or have changed meanwhile.
    """
    weights = None if network.weights is None else network.weights.numpy()
    fields = (network.ids, network.texts, network.edges.numpy(), weights)
    return partial(_unpack, *fields, directed=network.directed, labels=network.labels)


def _unpack(
    ids: Sequence[str],
    texts: Sequence[str],
    edges: NDArray[np.int64],
    weights: NDArray[np.float64] | None,
    *,
    directed: bool,
    labels: Labels | None,
) -> TextualNetwork:
    # As arrays: torch would share tensors by files that stay open as long as both processes live.
    return TextualNetwork(
        ids=ids,
        texts=texts,
        edges=torch.from_numpy(edges),
        weights=None if weights is None else torch.from_numpy(weights),
        directed=directed,
        labels=labels,
    )


class Timetable:
    """How long the cells that are left will take, by those of the same method that are done."""

    def __init__(self, cells: Sequence[Cell], workers: int) -> None:
        self._left = Counter(cell.method for cell in cells)
        self._taken: dict[str, list[float]] = {}
        self._workers = workers

    @property
    def done(self) -> int:
        """How many cells are done."""
        return sum(map(len, self._taken.values()))

    def note(self, cell: Cell, seconds: float) -> None:
        """Take down that a cell is done."""
        self._left[cell.method] -= 1
        self._taken.setdefault(cell.method, []).append(seconds)

    def seconds_left(self) -> float:
        """Return the seconds until all are done; a method not yet seen is taken for the average."""
        means = {method: fmean(times) for method, times in self._taken.items()}
        typical = fmean(means.values()) if means else 0.0
        total = sum(count * means.get(method, typical) for method, count in self._left.items())
        return total / self._workers


_networks: list[TextualNetwork] = []
"""In a worker: the network it was given."""


def _begin_work(read: ReadNetwork) -> None:
    """Prepare a worker: one thread, deaf to Ctrl-C, which its parent hears, and gone with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    torch.set_num_threads(1)
    threadpool_limits(1)
    _networks.append(read())


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(cell: Cell) -> dict[str, Any]:
    try:
        return cell.run(_networks[0])
    except DmteError as problem:
        raise type(problem)(f"{cell.title()}: {problem}") from problem
