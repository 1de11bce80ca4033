"""Vertex classification (section 5.2) by vectors learned from all edges.

A random share of the labelled vertices trains a linear SVM, which predicts the others:

    w_c, b_c = argmin  ½(|w_c|² + b_c²) + C Σ_i max(0, 1 − y_ic (w_c · x_i + b_c))²

one against the rest for every class c, with y_ic = ±1 and x_i the vector of vertex i at length 1.

    one label per vertex      the class with the highest w_c · x_i + b_c
    several labels            every class above 0; the highest one if there is none

The paper names neither C nor a scale of the vectors. At C = 1 the scale sets the strength of
regularization, so rows of length 1 treat all methods alike; columns of variance 1 cost DMTE and LSA
2 to 12 points of Macro-F1 on Cora. It is common to give a vertex its true number of labels, but
that reveals part of the answer.

A task fixes the training and test vertices for all methods. Vectors are learned from a network
without labels; a method that learns from labels gets those of the training vertices.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dmte.errors import ConfigError, SplitError, TrainingError
from dmte.network import TextualNetwork
from dmte.network.textual_network import Labels
from dmte.runtime.seeding import generator_for
from dmte.settings import LABEL_FRACTIONS as LABEL_FRACTIONS

COST = 1.0
"""C of the SVM: the default of scikit-learn and liblinear; the paper prints none."""
MAX_NEWTON_STEPS = 1000  # scikit-learn's default; Cora and DBLP need at most 14 at length 1.
NUM_SPLITS = 10
"""Splits to average over; the paper's (section 5)."""

Features = Float[Tensor, "vertices dim"] | sp.csr_array | sp.csr_matrix
"""One row per vertex: an embedding's vectors, or a sparse matrix such as TF-IDF."""
Rows = np.ndarray | sp.csr_matrix


