"""Jobs in parallel worker processes.

Every worker has one thread: on two cores two parallel fits finish earlier than two in sequence with
two threads each, and results do not depend on the number of cores.
"""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from dmte.errors import DmteError, TrainingError
from dmte.evaluation.jobs import Job
from dmte.network import TextualNetwork
from dmte.network.textual_network import Labels
from dmte.runtime.children import safe_spawning
from dmte.runtime.progress import report_to
from dmte.runtime.provenance import build_info

ReadNetwork = Callable[[], TextualNetwork]
_CONTEXT = multiprocessing.get_context("spawn")  # A fork would inherit torch's dead threads.


def available_cores() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Underway(NamedTuple):
    """A running fit."""

    job: Job
    seconds: float
    """Seconds since it began."""
    share: float
    """Reported progress of the fit; scoring follows."""


class Shares:
    """Progress of every job, in memory that workers write and their parent reads."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs = jobs
        self._begun, self._shares = (_CONTEXT.RawArray("d", len(jobs)) for _ in range(2))

    @property
    def arrays(self) -> tuple[Any, Any]:
        """The start of each running job, otherwise zero, and its progress."""
        return self._begun, self._shares

    def underway(self) -> list[Underway]:
        """Return the running fits, the longest first."""
        now = time.time()
        found = [
            Underway(job, now - begun, share)
            for job, begun, share in zip(self._jobs, self._begun, self._shares, strict=True)
            if begun
        ]
        return sorted(found, key=lambda fit: -fit.seconds)


def run_jobs(
    jobs: Sequence[Job],
    read: ReadNetwork,
    workers: int,
    shares: Shares | None = None,
    unable: dict[str, str] | None = None,
) -> Iterator[tuple[Job, dict[str, Any]]]:
    """Yield every job with its result as it finishes; each worker reads the network by ``read``.

    The entry ``made`` of a result is its build. ``shares`` receives the progress. With
    ``unable``, methods that cannot learn from the network are recorded there instead of raising.

    Raises:
        TrainingError: A worker died, usually out of memory.
    """
    if not jobs:
        return
    others = set(multiprocessing.active_children())
    arrays = (shares or Shares(jobs)).arrays
    with safe_spawning():  # All workers start while jobs are submitted.
        pool = ProcessPoolExecutor(
            min(workers, len(jobs)), _CONTEXT, initializer=_begin_work, initargs=(read, arrays)
        )
        waiting = {pool.submit(_work, job, number): job for number, job in enumerate(jobs)}
    try:
        for done in as_completed(waiting):
            try:
                result = done.result()
            except DmteError as problem:
                if unable is None:
                    raise
                unable[waiting[done].method] = str(problem)
                continue
            yield waiting[done], result
        pool.shutdown()  # All jobs are done, so workers exit and clean up.
    except BrokenProcessPool as problem:
        died = "a worker process died, possibly out of memory; use fewer --workers"
        raise TrainingError(died, is_system_failure=True) from problem
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - others:
            child.kill()  # Its fit may take minutes more and is no longer needed.


def handing_over(network: TextualNetwork) -> ReadNetwork:
    """Return a picklable function that rebuilds this network in a worker.

    The source may be a pipe, which cannot be read twice, or may have changed.
    """
    weights, features = (
        None if tensor is None else tensor.numpy() for tensor in (network.weights, network.features)
    )
    fields = (network.ids, network.texts, network.edges.numpy(), weights, features)
    return partial(_unpack, *fields, directed=network.directed, labels=network.labels)


def _unpack(
    ids: Sequence[str],
    texts: Sequence[str],
    edges: NDArray[np.int64],
    weights: NDArray[np.float64] | None,
    features: NDArray[np.float32] | None,
    *,
    directed: bool,
    labels: Labels | None,
) -> TextualNetwork:
    # Arrays, because torch would share tensors by files that stay open in both processes.
    return TextualNetwork(
        ids=ids,
        texts=texts,
        edges=torch.from_numpy(edges),
        weights=None if weights is None else torch.from_numpy(weights),
        directed=directed,
        labels=labels,
        features=None if features is None else torch.from_numpy(features),
    )


_networks: list[TextualNetwork] = []
"""The network of this worker."""
_arrays: list[Any] = []
"""``Shares.arrays`` in this worker."""


def _begin_work(read: ReadNetwork, arrays: tuple[Any, Any]) -> None:
    """Prepare a worker: one thread, no Ctrl-C, and an exit with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    torch.set_num_threads(1)
    threadpool_limits(1)
    build_info()  # Cached now, while it matches the loaded code.
    _networks.append(read())
    _arrays.extend(arrays)


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(job: Job, number: int) -> dict[str, Any]:
    begun, shares = _arrays
    begun[number] = time.time()
    try:
        with report_to(partial(shares.__setitem__, number)):
            return job.run(_networks[0]) | {"made": build_info()}
    except DmteError as problem:
        raise type(problem)(f"{job.title()}: {problem}") from problem
    finally:
        begun[number] = 0.0
