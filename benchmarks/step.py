"""How close is a training step to the limit of the machine, and where does the time go?

One run measures Cora and DBLP with the paper's recipe and the recommended one. A round (rounds.py)
is measured, and every figure is divided by its number of steps:

- the machine: the speed of copying a table larger than the cache and of multiplying large matrices;
- the *bare products*: the products with B, if word vectors are learned, and with P, once per hop
  and half, forward and backward; with fixed texts only forward, once per round;
- the *limit*: the bare products plus the seven tables that Adam reads and writes, at the speed of
  copying; for the recommended recipe also its dense products with M and with the shared negatives,
  at the speed of multiplying;
- the step and its parts.

Rounds and bare products alternate, so that a busy machine slows both. Prints tables and writes
step.json beside this file.

    DMTE_DATA=... python benchmarks/step.py [--rounds 15] [--threads 2]
"""

import argparse
import statistics
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import torch
from measuring import store, table
from rounds import round_edges, train_round
from torch import Tensor

from dmte.diffusion.transition import TransitionTemplate
from dmte.errors import NetworkError
from dmte.kernels.adam import Adam
from dmte.kernels.sparse import SparseMatrix
from dmte.model.diffusion_maps import DiffusionMaps
from dmte.network.formats.read import read_network
from dmte.network.textual_network import TextualNetwork
from dmte.recipes import PAPER
from dmte.runtime.memory import keep_freed_memory
from dmte.runtime.seeding import generator_for
from dmte.settings import Settings
from dmte.text import Vocabulary
from dmte.training import batch_scores as scores_module
from dmte.training import rounds as rounds_module
from dmte.training.fold import Fold
from dmte.training.negative_sampling import NegativeSampler
from dmte.training.run import TrainingRun

RECIPES = {"paper": PAPER, "recommended": Settings(dim=200)}
WARM = 2
"""Rounds before timing starts: the first learns word weights, if they are learned."""
FLOAT = 4
"""Bytes of a 32-bit number."""


@dataclass(frozen=True)
class Machine:
    """Top speeds of this machine, with the same number of threads as the steps."""

    copied: float
    """Bytes read and written per second when a table of 256 MB is copied."""
    multiplied: float
    """Operations per second in a product with as many rows as DBLP."""

    @classmethod
    def measured(cls) -> "Machine":
        """Measure the best of some rounds."""
        source, target = torch.zeros(2, 1 << 26)
        tall, square = torch.zeros(17_725, 512), torch.zeros(512, 512)
        copying = min(seconds(lambda: target.copy_(source)) for _ in range(7))
        multiplying = min(seconds(lambda: tall @ square) for _ in range(7))
        return cls(2 * source.nbytes / copying, 2 * tall.numel() * 512 / multiplying)


class BareProducts:
    """The sparse products of a round alone."""

    def __init__(self, fold: Fold, network: TextualNetwork, hidden: Tensor) -> None:
        self.settings, members = fold.settings, fold.edges.members
        tokens = Vocabulary.of(network.texts).encode(network.texts).select(members)
        self.words = SparseMatrix.from_scipy(tokens.bag_of_words(), torch.float32)
        self.transition = fold.model.transition_of(fold.edges.adjacency())
        self.last_hop = self.transition.rows.select(fold.edges.edges[hidden].unique())
        self.rows = torch.zeros(len(members), self.settings.half)
        self.table = torch.zeros(tokens.vocabulary_size, self.settings.half)

    def __call__(self) -> None:
        """Make the products of one round."""
        hops = self.settings.hops - 1
        if self.settings.has_frozen_encoder:  # Of the last hop, only the rows scored are needed.
            for _ in range(hops - 1):
                self.transition.rows.times(self.rows)
            self.last_hop.times(self.rows)
            return
        self.words.rows.times(self.table)
        self.words.columns.times(self.rows)
        for _ in range(hops * (1 + self.settings.structure)):
            self.transition.rows.times(self.rows)
            self.transition.columns.times(self.rows)


def least_seconds(fold: Fold, machine: Machine) -> float:
    """Compute the least time of Adam and of the dense products of a step."""
    numbers = sum(parameter.numel() for parameter in fold.model.parameters())
    least = 7 * numbers * FLOAT / machine.copied
    if fold.model.mixing is not None:
        batch = torch.arange(min(fold.sizes.batch, len(fold.edges)))
        rows, half = len(fold.edges.edges[batch].unique()), fold.settings.half
        # Forward, and backward to both factors.
        operations = 3 * 2 * rows * half * (half + fold.settings.num_negatives)
        least += operations / machine.multiplied
    return least


