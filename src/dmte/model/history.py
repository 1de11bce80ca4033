"""The history of a training: loss and validation AUC of every epoch.

It is stored with the model, for plots, and has no times, so that equal runs store equal bits.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from dmte.storage.stored_json import DamageError, Stored


@dataclass(frozen=True, slots=True)
class EpochRecord:
    """The record of one epoch, or of the initial parameters at epoch 0."""

    epoch: int
    """Counted from 1; 0 are the initial parameters."""
    loss: float | None
    """Σ α L, averaged over the epoch's edges; None at epoch 0."""
    parts: Mapping[str, float]
    """The loss of each part of the objective, before α."""
    validation_auc: float | None
    """The mean over folds; None in epochs without validation."""
    fold_aucs: tuple[float, ...] = ()
    """The validation AUC of every fold."""


History = Sequence[EpochRecord]

TOO_FEW = "too few edges, or too few pairs without an edge, for validation"
"""Why nothing is learned: a clique has no such pairs, and texts alone have no edges."""


class BestValidation(NamedTuple):
    """The best validation results, from which a model is made."""

    aucs: tuple[float, ...]
    """The best AUC of every fold."""
    epochs: tuple[int, ...]
    """The epochs of the best AUC; 0 are the initial parameters."""

    @property
    def auc(self) -> float:
        """The mean over folds."""
        return sum(self.aucs) / len(self.aucs)

    @property
    def when(self) -> str:
        """The epochs in words."""
        if not any(self.epochs):
            return "at the start"
        *first, last = (
            str(epoch) if epoch else "0 (the start)" for epoch in sorted(set(self.epochs))
        )
        return f"after epochs {', '.join(first)} and {last}" if first else f"after epoch {last}"


def best_validation(history: History) -> BestValidation | None:
    """Return the best validation results, or None without validation.

    >>> start = EpochRecord(0, None, {}, 0.8, (0.9, 0.7))
    >>> best_validation([start, EpochRecord(1, 0.5, {}, 0.8, (0.8, 0.8))])
    BestValidation(aucs=(0.9, 0.8), epochs=(0, 1))
    """
    checks = [
        (record.epoch, record.fold_aucs or (record.validation_auc,))
        for record in history
        if record.validation_auc is not None
    ]
    if not checks:
        return None
    # max returns the first of equals, as training does.
    best = [
        max(((epoch, aucs[fold]) for epoch, aucs in checks), key=lambda check: check[1])
        for fold in range(len(checks[0][1]))
    ]
    return BestValidation(tuple(auc for _, auc in best), tuple(epoch for epoch, _ in best))


def outcome(history: History) -> str:
    """Summarise a training in one line.

    The history is empty if texts were only diffused (``training.auto_settings``).

    >>> outcome([EpochRecord(0, None, {}, 0.9), EpochRecord(1, 0.5, {}, 0.95)])
    'AUC 95.0 on validation edges, best after epoch 1'
    """
    found = best_validation(history)
    if not history:
        return f"nothing was learned, because there were {TOO_FEW}; texts are only diffused"
    if found is None:
        return f"{history[-1].epoch} epochs without validation edges"
    figure = f"AUC {100 * found.auc:.1f} on validation edges"
    if not any(found.epochs):
        return f"{figure}, best at the start: training did not help, and is not used"
    count = len(found.aucs)
    of = f"mean of {count} trainings, " if count > 1 else ""
    return f"{figure}, {of}best {found.when}"


def history_to_json(history: History) -> list[dict[str, Any]]:
    """Return the history as plain values for JSON.

    >>> records = [EpochRecord(1, 0.5, {"text_text": 0.5}, None)]
    >>> history_from_json(history_to_json(records)) == records
    True
    """
    return [{**asdict(record), "fold_aucs": list(record.fold_aucs)} for record in history]


def history_from_json(rows: Any, place: str = "history") -> list[EpochRecord]:
    """Return the history that ``history_to_json`` wrote; ``place`` is used in errors.

    Raises:
        DamageError: A value is missing or of another kind.
    """
    if not isinstance(rows, list):
        raise DamageError(place)
    records = [_record(Stored.of(row, f"{place}.{at}")) for at, row in enumerate(rows)]
    if any(one.epoch >= two.epoch for one, two in pairwise(records)):
        raise DamageError(f"{place}.epoch")
    if len({len(one.fold_aucs) for one in records if one.validation_auc is not None}) > 1:
        raise DamageError(f"{place}.fold_aucs")
    return records


def _record(row: Stored) -> EpochRecord:
    parts, aucs = row.inner("parts"), row.values.get("fold_aucs")
    has_loss, has_auc = (row.values.get(name) is not None for name in ("loss", "validation_auc"))
    return EpochRecord(
        row.whole("epoch"),
        row.number("loss", low=-math.inf) if has_loss else None,
        {name: parts.number(name, low=-math.inf) for name in parts.values},
        row.number("validation_auc", high=1.0) if has_auc else None,
        () if aucs == [] else row.shares("fold_aucs"),
    )
