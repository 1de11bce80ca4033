"""How much time per step and memory do two processes save over one?

The same training runs with one process of one thread, two processes of one thread that share the
columns, and one process of two threads. They take turns and train on the same rounds (rounds.py).
The time of a step is that of a round divided by its steps, in wall-clock time and in CPU time,
which is more reliable on a busy machine. Memory is that of a process's tables and of Adam's state,
and the private memory that the system reports. Prints a table and writes processes.json beside this
file; rows that were not measured again are kept.

    DMTE_DATA=... python benchmarks/processes.py [--networks dblp,drawn-100000]
        [--recipes paper,recommended] [--groups 1x1,2x1,1x2] [--turns 3] [--rounds 15]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import torch
from measuring import store, table
from rounds import train_round
from synthetic import LargeTopics

from dmte.distributed.launcher import variables_of
from dmte.distributed.membership import FOLDER_PREFIX, Place
from dmte.network import TextualNetwork, read_network
from dmte.recipes import PAPER
from dmte.runtime.seeding import generator_for
from dmte.settings import Settings
from dmte.training.fold import Fold
from dmte.training.run import TrainingRun

RECIPES = {"paper": PAPER, "recommended": Settings(dim=256, folds=1)}
"""The recommended recipe has a fixed width, so that there is no search for one."""
WARM = 3
DRAWN = "drawn-"


def main() -> None:
    """Measure, print the table and store it."""
    arguments = parse()
    if arguments.worker:
        work(arguments)
        return
    found: list[dict[str, Any]] = []
    for network in arguments.networks.split(","):
        for recipe in arguments.recipes.split(","):
            found += measure(network, recipe, arguments)
            print(table(found), flush=True)
            store(__file__, found, threads=2, keys=("network", "recipe", "processes x threads"))


def parse() -> argparse.Namespace:
    """Parse the options of the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--networks", default="dblp,drawn-100000")
    parser.add_argument("--recipes", default="paper,recommended")
    parser.add_argument("--groups", default="1x1,2x1,1x2", help="processes x threads")
    parser.add_argument("--turns", type=int, default=3, help="turns of each group")
    parser.add_argument("--rounds", type=int, default=15, help="rounds measured per turn")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


def measure(network: str, recipe: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure every group in turns; return a row for each."""
    turns: dict[str, list[list[dict[str, Any]]]] = {}
    for _ in range(arguments.turns):
        for group in arguments.groups.split(","):
            turns.setdefault(group, []).append(start(group, network, recipe, arguments.rounds))
    figures = {group: summary(measured) for group, measured in turns.items()}
    base = figures.get("1x1", {})
    named = {"step_ms": "time", "tables_mb": "tables"}
    for figure in figures.values():
        ratios = {f"{to}_to_1x1": figure[name] / base[name] for name, to in named.items() if base}
        figure |= {name: round(ratio, 3) for name, ratio in ratios.items()}
    case = {"network": network, "recipe": recipe}
    return [case | {"processes x threads": group} | row for group, row in figures.items()]


def start(group: str, network: str, recipe: str, rounds: int) -> list[dict[str, Any]]:
    """Run a group once; return the measurements of each of its processes."""
    processes, threads = (int(number) for number in group.split("x"))
    command = [sys.executable, __file__, "--worker", network, recipe, "--rounds", str(rounds)]
    given = {"OMP_NUM_THREADS": str(threads), "GOMP_SPINCOUNT": "10000"}
    with TemporaryDirectory(prefix=FOLDER_PREFIX) as folder:
        started = [
            subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=os.environ | given | variables_of(rank, processes, 0, folder),
            )
            for rank in range(processes)
        ]
        outputs = [process.stdout.read() if process.stdout else "" for process in started]
        codes = [process.wait() for process in started]
    if any(codes):
        sys.exit(f"processes.py: a process of {group} failed on {network}")
    return [json.loads(output) for output in outputs]


def work(arguments: argparse.Namespace) -> None:
    """Measure as one process of a group and print the figures."""
    name, recipe = arguments.worker
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    with Place.from_environment().joined_group(600) as group:
        run = TrainingRun(read(name), RECIPES[recipe], seed=0, group=group)
        fold = run.folds[0]
        wall_times, cpu_times = [], []
        for number in range(WARM + arguments.rounds):
            began, before = perf_counter(), process_time()
            steps = train_round(fold, generator_for(0, "benchmark", number))
            wall_times.append((perf_counter() - began) / steps)
            cpu_times.append((process_time() - before) / steps)
    print(
        json.dumps(
            {
                "step_ms": 1e3 * statistics.median(wall_times[WARM:]),
                "cpu_ms": 1e3 * statistics.median(cpu_times[WARM:]),
                "tables_mb": tables_bytes(fold) / 1e6,
                "private_mb": private_bytes() / 1e6,
                "vertices": run.network.num_vertices,
            }
        )
    )


def read(name: str) -> TextualNetwork:
    """Read a network by its name, or draw one with the number of vertices in its name."""
    if not name.startswith(DRAWN):
        return read_network(name)
    return LargeTopics(num_vertices=int(name.removeprefix(DRAWN))).draw(seed=0)


def tables_bytes(fold: Fold) -> int:
    """Count the bytes of a process's parameters and of Adam's running means."""
    parameters = [parameter.nbytes for parameter in fold.model.parameters()]
    means = [table.nbytes for state in fold.optimizer.state.values() for table in state.values()]
    return sum(parameters) + sum(means)


def private_bytes() -> int:
    """Return the private memory of this process in bytes."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))


def summary(turns: list[list[dict[str, Any]]]) -> dict[str, Any]:
    """Return the median step of all turns and the largest memory of a process."""
    processes = [process for turn in turns for process in turn]
    return {
        "vertices": processes[0]["vertices"],
        "step_ms": round(statistics.median(turn[0]["step_ms"] for turn in turns), 2),
        "cpu_ms": round(statistics.median(process["cpu_ms"] for process in processes), 2),
        "tables_mb": round(max(process["tables_mb"] for process in processes), 3),
        "private_mb": round(max(process["private_mb"] for process in processes), 1),
    }


if __name__ == "__main__":
    main()
