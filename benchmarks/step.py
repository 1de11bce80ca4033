"""How close is a training step to the limit of the machine, and where does the time go?

One run measures Cora and DBLP with the paper's recipe and the recommended one:

- the machine: the speed of copying a table larger than the cache and of multiplying large matrices;
- the *bare products* of a step: the products with B, if word vectors are learned, and with P, once
  per hop and half, forward and backward;
- the *limit*: the bare products plus the seven tables that Adam reads and writes, at the speed of
  copying; for the recommended recipe also its three dense products, at the speed of multiplying;
- the step and its parts: their time, and the bytes they read and write if nothing stays in the
  cache.

Steps and bare products alternate, so that a busy machine slows both. Prints tables and writes
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

from dmte.diffusion.transition import TransitionTemplate
from dmte.errors import NetworkError
from dmte.kernels import pair_scores as scores
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
from dmte.training import fold as fold_module
from dmte.training.fold import Fold
from dmte.training.negative_sampling import NegativeSampler
from dmte.training.run import TrainingRun

RECIPES = {"paper": PAPER, "recommended": Settings(dim=200)}
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
    """The sparse products of a step alone."""

    def __init__(self, fold: Fold, network: TextualNetwork) -> None:
        self.settings, members = fold.settings, fold.edges.members
        tokens = Vocabulary.of(network.texts).encode(network.texts).select(members)
        self.words = SparseMatrix.from_scipy(tokens.bag_of_words(), torch.float32)
        self.transition = fold.model.transition_of(fold.edges.adjacency())
        self.rows = torch.zeros(len(members), self.settings.half)
        self.table = torch.zeros(tokens.vocabulary_size, self.settings.half)

    @property
    def learns_word_vectors(self) -> bool:
        """Whether every step multiplies by B."""
        return not self.settings.has_frozen_encoder

    def __call__(self) -> None:
        """Make the products of one step."""
        hops = self.settings.hops - 1
        if self.learns_word_vectors:
            self.words.rows.times(self.table)
            self.words.columns.times(self.rows)
        for _ in range(hops * (1 + self.settings.structure)):
            self.transition.rows.times(self.rows)
        # Fixed texts have no gradient.
        for _ in range(hops * (self.learns_word_vectors + self.settings.structure)):
            self.transition.columns.times(self.rows)


def must_move(fold: Fold, bare: BareProducts) -> dict[str, int]:
    """Count the bytes that each part reads and writes if no table stays in the cache.

    A product reads a row per entry and writes its result. The rest is counted in passes over a
    table of all vertices.
    """
    settings, num_vertices = fold.settings, len(fold.edges.members)
    hops, halves = settings.hops - 1, 1 + settings.structure
    rows = settings.half * FLOAT
    word_bytes = bare.words.num_entries * rows if bare.learns_word_vectors else 0
    hop_bytes = bare.transition.num_entries * rows
    one_pass = num_vertices * rows
    pairs = 2 * min(fold.batch_size, len(fold.edges))
    scored = pairs * (1 + settings.num_negatives)
    gathered = (scored + pairs) * halves * rows
    numbers = sum(parameter.numel() for parameter in fold.model.parameters())
    if settings.activation == "tanh":
        activation, slopes = 5 * settings.hops, 10 * settings.hops
    else:  # Filters, a dense product and division by lengths.
        activation, slopes = 3 * settings.hops + 5, 2 * settings.hops + 9
    lengths = 3 if settings.structure else 0
    return {
        "model forward": word_bytes
        + halves * hops * hop_bytes
        + one_pass * (1 + halves * hops + activation + lengths),
        "scores forward": gathered,
        "scores backward": 2 * halves * halves * scored * rows + 2 * halves * one_pass,
        "model backward": word_bytes
        + (halves - 1 + bare.learns_word_vectors) * hops * hop_bytes
        + one_pass * (halves * hops + slopes + 2 * lengths),
        "Adam": 7 * numbers * FLOAT,
    }


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


def parts_of(step: Callable[[], object]) -> dict[str, float]:
    """Measure the seconds of each part of one step."""
    taken: dict[str, float] = {}
    places = [
        (DiffusionMaps, "forward", "model forward"),
        (fold_module, "score_edges", "scores forward"),
        (scores._PairScores, "backward", "scores backward"),
        (torch.Tensor, "backward", "all backward"),
        (Adam, "step", "Adam"),
        (NegativeSampler, "draw", "negatives"),
        (TransitionTemplate, "transition", "P without the edges scored"),
    ]
    with ExitStack() as stack:
        for owner, name, part in places:
            stack.enter_context(timed(owner, name, taken, part))
        whole = seconds(step)
    taken["model backward"] = taken.pop("all backward") - taken["scores backward"]
    taken["rest"] = whole - sum(taken.values())
    return taken


def seconds(act: Callable[[], object]) -> float:
    """Measure the seconds of one call."""
    began = perf_counter()
    act()
    return perf_counter() - began


def measure(network: TextualNetwork, settings: Settings, rounds: int, machine: Machine) -> Any:
    """Measure one network and recipe; return its row and the rows of its parts."""
    run = TrainingRun(network, settings, seed=0)
    fold = run.folds[0]
    bare, generator = BareProducts(fold, network), generator_for(0, "benchmark")

    def step() -> None:
        batch = torch.randperm(len(fold.edges), generator=generator)[: fold.batch_size]
        fold.step(batch, generator)

    for act in (step, bare, step, bare):
        act()
    steps, products, parts = [], [], []
    for _ in range(rounds):
        steps.append(seconds(step))
        products.append(seconds(bare))
        parts.append(parts_of(step))
    moved = must_move(fold, bare)
    step_seconds, product_seconds = statistics.median(steps), statistics.median(products)
    limit = product_seconds + moved["Adam"] / machine.copied
    if fold.model.mixing is not None:
        limit += 3 * 2 * len(fold.edges.members) * settings.half**2 / machine.multiplied
    row = {
        "vertices": len(fold.edges.members),
        "width": settings.half,
        "edges_scored": min(fold.batch_size, len(fold.edges)),
        "step_ms": round(1e3 * step_seconds, 1),
        "bare_products_ms": round(1e3 * product_seconds, 1),
        "limit_ms": round(1e3 * limit, 1),
        "step_to_limit": round(step_seconds / limit, 2),
        "all_bytes_at_copy_speed_ms": round(1e3 * sum(moved.values()) / machine.copied, 1),
    }
    return row, list(part_rows(parts, moved))


def part_rows(
    rounds: list[dict[str, float]], moved: dict[str, int]
) -> Iterator[dict[str, str | float]]:
    """Yield a row for each part: its median time and, if bytes are counted, its speed."""
    for part in rounds[0]:
        median = statistics.median(parts[part] for parts in rounds)
        row: dict[str, str | float] = {"part": part, "ms": round(1e3 * median, 2)}
        if part in moved:
            row["must_move_mb"] = round(moved[part] / 1e6)
            row["gb_per_s"] = round(moved[part] / median / 1e9, 1)
        yield row


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
