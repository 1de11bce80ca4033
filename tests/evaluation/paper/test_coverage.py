"""What is missing is told: methods, and seeds, at every ratio that is planned."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from dmte.evaluation.jobs import Cell, ClassCell, LinkCell
from dmte.evaluation.paper.coverage import Coverage, coverage
from dmte.evaluation.paper.page import section
from dmte.evaluation.paper.targets import TARGETS
from dmte.evaluation.summary import class_results, link_results, median_seconds

COSTS = {"fit_seconds": 1.0, "peak_mb": 100}
AUC = {"auc": 0.9, "average_precision": 0.8, "mrr": 0.5, "hits_at_10": 0.7}
LINKS = {"scores": {"dot": AUC, "cosine": AUC}, "hidden_edges": 9, "self_loops": 0, "trained_on": 0}


def result_of(cell: Cell) -> dict[str, Any]:
    if isinstance(cell, ClassCell):
        figures = {"macro_f1": 0.5, "micro_f1": 0.5}
        return {"scores": {f"{share:g}": figures for share in cell.label_fractions}} | COSTS
    return LINKS | COSTS


def results_of(name: str, is_done: Callable[[Cell], bool]) -> dict[str, Any]:
    """Return the results of a target with these of its cells, as they are read from a file."""
    done = [(cell, result_of(cell)) for cell in TARGETS[name].plan(f"{name} 0") if is_done(cell)]
    about = {"name": TARGETS[name].network, "vertices": 100}
    rows = link_results(done) + class_results(done)
    results = {"target": name, "network": about, "median_seconds": median_seconds(done)}
    return json.loads(json.dumps(results | {"rows": rows}))  # type: ignore[no-any-return]


def up_to(seeds: dict[str, int]) -> Callable[[Cell], bool]:
    """Return what chooses so many seeds of some methods and one of all the others."""
    return lambda cell: cell.seed < seeds.get(cell.method, 1)


def test_a_section_of_classes_ends_in_what_is_missing_and_short() -> None:
    seeds = dict.fromkeys(("dmte", "dmte-paper", "tadw", "random", "tfidf", "lsa"), 10)
    seeds |= dict.fromkeys(("deepwalk", "line", "node2vec", "doc2vec"), 3)
    seeds |= dict.fromkeys(("tridnr", "tridnr-labels"), 3)
    seeds |= {"cane": 0, "sentence": 0, "sentence-diffused": 0, "fastrp": 4}
    shown = section(results_of("dblp-classes", up_to(seeds)))
    assert shown.endswith(
        "\n\nNot measured here yet: CANE, sentence encoder, sentence encoder diffused.\n\n"
        "Measured with fewer seeds than planned: CENE (1 of 3), LSA diffused (1 of 10), "
        "FastRP (4 of 10).\n"
    )


def test_a_method_the_paper_has_no_row_of_is_missed_too() -> None:
    results = results_of("hepth-links", up_to({"dmte-paper-bilstm": 0, "lsa": 0}))
    assert "\nNot measured here yet: DMTE (Bi-LSTM), LSA.\n" in section(results)


def test_a_ratio_without_results_counts_as_no_seed() -> None:
    results = results_of(
        "dblp-links",
        lambda cell: (
            isinstance(cell, LinkCell) and (cell.method, cell.train_fraction > 0.5) == ("lsa", True)
        ),
    )
    found = {one.method: one for one in coverage(results)}
    assert found["lsa"] == Coverage("lsa", planned=3, fewest=0, most=3)
    assert found["lsa"].is_short
    assert found["deepwalk"] == Coverage("deepwalk", planned=1, fewest=0, most=0)
    assert found["deepwalk"].is_missing


@pytest.mark.parametrize("name", ["hops", "sensitivity", "dblp-links"])
def test_nothing_is_missed_where_all_is_there(name: str) -> None:
    results = results_of(name, lambda _: True)
    assert not any(one.is_missing or one.is_short for one in coverage(results))
    assert "easured here yet" not in section(results)
