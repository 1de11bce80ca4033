"""Targets: their files, and the fits that they need."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dmte.errors import StorageError
from dmte.evaluation import METHODS, ClassJob, Job, LinkJob
from dmte.evaluation.jobs import EVERY_EDGE
from dmte.evaluation.paper.tables import PERCENTS, load_experiments
from dmte.evaluation.paper.targets import TARGETS, journal_of, load_target
from dmte.network import TextualNetwork, read_folder
from dmte.recipes import PAPER

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "experiments" / "results"
MEASURED = [path.parent.name for path in RESULTS.glob("*/cells.jsonl")]
FILE = """
title = "A title"
place = 1
network = "cora"
task = "links"
percents = [15]
protocols = ["strict"]
quick_seeds = 2

[[fits]]
methods = ["tfidf"]
seeds = 3
"""


@pytest.mark.parametrize("name", MEASURED)
def test_every_committed_fit_is_one_that_its_target_plans(name: str) -> None:
    """With the same key, so that no run makes it again or leaves it out of its table."""
    lines = (RESULTS / name / "cells.jsonl").read_text("utf-8").splitlines()
    described = [json.loads(line)["cell"] for line in lines]
    (network,) = {job["network"] for job in described}
    planned = {job.key for job in TARGETS[name].plan(network)}
    assert {json.dumps(job, sort_keys=True) for job in described} <= planned


@pytest.mark.parametrize("name", TARGETS)
def test_the_jobs_of_a_target_differ_and_their_settings_are_valid(
    name: str, planted: TextualNetwork
) -> None:
    jobs = TARGETS[name].jobs(planted)
    assert len(set(map(repr, jobs))) == len(jobs) > 0
    assert all(planted.fingerprint()[:12] in job.network for job in jobs)


@pytest.mark.parametrize("name", ["cora-links", "zhihu-links", "hepth-links"])
def test_a_table_has_every_row_at_nine_ratios_under_both_protocols(
    name: str, planted: TextualNetwork
) -> None:
    jobs = [job for job in TARGETS[name].jobs(planted) if isinstance(job, LinkJob)]
    for row in load_experiments():
        if row.network == "cora":
            own = {
                (round(100 * job.train_fraction), job.protocol, job.seed)
                for job in jobs
                if job.method == row.method
            }
            assert own == {
                (percent, protocol, seed)
                for percent in PERCENTS
                for protocol in ("published", "strict")
                for seed in range(row.seeds)
            }


def ratios(jobs: list[Job]) -> set[int]:
    return {round(100 * job.train_fraction) for job in jobs if isinstance(job, LinkJob)}


def test_a_quick_run_has_three_ratios_two_seeds_and_nothing_slow() -> None:
    quick = TARGETS["cora-links"].plan("cora", quick=True)
    assert ratios(quick) == {15, 55, 95}
    assert {job.seed for job in quick} == {0, 1}
    assert not {"dmte-paper-bilstm", "cane", "doc2vec"} & {job.method for job in quick}
    assert "dmte-paper" in {job.method for job in quick}
    assert not TARGETS["sensitivity"].plan("cora", quick=True)


def test_a_quick_figure_4_has_three_ratios_of_its_own() -> None:
    quick = TARGETS["hops"].plan("cora", quick=True)
    assert ratios(quick) == {15, 55, 75}
    assert len(quick) == 3 * 4 * 2 * 2  # ratios, hops, protocols and seeds


def test_a_quick_run_has_slow_methods_if_they_are_named() -> None:
    named = TARGETS["cora-links"].plan("cora", quick=True, slow_too=True)
    assert {"dmte-paper-bilstm", "cane", "doc2vec"} <= {job.method for job in named}


def test_a_quick_run_is_part_of_a_full_one() -> None:
    for target in TARGETS.values():
        full = set(map(repr, target.plan("a network")))
        quick = set(map(repr, target.plan("a network", quick=True, slow_too=True)))
        assert quick <= full


def test_every_method_with_vectors_is_classified() -> None:
    seeds = Counter(job.method for job in TARGETS["dblp-classes"].plan("dblp"))
    left_out = {"adamic-adar", "dmte-released"}
    left_out |= {name for name in METHODS if name.startswith("dmte-paper-")}
    assert set(seeds) == set(METHODS) - left_out
    assert seeds["tadw"] == 10
    assert seeds["deepwalk"] == 3


def test_hops_are_the_first_of_the_weights() -> None:
    weights = [job.settings["hop_weights"] for job in TARGETS["hops"].plan("cora")]
    longest = max(weights, key=len)
    assert set(weights) == {longest[:hops] for hops in range(1, 9)}
    assert PAPER.hop_weights in weights


def test_only_targets_outside_the_recipe_score_training_edges() -> None:
    scoring = {
        name
        for name, target in TARGETS.items()
        for job in target.plan(target.network)
        if isinstance(job, LinkJob) and job.protocol == EVERY_EDGE
    }
    assert scoring == {"training-edges", "released"}
    assert not any(TARGETS[name].groups for name in scoring)


def test_the_released_program_has_a_target_of_its_own() -> None:
    jobs = [one for one in TARGETS["released"].plan("cora") if isinstance(one, LinkJob)]
    protocols = ("published", EVERY_EDGE)
    assert Counter((job.protocol, job.seed) for job in jobs) == {
        (protocol, seed): len(PERCENTS) for protocol in protocols for seed in range(3)
    }
    assert not TARGETS["released"].plan("cora", quick=True)
    measuring = {
        name
        for name, one in TARGETS.items()
        for fits in one.fits
        if "dmte-released" in fits.methods
    }
    assert measuring == {"released"}


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("[[fits]]", "[[fits", ""),
        ('task = "links"', 'task = "link"', "unknown task 'link'; known are links, classes"),
        ('["strict"]', '["loose"]', "unknown protocol 'loose'"),
        ('["tfidf"]', '["tfid"]', "unknown method 'tfid'"),
        ('methods = ["tfidf"]\nseeds = 3', 'rows_of = "hepth"', "no table of 'hepth'"),
        ("seeds = 3", "seed = 3", "seed"),
        ("quick_seeds = 2", "", "quick_seeds"),
    ],
)
def test_an_invalid_target_file_raises_with_the_reason(
    old: str, new: str, reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(FILE)
    assert [job.seed for job in load_target(path).plan("cora")] == [0, 1, 2]
    path.write_text(FILE.replace(old, new))
    with pytest.raises(StorageError, match=rf"mine\.toml is not a target: .*{reason}"):
        load_target(path)


@pytest.mark.medium
def test_results_of_another_network_are_not_used(
    planted: TextualNetwork, tmp_path: Path, fill: Any
) -> None:
    fill("cora-links")
    target = TARGETS["cora-links"]
    other = TextualNetwork(ids=planted.ids, texts=planted.texts, edges=planted.edges[1:])
    assert not target.results(other, journal_of(tmp_path, target))["rows"]


def test_results_count_the_fits_of_every_maker(planted: TextualNetwork, tmp_path: Path) -> None:
    target = TARGETS["hops"]
    journal = journal_of(tmp_path, target)
    made = {"dmte": "0.1.0", "revision": "abc1234+"}
    leaks = {"hidden_edges": 9, "self_loops": 0, "trained_on": 0, "fit_seconds": 1.0}
    result = {"scores": {"dot": {"auc": 0.9}}, **leaks}
    for number, job in enumerate(target.jobs(planted)[:5]):
        journal.add(job, result | ({"made": made} if number < 2 else {}))
    results = target.results(planted, journal)
    assert results["made"] == [{"by": None, "cells": 3}, {"by": made, "cells": 2}]
    assert results["network"]["fingerprint"] == planted.fingerprint()


def test_labels_are_learned_in_a_fit_for_every_share() -> None:
    jobs = [one for one in TARGETS["cora-classes"].plan("cora") if isinstance(one, ClassJob)]
    shares = {job.label_fractions for job in jobs if job.method == "tridnr-labels"}
    assert shares == {(0.1,), (0.3,), (0.5,), (0.7,)}


@pytest.mark.slow
@pytest.mark.parametrize("name", MEASURED)
def test_the_committed_results_are_those_of_their_fits(name: str, data_folder: Path) -> None:
    target = TARGETS[name]
    network = read_folder(data_folder / target.network)
    results = target.results(network, journal_of(RESULTS, target))
    committed = json.loads((RESULTS / name / "results.json").read_text("utf-8"))
    assert json.loads(json.dumps(results["rows"])) == committed["rows"]
