"""Targets: which cells they need, and a page whose every figure comes from results."""

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from dmte.embedding.embedding import Embedding
from dmte.errors import ConfigError, StorageError
from dmte.evaluation import METHODS
from dmte.evaluation.jobs import EVERY_EDGE, ClassCell, LinkCell
from dmte.evaluation.paper.case_study import PRINTED, QUERY, CaseCell
from dmte.evaluation.paper.journal import Journal
from dmte.evaluation.paper.page import SECTIONS, document, section
from dmte.evaluation.paper.results import read_results, write_results
from dmte.evaluation.paper.tables import PERCENTS, load_experiments
from dmte.evaluation.paper.targets import RECIPE, RELEASED, TARGETS, Target, is_quick, journal_of
from dmte.network import TextualNetwork, read_folder, read_network

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "experiments" / "results"
FIGURES = {"auc": 0.9, "average_precision": 0.8, "mrr": 0.5, "hits_at_10": 0.7}


def made_up(cell: Any) -> dict[str, Any]:
    """Return a result whose AUC tells the cell apart."""
    cost = {"fit_seconds": 1.0, "peak_mb": 100}
    if isinstance(cell, ClassCell):
        shares = {f"{share:g}": share for share in cell.label_fractions}
        scores = {name: {"macro_f1": share, "micro_f1": 0.5} for name, share in shares.items()}
        return {"scores": scores} | cost
    if isinstance(cell, CaseCell):
        rows = [{"text": title, "rank": 1 + i, "linked": i == 0} for i, title in enumerate(PRINTED)]
        return {"query": QUERY, "closest": rows, "printed": rows} | cost
    auc = cell.train_fraction - (0.05 if cell.protocol == "strict" else 0) + cell.seed / 1000
    leaks = {"hidden_edges": 100, "self_loops": 10, "trained_on": 5}
    return {"scores": {"dot": FIGURES | {"auc": auc}}} | leaks | cost


def fill(
    target: Target,
    network: TextualNetwork,
    folder: Path,
    *,
    without: str | None = None,
    seeds: int = 1,
) -> dict[str, Any]:
    """Return the results of a target with made-up cells, but for those of one method."""
    journal = journal_of(folder, target)
    for cell in target.cells(network):
        if cell.method != without and cell.seed < seeds:
            journal.add(cell, made_up(cell))
    return target.results(network, journal)


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_has_different_cells_that_its_methods_can_run(
    name: str, planted: TextualNetwork
) -> None:
    cells = TARGETS[name].cells(planted)
    assert len({cell.key for cell in cells}) == len(cells) > 0
    assert {cell.method for cell in cells} <= set(METHODS)
    assert all(planted.fingerprint()[:12] in cell.network for cell in cells)


@pytest.mark.parametrize("name", ["cora-links", "zhihu-links", "hepth-links"])
def test_a_table_has_every_row_that_runs_at_nine_ratios_under_both_protocols(
    name: str, planted: TextualNetwork
) -> None:
    cells = [cell for cell in TARGETS[name].cells(planted) if isinstance(cell, LinkCell)]
    for row in load_experiments():
        if row.method in METHODS and row.network == "cora":
            own = {
                (round(100 * cell.train_fraction), cell.protocol, cell.seed)
                for cell in cells
                if cell.method == row.method
            }
            assert own == {
                (percent, protocol, seed)
                for percent in PERCENTS
                for protocol in ("published", "strict")
                for seed in range(row.seeds)
            }


def test_a_quick_run_has_three_ratios_two_seeds_and_nothing_slow(planted: TextualNetwork) -> None:
    quick = [cell for cell in TARGETS["cora-links"].cells(planted) if is_quick(cell)]
    assert {cell.train_fraction for cell in quick if isinstance(cell, LinkCell)} == {
        0.15,
        0.55,
        0.95,
    }
    assert {cell.seed for cell in quick} == {0, 1}
    assert not {"dmte-paper-bilstm", "cane", "doc2vec"} & {cell.method for cell in quick}
    assert "dmte-paper" in {cell.method for cell in quick}


