"""Labelling: what is learned, how sure it is, and what cannot be learned from."""

import numpy as np
import pytest
import torch

from dmte.embedding.embedding import Embedding
from dmte.errors import ConfigError, DmteWarning, SplitError
from dmte.evaluation.classification import ClassTask, class_targets
from dmte.inference.classify import NUM_FOLDS, Labelling, label_vertices

CLASSES = ("ape", "bee", "cat")


def noisy(num_vertices: int, noise: float, seed: int = 0) -> tuple[Embedding, list[frozenset[str]]]:
    """Return vectors around one corner per class, and the class of every vertex."""
    generator = torch.Generator().manual_seed(seed)
    truth = torch.randint(3, (num_vertices,), generator=generator)
    vectors = torch.eye(3)[truth] + noise * torch.randn(num_vertices, 3, generator=generator)
    names = tuple(map(str, range(num_vertices)))
    return Embedding(names, vectors, text_dim=3), [frozenset({CLASSES[c]}) for c in truth.tolist()]


def hide(labels: list[frozenset[str]], every: int) -> list[frozenset[str]]:
    return [names if at % every else frozenset() for at, names in enumerate(labels)]


def hits(found: Labelling, truth: list[frozenset[str]]) -> list[bool]:
    return [truth[int(one.id)] == frozenset(one.labels) for one in found.predictions]


def test_confidence_is_about_the_share_of_hits() -> None:
    embedding, truth = noisy(3000, noise=0.6)
    found = label_vertices(embedding, hide(truth, every=2))
    right, sure = (
        np.array(hits(found, truth)),
        np.array([o.confidences[0] for o in found.predictions]),
    )
    assert len(right) == 1500
    assert 0.6 < right.mean() < 0.95  # Neither hopeless nor trivial.
    for low, high in ((0.4, 0.6), (0.6, 0.8), (0.8, 1.0)):
        some = (sure >= low) & (sure < high)
        assert right[some].mean() == pytest.approx(sure[some].mean(), abs=0.08)
    assert found.scores.micro_f1 == pytest.approx(right.mean(), abs=0.05)
    assert found.mean_confidence == pytest.approx(found.precision, abs=0.03)


def test_the_labels_are_those_of_an_svm_on_all_labelled_vertices() -> None:
    embedding, truth = noisy(200, noise=0.5)
    found = label_vertices(embedding, hide(truth, every=4))
    targets = class_targets(truth, CLASSES)
    unlabelled = torch.arange(200) % 4 == 0
    task = ClassTask((~unlabelled).nonzero().squeeze(1), unlabelled.nonzero().squeeze(1), targets)
    assert np.mean(hits(found, truth)) == pytest.approx(task.evaluate(embedding.vectors).micro_f1)


def test_a_vertex_may_get_several_labels_if_some_have_several() -> None:
    generator = torch.Generator().manual_seed(1)
    has = torch.rand(400, 3, generator=generator) < 0.5
    has[~has.any(dim=1), 0] = True
    vectors = has.float() - 0.5 + 0.05 * torch.randn(400, 3, generator=generator)
    truth = [frozenset(c for c, one in zip(CLASSES, row, strict=True) if one) for row in has]
    embedding = Embedding(tuple(map(str, range(400))), vectors, text_dim=3)
    found = label_vertices(embedding, hide(truth, every=4))
    assert found.is_multi_label
    assert np.mean(hits(found, truth)) > 0.95
    assert found.scores.micro_f1 > 0.95
    for one in found.predictions:
        assert list(one.confidences) == sorted(one.confidences, reverse=True)


def test_folds_without_a_mistake_do_not_make_certain() -> None:
    embedding, truth = noisy(40, noise=0.01)
    found = label_vertices(embedding, hide(truth, every=4))
    assert found.scores.micro_f1 == 1.0
    assert all(0.7 < one.confidences[0] < 1 for one in found.predictions)


def test_the_same_seed_gives_the_same_labels_and_confidences() -> None:
    embedding, truth = noisy(60, noise=0.6)
    given = hide(truth, every=3)
    assert label_vertices(embedding, given, seed=4) == label_vertices(embedding, given, seed=4)


def test_a_label_of_one_vertex_is_warned_of_and_counts_as_missed() -> None:
    embedding, truth = noisy(40, noise=0.01)
    given = [*hide(truth, every=4)[:-1], frozenset({"dog"})]
    with pytest.warns(DmteWarning, match="single vertex carries cannot be checked.*'dog'"):
        found = label_vertices(embedding, given)
    assert found.scores.macro_f1 == pytest.approx(3 / 4, abs=0.05)
    assert found.counts["dog"] == 1


def test_everything_labelled_still_gives_the_estimate() -> None:
    embedding, truth = noisy(40, noise=0.01)
    found = label_vertices(embedding, truth)
    assert (found.predictions, found.num_folds, found.scores.micro_f1) == ((), NUM_FOLDS, 1.0)


def test_labels_of_two_vertices_each_are_not_judged_without_a_word() -> None:
    embedding = Embedding(tuple("vwxyz"), torch.eye(5), text_dim=5)
    with pytest.warns(DmteWarning, match="the estimate is far too low"):
        label_vertices(embedding, [frozenset(name.replace("-", "")) for name in "aabb-"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("----", "no vertex carries a label"),
        ("aaa-", r"all labelled vertices \(3\) carry the label 'a'"),
        ("aab-", "of 2 labels only 1 stand at two vertices"),
        ("ab--", "of 2 labels only 0 stand at two vertices"),
    ],
)
def test_too_few_labels_are_refused(given: str, message: str) -> None:
    embedding = Embedding(tuple("wxyz"), torch.eye(4), text_dim=4)
    with pytest.raises(SplitError, match=message):
        label_vertices(embedding, [frozenset(name.replace("-", "")) for name in given])
    with pytest.raises(ConfigError, match="3 label sets for 4 vertices"):
        label_vertices(embedding, [frozenset("a")] * 3)
