"""Vertex classification: F1 counted by hand, splits that never leak, answers known by eye."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from dmte.baselines import RandomVectors, TfIdf
from dmte.errors import ConfigError, SplitError, TrainingError
from dmte.evaluation import classification
from dmte.evaluation.classification import (
    LABEL_FRACTIONS,
    ClassScores,
    ClassTask,
    class_task,
    classify,
    f1_scores,
)
from dmte.network import TextualNetwork, read_folder
from dmte.network.synthetic import PlantedTopics
from dmte.settings import Settings
from dmte.training.method import DmteMethod

CLASSES = "abc"


def network_with(labels: list[str]) -> TextualNetwork:
    """Return vertices without edges; each letter of a string is one label."""
    return TextualNetwork(
        ids=tuple(f"v{vertex}" for vertex in range(len(labels))),
        texts=("",) * len(labels),
        edges=torch.empty(0, 2, dtype=torch.int64),
        labels=tuple(frozenset(names) for names in labels),
    )


def indicator(labels: list[str], classes: str = CLASSES) -> torch.Tensor:
    """Return whether each vertex has each class."""
    return torch.tensor([[name in names for name in classes] for names in labels])


def counted(truth: list[str], predicted: list[str]) -> tuple[float, float]:
    """Return Macro-F1 and Micro-F1 from confusion counts, one decision after the other."""
    f1, all_hits, all_alarms, all_misses = [], 0, 0, 0
    for name in sorted(set("".join(truth + predicted))):
        hits = alarms = misses = 0
        for right, guess in zip(truth, predicted, strict=True):
            hits += name in right and name in guess
            alarms += name not in right and name in guess
            misses += name in right and name not in guess
        if hits + misses:
            precision = hits / (hits + alarms) if hits + alarms else 0.0
            recall = hits / (hits + misses)
            f1.append(2 * precision * recall / (precision + recall) if hits else 0.0)
        all_hits, all_alarms, all_misses = all_hits + hits, all_alarms + alarms, all_misses + misses
    precision, recall = all_hits / (all_hits + all_alarms), all_hits / (all_hits + all_misses)
    return sum(f1) / len(f1), 2 * precision * recall / (precision + recall)


def task_predicting(
    truth: list[str], predicted: list[str], classes: str = CLASSES
) -> tuple[ClassTask, torch.Tensor]:
    """Return a task and features that make the SVM predict the given classes.

    Each class has one feature. Training vertices show what every prediction looks like, three of
    each, so that a test vertex that looks like some of them is given their labels.
    """
    shown = sorted({*predicted, *classes}) * 3
    labels = shown + truth
    features = indicator(shown + predicted, classes).float()
    order = torch.arange(len(labels))
    task = ClassTask(order[: len(shown)], order[len(shown) :], indicator(labels, classes))
    return task, features


SINGLE = (["a", "a", "a", "b", "b", "c"], ["a", "a", "b", "b", "c", "c"])
MULTI = (["ab", "a", "bc", "c"], ["ab", "b", "b", "bc"])


def test_single_label_f1_is_the_one_counted_by_hand() -> None:
    """F1 of a 2·2/(2·2+1), of b 2/(2+2), of c 2/(2+1); four hits of six."""
    task, features = task_predicting(*SINGLE)
    scores = task.evaluate(features)
    assert not task.is_multi_label
    assert scores.macro_f1 == pytest.approx((4 / 5 + 1 / 2 + 2 / 3) / 3)
    assert scores.micro_f1 == pytest.approx(4 / 6)
    assert counted(*SINGLE) == pytest.approx((scores.macro_f1, scores.micro_f1))


def test_multi_label_f1_is_the_one_counted_by_hand() -> None:
    """F1 of a 2/(2+1), of b 4/(4+2), of c 2/(2+1); 4 hits, 2 alarms, 2 misses: 8/(8+4)."""
    task, features = task_predicting(*MULTI)
    scores = task.evaluate(features)
    assert task.is_multi_label
    assert scores.macro_f1 == pytest.approx((2 / 3 + 4 / 6 + 2 / 3) / 3)
    assert scores.micro_f1 == pytest.approx(8 / 12)
    assert counted(*MULTI) == pytest.approx((scores.macro_f1, scores.micro_f1))


def test_f1_equals_the_counts_for_any_labels() -> None:
    draw = np.random.default_rng(0)
    for _ in range(50):
        truth, predicted = (
            [
                "".join(draw.choice(list("abcde"), draw.integers(1, 4), replace=False))
                for _ in "x" * 7
            ]
            for _ in range(2)
        )
        truth[0] = predicted[0]  # At least one hit, or the counted micro F1 divides by zero.
        scores = f1_scores(indicator(truth, "abcde"), indicator(predicted, "abcde"))
        assert (scores.macro_f1, scores.micro_f1) == pytest.approx(counted(truth, predicted))


def test_a_class_without_a_test_vertex_does_not_enter_the_mean() -> None:
    """F1 of a 2/(2+1), of b 1; c is predicted once but has no recall."""
    truth, predicted = ["a", "a", "b"], ["a", "c", "b"]
    assert f1_scores(indicator(truth), indicator(predicted)).macro_f1 == pytest.approx(5 / 6)


def test_a_class_without_a_training_vertex_counts_zero() -> None:
    """Class d is only tested, and its vertex looks like a: F1 of a is 2/(2+1), of d 0."""
    task = ClassTask(torch.arange(6), torch.arange(6, 10), indicator([*"aabbccabcd"], "abcd"))
    features = indicator([*"aabbccabca"]).float()
    assert task.evaluate(features).macro_f1 == pytest.approx((2 / 3 + 1 + 1 + 0) / 4)


def test_a_class_without_a_training_vertex_is_never_predicted() -> None:
    """A row of zeros sees only the biases, all negative; still it is no d."""
    task = ClassTask(torch.arange(6), torch.tensor([6]), indicator([*"aabbccd"], "abcd"))
    assert task.evaluate(indicator([*"aabbcc", ""]).float()) == ClassScores(0.0, 0.0)


def test_a_vertex_between_two_classes_is_given_one_when_all_have_one() -> None:
    """Both a and b are positive for the last vertex: two labels would have a micro F1 of 2/3."""
    features = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]).repeat(9, 1)
    features = torch.cat([features, torch.tensor([[1.1, 1.0]])])
    labels = indicator([*"abc" * 9, "a"])
    task = ClassTask(torch.arange(27), torch.tensor([27]), labels)
    assert task.evaluate(features, cost=100.0) == ClassScores(1.0, 1.0)


def test_a_class_of_every_training_vertex_is_always_predicted() -> None:
    """All train with c; b follows its feature, so only the c of the last vertex is wrong."""
    labels = ["c", "bc", "c", "bc", "bc", "b"]
    features = indicator(["c", "b", "c", "b", "b", "b"]).float()
    task = ClassTask(torch.arange(4), torch.arange(4, 6), indicator(labels))
    assert task.evaluate(features).macro_f1 == pytest.approx((1 + 2 / 3) / 2)


def test_a_vertex_is_given_its_best_label_when_none_is_positive() -> None:
    """A row of zeros sees only the biases, all negative; the most common class has the highest."""
    labels = ["a", "a", "a", "b", "b", "c", "bc", "a"]
    features = indicator(["a", "a", "a", "b", "b", "c", "bc", ""]).float()
    task = ClassTask(torch.arange(7), torch.tensor([7]), indicator(labels))
    assert task.evaluate(features) == ClassScores(1.0, 1.0)


def test_the_true_number_of_labels_is_not_used() -> None:
    """The test vertex looks like those with one label; its second is missed, not guessed."""
    task, features = task_predicting(["ab", "bc"], ["a", "bc"])
    assert task.evaluate(features).micro_f1 == pytest.approx(6 / 7)


@pytest.mark.parametrize("fraction", LABEL_FRACTIONS)
def test_a_split_covers_the_labelled_vertices_and_no_others(fraction: float) -> None:
    labels = [("", "a", "b", "ac")[vertex % 4] for vertex in range(80)]
    task = class_task(network_with(labels), fraction, seed=0)
    train, test = set(task.train.tolist()), set(task.test.tolist())
    labelled = {vertex for vertex, names in enumerate(labels) if names}
    assert not train & test
    assert train | test == labelled == set(task.labelled.tolist())
    assert len(train) == round(60 * fraction)
    assert torch.equal(task.targets, indicator(labels))


def test_the_same_seed_draws_the_same_vertices(planted: TextualNetwork) -> None:
    one, same, other = (class_task(planted, 0.5, seed) for seed in (0, 0, 1))
    assert torch.equal(one.train, same.train)
    assert torch.equal(one.test, same.test)
    assert not torch.equal(one.train, other.train)


def test_a_smaller_share_is_part_of_a_larger_one(planted: TextualNetwork) -> None:
    small, large = (set(class_task(planted, share, 0).train.tolist()) for share in (0.3, 0.7))
    assert small < large


def test_the_same_features_have_the_same_scores(planted: TextualNetwork) -> None:
    """Nor is anything drawn from NumPy's global generator, which is the caller's."""
    task, features = class_task(planted, 0.5, 0), RandomVectors(dim=5).fit(planted, 0).vectors
    before = str(np.random.get_state())  # noqa: NPY002
    assert task.evaluate(features) == task.evaluate(features)
    assert str(np.random.get_state()) == before  # noqa: NPY002


def test_features_that_separate_the_classes_score_one(planted: TextualNetwork) -> None:
    topics = torch.eye(4).repeat(20, 1)
    for fraction in LABEL_FRACTIONS[1:]:
        assert class_task(planted, fraction, 0).evaluate(topics) == ClassScores(1.0, 1.0)


def test_random_features_score_chance() -> None:
    network = PlantedTopics(num_vertices=800).draw(torch.Generator().manual_seed(0))
    features = RandomVectors(dim=20).fit(network, 0).vectors
    scores = classify(network, features, 0.5, num_splits=5)
    assert np.mean([split.macro_f1 for split in scores]) == pytest.approx(0.25, abs=0.04)
    assert np.mean([split.micro_f1 for split in scores]) == pytest.approx(0.25, abs=0.04)


def test_classify_scores_one_split_after_the_other(planted: TextualNetwork) -> None:
    features = RandomVectors(dim=5).fit(planted, 0).vectors
    expected = [class_task(planted, 0.5, seed).evaluate(features) for seed in range(10)]
    assert classify(planted, features, 0.5) == expected
    assert len({split.macro_f1 for split in expected}) > 1


def test_the_length_of_a_vector_does_not_matter(planted: TextualNetwork) -> None:
    task = class_task(planted, 0.5, 0)
    features = RandomVectors(dim=5).fit(planted, 0).vectors
    lengths = torch.rand(80, 1, generator=torch.Generator().manual_seed(0)) * 100 + 0.01
    assert task.evaluate(features * lengths) == task.evaluate(features)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_sparse_features_score_as_dense_ones(
    planted: TextualNetwork, kind: type[sp.csr_array], index: type[np.integer]
) -> None:
    task = class_task(planted, 0.3, 0)
    sparse = kind(TfIdf().fit(planted, 0).vectors)
    sparse.indices, sparse.indptr = sparse.indices.astype(index), sparse.indptr.astype(index)
    before = sparse.toarray()
    scores = task.evaluate(sparse)
    assert scores == task.evaluate(torch.from_numpy(before))
    assert scores.macro_f1 > 0.8
    assert (sparse.toarray() == before).all()


def test_a_higher_cost_forgives_fewer_mistakes() -> None:
    """Two of fifty look nearly like the other class; only a costly mistake turns the plane."""
    angles = torch.tensor([0.0] * 48 + [1.3] * 2 + [1.5] * 50 + [1.3])
    features = torch.stack([angles.cos(), angles.sin()], dim=1)
    labels = indicator(["a"] * 50 + ["b"] * 50 + ["a"], "ab")
    task = ClassTask(torch.arange(100), torch.tensor([100]), labels)
    assert task.evaluate(features).micro_f1 == 0.0
    assert task.evaluate(features, cost=1e5).micro_f1 == 1.0


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.5, 10.0, float("nan")])
def test_a_fraction_outside_zero_and_one_raises(planted: TextualNetwork, fraction: float) -> None:
    with pytest.raises(SplitError, match=f"label_fraction must be between 0 and 1, not {fraction}"):
        class_task(planted, fraction, 0)


def test_a_network_without_labels_raises(planted: TextualNetwork) -> None:
    bare = TextualNetwork(ids=planted.ids, texts=planted.texts, edges=planted.edges)
    for network in (bare, network_with(["", ""])):
        with pytest.raises(SplitError, match="the network has no labels"):
            class_task(network, 0.5, 0)


@pytest.mark.parametrize("fraction", [0.1, 0.9])
def test_a_split_with_an_empty_side_raises(fraction: float) -> None:
    with pytest.raises(SplitError, match=f"3 labelled vertices cannot be split with {fraction}"):
        class_task(network_with(["a", "b", "", "c"]), fraction, 0)


@pytest.mark.parametrize("labels", [["a"] * 4, ["ab"] * 4, ["a", ""] * 4])
def test_training_vertices_with_equal_labels_raise(labels: list[str]) -> None:
    with pytest.raises(SplitError, match=r"training vertices \(2\) carry the same labels"):
        class_task(network_with(labels), 0.5, 0)


@pytest.mark.parametrize(
    ("train", "test", "message"),
    [
        ([0, 1], [1, 2], "both trained on and tested"),
        ([0, 1], [3], "has no label"),
        ([0, 3], [1], "has no label"),
        ([], [0, 1], "is empty"),
        ([0, 1], [], "is empty"),
    ],
)
def test_an_inconsistent_task_raises(train: list[int], test: list[int], message: str) -> None:
    train_side, test_side = (torch.tensor(side, dtype=torch.int64) for side in (train, test))
    with pytest.raises(SplitError, match=message):
        ClassTask(train_side, test_side, indicator(["a", "b", "c", ""]))


@pytest.mark.parametrize("shape", [(79, 3), (81, 3), (80, 0)])
def test_features_of_another_shape_raise(planted: TextualNetwork, shape: tuple[int, int]) -> None:
    task = class_task(planted, 0.5, 0)
    for features in (torch.ones(shape), sp.csr_array(shape)):
        with pytest.raises(ConfigError, match="one row for each of the 80 vertices"):
            task.evaluate(features)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_features_that_are_not_finite_raise(planted: TextualNetwork, value: float) -> None:
    features = torch.ones(80, 2)
    features[5, 1] = value
    for given in (features, sp.csr_array(features.numpy())):
        with pytest.raises(ConfigError, match="not finite"):
            class_task(planted, 0.5, 0).evaluate(given)


@pytest.mark.parametrize("cost", [0.0, -1.0, float("nan"), float("inf")])
def test_a_cost_that_is_not_positive_raises(planted: TextualNetwork, cost: float) -> None:
    with pytest.raises(ConfigError, match=f"cost must be a positive number, not {cost}"):
        class_task(planted, 0.5, 0).evaluate(torch.ones(80, 2), cost=cost)


def test_an_svm_without_an_optimum_is_an_error_not_a_warning(
    planted: TextualNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(classification, "MAX_NEWTON_STEPS", 1)
    with pytest.raises(TrainingError, match="found no optimum in 1 steps"):
        class_task(planted, 0.5, 0).evaluate(RandomVectors(dim=5).fit(planted, 0).vectors)


@pytest.mark.slow
def test_text_and_links_beat_text_alone_on_cora(data_folder: Path) -> None:
    """A tenth of the labels: the vectors of DMTE against TF-IDF, which lacks the links."""
    network = read_folder(data_folder / "cora")
    embedding = DmteMethod(Settings(dim=64, epochs=10)).fit(network, 0)
    text_alone = TfIdf().fit(network, 0)
    both, text = (
        np.mean([split.macro_f1 for split in classify(network, found.vectors, 0.1, num_splits=3)])
        for found in (embedding, text_alone)
    )
    assert 0.5 < text < both - 0.1
