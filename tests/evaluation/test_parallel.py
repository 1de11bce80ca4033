"""Workers: the results of one process, in several, with nothing left behind."""

import multiprocessing
import os
import signal
import threading
import time
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
import torch

from dmte.errors import DmteError, TrainingError
from dmte.evaluation import LinkJob, run_jobs
from dmte.evaluation.jobs import link_jobs
from dmte.evaluation.parallel import Shares, Underway, available_cores
from dmte.network import TextualNetwork, read_network
from dmte.network.synthetic import PlantedTopics
from dmte.runtime.progress import track
from dmte.runtime.provenance import build_info

JOBS = link_jobs("concepts", ["random", "tfidf"], [0.5], ["strict"], 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class DyingJob(LinkJob):
    """A fit that the system kills."""

    def run(self, network: TextualNetwork) -> dict[str, Any]:
        os.kill(os.getpid(), signal.SIGKILL)
        return super().run(network)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportingJob(LinkJob):
    """A fit that is half done for a while."""

    def run(self, network: TextualNetwork) -> dict[str, Any]:  # noqa: ARG002
        steps = track(range(2))
        next(steps)
        next(steps)
        time.sleep(1.0)
        return {"fit_seconds": 0.0}


def draw(num_vertices: int) -> TextualNetwork:
    return PlantedTopics(num_vertices=num_vertices).draw(torch.Generator().manual_seed(0))


def scores(result: dict[str, Any]) -> Any:
    return result["scores"]


@pytest.mark.slow
def test_workers_find_what_this_process_finds_and_leave() -> None:
    before = set(multiprocessing.active_children())
    network = read_network("concepts")
    done = list(run_jobs(JOBS, partial(read_network, "concepts"), 2))
    found = {job.key: scores(result) for job, result in done}
    assert found == {job.key: scores(job.run(network)) for job in JOBS}
    assert all(result["made"] == build_info() for _, result in done)
    for child in set(multiprocessing.active_children()) - before:
        child.join(10)
    assert set(multiprocessing.active_children()) <= before


@pytest.mark.slow
def test_a_dead_worker_raises_and_a_failed_fit_names_its_job() -> None:
    dying = DyingJob(network="", method="tfidf", protocol="strict", train_fraction=0.5, seed=0)
    with pytest.raises(TrainingError, match="a worker process died"):
        list(run_jobs([dying], partial(draw, 40), 1))
    tiny = LinkJob(network="", method="tfidf", protocol="strict", train_fraction=0.001, seed=7)
    with pytest.raises(DmteError, match=r"tfidf, 0\.1 % strict, seed 7: .* one side"):
        list(run_jobs([tiny], partial(draw, 40), 1))


def test_no_jobs_start_no_workers() -> None:
    assert list(run_jobs([], partial(draw, 40), 2)) == []


@pytest.mark.slow
def test_the_parent_sees_how_far_a_worker_is() -> None:
    job = ReportingJob(network="", method="tfidf", protocol="strict", train_fraction=0.5, seed=0)
    shares = Shares([job])
    seen: list[Underway] = []
    done = threading.Event()

    def look() -> None:
        while not done.wait(0.05):
            seen.extend(shares.underway())

    looking = threading.Thread(target=look)
    looking.start()
    try:
        assert len(list(run_jobs([job], partial(draw, 40), 1, shares))) == 1
    finally:
        done.set()
        looking.join()
    assert all(fit.job == job for fit in seen)
    assert 0.5 in {fit.share for fit in seen}
    assert shares.underway() == []


def test_there_is_a_core() -> None:
    assert 1 <= available_cores() <= (os.cpu_count() or 1)