def test_a_quick_figure_4_has_three_ratios_of_its_own(planted: TextualNetwork) -> None:
    quick = [cell for cell in TARGETS["hops"].cells(planted) if is_quick(cell)]
    ratios = {cell.train_fraction for cell in quick if isinstance(cell, LinkCell)}
    assert ratios == {0.15, 0.55, 0.75}
    assert len(quick) == 3 * 4 * 2 * 2  # ratios, hops, protocols and seeds
    assert not any(map(is_quick, TARGETS["sensitivity"].cells(planted)))


def test_a_quick_run_has_what_is_slow_where_it_is_named(planted: TextualNetwork) -> None:
    cells = TARGETS["cora-links"].cells(planted)
    named = [cell for cell in cells if is_quick(cell, slow_too=True)]
    assert {"dmte-paper-bilstm", "cane", "doc2vec"} <= {cell.method for cell in named}


def test_every_method_that_fits_is_classified(planted: TextualNetwork) -> None:
    seeds = Counter(cell.method for cell in TARGETS["dblp-classes"].cells(planted))
    left_out = {"adamic-adar", RELEASED}
    left_out |= {name for name in METHODS if name.startswith("dmte-paper-")}
    assert set(seeds) == set(METHODS) - left_out
    assert seeds["tadw"] == 10
    assert seeds["deepwalk"] == 3


def test_hops_are_the_first_of_the_weights(planted: TextualNetwork) -> None:
    lengths = {len(cell.settings["hop_weights"]) for cell in TARGETS["hops"].cells(planted)}
    assert lengths == set(range(1, 9))
    assert METHODS["dmte-paper"].settings.hop_weights in {  # type: ignore[attr-defined]
        cell.settings["hop_weights"] for cell in TARGETS["hops"].cells(planted)
    }


def test_only_what_is_not_judged_is_asked_about_training_edges(planted: TextualNetwork) -> None:
    asking = {
        name
        for name, target in TARGETS.items()
        for cell in target.cells(planted)
        if isinstance(cell, LinkCell) and cell.protocol == EVERY_EDGE
    }
    assert asking == {"training-edges", "released"}
    assert not asking & set(RECIPE)


def test_the_released_program_has_a_target_of_its_own(planted: TextualNetwork) -> None:
    """Three seeds of both ways to ask at nine ratios, and no part in a quick run."""
    cells = TARGETS["released"].cells(planted)
    asked = [(cell.protocol, cell.seed) for cell in cells if isinstance(cell, LinkCell)]
    ways = ("published", EVERY_EDGE)
    assert Counter(asked) == {(way, seed): len(PERCENTS) for way in ways for seed in range(3)}
    assert [cell.seed for cell in cells] == sorted(cell.seed for cell in cells)
    assert not any(map(is_quick, cells))
    measuring = {
        name
        for name, target in TARGETS.items()
        for cell in target.cells(planted)
        if cell.method == RELEASED
    }
    assert measuring == {"released"}


@pytest.mark.parametrize("name", TARGETS)
def test_results_are_read_back_as_they_were(
    name: str, planted: TextualNetwork, tmp_path: Path
) -> None:
    results = fill(TARGETS[name], planted, tmp_path)
    write_results(tmp_path, results)
    assert read_results(tmp_path) == {name: json.loads(json.dumps(results))}
    assert results["rows"]
    assert results["network"]["fingerprint"] == planted.fingerprint()


@pytest.mark.parametrize("name", ["hepth-links", "cora-classes", "case-study"])
def test_whatever_is_damaged_of_results_is_refused_by_its_place(
    name: str, planted: TextualNetwork, tmp_path: Path
) -> None:
    path = write_results(tmp_path, fill(TARGETS[name], planted, tmp_path))
    whole = json.loads(path.read_text())
    head = set(whole) - {"settings"}  # Which no page is made from.
    row = set(whole["rows"][0]) - {"fit_seconds", "fastest_seconds"}
    for key in head:
        assert_refused(tmp_path, {**whole, key: None}, key)
    for key in row - {"peak_mb"}:
        assert_refused(tmp_path, {**whole, "rows": [{**whole["rows"][0], key: None}]}, key)
    if name != "case-study":
        assert_refused(tmp_path, {**whole, "median_seconds": {"another": 1}}, "median_seconds")
    for content in ("", "{}", "[]", "null", path.read_text()[:-9], "\x00"):
        path.write_text(content)
        with pytest.raises(StorageError, match=f"{name}/results.json: .* --seeds 0 --out "):
            read_results(tmp_path)


