"""Training (section 4.4): Adam on batches of edges.

The loop is a generator of reports: the caller prints, saves and stops. The paper trains once. The
recommended recipe, on networks with few edges, trains three times from the same start, each time
holding other edges back, and takes the mean of what was learned: when to stop is told by few edges,
and three such tellings are steadier than one. A resumed run ends in the same bits.
"""

import time
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass

import torch

from dmte.allocator import keep_freed_memory
from dmte.config import Settings
from dmte.fold import Best, Fold
from dmte.history import EpochRecord
from dmte.network import TextualNetwork
from dmte.objective import PARTS, weighted_sum
from dmte.supervision import hold_back, num_judging
from dmte.text import Vocabulary, encoder_input
from dmte.trained import TrainedModel, embed_network
from dmte.width import spectral_start

FEWEST_HELD_BACK = 8
"""Edges by which to tell whether learning from diffused texts helps."""
ENOUGH_HELD_BACK = 1000
"""Edges by which one training tells when to stop about as well as three."""
NUM_FOLDS = 3
"""Trainings where there are fewer."""


@dataclass(frozen=True, slots=True)
class EpochReport:
    """What happened in one pass over the edges."""

    epoch: int
    """Counted from 1."""
    loss: float
    """Σ α L, averaged over the epoch's edges."""
    parts: Mapping[str, float]
    """The loss of each part of the objective, before α."""
    num_edges: int
    seconds: float
    validation_auc: float | None
    """On the held-back edges, in the epochs that looked at them."""


class TrainingRun:
    """One training of one network: its folds, and how far they are.

    >>> from dmte import read_network
    >>> run = TrainingRun(read_network("concepts"), Settings(dim=64, epochs=2), seed=0)
    >>> [report.epoch for report in run.epochs()]
    [1, 2]
    >>> run.result().embedding
    Embedding(432 vertices × 64, of which 64 from text)
    """

    def __init__(self, network: TextualNetwork, settings: Settings, seed: int) -> None:
        keep_freed_memory()
        self.network, self.asked_for, self.seed = network, settings, seed
        self.epoch = 0
        self.history: list[EpochRecord] = []
        fraction = settings.validation_fraction
        held_back = num_judging(network, fraction)
        # Where nothing can be judged, vectors that start from diffused texts are left so.
        is_judged = fraction == 0 or held_back >= FEWEST_HELD_BACK
        self._learns = is_judged or not settings.is_all_text
        fraction = fraction if self._learns else 0.0
        count = num_folds(settings, held_back) if self._learns else 1
        splits = [hold_back(network, fraction, seed, number) for number in range(count)]
        self.vocabulary = Vocabulary.of(
            network.texts, min_count=settings.min_count, max_size=settings.max_vocabulary
        )
        texts = encoder_input(settings.encoder, self.vocabulary, network.texts, network.features)
        if settings.has_fixed_texts:
            start = spectral_start(settings, splits, texts, seed)
            settings = settings.with_dim(start.dim) if settings.is_all_text else settings
        self.settings = settings
        self.folds = [
            Fold(split, texts.vocabulary_size, settings, seed, number)
            for number, split in enumerate(splits)
        ]
        if settings.has_fixed_texts:
            for fold in self.folds:
                fold.model.encoder = start
        # All folds have the same texts, fixed, or there is only one.
        self._texts = self.folds[0].model.encoder.prepare(texts)
        if self._learns:
            for fold in self.folds:
                fold.prepare_steps(texts, self._texts)

    @property
    def num_edges(self) -> int:
        """How many distinct edges are learned from, in one of the trainings."""
        return len(self.folds[0].edges)

    @property
    def best(self) -> Best | None:
        """The looks at the held-back edges that count, on average; none if there was no look."""
        found = [fold.best for fold in self.folds if fold.best.parameters is not None]
        if not found:
            return None
        mean_auc = sum(best.auc for best in found) / len(found)
        return Best(mean_auc, max(best.epoch for best in found))

    @property
    def is_done(self) -> bool:
        """Whether all epochs are done or the held-back edges say to stop."""
        stopped = all(fold.has_stopped for fold in self.folds)
        return not self._learns or stopped or self.epoch >= self.settings.epochs

    def epochs(self) -> Iterator[EpochReport]:
        """Train, one epoch per report, until ``is_done``.

        Raises:
            TrainingError: The loss or a parameter is no longer a finite number.
        """
        if self.epoch == 0:
            self._start()
        while not self.is_done:
            started = time.perf_counter()
            going = [fold for fold in self.folds if not fold.has_stopped]
            losses = torch.stack([fold.train_epoch(self.epoch) for fold in going])
            self.epoch += 1
            validation_auc = self._look(going)
            parts = losses.mean(dim=0)
            loss = float(weighted_sum(parts, self.settings.objective))
            record = EpochRecord(
                epoch=self.epoch,
                loss=loss,
                parts=dict(zip(PARTS, parts.tolist(), strict=False)),
                validation_auc=validation_auc,
            )
            self.history.append(record)
            yield EpochReport(
                epoch=record.epoch,
                loss=loss,
                parts=record.parts,
                num_edges=sum(len(fold.edges) for fold in going),
                seconds=time.perf_counter() - started,
                validation_auc=validation_auc,
            )

    def _start(self) -> None:
        for fold in self.folds:
            fold.look(0)  # What training starts from may be the best there is.
        if (found := self._last_look()) is not None:
            self.history.append(EpochRecord(0, None, {}, found))

    def _look(self, going: list[Fold]) -> float | None:
        """Return the mean AUC on the held-back edges when it is time to look."""
        if self.epoch % self.settings.validate_every:
            return None
        for fold in going:
            fold.look(self.epoch)
        return self._last_look()

    def _last_look(self) -> float | None:
        """Return the mean of every fold's last look, also where it has stopped."""
        if self.folds[0].held_back is None:
            return None
        return sum(fold.best.last_auc for fold in self.folds) / len(self.folds)

    def result(self) -> TrainedModel:
        """Return what has been learned so far: of several trainings the mean."""
        first = self.folds[0]
        model, outcomes = deepcopy(first.model), [fold.outcome() for fold in self.folds]
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.copy_(torch.stack([one[name] for one in outcomes]).mean(dim=0))
        embedding = embed_network(model, self.network, self._texts, first.edges.members)
        return TrainedModel(
            self.settings,
            self.seed,
            self.network,
            self.vocabulary,
            model,
            embedding,
            tuple(self.history),
        )


def num_folds(settings: Settings, held_back: int) -> int:
    """Return how often to train, when so many edges can be held back."""
    if settings.folds is not None:
        return settings.folds
    return NUM_FOLDS if settings.is_all_text and 0 < held_back < ENOUGH_HELD_BACK else 1
