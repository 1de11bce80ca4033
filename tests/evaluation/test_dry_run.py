"""Dry runs: fits are counted, and seconds come from recorded fits only."""

from dmte.evaluation.dry_run import Planned, plan
from dmte.evaluation.jobs import class_cells, link_cells


def test_fits_are_counted_by_method_and_share() -> None:
    found = plan(link_cells("", ["random", "tfidf"], [0.2, 0.5], ["strict"], 3))
    assert [(one.method, one.condition, one.num_fits) for one in found] == [
        ("random", "20 % strict", 3),
        ("random", "50 % strict", 3),
        ("tfidf", "20 % strict", 3),
        ("tfidf", "50 % strict", 3),
    ]


def test_seconds_are_the_median_of_recorded_fits_of_the_same_kind() -> None:
    cells = link_cells("", ["random"], [0.2, 0.5], ["strict"], 3)
    recorded = [
        (cell, {"fit_seconds": 2.0**cell.seed}) for cell in cells if cell.train_fraction == 0.2
    ]
    few, many = plan(cells[-1:] + cells[:1], recorded)
    assert (few.condition, few.recorded_seconds) == ("50 % strict", None)
    assert (many.condition, many.recorded_seconds) == ("20 % strict", 2.0)


def test_a_fit_that_serves_all_shares_has_no_condition() -> None:
    (found,) = plan(class_cells("", ["random"], [0.1, 0.3], 2))
    assert found == Planned(method="random", condition="", num_fits=2, recorded_seconds=None)
