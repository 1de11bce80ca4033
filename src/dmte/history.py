"""How a training went: the loss of every epoch and what the held-back edges said of it.

It is kept with the model, to be drawn later, and holds no times: the same run leaves the same bits.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any


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
    """On the held-back edges, in the epochs that looked at them."""


History = Sequence[EpochRecord]


def history_to_json(history: History) -> list[dict[str, Any]]:
    """Return the history as what JSON can hold.

    >>> records = [EpochRecord(1, 0.5, {"text_text": 0.5}, None)]
    >>> history_from_json(history_to_json(records)) == records
    True
    """
    return [asdict(record) for record in history]


def history_from_json(rows: Iterable[Mapping[str, Any]]) -> list[EpochRecord]:
    """Return the history that ``history_to_json`` wrote."""
    return [EpochRecord(**row) for row in rows]
