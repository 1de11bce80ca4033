"""Dry runs: fits are counted, and seconds come from recorded fits only."""

from dmte.evaluation.dry_run import Planned, plan
from dmte.evaluation.jobs import class_jobs, link_jobs


def test_fits_are_counted_by_method_and_share() -> None:
    found = plan(link_jobs("", ["random", "tfidf"], [0.2, 0.5], ["strict"], 3))
    assert [(one.method, one.condition, one.num_fits) for one in found] == [
        ("random", "20 % strict", 3),
        ("random", "50 % strict", 3),
        ("tfidf", "20 % strict", 3),
        ("tfidf", "50 % strict", 3),
    ]


def test_seconds_are_the_median_of_recorded_fits_of_the_same_kind() -> None:
    jobs = link_jobs("", ["random"], [0.2, 0.5], ["strict"], 3)
    recorded = [(job, {"fit_seconds": 2.0**job.seed}) for job in jobs if job.train_fraction == 0.2]
    few, many = plan(jobs[-1:] + jobs[:1], recorded)
    assert (few.condition, few.recorded_seconds) == ("50 % strict", None)
    assert (many.condition, many.recorded_seconds) == ("20 % strict", 2.0)


def test_a_fit_that_serves_all_shares_has_no_condition() -> None:
    (found,) = plan(class_jobs("", ["random"], [0.1, 0.3], 2))
    assert found == Planned(method="random", condition="", num_fits=2, recorded_seconds=None)
