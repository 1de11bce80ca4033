"""Many jobs, on all cores.

Every worker is a process of one thread: on two cores two fits side by side finish earlier than one
after the other with two threads each, and the results do not depend on the number of cores.
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
from dmte.runtime.progress import report_to
from dmte.runtime.provenance import build_info

ReadNetwork = Callable[[], TextualNetwork]
_CONTEXT = multiprocessing.get_context("spawn")  # A fork would inherit torch's dead threads.


def available_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Underway(NamedTuple):
    """A fit that is being made."""

    job: Job
    seconds: float
    """Since it began."""
    share: float
    """How much of the fit is done, as far as its method says; scoring comes after all of it."""


class Shares:
    """How far every job is: memory that workers write to and their parent reads."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs = jobs
        self._begun, self._shares = (_CONTEXT.RawArray("d", len(jobs)) for _ in range(2))

    @property
    def arrays(self) -> tuple[Any, Any]:
        """What a worker writes: when each running job began, otherwise zero, and its share."""
        return self._begun, self._shares

    def underway(self) -> list[Underway]:
        """Return the fits that are being made, the one that has taken longest first."""
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
    refusals: dict[str, str] | None = None,
) -> Iterator[tuple[Job, dict[str, Any]]]:
    """Yield every job with its result, as they finish; ``read`` gives a worker the network.

    A result says under ``made`` what made it. How far the fits are is in ``shares``, for whoever
    looks meanwhile. Where ``refusals`` are given, a method that cannot learn from the network is
    noted there, and the others go on.

    Raises:
        TrainingError: A worker died, usually for want of memory.
    """
    if not jobs:
        return
    others = set(multiprocessing.active_children())
    arrays = (shares or Shares(jobs)).arrays
    pool = ProcessPoolExecutor(
        min(workers, len(jobs)), _CONTEXT, initializer=_begin_work, initargs=(read, arrays)
    )
    waiting = {pool.submit(_work, job, number): job for number, job in enumerate(jobs)}
    try:
        for done in as_completed(waiting):
            try:
                result = done.result()
            except DmteError as problem:
                if refusals is None:
                    raise
                refusals[waiting[done].method] = str(problem)
                continue
            yield waiting[done], result
        pool.shutdown()  # Nothing is left to do, so they leave by themselves and tidy up.
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
    # As arrays: torch would share tensors by files that stay open as long as both processes live.
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
"""In a worker: the network it was given."""
_arrays: list[Any] = []
"""In a worker: where it writes when each job began and how far it is."""


def _begin_work(read: ReadNetwork, arrays: tuple[Any, Any]) -> None:
    """Prepare a worker: one thread, deaf to Ctrl-C, which its parent hears, and gone with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    torch.set_num_threads(1)
    threadpool_limits(1)
    build_info()  # Asked now, since what runs is what was loaded now.
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
