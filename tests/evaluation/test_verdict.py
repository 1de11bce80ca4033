"""Where the recipe stands: the better score of a method, on seeds that both have."""

import pytest

from dmte.evaluation.verdict import verdict_table, verdicts


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
    assert "| cora-links | 15 %, published | 90.0 | 1 |" in verdict_table(
        {"cora-links": {"rows": rows}}
    )