def assert_refused(folder: Path, results: dict[str, Any], key: str) -> None:
    """Refused are results in which the value of ``key`` is damaged."""
    (path,) = folder.glob("*/results.json")
    path.write_text(json.dumps(results))
    with pytest.raises(StorageError, match=rf"results.json: .*\b{key}\b.* is damaged or missing"):
        read_results(folder)


def test_results_that_cannot_be_read_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "hops").mkdir()
    (tmp_path / "hops" / "results.json").write_bytes(b"\xff")
    with pytest.raises(StorageError, match=r"hops/results.json: everything is damaged"):
        read_results(tmp_path)
    monkeypatch.setattr(Path, "read_text", fail)
    with pytest.raises(StorageError, match=r"results.json cannot be read: Permission denied"):
        read_results(tmp_path)


def test_a_line_that_is_no_json_is_named(planted: TextualNetwork, tmp_path: Path) -> None:
    path = write_results(tmp_path, fill(TARGETS["hepth-links"], planted, tmp_path))
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:9], "x", *lines[9:]]))
    with pytest.raises(StorageError, match=r"results.json: line 10 is damaged"):
        read_results(tmp_path)


def test_results_of_another_network_are_not_taken_over(
    planted: TextualNetwork, tmp_path: Path
) -> None:
    target = TARGETS["cora-links"]
    fill(target, planted, tmp_path)
    other = TextualNetwork(ids=planted.ids, texts=planted.texts, edges=planted.edges[1:])
    assert not target.results(other, journal_of(tmp_path, target))["rows"]


def test_a_table_shows_paper_published_and_strict_side_by_side(
    planted: TextualNetwork, tmp_path: Path
) -> None:
    table = section(fill(TARGETS["cora-links"], planted, tmp_path, without="cane", seeds=10))
    lines = [line.split(" | ") for line in table.splitlines() if line.startswith("| DMTE (WAvg)")]
    assert lines[0] == ["| DMTE (WAvg)", "15 %", "91.3", "15.4 ± 0.3", "10.4 ± 0.3 |"]
    assert lines[8][:3] == ["| DMTE (WAvg)", "95 %", "98.8"]
    assert "| CANE | 15 % | 86.8 |  |  |" in table
    assert "Not measured here yet: CANE.\n" in table
    assert "| random vectors | 15 % |  | 15.4 ± 0.3 |" in table


def test_the_page_has_a_section_for_every_target_with_results(
    planted: TextualNetwork, tmp_path: Path
) -> None:
    assert set(SECTIONS) == set(TARGETS)
    some = {name: fill(TARGETS[name], planted, tmp_path) for name in ("hops", "case-study")}
    page = document(json.loads(json.dumps(some)), "results")
    assert "## Figure 4" in page
    assert "## Table 3" in page
    assert "## Table 1" not in page
    assert "(results/hops/figure.png)" in page
    everything = {name: fill(target, planted, tmp_path) for name, target in TARGETS.items()}
    page = document(json.loads(json.dumps(everything)), "results")
    assert "## What differs from the paper, and why" in page
    assert "10 % are self-loops and 5 % trained on as well at 15 %" in page
    assert "None |" not in page


def test_the_page_says_what_made_the_fits_and_of_which_it_is_not_known(
    planted: TextualNetwork, tmp_path: Path
) -> None:
    target = TARGETS["hops"]
    fill(target, planted, tmp_path)
    made = {"dmte": "0.1.0", "revision": "abc1234+", "torch": "2.4", "processor": "A Processor"}
    journal = journal_of(tmp_path, target)
    for cell in [cell for cell in target.cells(planted) if cell.seed == 1][:3]:
        journal.add(cell, made_up(cell) | {"made": made})
    results = json.loads(json.dumps(target.results(planted, Journal(journal.path))))
    assert [(one["by"], one["cells"]) for one in results["made"]] == [(None, 64), (made, 3)]
    page = document({"hops": results}, "results")
    assert (
        "- `hops`: seeds 0 to 1; 64 fits whose maker is not recorded, "
        "3 fits by dmte 0.1.0 at abc1234+, torch 2.4, on A Processor\n"
    ) in page