@contextmanager
def timed(owner: Any, name: str, taken: dict[str, float], part: str) -> Iterator[None]:
    """Add the seconds of every call of ``owner.name`` to a part."""
    original = owner.__dict__[name]
    act = original.__func__ if isinstance(original, staticmethod) else original

    def measured(*args: Any, **options: Any) -> Any:
        began = perf_counter()
        try:
            return act(*args, **options)
        finally:
            taken[part] = taken.get(part, 0.0) + perf_counter() - began

    setattr(owner, name, staticmethod(measured) if act is not original else measured)
    try:
        yield
    finally:
        setattr(owner, name, original)


PARTS: list[tuple[Any, str, str]] = [
    (TransitionTemplate, "transition", "P without the edges scored"),
    (rounds_module, "hop_tables", "hop tables"),
    (NegativeSampler, "draw", "negatives"),
    (NegativeSampler, "draw_shared", "negatives"),
    (DiffusionMaps, "text_columns", "model forward"),
    (DiffusionMaps, "structure_tables", "model forward"),
    (DiffusionMaps, "combine", "model forward"),
    (DiffusionMaps, "mix", "model forward"),
    (scores_module, "score_edges", "scores forward"),
    (torch.Tensor, "backward", "backward"),
    (Adam, "step", "Adam"),
]
"""The functions of each part of a step."""


def parts_of(act: Callable[[], object]) -> dict[str, float]:
    """Measure the seconds of each part of one round."""
    taken: dict[str, float] = {}
    with ExitStack() as stack:
        for owner, name, part in PARTS:
            stack.enter_context(timed(owner, name, taken, part))
        whole = seconds(act)
    taken["rest"] = whole - sum(taken.values())
    return taken


def seconds(act: Callable[[], object]) -> float:
    """Measure the seconds of one call."""
    began = perf_counter()
    act()
    return perf_counter() - began


def measure(network: TextualNetwork, settings: Settings, rounds: int, machine: Machine) -> Any:
    """Measure one network and recipe; return its row and the rows of its parts."""
    fold = TrainingRun(network, settings, seed=0).folds[0]
    fold.drop_words(0)
    generator = generator_for(0, "benchmark")
    hidden = round_edges(fold, generator)
    bare = BareProducts(fold, network, hidden)

    def act() -> int:
        return train_round(fold, generator)

    bare()
    steps = [act() for _ in range(WARM)][-1]
    times, products, parts = [], [], []
    for _ in range(rounds):
        times.append(seconds(act) / steps)
        products.append(seconds(bare) / steps)
        parts.append(parts_of(act))
    step, bare_step = statistics.median(times), statistics.median(products)
    limit = bare_step + least_seconds(fold, machine)
    row = {
        "vertices": len(fold.edges.members),
        "width": settings.half,
        "edges_scored": len(hidden) // steps,
        "steps_per_round": steps,
        "step_ms": round(1e3 * step, 1),
        "bare_products_ms": round(1e3 * bare_step, 1),
        "limit_ms": round(1e3 * limit, 1),
        "step_to_limit": round(step / limit, 2),
    }
    medians = {part: statistics.median(of[part] for of in parts) for part in parts[0]}
    ms = {part: round(1e3 * median / steps, 2) for part, median in medians.items()}
    return row, [{"part": part, "ms": value} for part, value in ms.items()]


def main() -> None:
    """Measure both networks and recipes, print the tables and store them."""
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
    machine = Machine.measured()
    rows, shares = [], []
    for name, network in networks.items():
        for recipe, settings in RECIPES.items():
            row, parts = measure(network, settings, arguments.rounds, machine)
            rows.append({"network": name, "recipe": recipe} | row)
            shares += [{"network": name, "recipe": recipe} | part for part in parts]
    print(table(rows), table(shares), sep="\n\n")
    speeds = {
        "copied_gb_per_s": round(machine.copied / 1e9, 1),
        "multiplied_gflop_per_s": round(machine.multiplied / 1e9, 1),
    }
    print(speeds)
    store(__file__, rows, arguments.threads, parts=shares, speeds=[speeds])


if __name__ == "__main__":
    main()
