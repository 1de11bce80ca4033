"""Jobs: one fit, its scores, and a key that identifies both."""

import json
from dataclasses import fields, replace
from pathlib import Path

import pytest

from dmte import evaluation
from dmte.errors import ConfigError, SplitError
from dmte.evaluation import METHODS, ClassJob, LinkJob, class_task, strict_task
from dmte.evaluation.jobs import Job, class_jobs, link_jobs
from dmte.evaluation.methods import LINKS_ONLY, choose_methods, left_out
from dmte.network import TextualNetwork
from dmte.text.sentence_model import VARIABLE

RESULTS = Path(__file__).parents[2] / "experiments" / "results"
LINK = LinkJob(network="planted", method="tfidf", protocol="strict", train_fraction=0.6, seed=3)


def test_a_link_job_scores_the_method_by_its_protocol(planted: TextualNetwork) -> None:
    result = LINK.run(planted)
    task = strict_task(planted, 0.6, seed=3)
    expected = task.evaluate(METHODS["tfidf"].fit(task.train, 3).score)
    assert result["scores"]["own"]["auc"] == pytest.approx(expected.auc, abs=1e-5)
    assert result["scores"]["own"]["mrr"] == pytest.approx(expected.mrr, abs=1e-5)
    assert result["hidden_edges"] == len(task.edges)
    assert (result["self_loops"], result["trained_on"]) == (0, 0)


def test_an_embedding_is_scored_both_ways(planted: TextualNetwork) -> None:
    assert list(replace(LINK, method="random").run(planted)["scores"]) == ["dot", "cosine"]


def test_a_result_has_time_and_memory(planted: TextualNetwork) -> None:
    result = LINK.run(planted)
    assert result["fit_seconds"] >= 0
    assert result["peak_mb"] is None or 10 < result["peak_mb"] < 100_000


def test_a_class_job_scores_the_vectors_on_its_split(planted: TextualNetwork) -> None:
    job = ClassJob(network="planted", method="tfidf", seed=1, label_fractions=(0.3, 0.5))
    result = job.run(planted)
    assert list(result["scores"]) == ["0.3", "0.5"]
    vectors = METHODS["tfidf"].fit(planted, 1).vectors  # type: ignore[attr-defined]
    expected = class_task(planted, 0.5, 1).evaluate(vectors)
    assert result["scores"]["0.5"]["macro_f1"] == pytest.approx(expected.macro_f1, abs=1e-5)


def test_a_method_without_vectors_cannot_classify(planted: TextualNetwork) -> None:
    with pytest.raises(ConfigError, match="adamic-adar has no vectors"):
        ClassJob(network="planted", method="adamic-adar", seed=0).run(planted)


@pytest.mark.parametrize(
    "other",
    [
        replace(LINK, seed=4),
        replace(LINK, method="random"),
        replace(LINK, protocol="published"),
        replace(LINK, train_fraction=0.7),
        replace(LINK, network="another"),
        replace(LINK, method="random", settings={"dim": 8}),
        ClassJob(network="planted", method="tfidf", seed=3),
    ],
)
def test_different_jobs_have_different_keys(other: LinkJob) -> None:
    assert other.key != LINK.key
    assert replace(LINK).key == LINK.key


def test_settings_configure_the_method(planted: TextualNetwork) -> None:
    job = replace(LINK, method="random", settings={"dim": 8})
    assert job.configured_method().dim == 8  # type: ignore[attr-defined]
    assert job.run(planted)["scores"] != replace(LINK, method="random").run(planted)["scores"]


def test_check_raises_without_a_fit(planted: TextualNetwork) -> None:
    bare = TextualNetwork(ids=planted.ids, texts=planted.texts, edges=planted.edges[:1])
    with pytest.raises(SplitError):
        LINK.check(bare)
    with pytest.raises(SplitError):
        ClassJob(network="", method="tfidf", seed=0).check(bare)


def test_all_means_every_method_that_can_run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    unable = {"sentence", "sentence-diffused"}
    assert choose_methods(["all", "tfidf"]) == [name for name in METHODS if name not in unable]
    assert set(left_out(["tfidf", "all"])) == unable
    assert left_out(["tfidf"]) == {}
    assert not LINKS_ONLY.keys() & set(choose_methods(["all"], task="classes"))
    reason = "it scores pairs and has no vectors to classify vertices by"
    assert left_out(["all"], task="classes")["adamic-adar"] == reason


def test_jobs_are_every_combination() -> None:
    jobs = link_jobs("n", ["tfidf", "random"], [0.2, 0.4], ["strict", "published"], 3)
    assert len({job.key for job in jobs}) == len(jobs) == 2 * 2 * 2 * 3
    assert [job.seed for job in class_jobs("n", ["tfidf"], [0.5], 2)] == [0, 1]


def test_repeated_values_count_once() -> None:
    once = link_jobs("n", ["tfidf"], [0.5], ["strict"], 2)
    assert link_jobs("n", ["tfidf", "tfidf"], [0.5, 0.50], ["strict", "strict"], 2) == once
    classes = class_jobs("n", ["tfidf"], [0.5], 2)
    assert class_jobs("n", ["tfidf", "tfidf"], [0.5, 0.50], 2) == classes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["tfid"], [0.5], ["strict"], 1), "did you mean tfidf"),
        ((["tfidf"], [55.0], ["strict"], 1), "train_fraction must be between 0 and 1, not 55"),
        ((["tfidf"], [0.5], ["loose"], 1), "protocol must be one of strict, published, not loose"),
        ((["tfidf"], [0.5], ["every-edge"], 1), "strict, published, not every-edge"),
        ((["tfidf"], [0.5], ["strict"], 0), "seeds must be at least 1"),
        ((["tfidf"], [], ["strict"], 1), "at least one train_fraction"),
    ],
)
def test_an_impossible_job_raises(
    arguments: tuple[list[str], list[float], list[str], int], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        link_jobs("n", *arguments)


def test_classification_with_a_method_without_vectors_raises() -> None:
    with pytest.raises(ConfigError, match="adamic-adar scores pairs"):
        class_jobs("n", ["adamic-adar"], [0.5], 1)


@pytest.mark.parametrize("kind", [LinkJob, ClassJob])
@pytest.mark.parametrize("method", ["dmte", "tfidf"])
def test_a_stored_fit_is_found_under_its_key(kind: type[Job], method: str) -> None:
    """Whatever the class is called, the key of a job is that of the committed results."""
    target = {LinkJob: "cora-links", ClassJob: "cora-classes"}[kind]
    lines = (RESULTS / target / "cells.jsonl").read_text("utf-8").splitlines()
    stored = next(cell for line in lines if (cell := json.loads(line)["cell"])["method"] == method)
    names = {field.name for field in fields(kind)}
    own = {name: value for name, value in stored.items() if name in names}
    if kind is ClassJob:
        own["label_fractions"] = tuple(own["label_fractions"])
    job = kind(**own)
    assert job.key == json.dumps(stored, sort_keys=True)


def test_former_names_warn() -> None:
    with pytest.warns(DeprecationWarning, match="LinkCell is now LinkJob"):
        assert evaluation.LinkCell is LinkJob
    with pytest.raises(AttributeError, match="no attribute 'Cellar'"):
        _ = evaluation.Cellar