@dataclass(frozen=True, slots=True)
class ClassScores:
    """F1 scores, between 0 and 1."""

    macro_f1: float
    """The mean of F1 over classes."""
    micro_f1: float
    """F1 of all decisions; with one label per vertex it is the accuracy."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassTask:
    """Labelled vertices to learn from, and others to predict.

    The split is not stratified, so a rare class may have no training vertex. It is never predicted,
    and counts with an F1 of 0 if a test vertex has it.
    """

    train: Int[Tensor, " train"]
    """Positions of the training vertices."""
    test: Int[Tensor, " test"]
    """Positions of the test vertices."""
    targets: Bool[Tensor, "vertices classes"]
    """Whether a vertex has a class; a row without classes is an unlabelled vertex."""

    def __post_init__(self) -> None:
        if len(self.train) == 0 or len(self.test) == 0:
            raise SplitError("one side of the split is empty; both need a labelled vertex")
        if bool(torch.isin(self.test, self.train).any()):
            raise SplitError("a vertex is both trained on and tested; the sides must be disjoint")
        if not bool(self.targets[torch.cat([self.train, self.test])].any(dim=1).all()):
            raise SplitError("a vertex of the split has no label; only labelled ones take part")
        known = self.targets[self.train]
        if bool((known == known[0]).all()):
            raise SplitError(
                f"all training vertices ({len(known)}) carry the same labels, but an SVM needs two "
                "classes; train on more vertices or draw with another seed"
            )

    @property
    def labelled(self) -> Int[Tensor, " labelled"]:
        """Positions of all vertices of the split."""
        return torch.cat([self.train, self.test]).sort().values

    def known_labels(self, network: TextualNetwork) -> list[tuple[str, str]]:
        """Return pairs of id and class of the training vertices of ``network`` only."""
        labels = network.labels or ()
        return [
            (network.ids[vertex], name)
            for vertex in self.train.tolist()
            for name in sorted(labels[vertex])
        ]

    @property
    def is_multi_label(self) -> bool:
        """Whether some vertex has several labels."""
        return bool((self.targets.sum(dim=1) > 1).any())

    def evaluate(self, features: Features, cost: float = COST) -> ClassScores:
        """Score a linear SVM on ``features`` by its predictions of the test vertices.

        The same features always have the same scores.

        Raises:
            ConfigError: The features do not fit the network, or the cost is not positive.
            TrainingError: The SVM did not converge.
        """
        if not 0 < cost < float("inf"):
            raise ConfigError(f"cost must be a positive number, not {cost}")
        rows = unit_rows(features, len(self.targets))
        known = self.targets[self.train].numpy()
        decisions = decide(rows[self.train.numpy()], known, rows[self.test.numpy()], cost)
        predicted = choose_classes(decisions, is_multi_label=self.is_multi_label)
        return f1_scores(self.targets[self.test], torch.from_numpy(predicted))


def class_task(network: TextualNetwork, label_fraction: float, seed: int) -> ClassTask:
    """Draw the task that trains on a share of the labelled vertices of ``network``.

    With the same seed, the training vertices of a smaller share are among those of a larger one.

    Raises:
        SplitError: The labels of the network do not allow this split.
    """
    if not 0 < label_fraction < 1:
        raise SplitError(f"label_fraction must be between 0 and 1, not {label_fraction}")
    targets = class_targets(network.labels or (), network.classes)
    labelled = targets.any(dim=1).nonzero().squeeze(1)
    if len(labelled) == 0:
        raise SplitError("the network has no labels; classification needs vertices with classes")
    num_train = round(len(labelled) * label_fraction)
    if not 0 < num_train < len(labelled):
        raise SplitError(
            f"{len(labelled)} labelled vertices cannot be split with {label_fraction:g} to train "
            "on: one side would be empty"
        )
    order = torch.randperm(len(labelled), generator=generator_for(seed, "label split"))
    train, test = labelled[order[:num_train]], labelled[order[num_train:]]
    return ClassTask(train.sort().values, test.sort().values, targets)


def classify(
    network: TextualNetwork, features: Features, label_fraction: float, num_splits: int = NUM_SPLITS
) -> list[ClassScores]:
    """Score ``features``, learned from all edges, on splits with seeds 0, 1, ...

    >>> from dmte.network.synthetic import PlantedTopics
    >>> network = PlantedTopics().draw(torch.Generator().manual_seed(0))
    >>> topics = torch.eye(4).repeat(30, 1)
    >>> classify(network, topics, label_fraction=0.5, num_splits=1)
    [ClassScores(macro_f1=1.0, micro_f1=1.0)]

    Raises:
        SplitError: The labels of the network do not allow this split.
        ConfigError: The features do not fit the network.
    """
    tasks = (class_task(network, label_fraction, seed) for seed in range(num_splits))
    return [task.evaluate(features) for task in tasks]


def f1_scores(
    truth: Bool[Tensor, "vertices classes"], predicted: Bool[Tensor, "vertices classes"]
) -> ClassScores:
    """Return F1 = 2 TP / (2 TP + FP + FN), averaged over classes and over all decisions.

    The macro average has only the classes in ``truth``; others have no recall.

    >>> truth = torch.tensor([[True, False], [True, False], [False, True]])
    >>> predicted = torch.tensor([[True, False], [False, True], [False, True]])
    >>> f1_scores(truth, predicted).macro_f1 == (2 / 3 + 2 / 3) / 2
    True
    """
    hits = (truth & predicted).sum(dim=0).double()
    mistakes = (truth ^ predicted).sum(dim=0).double()
    occurs = truth.any(dim=0)
    macro = (2 * hits / (2 * hits + mistakes))[occurs].mean()
    micro = 2 * hits.sum() / (2 * hits.sum() + mistakes.sum())
    return ClassScores(float(macro), float(micro))


def class_targets(labels: Labels, classes: Sequence[str]) -> Bool[Tensor, "vertices classes"]:
    """Return which vertex has which class, in the order of ``classes``.

    >>> class_targets([frozenset({"b"}), frozenset()], ["a", "b"]).tolist()
    [[False, True], [False, False]]
    """
    columns = {name: column for column, name in enumerate(classes)}
    targets = torch.zeros(len(labels), len(columns), dtype=torch.bool)
    for vertex, names in enumerate(labels):
        for name in names:
            targets[vertex, columns[name]] = True
    return targets


def unit_rows(features: Features, num_vertices: int) -> Rows:
    """Scale the rows of the features to length 1, except zeros, for scikit-learn.

    Raises:
        ConfigError: The features are not one row of finite numbers per vertex.
    """
    from sklearn.preprocessing import normalize  # type: ignore[import-untyped]

    shape = tuple(features.shape)
    if len(shape) != 2 or shape[0] != num_vertices or shape[1] == 0:
        raise ConfigError(
            f"features must have one row for each of the {num_vertices} vertices and at least one "
            f"column, not the shape {shape}"
        )
    matrix = _dense(features) if isinstance(features, Tensor) else _sparse(features)
    if not np.isfinite(matrix.data if isinstance(matrix, sp.csr_matrix) else matrix).all():
        raise ConfigError("features hold values that are not finite; a vector needs real numbers")
    rows: Rows = normalize(matrix)
    return rows


def _dense(features: Float[Tensor, "vertices dim"]) -> Float[np.ndarray, "vertices dim"]:
    matrix: np.ndarray = features.detach().to("cpu", torch.float64).numpy()
    return matrix


def _sparse(features: sp.csr_array | sp.csr_matrix) -> sp.csr_matrix:
    # liblinear needs 32-bit indices, which only a matrix made from its parts has.
    rows = features.tocsr()
    parts = (rows.data.astype(np.float64), rows.indices, rows.indptr)
    return sp.csr_matrix(parts, shape=rows.shape)


def decide(
    train: Rows, targets: Bool[np.ndarray, "train classes"], test: Rows, cost: float
) -> Float[np.ndarray, "test classes"]:
    """Return w_c · x_i + b_c; −∞ for a class without training vertices, ∞ for one that all have."""
    never, always = ~targets.any(axis=0), targets.all(axis=0)
    decisions = np.zeros((test.shape[0], targets.shape[1]))
    decisions[:, never], decisions[:, always] = -np.inf, np.inf
    for column in np.flatnonzero(~(never | always)):
        decisions[:, column] = _separate(train, targets[:, column], test, cost)
    return decisions


def _separate(
    train: Rows, is_member: Bool[np.ndarray, " train"], test: Rows, cost: float
) -> Float[np.ndarray, " test"]:
    """Return w · x_i + b of the test vertices for one class.

    Raises:
        TrainingError: The SVM did not converge.
    """
    from sklearn.exceptions import ConvergenceWarning  # type: ignore[import-untyped]
    from sklearn.svm import LinearSVC  # type: ignore[import-untyped]

    # Newton steps on the primal problem are deterministic and took a third of the dual's time on
    # DBLP. The random state keeps scikit-learn from drawing from NumPy's global generator.
    machine = LinearSVC(C=cost, dual=False, max_iter=MAX_NEWTON_STEPS, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        try:
            machine.fit(train, is_member)
        except ConvergenceWarning as warning:
            raise TrainingError(
                f"the linear SVM found no optimum in {MAX_NEWTON_STEPS} steps; lower its cost, "
                f"which is {cost:g}"
            ) from warning
    decisions: np.ndarray = machine.decision_function(test)
    return decisions


def choose_classes(
    decisions: Float[np.ndarray, "test classes"], *, is_multi_label: bool
) -> Bool[np.ndarray, "test classes"]:
    """Choose the highest class, or with several labels every class above 0."""
    best = np.zeros(decisions.shape, dtype=bool)
    best[np.arange(len(decisions)), decisions.argmax(axis=1)] = True
    if not is_multi_label:
        return best
    positive = decisions > 0
    return np.where(positive.any(axis=1, keepdims=True), positive, best)