def test_the_case_study_counts_its_maker_and_shows_its_row_without(
    planted: TextualNetwork, tmp_path: Path
) -> None:
    target = TARGETS["case-study"]
    (cell,) = target.cells(planted)
    journal = journal_of(tmp_path, target)
    journal.add(cell, made_up(cell) | {"made": {"revision": None}})
    results = target.results(planted, journal)
    assert results["made"] == [{"by": {"revision": None}, "cells": 1}]
    assert results["rows"] == [made_up(cell)]


def test_a_page_of_few_results_has_no_holes(planted: TextualNetwork, tmp_path: Path) -> None:
    """Random vectors at 15 % say what leaks, and nothing of DMTE, nor of seeds."""
    target = TARGETS["cora-links"]
    journal = journal_of(tmp_path, target)
    for cell in target.cells(planted):
        is_rank_zero = isinstance(cell, LinkCell) and (cell.train_fraction, cell.seed) == (0.15, 0)
        if cell.method == "random" and is_rank_zero:
            journal.add(cell, made_up(cell))
    page = document({"cora-links": target.results(planted, journal)}, "results")
    *_, told = page.partition("## What differs")
    assert "10 % are self-loops and 5 % trained on as well at 15 %.\n" in told
    assert "reach 15.0 at 15 %.\n" in told
    assert "DMTE" not in told
    assert "standard deviation" not in told
    assert "## The recommended recipe" not in page
    assert not re.search(r"  |\( ?\)| [.,;:]", told)


@pytest.mark.parametrize("name", TARGETS)
def test_a_page_of_one_target_links_to_nothing_but_its_results(
    name: str, planted: TextualNetwork, tmp_path: Path
) -> None:
    page = document({name: fill(TARGETS[name], planted, tmp_path)}, "results")
    links = re.findall(r"\]\(([^)]*)\)", page)
    assert links
    assert all(link == "results" or link.startswith(f"results/{name}/") for link in links)


def test_a_quick_figure_4_has_no_empty_lines(planted: TextualNetwork, tmp_path: Path) -> None:
    target = TARGETS["hops"]
    journal = journal_of(tmp_path, target)
    for cell in filter(is_quick, target.cells(planted)):
        journal.add(cell, made_up(cell))
    table = section(target.results(planted, journal))
    assert re.findall(r"^\| (\d) \|", table, flags=re.MULTILINE) == ["1", "2", "4", "8"]


def test_training_edges_stand_beside_hidden_edges_with_the_lift(
    planted: TextualNetwork, tmp_path: Path
) -> None:
    """Of every edge there are two seeds, of hidden edges only one, which the lift is over."""
    every = fill(TARGETS["training-edges"], planted, tmp_path, seeds=2)
    for one in every["rows"]:
        one["auc"]["values"] = [value + 0.03 for value in one["auc"]["values"]]
    hidden = fill(TARGETS["cora-links"], planted, tmp_path)
    alone = section(every)
    assert "| trained on | paper | every edge |\n" in alone
    assert "| 15 % | 91.3 | 15.0 ± 0.1 |\n" in alone
    beside = section(every, {"cora-links": hidden})
    assert "| 15 % | 91.3 | 15.0 | 15.0 ± 0.1 | +3.0 (1) |\n" in beside
    assert beside.count(" % | ") == len(PERCENTS)


def test_the_released_program_stands_between_the_paper_and_table_1(
    planted: TextualNetwork, tmp_path: Path
) -> None:
    own = fill(TARGETS["released"], planted, tmp_path, seeds=3)
    alone = section(own)
    heads = (
        "| trained on | the paper | dmte-released, hidden edges only | dmte-released, every edge |"
    )
    assert f"{heads}\n" in alone
    assert "| 15 % | 91.3 | 15.1 ± 0.1 | 15.1 ± 0.1 |\n" in alone
    assert "fewer seeds" not in alone
    beside = section(own, {"cora-links": fill(TARGETS["cora-links"], planted, tmp_path)})
    assert f"{heads} DMTE (WAvg), hidden edges only |\n" in beside
    assert "| 15 % | 91.3 | 15.1 ± 0.1 | 15.1 ± 0.1 | 15.0 |\n" in beside
    assert beside.count(" % | ") == len(PERCENTS)


def test_the_script_was_read_at_both_revisions(planted: TextualNetwork, tmp_path: Path) -> None:
    words = section(fill(TARGETS["training-edges"], planted, tmp_path))
    assert "hidden lines of the edge list at revision 09264b6" in words
    assert "since revision f270c44 it asks about every line" in words


