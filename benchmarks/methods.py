"""How much time and memory does each method need?

Each method is fitted to the same network in a separate process. It is fitted to a tiny network
first, so that imports do not count. Prints the time of the fit and its peak of memory on top of
that before. On a busy machine, CPU seconds vary less. Writes methods.json beside this file and
keeps the figures of other methods there.

    DMTE_DATA=... python benchmarks/methods.py [--network cora] [--train-fraction 0.55]
        [--methods deepwalk,tadw] [--threads 1]
"""

import argparse
import json
import platform
import subprocess
import sys
from pathlib import Path
from time import process_time
from typing import Any

import torch

from dmte.errors import DmteError
from dmte.evaluation import METHODS, choose_methods, find_method, strict_task
from dmte.evaluation.methods import left_out
from dmte.network import read_network
from dmte.network.synthetic import PlantedTopics
from dmte.runtime.memory import measure, release_freed_memory
from dmte.runtime.provenance import processor, revision

PATH = Path(__file__).with_suffix(".json")


def main() -> None:
    """Measure the methods one after another, print the table and store it."""
    arguments = parse()
    if arguments.one:
        print(json.dumps(measure_fit(arguments)))
        return
    names = arguments.methods.split(",")
    try:
        network = read_network(arguments.network)
        chosen = choose_methods(names, task="links")
    except DmteError as problem:
        sys.exit(f"methods.py: {problem}")
    for method, reason in left_out(names, task="links").items():
        print(f"{method}: left out, {reason}", file=sys.stderr)
    print(f"{network!r}, {100 * arguments.train_fraction:g} % of the edges learned from\n")
    heads = ("seconds", "CPU s", "MB on top", "MB in all")
    print(f"{'method':<26}" + "".join(f"{head:>10}" for head in heads))
    for method in chosen:
        measured = measure_in_process(method, arguments)
        print(line(method, measured), flush=True)
        store(f"{arguments.network} {arguments.train_fraction:g}", method, measured, arguments)


def parse() -> argparse.Namespace:
    """Parse the options of the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--network", default="cora")
    parser.add_argument("--train-fraction", type=float, default=0.55)
    parser.add_argument("--methods", default="all")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    return parser.parse_args()


def measure_in_process(method: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Run ``measure_fit`` in a new process and return its result."""
    command = [sys.executable, __file__, "--one", method, "--network", arguments.network]
    command += ["--train-fraction", str(arguments.train_fraction)]
    command += ["--threads", str(arguments.threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        messages = done.stderr.strip().splitlines()
        return {"problem": messages[-1] if messages else f"exit code {done.returncode}"}
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def measure_fit(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure the time and memory of one fit."""
    torch.set_num_threads(arguments.threads)
    method = find_method(arguments.one)
    method.fit(PlantedTopics(num_vertices=80).draw(torch.Generator().manual_seed(0)), 0)
    train = strict_task(read_network(arguments.network), arguments.train_fraction, seed=0).train
    release_freed_memory()
    before = measure(lambda: None).peak_mb
    started = process_time()
    fit = measure(lambda: method.fit(train, 0))
    cpu_seconds = process_time() - started
    on_top = None if fit.peak_mb is None or before is None else round(fit.peak_mb - before, 1)
    return {
        "seconds": round(fit.seconds, 2),
        "cpu_seconds": round(cpu_seconds, 2),
        "memory_mb": on_top,
        "peak_mb": None if fit.peak_mb is None else round(fit.peak_mb),
    }


def line(method: str, measured: dict[str, Any]) -> str:
    """Format a row of the table."""
    if "problem" in measured:
        return f"{method:<26}  {measured['problem']}"
    figures = [measured[name] for name in FIGURES]
    return f"{method:<26}" + "".join(f"{'' if n is None else f'{n:,}':>10}" for n in figures)


FIGURES = ("seconds", "cpu_seconds", "memory_mb", "peak_mb")


def store(
    network: str, method: str, measured: dict[str, Any], arguments: argparse.Namespace
) -> None:
    """Store the figures of a method with the machine and versions they come from."""
    machine = {
        "processor": processor(),
        "threads": arguments.threads,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "revision": revision(),
    }
    stored = json.loads(PATH.read_text()) if PATH.exists() else {}
    merged = stored.get(network, {}) | {method: measured | {"machine": machine}}
    stored[network] = {name: merged[name] for name in METHODS if name in merged}
    PATH.write_text(json.dumps(stored, indent=1) + "\n")


if __name__ == "__main__":
    main()
