"""How far is a training step from the sparse products it cannot avoid?

In one run, on Cora and on DBLP: the bare products of a step (forward and backward of B, and of P
once per hop for the text and for the structure) and the whole step (these, the activations, the
scores of a batch, negative sampling and Adam). The two take turns, so that a busy machine slows
both. Prints a table and writes step.json beside this file.

    DMTE_DATA=... python benchmarks/step.py [--rounds 15] [--threads 2]
"""

import argparse
import json
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import torch

from dmte.allocator import keep_freed_memory
from dmte.config import PAPER
from dmte.diffusion import transition_matrix
from dmte.errors import NetworkError
from dmte.network import TextualNetwork
from dmte.network.files import read_network
from dmte.randomness import generator_for
from dmte.sparse import SparseMatrix
from dmte.supervision import SupervisedEdges
from dmte.text import Vocabulary
from dmte.training import TrainingRun


def bare_products(words: SparseMatrix, transition: SparseMatrix, hops: int, half: int) -> None:
    """Multiply as often as a step must, and nothing else."""
    table = torch.zeros(len(words.columns.offsets) - 1, half)
    rows = words.rows.times(table)
    for _ in range(2 * (hops - 1)):  # text and structure, forward ...
        transition.rows.times(rows)
    for _ in range(2 * (hops - 1)):  # ... and backward
        transition.columns.times(rows)
    words.columns.times(rows)


def alternate(rounds: int, *actions: Callable[[], object]) -> list[float]:
    """Return the median seconds of each action, taking turns."""
    times: list[list[float]] = [[] for _ in actions]
    for _ in range(rounds):
        for action, taken in zip(actions, times, strict=True):
            started = perf_counter()
            action()
            taken.append(perf_counter() - started)
    return [statistics.median(taken) for taken in times]


def measure(network: TextualNetwork, rounds: int) -> dict[str, Any]:
    """Return milliseconds of the step and of both kinds of bare products."""
    settings = PAPER
    run = TrainingRun(network, settings, seed=0)
    edges = SupervisedEdges.of(network)
    tokens = Vocabulary.of(network.texts).encode(network.texts)
    linked = (
        SparseMatrix.from_scipy(tokens.select(edges.members).bag_of_words(), torch.float32),
        transition_matrix(edges.adjacency()),
    )
    whole = (
        SparseMatrix.from_scipy(tokens.bag_of_words(), torch.float32),
        transition_matrix(network.adjacency()),
    )
    batch = torch.arange(min(run.folds[0].batch_size, run.num_edges))
    generator = generator_for(0, "benchmark")

    def step() -> None:
        run.folds[0].step(batch, generator)

    def bare(matrices: tuple[SparseMatrix, SparseMatrix]) -> Callable[[], None]:
        return lambda: bare_products(*matrices, settings.hops, settings.half)

    actions = step, bare(linked), bare(whole)
    alternate(3, *actions)
    of_step, of_linked, of_whole = alternate(rounds, *actions)
    return {
        "vertices": network.num_vertices,
        "linked_vertices": len(run.folds[0].edges.members),
        "words": len(run.vocabulary),
        "entries_of_B": whole[0].num_entries,
        "entries_of_P": whole[1].num_entries,
        "edges_scored": len(batch),
        "step_ms": round(1e3 * of_step, 2),
        "products_of_linked_vertices_ms": round(1e3 * of_linked, 2),
        "products_of_all_vertices_ms": round(1e3 * of_whole, 2),
        "ratio_to_linked": round(of_step / of_linked, 2),
        "ratio_to_all": round(of_step / of_whole, 2),
    }


def peak_memory_mb(name: str, threads: int) -> int:
    """Return the peak of a process that reads ``name`` and trains it for three epochs."""
    script = (
        "import torch\n"
        "from pathlib import Path\n"
        "from dmte.network.files import read_network\n"
        "from dmte.method import DmteMethod\n"
        f"torch.set_num_threads({threads})\n"
        f"DmteMethod(epochs=3).fit(read_network({name!r}), seed=0)\n"
        # Not getrusage: its peak includes that of the process that started this one.
        "print(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return round(int(done.stdout) * 1024 / 1e6)


def main() -> None:
    """Measure both networks, print the table and store it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    keep_freed_memory()
    try:
        networks = {name: read_network(name) for name in ("cora", "dblp")}
    except NetworkError as problem:
        sys.exit(f"step.py: {problem}")
    results = {}
    for name, network in networks.items():
        results[name] = measure(network, arguments.rounds)
        results[name]["peak_memory_mb"] = peak_memory_mb(name, arguments.threads)
        print(name)
        for key, value in results[name].items():
            print(f"  {key.replace('_', ' '):<32}{value:>10,}")
    machine = {
        "processor": platform.processor() or platform.machine(),
        "threads": arguments.threads,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "revision": subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
        ).stdout.strip(),
    }
    path = Path(__file__).with_suffix(".json")
    path.write_text(json.dumps({"machine": machine, "results": results}, indent=2) + "\n")


if __name__ == "__main__":
    main()
