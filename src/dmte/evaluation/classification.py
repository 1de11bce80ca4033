"""Vertex classification (section 5.2): learn vectors from all edges, predict labels from them.

A share of the labelled vertices, drawn at random, trains a linear SVM; the others are predicted:

    w_c, b_c = argmin  ½(|w_c|² + b_c²) + C Σ_i max(0, 1 − y_ic (w_c · x_i + b_c))²

one against the rest for every class c, with y_ic = ±1 and x_i the vector of vertex i at length 1.

    one label per vertex      the class with the highest w_c · x_i + b_c
    several labels            every class above 0; the highest one if there is none

The paper names neither C nor a scale of the vectors. At C = 1 the scale decides how much the SVM is
regularized, so rows of length 1 put all methods on the same footing; columns of variance 1 instead
took 2 to 12 points of Macro-F1 from DMTE and from LSA on Cora. Giving a vertex as many labels as it
truly has, which is common, would tell part of the answer, so it is not done here.

A task holds the vertices, so every method is trained and tested on the same ones. Vectors are
learned from a network without labels; a method that learns from some is handed those of the
training vertices.
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
"""C, the price of a mistake: the default of scikit-learn and liblinear; the paper prints none."""
MAX_NEWTON_STEPS = 1000  # scikit-learn's default; Cora and DBLP took at most 14 at length 1.
NUM_SPLITS = 10
"""Splits to average over; the paper's (section 5)."""

Features = Float[Tensor, "vertices dim"] | sp.csr_array | sp.csr_matrix
"""One row per vertex: an embedding's vectors, or a sparse matrix such as TF-IDF."""
Rows = np.ndarray | sp.csr_matrix


@dataclass(frozen=True, slots=True)
class ClassScores:
    """How well labels were predicted, between 0 and 1."""

    macro_f1: float
    """The mean of every class's F1: rare classes count as much as common ones."""
    micro_f1: float
    """The F1 of all decisions together; with one label per vertex it is the share of hits."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassTask:
    """Labelled vertices to learn from, and others to predict.

    The vertices are drawn without regard to their classes, so a rare class may have no training
    vertex: it is never predicted, and counts with an F1 of 0 if a test vertex has it.
    """

    train: Int[Tensor, " train"]
    """Positions of the training vertices."""
    test: Int[Tensor, " test"]
    """Positions of the test vertices."""
    targets: Bool[Tensor, "vertices classes"]
    """Whether a vertex has a class; a row without any is an unlabelled vertex."""

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
                f"all training vertices ({len(known)}) carry the same labels, so there are no two "
                "classes to tell apart; train on more vertices or draw with another seed"
            )

    @property
    def labelled(self) -> Int[Tensor, " labelled"]:
        """Positions of all vertices that take part, which are those with a label."""
        return torch.cat([self.train, self.test]).sort().values

    def known_labels(self, network: TextualNetwork) -> list[tuple[str, str]]:
        """Return (id, class) of the training vertices of ``network``, and of no other."""
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
        """Return how well a linear SVM on ``features`` predicts the test vertices.

        Nothing is drawn, so the same features have the same scores. A row of zeros stays one.

        Raises:
            ConfigError: The features do not fit the network, or the cost is not positive.
            TrainingError: The SVM found no optimum.
        """
        if not 0 < cost < float("inf"):
            raise ConfigError(f"cost must be a positive number, not {cost}")
        rows = unit_rows(features, len(self.targets))
        known = self.targets[self.train].numpy()
        decisions = decide(rows[self.train.numpy()], known, rows[self.test.numpy()], cost)
        predicted = choose_classes(decisions, is_multi_label=self.is_multi_label)
        return f1_scores(self.targets[self.test], torch.from_numpy(predicted))


def class_task(network: TextualNetwork, label_fraction: float, seed: int) -> ClassTask:
    """Return the task that trains on a share of the labelled vertices of ``network``.

    With the same seed, the training vertices of a smaller share are among those of a larger one.

    Raises:
        SplitError: The labels of the network cannot be split so.
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
    network: TextualNetwork,
    features: Features,
    label_fraction: float,
    num_splits: int = NUM_SPLITS,
) -> list[ClassScores]:
    """Return the scores of ``features``, learned from all edges, on splits with seeds 0, 1, ...

    >>> from dmte.network.synthetic import PlantedTopics
    >>> network = PlantedTopics().draw(torch.Generator().manual_seed(0))
    >>> topics = torch.eye(4).repeat(30, 1)
    >>> classify(network, topics, label_fraction=0.5, num_splits=1)
    [ClassScores(macro_f1=1.0, micro_f1=1.0)]

    Raises:
        SplitError: The labels of the network cannot be split so.
        ConfigError: The features do not fit the network.
    """
    tasks = (class_task(network, label_fraction, seed) for seed in range(num_splits))
    return [task.evaluate(features) for task in tasks]


def f1_scores(
    truth: Bool[Tensor, "vertices classes"], predicted: Bool[Tensor, "vertices classes"]
) -> ClassScores:
    """Return F1 = 2 TP / (2 TP + FP + FN), averaged over classes and over all decisions.

    The mean is over the classes that occur in ``truth``. One that does not has no recall; where
    it is predicted nevertheless, the class it was taken for and the micro average suffer.

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
    """Return whether a vertex has a class, in the order of ``classes``.

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
    """Return the features as scikit-learn takes them, every row but zeros divided by its length.

    Raises:
        ConfigError: There is not one row of finite numbers per vertex.
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
    # liblinear wants narrow indices, and only a matrix made from its parts is given them.
    rows = features.tocsr()
    parts = (rows.data.astype(np.float64), rows.indices, rows.indptr)
    return sp.csr_matrix(parts, shape=rows.shape)


def decide(
    train: Rows,
    targets: Bool[np.ndarray, "train classes"],
    test: Rows,
    cost: float,
) -> Float[np.ndarray, "test classes"]:
    """Return w_c · x_i + b_c of every test vertex and class.

    It is −∞ for a class that no training vertex has, ∞ for one that all have.
    """
    never, always = ~targets.any(axis=0), targets.all(axis=0)
    decisions = np.zeros((test.shape[0], targets.shape[1]))
    decisions[:, never], decisions[:, always] = -np.inf, np.inf
    for column in np.flatnonzero(~(never | always)):
        decisions[:, column] = _separate(train, targets[:, column], test, cost)
    return decisions


def _separate(
    train: Rows,
    is_member: Bool[np.ndarray, " train"],
    test: Rows,
    cost: float,
) -> Float[np.ndarray, " test"]:
    """Return w · x_i + b of the test vertices, positive for members of the class.

    Raises:
        TrainingError: The SVM found no optimum.
    """
    from sklearn.exceptions import ConvergenceWarning  # type: ignore[import-untyped]
    from sklearn.svm import LinearSVC  # type: ignore[import-untyped]

    # Newton steps on the primal problem draw nothing and took a third of the dual's time on DBLP;
    # without a random state NumPy's global generator would still be asked for a number.
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
    """Return the classes above 0 if there may be several, else the highest; never none."""
    best = np.zeros(decisions.shape, dtype=bool)
    best[np.arange(len(decisions)), decisions.argmax(axis=1)] = True
    if not is_multi_label:
        return best
    positive = decisions > 0
    return np.where(positive.any(axis=1, keepdims=True), positive, best)
