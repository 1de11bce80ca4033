"""Labels in classification: methods get those of training vertices only."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import torch
from torch import Tensor

from dmte.baselines.tridnr import TriDnrLabels
from dmte.embedding.embedding import Embedding
from dmte.embedding.method import LearnsFromLabels
from dmte.errors import ConfigError
from dmte.evaluation import METHODS, ClassJob, ClassScores, ClassTask, LinkJob, class_task
from dmte.evaluation.dry_run import plan
from dmte.evaluation.jobs import class_jobs, link_jobs
from dmte.evaluation.methods import CLASSES_ONLY, choose_methods, left_out
from dmte.evaluation.summary import class_results
from dmte.network import TextualNetwork

NAME = "tridnr-labels"
SHARES = (0.1, 0.3, 0.5)


@dataclass
class Seen:
    """What a method was shown in one fit."""

    labels: dict[str, set[str]]
    network: TextualNetwork


@dataclass(frozen=True, slots=True)
class Recorder:
    """A method that notes what it is shown."""

    seen: list[Seen] = field(default_factory=list)
    labels: Sequence[tuple[str, str]] = ()

    def with_labels(self, labels: Sequence[tuple[str, str]]) -> "Recorder":
        return replace(self, labels=labels)

    def fit(self, network: TextualNetwork, seed: int) -> Embedding:
        given: dict[str, set[str]] = {}
        for name, label in self.labels:
            given.setdefault(name, set()).add(label)
        self.seen.append(Seen(given, network))
        generator = torch.Generator().manual_seed(seed)
        return Embedding(network.ids, torch.randn(network.num_vertices, 3, generator=generator), 3)


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """What stands in the place of the method that learns from labels."""
    found = Recorder()
    monkeypatch.setattr("dmte.evaluation.methods.METHODS", {**METHODS, NAME: found})
    return found


@pytest.fixture(params=["single", "multi"])
def labelled(request: pytest.FixtureRequest, planted: TextualNetwork) -> TextualNetwork:
    """A network with one label per vertex, or with several of some; a few vertices have none."""
    labels = [set(own) for own in planted.labels or ()]
    for vertex in range(0, 80, 10):
        labels[vertex] = set()
    if request.param == "multi":
        for vertex in range(1, 80, 3):
            labels[vertex] |= {"also"}
    return replace(planted, labels=[frozenset(own) for own in labels])


def test_each_share_has_a_fit_with_the_labels_of_its_training_vertices_and_no_other(
    labelled: TextualNetwork, recorder: Recorder
) -> None:
    assert labelled.labels is not None
    for job in class_jobs("n", [NAME], SHARES, 2):
        (share,) = job.label_fractions
        job.run(labelled)
        train = class_task(labelled, share, job.seed).train.tolist()
        assert recorder.seen[-1].labels == {
            labelled.ids[vertex]: set(labelled.labels[vertex]) for vertex in train
        }
    assert len(recorder.seen) == 2 * len(SHARES)


def test_the_training_network_has_no_labels(
    labelled: TextualNetwork, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether or not the method learns from labels."""
    methods = {**METHODS, NAME: recorder, "random": Plain(recorder)}
    monkeypatch.setattr("dmte.evaluation.methods.METHODS", methods)
    for job in class_jobs("n", [NAME, "random"], SHARES, 1):
        job.run(labelled)
    assert len(recorder.seen) == len(SHARES) + 1
    assert [seen.network.labels for seen in recorder.seen] == [None] * 4
    assert torch.equal(recorder.seen[-1].network.edges, labelled.edges)


@dataclass(frozen=True, slots=True)
class Plain:
    """The same with no use for labels."""

    recorder: Recorder

    def fit(self, network: TextualNetwork, seed: int) -> Embedding:
        return self.recorder.fit(network, seed)


