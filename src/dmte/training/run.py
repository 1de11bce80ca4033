"""Training (section 4.4): Adam on batches of edges.

The loop is a generator of reports: the caller prints, saves and stops. The paper trains once. The
recommended recipe, on networks with few edges, trains three times from the same start, each time
holding other edges back, and takes the mean of what was learned: when to stop is told by few edges,
and three such tellings are steadier than one. A resumed run ends in the same bits.

A group of processes makes the same steps together, each with some of the columns. What is
held back, the order of edges, the negatives and when to stop are the same for all of them.
"""

import time
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from dmte.diffusion.random_projection import walk_features
from dmte.distributed.group import SINGLE_PROCESS, ProcessGroup
from dmte.embedding.embedding import Embedding
from dmte.errors import ConfigError
from dmte.kernels.sparse import SparseMatrix
from dmte.metrics import PairScores
from dmte.model.assemble import Assembly, combine_scores, degrees
from dmte.model.build import build_model, embed_halves
from dmte.model.diffusion_maps import DiffusionMaps
from dmte.model.history import EpochRecord
from dmte.model.trained_model import TrainedModel
from dmte.network import TextualNetwork
from dmte.runtime.memory import keep_freed_memory
from dmte.runtime.provenance import environment
from dmte.settings import PARTS, Settings
from dmte.text import LearnedWeights, encoder_input, tokenized
from dmte.training.auto_settings import (
    MIN_VALIDATION_EDGES,
    auto_degree_power,
    auto_letters,
    auto_structure_share,
    auto_word_weights,
    choose_degree_power,
    choose_structure_share,
    divided_start,
    num_folds,
)
from dmte.training.fold import Fold, ValidationScores
from dmte.training.objective import weighted_sum
from dmte.training.validation import Best, num_validation_edges, split_validation


