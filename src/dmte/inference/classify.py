"""Labels for the vertices that have none, learned from those that have one.

The linear SVM is that of ``evaluation.classification``: a margin m_ic = w_c · x_i + b_c for every
vertex and class. A margin is no confidence: it has no scale of its own. So the labelled vertices
are dealt into folds, each fold gets its margins from an SVM that was trained on the others, and
on these margins, whose answers are known, one scale is fitted by maximum likelihood:

    one label per vertex      p_ic = exp(t m_ic) / Σ_d exp(t m_id)
    several labels            p_ic = 1 / (1 + exp(-(t m_ic + u)))        Platt (1999)

with t ≥ 0, so the likeliest class is the one with the highest margin. The same margins say how
well labels are predicted: Macro-F1 and Micro-F1 over all labelled vertices, each predicted by an
SVM that had not seen it. Truths are taken for (n + 1) / (n + 2) instead of 1 (Platt's correction),
else a t without bounds would be the best wherever no fold makes a mistake.

The confidence is the probability p for vertices that are like the labelled ones. Where only the
easy vertices, or those of some part of the network, have been labelled, it is too high.
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
"""Folds of the cross-validation, if there are as many labelled vertices."""
FEWEST = 3
"""Vertices that most labels must stand at for cross-validation to mean something."""

Margins = Float[np.ndarray, "vertices classes"]
Targets = Bool[np.ndarray, "vertices classes"]


class Prediction(NamedTuple):
    """The labels that a vertex gets, the surest first, and the probability of each."""

    id: str
    labels: tuple[str, ...]
    confidences: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Labelling:
    """Labels for the unlabelled vertices, and what to expect of them.

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
    """How many labelled vertices carry each label."""
    num_labelled: int
    is_multi_label: bool
    """Whether some labelled vertex has several labels; if none has, each gets exactly one."""
    num_folds: int
    scores: ClassScores
    """By cross-validation on the labelled vertices."""
    commonest: float
    """The Micro-F1 of giving every vertex the commonest label, for comparison."""
    mean_confidence: float
    """Of the labels given in cross-validation; confidences that can be trusted are, on average,
    as high as the share of these labels that was right."""
    precision: float
    """The share of the labels given in cross-validation that was right."""


def label_vertices(embedding: Embedding, labels: Labels, seed: int = 0) -> Labelling:
    """Return labels for the vertices whose set in ``labels`` is empty.

    Nothing but the folds is drawn, so the same seed gives the same labels and confidences.

    >>> angles = torch.tensor([0.0, 0.1, 0.2, 1.5, 1.4, 1.3, 0.3])
    >>> vectors = torch.stack([angles.cos(), angles.sin()], dim=1)
    >>> embedding = Embedding(("a", "b", "c", "d", "e", "f", "g"), vectors, text_dim=2)
    >>> given = [frozenset(name) for name in ("x", "x", "x", "y", "y", "y", "")]
    >>> [(one.id, one.labels) for one in label_vertices(embedding, given).predictions]
    [('g', ('x',))]

    Raises:
        ConfigError: There is not one set of labels per vertex.
        SplitError: Too few vertices are labelled to learn from, or all of them alike.
    """
    if len(labels) != len(embedding):
        raise ConfigError(f"there are {len(labels)} label sets for {len(embedding)} vertices")
    counts = Counter(sorted(name for names in labels for name in names))
    _check_enough(labels, counts)
    targets = class_targets(labels, sorted(counts)).numpy()
    known = np.flatnonzero(targets.any(axis=1))
    rows, truth = unit_rows(embedding.vectors, len(embedding)), targets[known]
    is_multi_label = bool((truth.sum(axis=1) > 1).any())
    folds = _deal([labels[vertex] for vertex in known.tolist()], seed)
    margins = _unseen_margins(rows[known], truth, folds)
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
    """Refuse labels that cannot be learned from, and warn of those that cannot be checked."""
    given = [names for names in labels if names]
    if not given:
        raise SplitError("no vertex carries a label, so there is nothing to learn labels from")
    if all(names == given[0] for names in given):
        carried = " and ".join(map(repr, sorted(given[0])))
        raise SplitError(
            f"all labelled vertices ({len(given)}) carry the label {carried}, so there are no two "
            "classes to tell apart; label some vertices otherwise"
        )
    alone = [name for name, count in counts.items() if count == 1]
    if len(counts) - len(alone) < 2:
        raise SplitError(
            f"of {len(counts)} labels only {len(counts) - len(alone)} stand at two vertices or "
            "more; to learn and to check what is learned, at least two labels must"
        )
    if median(counts.values()) < FEWEST:
        warn(
            f"most labels stand at fewer than {FEWEST} vertices: of those, holding one back to ask "
            "about leaves one to learn from, and the others outvote it, so the estimate is far too "
            "low and confidences are little more than guesses"
        )
    if alone:
        shown = ", ".join(map(repr, alone[:5])) + (", ..." if len(alone) > 5 else "")
        warn(
            f"labels that a single vertex carries cannot be checked and count as missed in "
            f"Macro-F1 and Micro-F1: {shown}"
        )


