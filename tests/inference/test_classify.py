"""Label prediction: accuracy, calibration, and labels that cannot be learned."""

import numpy as np
import pytest
import torch

from dmte.embedding.embedding import Embedding
from dmte.errors import ConfigError, DmteWarning, SplitError
from dmte.evaluation.classification import ClassTask, class_targets
from dmte.inference.classify import NUM_FOLDS, Labelling, label_vertices

CLASSES = ("ape", "bee", "cat")


def noisy(num_vertices: int, noise: float, seed: int = 0) -> tuple[Embedding, list[frozenset[str]]]:
    """Draw vectors around one corner per class; return them with the class of every vertex."""
    generator = torch.Generator().manual_seed(seed)
    truth = torch.randint(3, (num_vertices,), generator=generator)
    vectors = torch.eye(3)[truth] + noise * torch.randn(num_vertices, 3, generator=generator)
    names = tuple(map(str, range(num_vertices)))
    return Embedding(names, vectors, text_dim=3), [frozenset({CLASSES[c]}) for c in truth.tolist()]


def hide(labels: list[frozenset[str]], every: int) -> list[frozenset[str]]:
    return [names if at % every else frozenset() for at, names in enumerate(labels)]


def hits(found: Labelling, truth: list[frozenset[str]]) -> list[bool]:
    return [truth[int(one.id)] == frozenset(one.labels) for one in found.predictions]


def test_confidence_matches_the_share_of_correct_labels() -> None:
    embedding, truth = noisy(3000, noise=0.6)
    found = label_vertices(embedding, hide(truth, every=2))
    right = np.array(hits(found, truth))
    confidence = np.array([one.confidences[0] for one in found.predictions])
    assert len(right) == 1500
    assert 0.6 < right.mean() < 0.95  # Neither random nor trivial.
    for low, high in ((0.4, 0.6), (0.6, 0.8), (0.8, 1.0)):
        some = (confidence >= low) & (confidence < high)
        assert right[some].mean() == pytest.approx(confidence[some].mean(), abs=0.08)
    assert found.scores.micro_f1 == pytest.approx(right.mean(), abs=0.05)
    assert found.mean_confidence == pytest.approx(found.precision, abs=0.03)


def test_labels_equal_those_of_an_svm_trained_on_all_labelled_vertices() -> None:
    embedding, truth = noisy(200, noise=0.5)
    found = label_vertices(embedding, hide(truth, every=4))
    targets = class_targets(truth, CLASSES)
    unlabelled = torch.arange(200) % 4 == 0
    task = ClassTask((~unlabelled).nonzero().squeeze(1), unlabelled.nonzero().squeeze(1), targets)
    assert np.mean(hits(found, truth)) == pytest.approx(task.evaluate(embedding.vectors).micro_f1)


def test_several_labels_are_predicted_if_some_vertices_have_several() -> None:
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


def test_confidences_stay_below_one_without_cross_validation_errors() -> None:
    embedding, truth = noisy(40, noise=0.01)
    found = label_vertices(embedding, hide(truth, every=4))
    assert found.scores.micro_f1 == 1.0
    assert all(0.7 < one.confidences[0] < 1 for one in found.predictions)


def test_the_same_seed_gives_the_same_labels_and_confidences() -> None:
    embedding, truth = noisy(60, noise=0.6)
    given = hide(truth, every=3)
    assert label_vertices(embedding, given, seed=4) == label_vertices(embedding, given, seed=4)


def test_a_label_with_one_vertex_warns_and_counts_as_an_error() -> None:
    embedding, truth = noisy(40, noise=0.01)
    given = [*hide(truth, every=4)[:-1], frozenset({"dog"})]
    with pytest.warns(DmteWarning, match="single vertex cannot be cross-validated.*'dog'"):
        found = label_vertices(embedding, given)
    assert found.scores.macro_f1 == pytest.approx(3 / 4, abs=0.05)
    assert found.counts["dog"] == 1


def test_scores_are_computed_if_all_vertices_are_labelled() -> None:
    embedding, truth = noisy(40, noise=0.01)
    found = label_vertices(embedding, truth)
    assert (found.predictions, found.num_folds, found.scores.micro_f1) == ((), NUM_FOLDS, 1.0)


def test_labels_with_two_vertices_each_warn() -> None:
    embedding = Embedding(tuple("vwxyz"), torch.eye(5), text_dim=5)
    with pytest.warns(DmteWarning, match="the estimated F1 is far too low"):
        label_vertices(embedding, [frozenset(name.replace("-", "")) for name in "aabb-"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("----", "at least one vertex must have a label"),
        ("aaa-", r"all labelled vertices \(3\) have the label 'a'"),
        ("aab-", "two vertices or more, but only 1 of 2 have"),
        ("ab--", "two vertices or more, but only 0 of 2 have"),
    ],
)
def test_too_few_labels_raise(given: str, message: str) -> None:
    embedding = Embedding(tuple("wxyz"), torch.eye(4), text_dim=4)
    with pytest.raises(SplitError, match=message):
        label_vertices(embedding, [frozenset(name.replace("-", "")) for name in given])
    with pytest.raises(ConfigError, match="3 label sets for 4 vertices"):
        label_vertices(embedding, [frozenset("a")] * 3)
