"""How a training went: the loss of every epoch and what the held-back edges said of it.

It is kept with the model, to be drawn later, and holds no times: the same run leaves the same bits.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple


@dataclass(frozen=True, slots=True)
class EpochRecord:
    """What is remembered of one pass over the edges, or, at epoch 0, of the start."""

    epoch: int
    """Counted from 1; 0 is what training starts from."""
    loss: float | None
    """Σ α L, averaged over the epoch's edges; none at the start."""
    parts: Mapping[str, float]
    """The loss of each part of the objective, before α."""
    validation_auc: float | None
    """On the held-back edges, in the epochs that looked at them; of several trainings the mean."""
    fold_aucs: tuple[float, ...] = ()
    """The same of every training by itself."""


History = Sequence[EpochRecord]

TOO_FEW = "too few links, or too few pairs without one, to judge by"
"""Why nothing is learned: a clique lacks the pairs, and texts alone lack the links."""


class Kept(NamedTuple):
    """What a model was taken from: every training at its best on its held-back edges."""

    aucs: tuple[float, ...]
    """The best of every training."""
    epochs: tuple[int, ...]
    """After which epoch that was; 0 is the start."""

    @property
    def auc(self) -> float:
        """The mean over trainings."""
        return sum(self.aucs) / len(self.aucs)

    @property
    def when(self) -> str:
        """When the trainings were at their best, in words."""
        if not any(self.epochs):
            return "at the start"
        written = (str(epoch) if epoch else "0 (the start)" for epoch in sorted(set(self.epochs)))
        *first, last = written
        if not first:
            return f"after epoch {last}"
        return f"after epochs {', '.join(first)} and {last}"


def kept(history: History) -> Kept | None:
    """Return where the trainings were at their best; none if nobody looked.

    >>> start = EpochRecord(0, None, {}, 0.8, (0.9, 0.7))
    >>> kept([start, EpochRecord(1, 0.5, {}, 0.8, (0.8, 0.8))])
    Kept(aucs=(0.9, 0.8), epochs=(0, 1))
    """
    looks = [
        (record.epoch, record.fold_aucs or (record.validation_auc,))
        for record in history
        if record.validation_auc is not None
    ]
    if not looks:
        return None
    # The first of equals is the one kept.
    best = [
        max(((epoch, aucs[fold]) for epoch, aucs in looks), key=lambda look: look[1])
        for fold in range(len(looks[0][1]))
    ]
    return Kept(tuple(auc for _, auc in best), tuple(epoch for epoch, _ in best))


def outcome(history: History) -> str:
    """Return in a line what became of a training.

    An empty history is that of texts that were only diffused (see ``TrainingRun``).

    >>> outcome([EpochRecord(0, None, {}, 0.9), EpochRecord(1, 0.5, {}, 0.95)])
    'AUC 95.0 on held-back edges, best after epoch 1'
    """
    found = kept(history)
    if not history:
        return f"nothing was learned, as there were {TOO_FEW}; texts are diffused over any links"
    if found is None:
        return f"{history[-1].epoch} epochs; no edges were held back to judge by"
    figure = f"AUC {100 * found.auc:.1f} on held-back edges"
    if not any(found.epochs):
        return f"{figure}, best at the start: nothing that was learned helped, and none is kept"
    count = len(found.aucs)
    of = f"mean of {count} trainings at their best, " if count > 1 else "best "
    return f"{figure}, {of}{found.when}"


def history_to_json(history: History) -> list[dict[str, Any]]:
    """Return the history as what JSON can hold.

    >>> records = [EpochRecord(1, 0.5, {"text_text": 0.5}, None)]
    >>> history_from_json(history_to_json(records)) == records
    True
    """
    return [asdict(record) for record in history]


def history_from_json(rows: Iterable[Mapping[str, Any]]) -> list[EpochRecord]:
    """Return the history that ``history_to_json`` wrote."""
    return [EpochRecord(**{**row, "fold_aucs": tuple(row["fold_aucs"])}) for row in rows]