def _deal(labels: Sequence[frozenset[str]], seed: int) -> Int[np.ndarray, " labelled"]:
    """Return a fold per vertex, vertices with the same labels dealt out evenly."""
    num_folds = min(NUM_FOLDS, len(labels))
    shuffled = torch.randperm(len(labels), generator=generator_for(seed, "label folds"))
    order = sorted(shuffled.tolist(), key=lambda vertex: sorted(labels[vertex]))
    folds = np.empty(len(labels), dtype=np.int64)
    folds[order] = np.arange(len(labels)) % num_folds
    return folds


def _unseen_margins(rows: Rows, truth: Targets, folds: Int[np.ndarray, " labelled"]) -> Margins:
    """Return the margins of every labelled vertex, from an SVM that has not seen its fold."""
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
    """Return labels for the vertices without a target, from an SVM of all that have one."""
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
    """Probabilities of classes of which a vertex has one."""

    steepness: float

    @classmethod
    def fit(cls, margins: Margins, truth: Targets) -> "_Softmax":
        # A class that a fold has not seen has no margin: its vertices tell nothing of the scale.
        told = np.isfinite(margins[truth])
        margins, truth = margins[told], truth[told]
        sure = (len(truth) + 1) / (len(truth) + 2)

        def loss(steepness: Float[np.ndarray, " 1"]) -> float:
            logs = log_softmax(steepness[0] * margins, axis=1)
            others = np.isfinite(logs) & ~truth
            rest = np.where(others, logs, 0.0).sum(axis=1) / np.maximum(others.sum(axis=1), 1)
            return -float((sure * logs[truth] + (1 - sure) * rest).sum())

        return cls(float(minimize(loss, [1.0], bounds=[(1e-3, None)]).x[0]))

    def probabilities(self, margins: Margins) -> Margins:
        found: np.ndarray = softmax(self.steepness * margins, axis=1)
        return found


class _Sigmoid(NamedTuple):
    """Probabilities of classes of which a vertex may have several."""

    steepness: float
    shift: float

    @classmethod
    def fit(cls, margins: Margins, truth: Targets) -> "_Sigmoid":
        told = np.isfinite(margins)
        values, members = margins[told], truth[told]
        num_members, num_others = members.sum(), (~members).sum()
        aim = np.where(members, (num_members + 1) / (num_members + 2), 1 / (num_others + 2))

        def loss(at: Float[np.ndarray, " 2"]) -> float:
            inputs = at[0] * values + at[1]
            return float((np.logaddexp(0, inputs) - aim * inputs).sum())

        return cls(*minimize(loss, [1.0, 0.0], bounds=[(0, None), (None, None)]).x.tolist())

    def probabilities(self, margins: Margins) -> Margins:
        found: np.ndarray = expit(self.steepness * margins + self.shift)
        return found
