"""Where the recipe stands: the better score of a method, on seeds that both have."""

import pytest

from dmte.evaluation.methods import METHODS
from dmte.evaluation.paper.targets import RELEASED
from dmte.evaluation.paper.verdict import verdict_table, verdicts


def link_row(method: str, score: str, *values: float, protocol: str = "strict") -> dict:  # type: ignore[type-arg]
    return {
        "method": method,
        "score": score,
        "protocol": protocol,
        "train_fraction": 0.15,
        "auc": {"mean": sum(values) / len(values), "values": list(values)},
        "fit_seconds": 1.0,
        "fastest_seconds": 1.0,
    }


def class_row(method: str) -> dict:  # type: ignore[type-arg]
    return {"method": method, "label_fraction": 0.1, "macro_f1": {"mean": 0.5, "values": [0.5]}}


EVERYTHING = {
    "cora-links": {
        "rows": [
            link_row("dmte", "dot", 0.90, 0.80, 0.70),
            link_row("lsa", "dot", 0.50),
            link_row("lsa", "cosine", 0.85),
            link_row("adamic-adar", "own", 0.75, 0.75, 0.75),
            link_row("dmte-paper", "dot", 0.60, 0.60, 0.60),
            link_row("dmte-paper-text-only", "cosine", 0.95, 0.95),
        ]
    }
}


def test_rivals_are_compared_on_common_seeds_by_their_better_score() -> None:
    (found,) = verdicts(EVERYTHING)
    assert (found.target, found.asked, found.seeds) == ("cora-links", "15 %, strict", 3)
    assert found.ours == pytest.approx(80)
    assert found.best is not None
    # LSA: 90 against 85 on its one seed. Adamic-Adar: 80 against 75 on all three. Both lead by 5.
    assert found.best.lead == pytest.approx(5)
    assert found.paper is not None
    assert found.paper.method == "dmte-paper-text-only"
    assert found.paper.lead == pytest.approx(85 - 95)
    assert found.printed is None


def test_the_paper_s_figure_stands_beside_the_published_protocol() -> None:
    rows = [link_row("dmte", "dot", 0.9, protocol="published")]
    (found,) = verdicts({"cora-links": {"rows": rows}})
    assert found.printed == 91.3
    assert found.best is None
    assert "| cora-links | 15 %, published | 90.0 (1) |" in verdict_table(
        {"cora-links": {"rows": rows}}
    )


def test_a_lead_stands_beside_the_seeds_it_is_over() -> None:
    """The recipe has three seeds, text only has two."""
    rows = EVERYTHING["cora-links"]["rows"]
    (found,) = verdicts(EVERYTHING)
    assert {rival.method: rival.seeds for rival in found.rivals} == {
        "lsa": 1,
        "adamic-adar": 3,
        "dmte-paper": 3,
        "dmte-paper-text-only": 2,
    }
    without_lsa = {"cora-links": {"rows": [row for row in rows if row["method"] != "lsa"]}}
    table = verdict_table(without_lsa)
    assert "| 80.0 (3) | +5.0 (3) | `adamic-adar` 75.0 | -10.0 (2) | `dmte-paper-text-o" in table


def test_rivals_that_were_not_measured_are_named_once_a_target() -> None:
    left_out = {"cane", "dmte-paper-bilstm", "tridnr-labels"}  # The last is not for links.
    at_one_ratio = link_row("dmte", "dot", 0.9) | {"train_fraction": 0.55}
    links = [link_row(method, "dot", 0.5) for method in METHODS if method not in left_out]
    classes = [class_row(method) for method in METHODS if method not in {"line", "adamic-adar"}]
    everything = {"cora-links": {"rows": links}, "cora-classes": {"rows": classes}}
    told = (
        "\nA lead is over what was measured. Not measured, at one share at least: "
        "cora-links `dmte-paper-bilstm`, `cane`; cora-classes `line`.\n"
    )
    assert told in verdict_table(everything)
    # The model of the authors' program has a target of its own and is nobody's rival.
    everything["cora-links"]["rows"] = [row for row in links if row["method"] != RELEASED]
    assert told in verdict_table(everything)
    everything["cora-links"]["rows"].append(at_one_ratio)
    assert "cora-links `dmte-paper`, `dmte-paper-no" in verdict_table(everything)
    complete = {"cora-classes": {"rows": [class_row(method) for method in METHODS]}}
    assert "Not measured" not in verdict_table(complete)
