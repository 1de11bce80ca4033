"""Training (section 4.4): Adam on batches of edges.

The loop is a generator of reports: the caller prints, saves and stops. The paper trains once. Early
stopping on few validation edges is noisy, so on small networks the recommended recipe averages the
parameters of three trainings with different validation edges. A resumed run ends in the same bits.

In a group of processes each has some of the columns. Validation edges, batches, negatives and the
epoch of early stopping are the same on all of them.
"""

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from dmte.diffusion.random_projection import walk_features
from dmte.distributed.group import SINGLE_PROCESS, ProcessGroup
from dmte.embedding.embedding import Embedding
from dmte.errors import ConfigError
from dmte.kernels.sparse import CompressedRows, SparseMatrix
from dmte.model.assemble import Assembly, degrees
from dmte.model.build import build_model, structure_half
from dmte.model.diffusion_maps import DiffusionMaps
from dmte.model.history import EpochRecord
from dmte.model.trained_model import TrainedModel
from dmte.network import TextualNetwork
from dmte.runtime.memory import keep_freed_memory
from dmte.runtime.provenance import environment
from dmte.runtime.threads import run_in_turns
from dmte.settings import PARTS, Settings
from dmte.text import EncoderInput, LearnedWeights
from dmte.training.auto_settings import choose_assembly, resolve
from dmte.training.fold import Fold
from dmte.training.objective import weighted_sum
from dmte.training.validation import Best


