"""Memory estimates: close to a real training, and checked against the free memory."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from synthetic import LargeTopics

from dmte.errors import TrainingError
from dmte.network import TextualNetwork
from dmte.recipes import PAPER
from dmte.training.estimate import Sizes, check_memory, memory_bytes

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_wider_vectors_need_more_memory() -> None:
    network = LargeTopics(num_vertices=2000).draw(seed=0)
    narrow, wide = (
        memory_bytes(Sizes.of(network, settings), settings)
        for settings in (replace(PAPER, dim=dim) for dim in (200, 800))
    )
    assert 3.5 < wide / narrow < 4


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize(
    "settings",
    [
        "PAPER",
        "Settings(dim=128)",
        "Settings(dim=128, letters=True)",
        "Settings(dim=128, word_weights=True)",
    ],
)
def test_the_estimate_is_close_to_a_real_training(settings: str) -> None:
    """Within a quarter of what a process takes on top of one that has trained something small."""
    script = f"""
import sys
sys.path.insert(0, {str(BENCHMARKS)!r})
import torch
from pathlib import Path
from dataclasses import replace
from dmte.runtime.memory import release_freed_memory
from dmte.recipes import PAPER
from dmte.settings import Settings
from dmte.training.estimate import Sizes, memory_bytes
from dmte.runtime.memory import resident_bytes
from synthetic import LargeTopics
from dmte.training.method import DmteMethod
torch.set_num_threads(1)
settings = replace({settings}, epochs=1)
DmteMethod(replace(settings, dim=8)).fit(LargeTopics(num_vertices=300).draw(0), seed=0)
network = LargeTopics(num_vertices=8_000).draw(seed=0)
release_freed_memory()
Path("/proc/self/clear_refs").write_text("5")  # The peak is counted from here.
before = resident_bytes()
DmteMethod(settings).fit(network, seed=0)
peak = 1024 * int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
print((peak - before) / memory_bytes(Sizes.of(network, settings), settings))
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 0.75 < float(done.stdout) < 1.25


def test_too_little_memory_raises_with_smaller_settings(
    planted: TextualNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = replace(PAPER, dim=400)
    needed = memory_bytes(Sizes.of(planted, settings), settings)
    assert needed < memory_bytes(Sizes.at_most(planted, settings), settings)
    for available, message in (
        (needed // 2, r"--dim \d+ would need .*--force"),
        (1000, "but 1 MB are free; narrower vectors would not fit"),
    ):
        monkeypatch.setattr("dmte.training.estimate.available_bytes", lambda known=available: known)
        with pytest.raises(TrainingError, match=message):
            check_memory(planted, settings)
    for enough in (2 * needed, None):
        monkeypatch.setattr("dmte.training.estimate.available_bytes", lambda known=enough: known)
        check_memory(planted, settings)


def test_processes_divide_only_tables_as_wide_as_the_vectors() -> None:
    sizes = Sizes(
        vertices=1000,
        members=1000,
        edges=5000,
        words=800,
        columns=800,
        tokens=0,
        folds=1,
        auto_word_weights=False,
        validation_edges=0,
    )
    alone = memory_bytes(sizes, PAPER)
    elsewhere = memory_bytes(sizes, PAPER, processes=4)
    assert alone / 4 < elsewhere < alone / 3
    assert memory_bytes(sizes, PAPER, processes=4, num_local=4) == 4 * elsewhere