def vectors_of(job: ClassJob, network: TextualNetwork, monkeypatch: pytest.MonkeyPatch) -> Tensor:
    """Return the vectors of the job."""
    found: list[Any] = []

    def note(_: ClassTask, features: Any) -> ClassScores:
        found.append(features)
        return ClassScores(0.5, 0.5)

    with monkeypatch.context() as patched:
        patched.setattr(ClassTask, "evaluate", note)
        job.run(network)
    (vectors,) = found
    assert isinstance(vectors, Tensor)
    return vectors


def relabelled(network: TextualNetwork, vertices: Tensor, label: str) -> TextualNetwork:
    labels = list(network.labels or ())
    for vertex in vertices.tolist():
        labels[vertex] = frozenset({label})
    return replace(network, labels=labels)


@pytest.mark.medium
def test_wrong_labels_of_test_vertices_change_no_vector(
    labelled: TextualNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one wrong label of a training vertex does."""
    quick = TriDnrLabels(dim=8, walks_per_vertex=1, walk_length=6, window=2)
    monkeypatch.setattr("dmte.evaluation.methods.METHODS", {**METHODS, NAME: quick})
    job = ClassJob(network="n", method=NAME, seed=1, label_fractions=(0.3,))
    task = class_task(labelled, 0.3, 1)
    expected = vectors_of(job, labelled, monkeypatch)
    for label in ("poison", labelled.classes[0]):
        poisoned = relabelled(labelled, task.test, label)
        assert torch.equal(vectors_of(job, poisoned, monkeypatch), expected)
    other = relabelled(labelled, task.train[:1], "poison")
    assert not torch.equal(vectors_of(job, other, monkeypatch), expected)


def test_rows_of_a_method_that_learns_from_labels_are_like_any_others(
    planted: TextualNetwork, recorder: Recorder
) -> None:
    jobs = class_jobs("n", [NAME, "random"], SHARES, 2)
    assert len({job.key for job in jobs}) == len(jobs) == 2 * (len(SHARES) + 1)
    rows = class_results((job, job.run(planted)) for job in jobs)
    assert [(row["method"], row["label_fraction"]) for row in rows] == [
        (method, share) for method in (NAME, "random") for share in SHARES
    ]
    assert all(len(row["macro_f1"]["values"]) == 2 for row in rows)
    assert len(recorder.seen) == 2 * len(SHARES)


def test_a_fit_cannot_serve_several_shares(planted: TextualNetwork) -> None:
    job = ClassJob(network="n", method=NAME, seed=0, label_fractions=(0.1, 0.3))
    with pytest.raises(ConfigError, match="it needs one fit per share; use 2 jobs"):
        job.run(planted)


def test_a_plan_counts_the_fits_of_every_share() -> None:
    found = plan(class_jobs("n", [NAME], SHARES, 2))
    assert [(one.condition, one.num_fits) for one in found] == [
        (f"{100 * share:g} % labelled", 2) for share in SHARES
    ]


def test_fits_of_different_shares_have_different_titles() -> None:
    titles = [job.title() for job in class_jobs("n", [NAME, "lsa"], (0.1, 0.3), 1)]
    assert titles == [
        f"{NAME}, 10 % labelled, seed 0",
        f"{NAME}, 30 % labelled, seed 0",
        "lsa, seed 0",
    ]


def test_link_prediction_omits_methods_that_learn_from_labels(
    planted: TextualNetwork,
) -> None:
    assert {name for name, one in METHODS.items() if isinstance(one, LearnsFromLabels)} == {NAME}
    assert set(CLASSES_ONLY) == {NAME}
    with pytest.raises(ConfigError, match=f"{NAME} learns from the labels of training vertices"):
        link_jobs("n", [NAME], [0.5], ["strict"], 1)
    assert NAME not in choose_methods(["all"], task="links")
    assert NAME in choose_methods(["all"], task="classes")
    assert left_out(["all"], task="links")[NAME].startswith("it learns from the labels")
    job = LinkJob(network="n", method=NAME, protocol="strict", train_fraction=0.5, seed=0)
    with pytest.raises(ConfigError, match="was given none"):
        job.run(planted)