def test_a_section_shows_the_median_time_of_a_fit(planted: TextualNetwork, tmp_path: Path) -> None:
    results = fill(TARGETS["dblp-links"], planted, tmp_path)
    results["median_seconds"]["lsa"] = 12.34
    assert "| LSA | 1 | 12.3 | 100 |" in section(results)


def test_no_figure_is_typed_into_the_words_on_sensitivity(
    planted: TextualNetwork, tmp_path: Path
) -> None:
    words, *_ = section(fill(TARGETS["sensitivity"], planted, tmp_path)).partition("\n\n|")
    assert "behind Table 1" in words
    assert not re.search(r"\d|eleven", words.replace("Table 1", ""))


def test_classes_say_what_learns_from_labels(planted: TextualNetwork, tmp_path: Path) -> None:
    target = TARGETS["cora-classes"]
    told = " TriDNR learns without labels here. TriDNR with labels has a fit for every share"
    assert told in section(fill(target, planted, tmp_path / "all"))
    neither = fill(target, planted, tmp_path / "neither", without="tridnr")
    neither["rows"] = [row for row in neither["rows"] if row["method"] != "tridnr-labels"]
    assert "without labels" not in section(neither)
    assert "Not measured here yet: TriDNR, TriDNR with labels." in section(neither)


def test_a_method_stands_in_the_table_whichever_share_was_measured_first(
    planted: TextualNetwork, tmp_path: Path
) -> None:
    target = TARGETS["cora-classes"]
    journal = journal_of(tmp_path, target)
    for cell in target.cells(planted):
        shares = cell.label_fractions if isinstance(cell, ClassCell) else ()
        if cell.seed == 0 and (cell.method == "lsa" or shares == (0.5,)):
            journal.add(cell, made_up(cell))
    table = section(target.results(planted, journal))
    assert "| TriDNR with labels |  |  | 50.0 |  |\n" in table


def test_the_case_study_marks_neighbors_and_ranks_the_papers_titles() -> None:
    """Vertex v lies at angle v from the query, so its rank is v; the first two are linked."""
    texts = [QUERY, *PRINTED, "another"]
    edges = torch.tensor([[0, 1], [2, 0], [3, 4], [0, 0]])
    network = TextualNetwork(ids=tuple(map(str, range(7))), texts=texts, edges=edges)

    class Turned(CaseCell):
        def configured_method(self) -> Any:
            angles = 0.1 * torch.arange(7)
            table = torch.stack([angles.cos(), angles.sin()], dim=1)

            class Fixed:
                def fit(self, network: TextualNetwork, seed: int) -> Embedding:
                    assert seed == 0
                    return Embedding(network.ids, table, 2)

            return Fixed()

    result = Turned(network="", method="dmte-paper", seed=0).run(network)
    assert [row["text"] for row in result["closest"]] == list(PRINTED)
    assert [row["rank"] for row in result["printed"]] == [1, 2, 3, 4, 5]
    assert [row["linked"] for row in result["closest"]] == [True, True, False, False, False]


def test_the_case_study_needs_its_query() -> None:
    cell = CaseCell(network="", method="dmte-paper", seed=0)
    with pytest.raises(ConfigError, match="K-D-B-Tree"):
        cell.check(read_network("concepts"))


@pytest.mark.slow
def test_the_case_study_is_in_the_data(data_folder: Path) -> None:
    CaseCell(network="", method="dmte-paper", seed=0).check(read_folder(data_folder / "dblp"))


def test_the_committed_page_is_made_from_the_committed_results() -> None:
    page = (ROOT / "docs" / "reproduction.md").read_text("utf-8")
    assert page == document(read_results(RESULTS), "../experiments/results")


@pytest.mark.slow
@pytest.mark.parametrize("name", [path.parent.name for path in RESULTS.glob("*/results.json")])
def test_the_committed_results_are_those_of_their_cells_with_todays_settings(
    name: str, data_folder: Path
) -> None:
    target = TARGETS[name]
    network = read_folder(data_folder / target.network)
    results = target.results(network, Journal(RESULTS / name / "cells.jsonl"))
    assert json.loads(json.dumps(results["rows"])) == read_results(RESULTS)[name]["rows"]
    cells = [replace(cell) for cell in target.cells(network)]
    assert any(cell in Journal(RESULTS / name / "cells.jsonl") for cell in cells)
