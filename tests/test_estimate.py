"""Estimates: of the right size, and refused where there is nothing to train on."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from dmte.config import PAPER, Settings
from dmte.errors import TrainingError
from dmte.estimate import estimate
from dmte.network import TextualNetwork


def test_twice_the_epochs_take_about_twice_the_time(planted: TextualNetwork) -> None:
    once = estimate(planted, replace(PAPER, dim=16, epochs=100))
    twice = estimate(planted, replace(PAPER, dim=16, epochs=200))
    assert 0.5 < twice.seconds / once.seconds < 8
    assert twice.memory_bytes == once.memory_bytes


def test_wider_vectors_take_more_memory(planted: TextualNetwork) -> None:
    narrow, wide = (estimate(planted, replace(PAPER, dim=dim)).memory_bytes for dim in (16, 64))
    assert wide == 4 * narrow


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_memory_is_that_of_a_real_training() -> None:
    """Within a factor of two of what a process takes on top of an idle one."""
    script = """
import torch
from pathlib import Path
from dataclasses import replace
from dmte.config import PAPER
from dmte.estimate import estimate
from dmte.network.synthetic import PlantedTopics
from dmte.method import DmteMethod
def peak():
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])
network = PlantedTopics(num_vertices=8_000).draw(torch.Generator().manual_seed(0))
torch.set_num_threads(1)
DmteMethod.of(replace(PAPER, dim=8, epochs=1)).fit(network, seed=0)
before = peak()
DmteMethod.of(replace(PAPER, epochs=1)).fit(network, seed=0)
print((peak() - before) / estimate(network, PAPER).memory_bytes)
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 0.5 < float(done.stdout) < 2


def test_a_network_without_edges_has_no_estimate(planted: TextualNetwork) -> None:
    lonely = replace(planted, edges=torch.empty(0, 2, dtype=torch.int64))
    with pytest.raises(TrainingError, match="only 0 vertices have an edge"):
        estimate(lonely, PAPER)


def test_where_nothing_is_learned_it_takes_what_the_start_takes(planted: TextualNetwork) -> None:
    lonely = replace(planted, edges=torch.empty(0, 2, dtype=torch.int64))
    assert 0 < estimate(lonely, Settings()).seconds < 10