@dataclass(frozen=True, slots=True)
class EpochReport:
    """The result of one pass over the edges.

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
    """Validation AUC, in the epochs that computed it."""


class TrainingRun:
    """The training of one network: its folds and their progress.

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
        if not settings.has_frozen_encoder:
            keep_freed_memory()
        self.group, self.dtype = group, dtype
        self.network, self.requested_settings, self.seed = network, settings, seed
        self._check_same_data()
        self.epoch = 0
        self.history: list[EpochRecord] = []
        plan = resolve(settings, network, seed, group, dtype)
        self.settings, self.vocabulary, self._learns = plan.settings, plan.vocabulary, plan.learns
        self._check_num_columns()
        self._vocabulary_size = plan.texts.vocabulary_size
        size = self._vocabulary_size
        self.folds = [
            Fold(split, size, plan.settings, seed, number, group=group, dtype=dtype)
            for number, split in enumerate(plan.splits)
        ]
        if plan.start is not None:
            for fold in self.folds:
                fold.start_from(plan.start.to(dtype))
        # With several folds the encoder is frozen, and all share its X.
        read = self.folds[0].model.encoder.prepare(plan.texts)
        is_sparse = isinstance(read, SparseMatrix | CompressedRows)
        self._texts = group.share_on_host(read) if is_sparse else read
        if self._learns:
            self._prepare_steps(plan.texts)

    def _prepare_steps(self, texts: EncoderInput) -> None:
        for fold in self.folds:
            fold.prepare_steps(texts, self._texts)
        if self.group.size > 1:
            # Processors may round a power differently, and would then draw different negatives.
            noise = {f"noise {fold.number}": fold.sampler.noise.tolist() for fold in self.folds}
            self.group.require_same(noise)

    @property
    def num_edges(self) -> int:
        """The number of distinct training edges of a fold."""
        return len(self.folds[0].edges)

    @property
    def best(self) -> Best | None:
        """The mean of the best validation AUC of the folds; None without validation edges."""
        found = [fold.best for fold in self.folds if fold.best.parameters is not None]
        if not found:
            return None
        value, mean_auc = (
            fmean(getattr(best, name) for best in found) for name in ("value", "auc")
        )
        return Best(value, mean_auc, max(best.epoch for best in found))

    @property
    def is_done(self) -> bool:
        """Whether all epochs are done or all folds have stopped early."""
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
            active = [fold for fold in self.folds if not fold.has_stopped]
            parts = torch.stack(self._train(active)).mean(dim=0)
            self.epoch += 1
            aucs = () if self.epoch % self.settings.validate_every else self._last_aucs()
            loss = float(weighted_sum(parts, self.settings.objective))
            by_part = dict(zip(PARTS, parts.tolist(), strict=False))
            record = EpochRecord(self.epoch, loss, by_part, _mean(aucs), aucs)
            self.history.append(record)
            yield EpochReport(
                epoch=record.epoch,
                loss=loss,
                parts=record.parts,
                num_edges=sum(len(fold.edges) for fold in active),
                seconds=time.perf_counter() - started,
                validation_auc=record.validation_auc,
            )

    def _start(self) -> None:
        for fold in self.folds:
            fold.validate(0)  # The initial parameters may be the best.
        if aucs := self._last_aucs():
            self.history.append(EpochRecord(0, None, {}, _mean(aucs), aucs))

    def _train(self, active: list[Fold]) -> list[Tensor]:
        """Train every fold for an epoch, validate it if due, and return the losses of its parts."""
        epoch = self.epoch + 1
        losses: dict[int, Tensor] = {}

        def train(fold: Fold) -> Iterator[None]:
            losses[fold.number] = yield from fold.train_epoch(epoch - 1)
            if epoch % self.settings.validate_every == 0:
                fold.validate(epoch)

        tasks = [train(fold) for fold in active]
        if len(self.folds) > 1 and self.group.size == 1:
            run_in_turns(tasks)
        else:
            for task in tasks:
                deque(task, maxlen=0)
        return [losses[fold.number] for fold in active]

    def _last_aucs(self) -> tuple[float, ...]:
        """Return the last validation AUC of every fold."""
        if self.folds[0].validation_edges is None:
            return ()
        return tuple(fold.best.last_auc for fold in self.folds)

    def result(self) -> TrainedModel:
        """Return the trained model, averaged over folds.

        Raises:
            ConfigError: This process does not have rank zero.
        """
        found = self.collect_result()
        if found is None:
            raise ConfigError("only the process with rank zero has the result")
        return found

    def collect_result(self) -> TrainedModel | None:
        """Return the trained model on rank zero, and None on other processes.

        All processes of a group must call it.

        >>> from dmte import read_network
        >>> TrainingRun(read_network("concepts"), Settings(dim=64), seed=0).collect_result()
        TrainedModel(Embedding(432 vertices × 64, of which 64 from text), seed 0)
        """
        settings = self._chosen_settings()
        model, members = self._averaged(), self.folds[0].edges.members
        for fold in self.folds:
            fold.release_tables()
        texts = self._texts
        if isinstance(model.encoder, LearnedWeights):
            # Encode the texts exactly as new texts will be encoded, to the same bits.
            model.encoder = model.encoder.fold_weights()
            texts = model.encoder.prepare(self.vocabulary.encode(self.network.texts))
        adjacency = self.network.adjacency()
        transition = model.transition_of(adjacency, self.dtype)
        text = self._collect_text(model, texts, transition)
        own = structure_half(model, self.network.num_vertices, members)
        if settings.structure_share:
            own = walk_features(adjacency, settings.half, self.seed, self.group, self.dtype)
        structure = None if own is None else self.group.collect(own, settings.half)
        whole = self._gather_model(model)
        if whole is None or text is None:
            return None
        vectors = Assembly.of(settings).vectors(text, structure, degrees(adjacency))
        return TrainedModel(
            settings,
            self.seed,
            self.network,
            self.vocabulary,
            whole,
            Embedding(self.network.ids, vectors, text.shape[1]),
            tuple(self.history),
        )

    @torch.no_grad()
    def _collect_text(
        self, model: DiffusionMaps, texts: Any, transition: SparseMatrix
    ) -> Tensor | None:
        """Return V_t of all vertices on rank zero, and None on other processes."""
        group, width = self.group, self.settings.half
        own = model.text_columns(texts, transition)
        if not model.mixes_columns:
            return group.collect(own, width)
        counts = [part.stop - part.start for part in group.shares(len(own))]
        return group.collect(model.mix(group.gather(own, counts, width)), len(own), 0)

    def _chosen_settings(self) -> Settings:
        """Return the settings with structure share and degree power chosen by validation scores."""
        settings, scores = self.settings, []
        if settings.structure_share is None or settings.degree_power is None:
            by_walks = settings.structure_share != 0
            found = [fold.validation_scores(by_walks=by_walks) for fold in self.folds]
            scores = [one for one in found if one is not None]
        return choose_assembly(settings, scores)

    def _averaged(self) -> DiffusionMaps:
        """Return the mean of the models of all folds."""
        model = deepcopy(self.folds[0].model)
        found = [fold.best_parameters() for fold in self.folds]
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.copy_(torch.stack([one[name] for one in found]).mean(dim=0))
        return model

    def _gather_model(self, model: DiffusionMaps) -> DiffusionMaps | None:
        """Return the undivided model on rank zero."""
        if self.group.size == 1:
            return model
        tables = {
            name: self.group.collect(table, self.settings.half, model.axes[name])
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

    def _check_same_data(self) -> None:
        if self.group.size > 1:
            facts = {
                "the network": self.network.fingerprint(),
                "settings": self.requested_settings.to_dict(),
                "the seed": self.seed,
                "versions": environment()["versions"],
            }
            self.group.require_same(facts)

    def _check_num_columns(self) -> None:
        if self.group.size > self.settings.half:
            raise ConfigError(
                f"{self.group.size} processes cannot share {self.settings.half} columns; "
                "use fewer processes or a larger dim"
            )


def _mean(aucs: Sequence[float]) -> float | None:
    return sum(aucs) / len(aucs) if aucs else None
