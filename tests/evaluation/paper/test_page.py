"""Tables of a target: in the shape of the paper, with everything that is missing named."""

import re
from pathlib import Path
from typing import Any

import pytest

from dmte.evaluation import ClassJob, LinkJob
from dmte.evaluation.paper.page import coverage, document, section
from dmte.evaluation.paper.results import read_results
from dmte.evaluation.paper.tables import PERCENTS
from dmte.evaluation.paper.targets import TARGETS

pytestmark = pytest.mark.medium

RESULTS = Path(__file__).parents[3] / "experiments" / "results"


def up_to(**seeds: int) -> Any:
    """Return a filter: some seeds of some methods, and one of the others."""
    return lambda job: job.seed < seeds.get(job.method.replace("-", "_"), 1)


def test_a_table_has_ours_the_paper_s_and_the_difference(fill: Any) -> None:
    shown = section(fill("cora-links", up_to(cane=0)))
    heads = " | ".join(f"{percent} %" for percent in PERCENTS)
    assert shown.startswith(f"| AUC, published protocol |  | {heads} |\n")
    start = shown.index("| DMTE (WAvg) | ours |")
    ours, paper, difference = shown[start:].splitlines()[:3]
    assert ours.startswith("| DMTE (WAvg) | ours | 15.0 | 25.0 |")
    assert paper.startswith("|  | paper | 91.3 | 93.1 |")
    assert difference.startswith("|  | difference | -76.3 | -68.1 |")
    assert "| random vectors | ours | 15.0 |" in shown
    assert "| CANE | ours |  |" in shown
    assert "|  | paper | 86.8 |" in shown
    assert shown.index("| CANE | ours") < shown.index("| DMTE (WAvg)") < shown.index("| dmte |")
    assert "| AUC, strict protocol | 15 % |" in shown
    assert "| DMTE (WAvg) | 10.0 | 20.0 |" in shown
    assert "Not measured here yet: CANE.\n" in shown


def test_a_network_without_printed_figures_has_a_row_per_method(fill: Any) -> None:
    shown = section(fill("hepth-links"))
    assert shown.startswith("| AUC, published protocol | 15 % |")
    assert "| LSA | 15.0 | 25.0 |" in shown


def test_the_costs_show_the_largest_deviation(fill: Any) -> None:
    results = fill("hepth-links", up_to(lsa=10))
    shown = section(results)
    assert "| method | seeds | ± at most | median seconds a fit | peak MB |" in shown
    assert "| LSA | 10 | 0.3 | 1.0 | 100 |" in shown  # Seeds are 0.1 apart.
    assert "| TF-IDF | 1 |  | 1.0 | 100 |" in shown


def test_hops_have_a_row_each(fill: Any) -> None:
    shown = section(fill("hops", lambda job: len(job.settings["hop_weights"]) in (1, 2, 4, 8)))
    assert re.findall(r"^\| H = (\d) \|", shown, flags=re.MULTILINE) == [*"1248", *"1248"]
    assert "| H = 1 | 15.1 ± 0.1 | 35.1 ± 0.1 |" in shown


def test_variants_of_settings_stand_below_the_paper_s_figures(fill: Any) -> None:
    shown = section(fill("sensitivity"))
    assert "| Table 1 of the paper | 97.1 | 97.4 | 98.2 |\n| λ = 1, 0.1," in shown
    assert "| K = 5 | 65.0 | 75.0 | 85.0 |" in shown


def test_classes_have_a_table_per_measure(fill: Any) -> None:
    shown = section(fill("cora-classes"))
    assert "| Macro-F1 | 10 % | 30 % | 50 % | 70 % |" in shown
    assert "| LSA | 10.0 | 30.0 | 50.0 | 70.0 |" in shown
    assert "| LSA | 50.0 | 50.0 | 50.0 | 50.0 |" in shown


def test_a_method_has_its_row_whichever_share_was_measured_first(fill: Any) -> None:
    def is_done(job: ClassJob) -> bool:
        return job.seed == 0 and (job.method == "lsa" or job.label_fractions == (0.5,))

    shown = section(fill("cora-classes", is_done))
    assert "| TriDNR with labels |  |  | 50.0 |  |\n" in shown


def test_the_case_study_shows_ours_beside_the_paper_s(fill: Any) -> None:
    shown = section(fill("case-study"))
    assert "Query: *The K-D-B-Tree" in shown
    assert "| 1 | **The R+-Tree: A Dynamic Index for Multi-Dimensional Objects.** |" in shown
    assert "Objects.** (1) |" in shown


def test_methods_with_too_few_seeds_are_named(fill: Any) -> None:
    few = dict.fromkeys(("dmte", "dmte_paper", "tadw", "random", "tfidf", "lsa"), 10)
    few |= dict.fromkeys(("deepwalk", "line", "node2vec", "doc2vec", "tridnr", "tridnr_labels"), 3)
    few |= {"cane": 0, "sentence": 0, "sentence_diffused": 0, "fastrp": 4}
    shown = section(fill("dblp-classes", up_to(**few)))
    assert shown.endswith(
        "\n\nNot measured here yet: CANE, sentence encoder, sentence encoder diffused.\n\n"
        "Measured with fewer seeds than planned: CENE (1 of 3), LSA diffused (1 of 10), "
        "FastRP (4 of 10).\n"
    )


def test_a_ratio_without_results_counts_as_no_seed(fill: Any) -> None:
    def is_done(job: LinkJob) -> bool:
        return (job.method, job.train_fraction > 0.5) == ("lsa", True)

    found = coverage(fill("dblp-links", is_done))
    assert found["lsa"] == (0, 3, 3)
    assert found["deepwalk"] == (0, 0, 1)


@pytest.mark.parametrize("name", ["hops", "sensitivity", "dblp-links"])
def test_nothing_is_missing_after_a_full_run(name: str, fill: Any) -> None:
    results = fill(name, lambda _: True)
    assert all(fewest == planned for fewest, _, planned in coverage(results).values())
    assert "easured" not in section(results)


@pytest.mark.medium
def test_the_page_has_a_section_for_every_target_with_results(fill: Any) -> None:
    some = {name: fill(name) for name in ("hops", "case-study")}
    page = document(some, "results")
    assert "## Figure 4" in page
    assert "## Table 3" in page
    assert "## Table 1" not in page
    assert re.findall(r"\]\(([^)]*)\)", page) == ["results/hops/figure.png"]
    every = document({name: fill(name) for name in TARGETS}, "results")
    assert re.findall(r"^## (.*)$", every, flags=re.MULTILINE) == [
        target.title for target in TARGETS.values()
    ]
    assert not re.search(r"None|nan", every)


@pytest.mark.parametrize("name", [path.parent.name for path in RESULTS.glob("*/table.md")])
def test_the_committed_tables_are_made_from_the_committed_results(name: str) -> None:
    shown = (RESULTS / name / "table.md").read_text("utf-8")
    assert shown == f"# {TARGETS[name].title}\n\n{section(read_results(RESULTS)[name])}"
