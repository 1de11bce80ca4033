"""How long does training take to reach a given AUC?

Links of Cora and DBLP are hidden (strict protocol, 55 % of the edges for training). Every quick
method is fitted in a separate process. DMTE is scored on the hidden links every few epochs, and the
scoring does not count; the other methods are scored once, at the end. The target is the AUC of
``lsa-diffused``, diffused texts without training, in the same run. Finally DMTE is trained on all
edges, 200 wide; ``--methods ""`` does only that. Prints a table and writes reach.json beside this
file; rows that were not measured again are kept.

    DMTE_DATA=... python benchmarks/reach.py [--networks cora,dblp] [--methods ...] [--threads 2]
"""

import sys
from time import perf_counter
from typing import Any

import torch
from measuring import Survey, run

from dmte.errors import DmteError
from dmte.evaluation import find_method, strict_task
from dmte.evaluation.link_prediction import LinkTask
from dmte.network import read_network
from dmte.network.synthetic import PlantedTopics
from dmte.settings import Settings
from dmte.training.method import DmteMethod
from dmte.training.run import TrainingRun

SHARE = 0.55
REFERENCE = "lsa-diffused"
QUICK = "lsa-diffused,dmte,dmte-paper,dmte-paper-text-only,tfidf,lsa,fastrp,adamic-adar,tadw,line"
WHOLE = "dmte, all edges, 200 wide"
NUM_SCORINGS = 20
"""Scorings of the hidden links over all epochs of a training."""


def measure(work: dict[str, Any]) -> dict[str, Any]:
    """Measure the AUC of a method, its seconds and the seconds to the target."""
    name = work["method"]
    method = DmteMethod(Settings(dim=200)) if name == WHOLE else find_method(name)
    method.fit(PlantedTopics(num_vertices=80).draw(torch.Generator().manual_seed(0)), 0)
    if name == WHOLE:
        network, began = read_network(work["network"]), perf_counter()
        method.fit(network, 0)
        return {"seconds": round(perf_counter() - began, 2)}
    task = strict_task(read_network(work["network"]), SHARE, seed=0)
    if isinstance(method, DmteMethod):
        return train(method, task, work["target"])
    began = perf_counter()
    fitted = method.fit(task.train, 0)
    seconds = perf_counter() - began
    auc = best_auc(task, fitted)
    return outcome(seconds, auc, seconds if auc >= (work["target"] or 0.0) else None)


def train(method: DmteMethod, task: LinkTask, target: float | None) -> dict[str, Any]:
    """Measure a training, paused at intervals to score the hidden links."""
    seconds, reached, auc = 0.0, None, 0.0
    began = perf_counter()
    run = TrainingRun(task.train, method.settings, 0)
    every = max(1, method.settings.epochs // NUM_SCORINGS)
    reports = run.epochs()
    is_training = True
    while is_training:
        is_training = next(reports, None) is not None
        if is_training and run.epoch % every:
            continue
        seconds += perf_counter() - began
        auc = best_auc(task, run.result().embedding)
        if reached is None and target is not None and auc >= target:
            reached = seconds
        began = perf_counter()
    return outcome(seconds, auc, reached)


def best_auc(task: LinkTask, scorer: Any) -> float:
    """Compute the AUC by dot product or cosine, whichever is higher."""
    return max(scores.auc for scores in task.evaluate_ways(scorer).values())


def outcome(seconds: float, auc: float, reached: float | None) -> dict[str, Any]:
    """Build a row of the table."""
    return {
        "auc": round(100 * auc, 1),
        "_auc": auc,
        "seconds": round(seconds, 2),
        "seconds_to_target": None if reached is None else round(reached, 2),
    }


def survey(methods: Survey) -> None:
    """Measure every method on every network, the reference first."""
    names = [name for name in methods.arguments.methods.split(",") if name]
    for network in methods.arguments.networks.split(","):
        try:
            read_network(network)
        except DmteError as problem:
            sys.exit(f"reach.py: {problem}")
        target = None
        for method in dict.fromkeys((REFERENCE, *names)) if names else ():
            about = {"network": network, "method": f"`{method}`"}
            found = methods.add(about, network=network, method=method, target=target)
            if method == REFERENCE:
                target = found.get("_auc")
        methods.add({"network": network, "method": WHOLE}, network=network, method=WHOLE)


if __name__ == "__main__":
    networks, methods = {"default": "cora,dblp"}, {"default": QUICK}
    run(__file__, measure, survey, networks=networks, methods=methods)