@dataclass(frozen=True, slots=True)
class EpochReport:
    """What happened in one pass over the edges.

    >>> from dmte import read_network
    >>> run = TrainingRun(read_network("concepts"), Settings(dim=64, epochs=1), seed=0)
    >>> for report in run.epochs():
    ...     print(report.epoch, report.loss > 0, report.validation_auc > 0.8)
    1 True True
    """

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
    >>> run.num_edges, run.is_done
    (1254, False)
    >>> [report.epoch for report in run.epochs()]
    [1, 2]
    >>> run.is_done, run.best.auc > 0.8
    (True, True)
    >>> run.result().embedding
    Embedding(432 vertices × 64, of which 64 from text)
    """

    def __init__(
        self,
        network: TextualNetwork,
        settings: Settings,
        seed: int,
        *,
        group: ProcessGroup = SINGLE_PROCESS,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        keep_freed_memory()
        self.group, self.dtype = group, dtype
        self.network, self.requested_settings, self.seed = network, settings, seed
        self._refuse_other_data()
        self.epoch = 0
        self.history: list[EpochRecord] = []
        fraction = settings.validation_fraction
        held_back = num_validation_edges(network, fraction)
        # Where nothing can be judged, vectors that start from diffused texts are left so.
        is_judged = fraction == 0 or held_back >= MIN_VALIDATION_EDGES
        self._learns = is_judged or not settings.is_text_only
        fraction = fraction if self._learns else 0.0
        count = num_folds(settings, held_back) if self._learns else 1
        splits = [split_validation(network, fraction, seed, number) for number in range(count)]
        self.vocabulary, words = tokenized(
            network.texts, min_count=settings.min_count, max_size=settings.max_vocabulary
        )
        settings = replace(
            settings,
            letters=auto_letters(settings, words),
            word_weights=self._learns and auto_word_weights(settings, held_back),
            structure_share=None
            if auto_structure_share(settings)
            else settings.structure_share or 0.0,
            degree_power=None if auto_degree_power(settings) else settings.degree_power or 0.0,
        )
        texts = encoder_input(settings.encoder, words, network.features)
        if settings.has_frozen_encoder:
            start = divided_start(settings, splits, texts, seed, group)
            settings = settings.with_half(start.dim) if settings.is_text_only else settings
        self.settings = settings
        self._refuse_too_large()
        self._vocabulary_size = texts.vocabulary_size
        self.folds = [
            Fold(split, texts.vocabulary_size, settings, seed, number, group=group, dtype=dtype)
            for number, split in enumerate(splits)
        ]
        if settings.has_frozen_encoder:
            for fold in self.folds:
                fold.start_from(start.to(dtype))
        # All folds have the same texts, fixed, or there is only one.
        read = self.folds[0].model.encoder.prepare(texts)
        self._texts = group.share_on_host(read) if isinstance(read, SparseMatrix) else read
        if self._learns:
            for fold in self.folds:
                fold.prepare_steps(texts, self._texts)
            # Another processor may round a power otherwise, and then draw other negatives.
            ends = {f"noise {fold.number}": fold.sampler.noise.tolist() for fold in self.folds}
            group.require_same(ends)

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
            aucs = self._look(going)
            parts = losses.mean(dim=0)
            loss = float(weighted_sum(parts, self.settings.objective))
            record = EpochRecord(
                epoch=self.epoch,
                loss=loss,
                parts=dict(zip(PARTS, parts.tolist(), strict=False)),
                validation_auc=_mean(aucs),
                fold_aucs=aucs,
            )
            self.history.append(record)
            yield EpochReport(
                epoch=record.epoch,
                loss=loss,
                parts=record.parts,
                num_edges=sum(len(fold.edges) for fold in going),
                seconds=time.perf_counter() - started,
                validation_auc=record.validation_auc,
            )

    def _start(self) -> None:
        for fold in self.folds:
            fold.validate(0)  # What training starts from may be the best there is.
        if aucs := self._last_look():
            self.history.append(EpochRecord(0, None, {}, _mean(aucs), aucs))

    def _look(self, going: list[Fold]) -> tuple[float, ...]:
        """Return the AUC of every fold on its held-back edges when it is time to look."""
        if self.epoch % self.settings.validate_every:
            return ()
        for fold in going:
            fold.validate(self.epoch)
        return self._last_look()

    def _last_look(self) -> tuple[float, ...]:
        """Return every fold's last look, also where it has stopped; none where none looks."""
        if self.folds[0].held_back is None:
            return ()
        return tuple(fold.best.last_auc for fold in self.folds)

    def result(self) -> TrainedModel:
        """Return what has been learned so far: of several trainings the mean.

        Raises:
            ConfigError: This is not the first process of its group.
        """
        found = self.collect_result()
        if found is None:
            raise ConfigError("only the first process of a group has the result")
        return found

    def collect_result(self) -> TrainedModel | None:
        """Return the result on the first process of a group; all others help, and get none.

        >>> from dmte import read_network
        >>> TrainingRun(read_network("concepts"), Settings(dim=64), seed=0).collect_result()
        TrainedModel(Embedding(432 vertices × 64, of which 64 from text), seed 0)
        """
        settings = self._chosen_settings()
        model, members = self._averaged(), self.folds[0].edges.members
        texts = self._texts
        if isinstance(model.encoder, LearnedWeights):
            model.encoder = (
                model.encoder.fold_weights()
            )  # As texts are read from now on, to the bit.
            texts = model.encoder.prepare(self.vocabulary.encode(self.network.texts))
        transition = model.transition_of(self.network.adjacency(), self.dtype)
        text, structure = (
            None if half is None else self.group.gather(half, self.settings.half)
            for half in embed_halves(model, texts, transition, members)
        )
        if settings.structure_share:
            structure = self._walk_features()
        whole = self._put_together(model)
        if whole is None or text is None:
            return None
        found = degrees(self.network.adjacency())
        vectors = Assembly.of(settings).vectors(text, structure, found)
        return TrainedModel(
            settings,
            self.seed,
            self.network,
            self.vocabulary,
            whole,
            Embedding(self.network.ids, vectors, text.shape[1]),
            tuple(self.history),
        )

    def _chosen_settings(self) -> Settings:
        """Return the settings with what was left open till the end as held-back edges say."""
        share, power = self.settings.structure_share, self.settings.degree_power
        judged: list[ValidationScores] = []
        if share is None or power is None:
            found = [fold.validation_scores(by_walks=share != 0) for fold in self.folds]
            judged = [one for one in found if one is not None]
        if share is None:
            halves = [(one.text, one.walks) for one in judged if one.walks is not None]
            share = choose_structure_share(halves) if halves else 0.0
        if power is None:
            power = choose_degree_power([(_score(one, share), one.lengths) for one in judged])
        return replace(self.settings, degree_power=power).with_structure_share(share)

    def _walk_features(self) -> Tensor | None:
        """Return where walks end, on the first process of the group."""
        adjacency, half = self.network.adjacency(), self.settings.half
        own = walk_features(adjacency, half, self.seed, self.group, self.dtype)
        return self.group.gather(own, half)

    def _averaged(self) -> DiffusionMaps:
        """Return the mean of the models of all folds."""
        model, outcomes = (
            deepcopy(self.folds[0].model),
            [fold.best_parameters() for fold in self.folds],
        )
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.copy_(torch.stack([one[name] for one in outcomes]).mean(dim=0))
        return model

    def _put_together(self, model: DiffusionMaps) -> DiffusionMaps | None:
        """Return the whole of a model that is divided over the group, on its first process."""
        if self.group.size == 1:
            return model
        tables = {
            name: self.group.gather(table, self.settings.half, model.axes[name])
            if name in model.axes
            else table
            for name, table in model.state_dict().items()
        }
        if not self.group.is_rank_zero:
            return None
        num_linked = len(self.folds[0].edges.members)
        whole = build_model(self.settings, self._vocabulary_size, num_linked, self.seed)
        whole.to(self.dtype).load_state_dict(tables)
        return whole

    def _refuse_other_data(self) -> None:
        if self.group.size > 1:
            facts = {
                "a network": self.network.fingerprint(),
                "settings": self.requested_settings.to_dict(),
                "a seed": self.seed,
                "versions": environment()["versions"],
            }
            self.group.require_same(facts)

    def _refuse_too_large(self) -> None:
        if self.group.size > self.settings.half:
            raise ConfigError(
                f"{self.group.size} processes cannot share {self.settings.half} columns; "
                "start fewer, or ask for a larger dim"
            )


def _score(judged: ValidationScores, share: float) -> PairScores:
    """Return what the held-back pairs score by texts and links together."""
    return judged.text if judged.walks is None else combine_scores(judged.text, judged.walks, share)


def _mean(aucs: tuple[float, ...]) -> float | None:
    return sum(aucs) / len(aucs) if aucs else None
