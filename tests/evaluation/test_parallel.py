"""Workers: the results of one process, in several, with nothing left behind."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from dmte.errors import DmteError, NotEnoughMemoryError
from dmte.evaluation import METHODS, LinkJob, run_jobs
from dmte.evaluation.jobs import link_jobs
from dmte.evaluation.parallel import Shares, Underway, available_cores
from dmte.evaluation.worker_memory import workers_that_fit
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


@dataclass(frozen=True, slots=True, kw_only=True)
class HungryJob(LinkJob):
    """A fit of as many megabytes as its seed."""

    def run(self, network: TextualNetwork) -> dict[str, Any]:  # noqa: ARG002
        table = np.ones(self.seed * 125_000)
        return {"held": table.nbytes / 1e6}


def hungry(megabytes: int) -> HungryJob:
    return HungryJob(
        network="", method="tfidf", protocol="strict", train_fraction=0.5, seed=megabytes
    )


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
def test_a_failed_fit_raises_and_names_its_job() -> None:
    tiny = LinkJob(network="", method="tfidf", protocol="strict", train_fraction=0.001, seed=7)
    with pytest.raises(DmteError, match=r"tfidf, 0\.1 % strict, seed 7: .* one side"):
        list(run_jobs([tiny], partial(draw, 40), 1))


@pytest.mark.slow
def test_others_go_on_if_the_process_of_a_fit_dies() -> None:
    """Whatever ran beside it is repeated, and what had not begun is done."""
    dying = DyingJob(network="", method="tfidf", protocol="strict", train_fraction=0.9, seed=0)
    too_large: dict[str, str] = {}
    jobs = [JOBS[0], dying, *JOBS[1:]]
    done = run_jobs(jobs, partial(draw, 40), 2, too_large=too_large)
    assert {job.key for job, _ in done} == {job.key for job in JOBS}
    assert too_large == {
        "tfidf, 90 % strict": "tfidf, 90 % strict, seed 0: its process died, possibly out of memory"
    }
    with pytest.raises(NotEnoughMemoryError, match="tfidf, 90 % strict, seed 0: its process died"):
        list(run_jobs([dying], partial(draw, 40), 1))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's limits of memory")
def test_a_fit_has_its_share_of_the_memory_or_all_of_it_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 2.4 GB, half of nine tenths is for each fit, and nine tenths are for one that is alone."""
    monkeypatch.setattr("dmte.evaluation.parallel.available_bytes", lambda: 2.4e9)
    too_large: dict[str, str] = {}
    jobs = [hungry(megabytes) for megabytes in (1200, 100, 2300, 50)]
    done = run_jobs(jobs, partial(draw, 40), 2, too_large=too_large)
    assert sorted(result["held"] for _, result in done) == [50, 100, 1200]
    assert too_large == {
        "tfidf, 50 % strict": "tfidf, 50 % strict, seed 2300: it needs more than 2.2 GB"
    }


class Predicting:
    """A method that needs a gigabyte."""

    def memory_bytes(self, network: TextualNetwork) -> int:  # noqa: ARG002
        return 10**9


def test_the_free_memory_limits_the_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {**METHODS, "large": Predicting()}
    monkeypatch.setattr("dmte.evaluation.methods.METHODS", known)
    monkeypatch.setattr("dmte.evaluation.worker_memory.resident_bytes", lambda: 5 * 10**8)
    network, small, large = draw(40), hungry(1), replace(hungry(1), method="large")
    for free, workers, num_too_large in ((10e9, 4, 0), (4e9, 2, 0), (1.6e9, 2, 1), (0.4e9, 1, 2)):
        monkeypatch.setattr(
            "dmte.evaluation.worker_memory.available_bytes", lambda known=free: known
        )
        count, too_large = workers_that_fit([small, large], network, 4)
        assert (count, len(too_large)) == (workers, num_too_large)
    assert too_large["large"] == "it needs about 1.5 GB of memory, and 0.4 GB are free"
    monkeypatch.setattr("dmte.evaluation.worker_memory.available_bytes", lambda: None)
    assert workers_that_fit([large], network, 4) == (4, {})


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
