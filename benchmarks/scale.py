"""How do time and memory of an epoch grow with vertices, edges, words, hops and width?

Networks with hubs and topics (``LargeTopics``) have from 1e3 vertices up; at a middle size, one
quantity at a time is doubled. Every training runs in a separate process. An epoch of a million
vertices takes many minutes, so a few steps are timed and multiplied by the number of steps in an
epoch. Word dropout and validation, once per epoch, are added. Prints a table and writes scale.json
beside this file.

    python benchmarks/scale.py [--largest 1e6] [--recipes paper,recommended] [--threads 2]
"""

import math
import statistics
from dataclasses import replace
from time import perf_counter
from typing import Any

import torch
from measuring import LARGEST, Survey, peak, reset_peak, run, sizes_up_to
from synthetic import LargeTopics

from dmte.recipes import PAPER
from dmte.runtime.memory import release_freed_memory
from dmte.runtime.seeding import generator_for
from dmte.settings import Settings
from dmte.training.estimate import Sizes, memory_bytes
from dmte.training.method import DmteMethod
from dmte.training.run import TrainingRun

DIM = 200
WARM, ROUNDS = 2, 5
"""Steps before timing starts, which touch memory for the first time, and timed steps."""
RECIPES = {"paper": PAPER, "recommended": Settings()}


def measure(work: dict[str, Any]) -> dict[str, Any]:
    """Measure the seconds of set-up and of an epoch, and the peak of memory."""
    network = LargeTopics(
        num_vertices=work["vertices"],
        edges_per_vertex=work["edges_per_vertex"],
        words_per_text=work["words_per_text"],
    ).draw(seed=0)
    weights = tuple(0.5**hop for hop in range(work["hops"]))
    settings = replace(RECIPES[work["recipe"]], dim=work["dim"], hop_weights=weights)
    small = LargeTopics(num_vertices=300).draw(seed=0)  # Loads what torch loads lazily.
    DmteMethod(replace(settings, dim=8, epochs=1)).fit(small, seed=0)
    predicted = memory_bytes(Sizes.of(network, settings), settings)
    release_freed_memory()  # Memory of drawing the network does not count.
    before = reset_peak()
    began = perf_counter()
    run = TrainingRun(network, settings, seed=0)
    set_up = perf_counter() - began
    fold, times = run.folds[0], []
    began = perf_counter()
    fold.drop_words(1)
    fold.validate(1)
    once = perf_counter() - began
    generator = generator_for(0, "benchmark")
    for _ in range(WARM + ROUNDS):
        batch = torch.randperm(run.num_edges, generator=generator)[: fold.batch_size]
        began = perf_counter()
        fold.step(batch, generator)
        times.append(perf_counter() - began)
    step, steps = statistics.median(times[WARM:]), math.ceil(run.num_edges / fold.batch_size)
    run.result()
    return {
        "set_up_s": round(set_up, 2),
        "step_ms": round(1e3 * step, 1),
        "epoch_s": round((steps * step + once) * len(run.folds), 3),
        "training_mb": round((peak() - before) / 1e6),
        "predicted_mb": round(predicted / 1e6),
        "process_mb": round(peak() / 1e6),
    }


def plan(largest: float) -> list[dict[str, Any]]:
    """List the cases to measure."""
    plain = {"edges_per_vertex": 5, "words_per_text": 30, "hops": 4, "dim": DIM}
    middle = int(min(3e4, largest))
    larger = [{"edges_per_vertex": 10}, {"words_per_text": 60}, {"hops": 8}, {"dim": 2 * DIM}]
    cases = [{"vertices": size} | plain for size in sorted({*sizes_up_to(largest), middle})]
    cases += [{"vertices": middle} | plain | change for change in larger]
    return [{"recipe": recipe} | case for recipe in RECIPES for case in cases]


def survey(epochs: Survey) -> None:
    """Measure all cases of the chosen recipes."""
    recipes = epochs.arguments.recipes.split(",")
    for case in plan(epochs.arguments.largest):
        if case["recipe"] in recipes:
            epochs.add(case, **case)


if __name__ == "__main__":
    run(__file__, measure, survey, largest=LARGEST, recipes={"default": ",".join(RECIPES)})
