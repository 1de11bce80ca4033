"""Made-up results of a target, written where a run would write them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dmte.evaluation import ClassJob, Job, LinkJob
from dmte.evaluation.paper.case_study import PRINTED, QUERY
from dmte.evaluation.paper.results import Results, read_results, write_results
from dmte.evaluation.paper.targets import TARGETS, journal_of
from dmte.network import TextualNetwork

FIGURES = {"average_precision": 0.8, "mrr": 0.5, "hits_at_10": 0.7}


def made_up(job: Job) -> dict[str, Any]:
    """Return a result whose AUC depends on the job."""
    cost = {"fit_seconds": 1.0, "peak_mb": 100}
    if isinstance(job, ClassJob):
        shares = {f"{share:g}": share for share in job.label_fractions}
        scores = {name: {"macro_f1": share, "micro_f1": 0.5} for name, share in shares.items()}
        return {"scores": scores} | cost
    if not isinstance(job, LinkJob):
        rows = [{"text": title, "rank": 1 + i, "linked": i == 0} for i, title in enumerate(PRINTED)]
        return {"query": QUERY, "closest": rows, "printed": rows} | cost
    auc = job.train_fraction - (0.05 if job.protocol == "strict" else 0) + job.seed / 1000
    leaks = {"hidden_edges": 100, "self_loops": 10, "trained_on": 5}
    return {"scores": {"dot": FIGURES | {"auc": auc}}} | leaks | cost


@pytest.fixture
def fill(planted: TextualNetwork, tmp_path: Path) -> Callable[..., Results]:
    """Return a function that stores made-up fits of the jobs that ``is_done`` chooses."""

    def fill(name: str, is_done: Callable[[Any], bool] = lambda job: job.seed == 0) -> Results:
        target = TARGETS[name]
        journal = journal_of(tmp_path, target)
        for job in target.jobs(planted):
            if is_done(job):
                journal.add(job, made_up(job))
        write_results(tmp_path, target.results(planted, journal))
        return read_results(tmp_path)[name]

    return fill
