"""Results over seeds, against numbers known by hand."""

import math
import statistics
from typing import Any

import pytest

from dmte.evaluation import LinkJob, evaluate_classes, evaluate_links, summarize
from dmte.evaluation.jobs import class_jobs, link_jobs
from dmte.evaluation.summary import class_results, link_results, made_by, median_seconds, provenance
from dmte.network import TextualNetwork


def link_result(auc: float, **more: Any) -> dict[str, Any]:
    figures = {"auc": auc, "average_precision": 0.5, "mrr": 0.25, "hits_at_10": 0.75}
    plain = {
        "scores": {"dot": figures},
        "hidden_edges": 10,
        "self_loops": 1,
        "trained_on": 2,
        "fit_seconds": 2.0,
        "peak_mb": 100,
    }
    return plain | more


def test_a_summary_is_mean_deviation_and_students_interval() -> None:
    """With four values the quantile of Student's t at 97.5 % is 3.1824."""
    values = [0.90, 0.92, 0.94, 0.96]
    summary = summarize(values)
    assert summary.mean == pytest.approx(0.93)
    assert summary.std == pytest.approx(statistics.stdev(values), abs=1e-5)
    assert summary.interval is not None
    reach = 3.1824 * statistics.stdev(values) / math.sqrt(4)
    assert summary.interval == pytest.approx((0.93 - reach, 0.93 + reach), abs=2e-5)
    assert summary.values == values


def test_one_seed_has_no_spread() -> None:
    assert summarize([0.9]).std is None
    assert summarize([0.9]).interval is None


def test_rows_gather_the_seeds_of_a_method_whichever_finished_first() -> None:
    jobs = link_jobs("n", ["dmte-paper", "random"], [0.5], ["strict"], 2)
    aucs = {("dmte-paper", 0): 0.9, ("dmte-paper", 1): 0.8, ("random", 0): 0.5, ("random", 1): 0.4}
    done = [
        (job, link_result(aucs[job.method, job.seed], peak_mb=100 + job.seed))
        for job in reversed(jobs)
    ]
    rows = link_results(done)
    assert [(row["method"], row["auc"]["values"]) for row in rows] == [
        ("dmte-paper", [0.9, 0.8]),
        ("random", [0.5, 0.4]),
    ]
    assert rows[0]["fit_seconds"] == 2.0
    assert rows[0]["fastest_seconds"] == 2.0
    assert rows[0]["peak_mb"] == 101
    assert rows[0]["hidden_edges"] == 10


def test_the_time_of_a_method_is_the_median_of_all_its_fits() -> None:
    jobs = link_jobs("n", ["lsa", "random"], [0.15, 0.55], ["strict"], 3)
    taken = {"lsa": iter([9.0, 1.0, 2.0, 1.5, 800.0, 3.0]), "random": iter([0.0] * 6)}
    done = [(job, link_result(0.9, fit_seconds=next(taken[job.method]))) for job in jobs]
    assert median_seconds(done) == {"lsa": 2.5, "random": 0.0}


def test_other_settings_are_another_row() -> None:
    common: dict[str, Any] = {"network": "n", "method": "random", "seed": 0}
    one = LinkJob(**common, protocol="strict", train_fraction=0.5, settings={"dim": 2})
    two = LinkJob(**common, protocol="strict", train_fraction=0.5, settings={"dim": 4})
    rows = link_results([(one, link_result(0.5)), (two, link_result(0.6))])
    assert [row["settings"] for row in rows] == [{"dim": 2}, {"dim": 4}]


def test_a_system_without_peak_memory_omits_it() -> None:
    jobs = link_jobs("n", ["random"], [0.5], ["strict"], 1)
    assert link_results([(jobs[0], link_result(0.5, peak_mb=None))])[0]["peak_mb"] is None


def test_classes_have_a_row_per_share() -> None:
    jobs = class_jobs("n", ["tfidf"], [0.1, 0.5], 2)
    result = {
        "scores": {
            "0.1": {"macro_f1": 0.2, "micro_f1": 0.3},
            "0.5": {"macro_f1": 0.4, "micro_f1": 0.5},
        },
        "fit_seconds": 1.0,
        "peak_mb": 1,
    }
    rows = class_results([(job, result) for job in jobs])
    assert [(row["label_fraction"], row["macro_f1"]["values"]) for row in rows] == [
        (0.1, [0.2, 0.2]),
        (0.5, [0.4, 0.4]),
    ]


def test_the_library_evaluates_a_network_in_memory(planted: TextualNetwork) -> None:
    links = evaluate_links(planted, ["tfidf", "random"], [0.7], num_seeds=2)
    assert {(row["method"], row["score"]) for row in links} == {
        ("tfidf", "own"),
        ("random", "dot"),
        ("random", "cosine"),
    }
    assert links[-1]["auc"]["mean"] > 0.6  # TF-IDF, on topics that are planted in the words
    classes = evaluate_classes(planted, ["tfidf"], [0.5], num_seeds=2)
    assert classes[0]["macro_f1"]["mean"] > 0.6


def test_results_say_what_made_them() -> None:
    made = provenance(link_jobs("n", ["random"], [0.5], ["strict"], 2))
    assert made["seeds"] == [0, 1]
    assert made["settings"]["random"]["dim"] == 200
    libraries = {"numpy", "scipy", "scikit-learn"}
    assert {"dmte", "torch", "python"} | libraries == set(made["versions"])
    assert made["machine"]["system"]
    assert made["machine"]["processor"]
    assert made["machine"]["cores"] >= 1


def test_jobs_are_counted_by_build() -> None:
    """Results of before makers were kept have none."""
    here = {"dmte": "0.1.0", "revision": "331b9e1", "torch": "2.4", "processor": "A Processor"}
    there = here | {"processor": "Another"}
    makers = [None, here, there, here]
    jobs = link_jobs("n", ["random"], [0.5], ["strict"], len(makers))
    done = [
        (job, link_result(0.5) if made is None else link_result(0.5, made=made))
        for job, made in zip(jobs, makers, strict=True)
    ]
    assert made_by(done) == [
        {"by": here, "cells": 2},
        {"by": None, "cells": 1},
        {"by": there, "cells": 1},
    ]
