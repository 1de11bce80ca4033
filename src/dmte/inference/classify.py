"""Semi-supervised classification: predict labels of unlabelled vertices, with confidences.

The linear SVM is that of ``evaluation.classification``. It gives every vertex and class a margin
m_ic = w_c · x_i + b_c. Margins are calibrated to probabilities by cross-validation: each fold of
the labelled vertices gets margins from an SVM trained on the other folds. One scale is fitted to
these margins by maximum likelihood:

    one label per vertex      p_ic = exp(t m_ic) / Σ_d exp(t m_id)
    several labels            p_ic = 1 / (1 + exp(-(t m_ic + u)))        Platt (1999)

with t ≥ 0, so the class with the highest margin is the most probable. The targets are
(n + 1) / (n + 2) instead of 1 (Platt's correction). With targets of 1, t would be unbounded if
cross-validation makes no error. The same margins give the cross-validated Macro-F1 and Micro-F1.

Confidences assume that unlabelled vertices are like the labelled ones. They are too high if only
easy vertices, or only part of the network, are labelled.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax

from dmte.embedding.embedding import Embedding
from dmte.errors import ConfigError, SplitError, warn
from dmte.evaluation.classification import (
    COST,
    ClassScores,
    Rows,
    choose_classes,
    class_targets,
    decide,
    f1_scores,
    unit_rows,
)
from dmte.network.textual_network import Labels
from dmte.runtime.seeding import generator_for

NUM_FOLDS = 5
"""Folds of the cross-validation, or one per labelled vertex if there are fewer."""
MIN_MEDIAN_COUNT = 3
"""Median number of vertices per label below which the cross-validated scores are unreliable."""

Margins = Float[np.ndarray, "vertices classes"]
Targets = Bool[np.ndarray, "vertices classes"]


class Prediction(NamedTuple):
    """The predicted labels of a vertex, most probable first, and their probabilities."""

    id: str
    labels: tuple[str, ...]
    confidences: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Labelling:
    """Labels for the unlabelled vertices, with cross-validated scores.

    >>> from dmte import Dmte, read_network
    >>> network = read_network("concepts")
    >>> embedding = Dmte(dim=64, epochs=1).fit(network).embedding_
    >>> given = [labels if at % 3 else frozenset() for at, labels in enumerate(network.labels)]
    >>> found = label_vertices(embedding, given)
    >>> found.num_labelled, len(found.predictions), found.scores.micro_f1 > 0.7
    (288, 144, True)
    """

    predictions: tuple[Prediction, ...]
    """One per unlabelled vertex, in the order of the vertices."""
    counts: Mapping[str, int]
    """Number of labelled vertices with each label."""
    num_labelled: int
    is_multi_label: bool
    """Whether a labelled vertex has several labels; otherwise exactly one is predicted each."""
    num_folds: int
    scores: ClassScores
    """Cross-validated scores on the labelled vertices."""
    commonest: float
    """Micro-F1 of predicting the most frequent label for every vertex, for comparison."""
    mean_confidence: float
    """Mean confidence of the labels predicted in cross-validation; equals ``precision`` if the
    confidences are well calibrated."""
    precision: float
    """Share of the labels predicted in cross-validation that are correct."""


def label_vertices(embedding: Embedding, labels: Labels, seed: int = 0) -> Labelling:
    """Predict labels for the vertices whose set in ``labels`` is empty.

    Only the folds are random, so the same seed gives the same labels and confidences.

    >>> angles = torch.tensor([0.0, 0.1, 0.2, 1.5, 1.4, 1.3, 0.3])
    >>> vectors = torch.stack([angles.cos(), angles.sin()], dim=1)
    >>> embedding = Embedding(("a", "b", "c", "d", "e", "f", "g"), vectors, text_dim=2)
    >>> given = [frozenset(name) for name in ("x", "x", "x", "y", "y", "y", "")]
    >>> [(one.id, one.labels) for one in label_vertices(embedding, given).predictions]
    [('g', ('x',))]

    Raises:
        ConfigError: ``labels`` does not have one set per vertex.
        SplitError: There are no labels, or fewer than two labels with at least two vertices.
    """
    if len(labels) != len(embedding):
        raise ConfigError(f"there are {len(labels)} label sets for {len(embedding)} vertices")
    counts = Counter(sorted(name for names in labels for name in names))
    _check_enough(labels, counts)
    targets = class_targets(labels, sorted(counts)).numpy()
    known = np.flatnonzero(targets.any(axis=1))
    rows, truth = unit_rows(embedding.vectors, len(embedding)), targets[known]
    is_multi_label = bool((truth.sum(axis=1) > 1).any())
    folds = _assign_folds([labels[vertex] for vertex in known.tolist()], seed)
    margins = _cross_validate(rows[known], truth, folds)
    scale = (_Sigmoid if is_multi_label else _Softmax).fit(margins, truth)
    chosen = choose_classes(margins, is_multi_label=is_multi_label)
    commonest = np.zeros_like(truth)
    commonest[:, truth.sum(axis=0).argmax()] = True
    return Labelling(
        predictions=_predictions(embedding, rows, targets, scale, sorted(counts)),
        counts=dict(counts),
        num_labelled=len(known),
        is_multi_label=is_multi_label,
        num_folds=int(folds.max()) + 1,
        scores=f1_scores(torch.from_numpy(truth), torch.from_numpy(chosen)),
        commonest=f1_scores(torch.from_numpy(truth), torch.from_numpy(commonest)).micro_f1,
        mean_confidence=float(scale.probabilities(margins)[chosen].mean()),
        precision=float(truth[chosen].mean()),
    )


def _check_enough(labels: Labels, counts: Mapping[str, int]) -> None:
    """Check that labels can be learned; warn of labels that cross-validation cannot score."""
    given = [names for names in labels if names]
    if not given:
        raise SplitError("at least one vertex must have a label, but none has")
    if all(names == given[0] for names in given):
        names = " and ".join(map(repr, sorted(given[0])))
        raise SplitError(
            f"all labelled vertices ({len(given)}) have the label {names}, but two classes are "
            "needed; label some vertices differently"
        )
    alone = [name for name, count in counts.items() if count == 1]
    if len(counts) - len(alone) < 2:
        raise SplitError(
            "at least two labels must each have two vertices or more, but only "
            f"{len(counts) - len(alone)} of {len(counts)} have"
        )
    if median(counts.values()) < MIN_MEDIAN_COUNT:
        warn(
            f"most labels have fewer than {MIN_MEDIAN_COUNT} vertices, so cross-validation trains "
            "them on one vertex or none: the estimated F1 is far too low, and confidences are "
            "unreliable"
        )
    if alone:
        shown = ", ".join(map(repr, alone[:5])) + (", ..." if len(alone) > 5 else "")
        warn(
            "labels with a single vertex cannot be cross-validated and count as errors in Macro-F1 "
            f"and Micro-F1: {shown}"
        )


def _assign_folds(labels: Sequence[frozenset[str]], seed: int) -> Int[np.ndarray, " labelled"]:
    """Assign a fold to every vertex, stratified by label set."""
    num_folds = min(NUM_FOLDS, len(labels))
    shuffled = torch.randperm(len(labels), generator=generator_for(seed, "label folds"))
    order = sorted(shuffled.tolist(), key=lambda vertex: sorted(labels[vertex]))
    folds = np.empty(len(labels), dtype=np.int64)
    folds[order] = np.arange(len(labels)) % num_folds
    return folds


def _cross_validate(rows: Rows, truth: Targets, folds: Int[np.ndarray, " labelled"]) -> Margins:
    """Compute the margins of every labelled vertex with an SVM trained on the other folds."""
    margins = np.empty(truth.shape)
    for fold in range(int(folds.max()) + 1):
        test = folds == fold
        margins[test] = decide(rows[~test], truth[~test], rows[test], COST)
    return margins


def _predictions(
    embedding: Embedding,
    rows: Rows,
    targets: Targets,
    scale: "_Softmax | _Sigmoid",
    classes: list[str],
) -> tuple[Prediction, ...]:
    """Predict labels for vertices without a target, with an SVM trained on all others."""
    known, others = (np.flatnonzero(targets.any(axis=1) == has) for has in (True, False))
    if len(others) == 0:
        return ()
    margins = decide(rows[known], targets[known], rows[others], COST)
    chosen = choose_classes(margins, is_multi_label=isinstance(scale, _Sigmoid))
    probabilities = scale.probabilities(margins)
    predictions = []
    for row, vertex in enumerate(others.tolist()):
        columns = np.flatnonzero(chosen[row])
        columns = columns[np.argsort(-probabilities[row, columns], kind="stable")]
        predictions.append(
            Prediction(
                embedding.ids[vertex],
                tuple(classes[column] for column in columns),
                tuple(probabilities[row, columns].tolist()),
            )
        )
    return tuple(predictions)


class _Softmax(NamedTuple):
    """Probabilities of mutually exclusive classes."""

    steepness: float

    @classmethod
    def fit(cls, margins: Margins, truth: Targets) -> "_Softmax":
        # A class missing from the training folds has no margin, so its vertices are skipped.
        has_margin = np.isfinite(margins[truth])
        margins, truth = margins[has_margin], truth[has_margin]
        target = (len(truth) + 1) / (len(truth) + 2)

        def loss(steepness: Float[np.ndarray, " 1"]) -> float:
            logs = log_softmax(steepness[0] * margins, axis=1)
            others = np.isfinite(logs) & ~truth
            rest = np.where(others, logs, 0.0).sum(axis=1) / np.maximum(others.sum(axis=1), 1)
            return -float((target * logs[truth] + (1 - target) * rest).sum())

        return cls(float(minimize(loss, [1.0], bounds=[(1e-3, None)]).x[0]))

    def probabilities(self, margins: Margins) -> Margins:
        found: np.ndarray = softmax(self.steepness * margins, axis=1)
        return found


class _Sigmoid(NamedTuple):
    """Probabilities of classes that may occur together."""

    steepness: float
    shift: float

    @classmethod
    def fit(cls, margins: Margins, truth: Targets) -> "_Sigmoid":
        has_margin = np.isfinite(margins)
        values, members = margins[has_margin], truth[has_margin]
        num_members, num_others = members.sum(), (~members).sum()
        target = np.where(members, (num_members + 1) / (num_members + 2), 1 / (num_others + 2))

        def loss(parameters: Float[np.ndarray, " 2"]) -> float:
            inputs = parameters[0] * values + parameters[1]
            return float((np.logaddexp(0, inputs) - target * inputs).sum())

        return cls(*minimize(loss, [1.0, 0.0], bounds=[(0, None), (None, None)]).x.tolist())

    def probabilities(self, margins: Margins) -> Margins:
        found: np.ndarray = expit(self.steepness * margins + self.shift)
        return found
