"""How do time and memory of an epoch grow with vertices, edges, words, hops and width?

Networks with hubs and topics (``LargeTopics``) have from 1e3 vertices up; at a middle size, one
quantity at a time is doubled. Every training runs in a separate process: set-up, an epoch that
touches memory for the first time, and a second one, which is measured. Prints a table and writes
scale.json beside this file.

    python benchmarks/scale.py [--largest 1e6] [--recipes paper,recommended] [--threads 2]
"""

from dataclasses import replace
from time import perf_counter
from typing import Any

from measuring import LARGEST, Survey, peak, reset_peak, run, sizes_up_to
from synthetic import LargeTopics

from dmte.recipes import PAPER
from dmte.runtime.memory import release_freed_memory
from dmte.settings import Settings
from dmte.training.estimate import Sizes, memory_bytes
from dmte.training.method import DmteMethod
from dmte.training.run import TrainingRun

DIM = 200
RECIPES = {"paper": PAPER, "recommended": Settings()}


def measure(work: dict[str, Any]) -> dict[str, Any]:
    """Measure the seconds of set-up and of an epoch, and the peak of memory."""
    network = LargeTopics(
        num_vertices=work["vertices"],
        edges_per_vertex=work["edges_per_vertex"],
        words_per_text=work["words_per_text"],
    ).draw(seed=0)
    weights = tuple(0.5**hop for hop in range(work["hops"]))
    settings = replace(RECIPES[work["recipe"]], dim=work["dim"], hop_weights=weights, epochs=2)
    small = LargeTopics(num_vertices=300).draw(seed=0)  # Loads what torch loads lazily.
    DmteMethod(replace(settings, dim=8, epochs=1)).fit(small, seed=0)
    predicted = memory_bytes(Sizes.of(network, settings), settings)
    release_freed_memory()  # Memory of drawing the network does not count.
    before = reset_peak()
    began = perf_counter()
    run = TrainingRun(network, settings, seed=0)
    set_up = perf_counter() - began
    *_, second = run.epochs()
    run.result()
    return {
        "set_up_s": round(set_up, 2),
        "epoch_s": round(second.seconds, 3),
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
