"""Jobs in parallel worker processes.

Every worker has one thread: on two cores two parallel fits finish earlier than two in sequence with
two threads each, and results do not depend on the number of cores.

Every worker has an equal share of the free memory. A fit that needs more, or whose process dies, is
repeated alone with all of it.
"""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from dmte.errors import DmteError, NotEnoughMemoryError, TrainingError
from dmte.evaluation.jobs import Job
from dmte.network import TextualNetwork
from dmte.network.textual_network import Labels
from dmte.runtime.children import safe_spawning
from dmte.runtime.formatting import readable_bytes
from dmte.runtime.memory import (
    MARGIN,
    available_bytes,
    is_out_of_memory,
    limit_allocations,
)
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

    def stop(self) -> list[int]:
        """Return the numbers of the running jobs, and count them as not running."""
        running = [number for number, begun in enumerate(self._begun) if begun]
        for number in running:
            self._begun[number] = self._shares[number] = 0.0
        return running

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
    too_large: dict[str, str] | None = None,
) -> Iterator[tuple[Job, dict[str, Any]]]:
    """Yield every job with its result as it finishes; each worker reads the network by ``read``.

    The entry ``made`` of a result is its build. ``shares`` receives the progress. With ``unable``,
    methods that cannot learn from the network are recorded there instead of raising; with
    ``too_large``, methods and conditions whose fits need more than the free memory.

    Raises:
        NotEnoughMemoryError: A fit needs more than the free memory, or its process died.
        TrainingError: A worker died before its first fit.
    """
    refused = {} if too_large is None else too_large
    for job, outcome in _all_outcomes(jobs, read, workers, shares or Shares(jobs), refused):
        if not isinstance(outcome, DmteError):
            yield job, outcome
        elif isinstance(outcome, NotEnoughMemoryError):
            _record(too_large, job.kind_of_fit, outcome)
        else:
            _record(unable, job.method, outcome)


def _record(refused: dict[str, str] | None, name: str, problem: DmteError) -> None:
    if refused is None:
        raise problem
    refused[name] = str(problem)


Outcome: TypeAlias = dict[str, Any] | DmteError


def _all_outcomes(
    jobs: Sequence[Job],
    read: ReadNetwork,
    workers: int,
    shares: Shares,
    too_large: Container[str],
) -> Iterator[tuple[Job, Outcome]]:
    """Yield jobs with their results or errors; repeat those without enough memory alone."""
    waiting, alone = dict(enumerate(jobs)), list[int]()
    while waiting:  # Again after a process died, with the jobs that were not begun.
        for number, outcome in _outcomes(waiting, read, workers, shares):
            job = waiting.pop(number)
            if isinstance(outcome, NotEnoughMemoryError):
                alone.append(number)
            else:
                yield job, outcome
    for number in alone:
        job = jobs[number]
        if job.kind_of_fit not in too_large:
            for _, outcome in _outcomes({number: job}, read, 1, shares):
                yield job, outcome


def _outcomes(
    jobs: Mapping[int, Job],
    read: ReadNetwork,
    workers: int,
    shares: Shares,
) -> Iterator[tuple[int, Outcome]]:
    """Yield numbers of jobs with their results or errors, as they finish.

    If a process dies, the jobs that were running have an error, and others may be missing.

    Raises:
        TrainingError: A worker died before its first fit.
    """
    others, count = set(multiprocessing.active_children()), min(workers, len(jobs))
    free = available_bytes()
    share = None if free is None else MARGIN * free / count
    with safe_spawning():  # All workers start while jobs are submitted.
        pool = ProcessPoolExecutor(
            count, _CONTEXT, initializer=_begin_work, initargs=(read, shares.arrays, share)
        )
        waiting = {pool.submit(_work, job, number): number for number, job in jobs.items()}
    is_broken = False
    try:
        for done in as_completed(waiting):
            try:
                yield waiting[done], done.result()
            except BrokenProcessPool:
                is_broken = True
            except DmteError as problem:
                yield waiting[done], problem
        if is_broken:
            yield from _stopped(jobs, shares)
        else:
            pool.shutdown()  # All jobs are done, so workers exit and clean up.
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - others:
            child.kill()  # Its fit may take minutes more and is no longer needed.


def _stopped(jobs: Mapping[int, Job], shares: Shares) -> Iterator[tuple[int, DmteError]]:
    """Yield the jobs that were running when a process died: it ends all processes of a pool."""
    running = shares.stop()
    if not running:
        raise TrainingError(
            "a worker process died before its first fit, possibly out of memory; use fewer "
            "--workers"
        )
    for number in running:
        problem = f"{jobs[number].title()}: its process died, possibly out of memory"
        yield number, NotEnoughMemoryError(problem)


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
_share: list[float] = []
"""The memory of this worker in bytes, if it is limited."""


def _begin_work(read: ReadNetwork, arrays: tuple[Any, Any], share: float | None) -> None:
    """Prepare a worker: one thread, no Ctrl-C, an exit with its parent, and limited memory."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    torch.set_num_threads(1)
    threadpool_limits(1)
    build_info()  # Cached now, while it matches the loaded code.
    _networks.append(read())
    _arrays.extend(arrays)
    if share is not None:
        _share.append(share)
        limit_allocations(share)


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
    except (MemoryError, RuntimeError, OSError) as problem:
        if not is_out_of_memory(problem):
            raise
    finally:
        begun[number] = 0.0
    # Raised here, it does not keep the tables of the failed fit.
    limit = f"more than {readable_bytes(*_share)}" if _share else "more memory than there is"
    raise NotEnoughMemoryError(f"{job.title()}: it needs {limit}")
