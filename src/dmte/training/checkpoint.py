"""Checkpoints: a stored training run, which resumes to the same bits.

A checkpoint holds the position and, for every fold, the parameters, Adam's state and the best
parameters so far. Random numbers depend only on seed and position (``runtime.seeding``), so no
generator is stored. Tables are stored undivided, so a group of any size can resume.
"""

import math
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from dmte.distributed.group import SINGLE_PROCESS, ProcessGroup, run_on_all
from dmte.errors import ConfigError, StorageError
from dmte.model.diffusion_maps import DiffusionMaps
from dmte.model.history import EpochRecord, history_from_json, history_to_json
from dmte.model.model_parts import stored_seed
from dmte.network import TextualNetwork
from dmte.runtime.provenance import environment
from dmte.settings import Settings
from dmte.storage.codec import REPAIR, encode_json, encode_tensors
from dmte.storage.folder import is_stored, part_names, read_parts, write_parts
from dmte.storage.stored_parts import Shape, StoredParts, check_shapes
from dmte.training.fold import Fold
from dmte.training.run import TrainingRun
from dmte.training.validation import Best

POSITION = "position.json"
KINDS = ("parameters", "optimizer", "best")
"""The tables stored for every fold."""
STATE = ("step", "exp_avg", "exp_avg_sq")
"""The state of a parameter in Adam, under torch's names."""
WRITING_SHARE = 0.05
"""Maximum fraction of the time spent on writing checkpoints, if no interval is given."""


@dataclass(slots=True)
class Checkpoints:
    """The folder of a run's checkpoints, and when the next one is due."""

    folder: Path
    every: int | None = None
    """Epochs between checkpoints; 0 writes none. None writes one after the first epoch, and then as
    often as writing takes at most a twentieth of the time."""
    _not_before: float = -math.inf

    def __post_init__(self) -> None:
        if self.every is not None and self.every < 0:
            raise ConfigError(
                f"checkpoint_every must be at least 0 (0 writes none), not {self.every}"
            )

    def save_if_due(self, run: TrainingRun) -> None:
        """Store ``run`` after an epoch if a checkpoint is due and training is not done.

        All processes of a group must call it; the clock of rank zero decides.

        Raises:
            StorageError: The folder has other contents or cannot be written.
        """
        if run.is_done or not self._is_due(run):
            return
        began = time.perf_counter()
        save_checkpoint(run, self.folder)
        ended = time.perf_counter()
        self._not_before = ended + (ended - began) * (1 / WRITING_SHARE - 1)

    def _is_due(self, run: TrainingRun) -> bool:
        if self.every is None:
            is_time = time.perf_counter() >= self._not_before
            return run.group.broadcast_string("due" if is_time else "") == "due"
        return self.every > 0 and run.epoch % self.every == 0


def save_checkpoint(run: TrainingRun, folder: Path) -> None:
    """Store ``run``; an older checkpoint stays intact until it is replaced.

    All processes of a group must call it; rank zero writes.

    Raises:
        StorageError: The folder has other contents or cannot be written.
    """
    position = {
        "settings": run.requested_settings.to_dict(),
        "seed": run.seed,
        "fingerprint": run.network.fingerprint(),
        "epoch": run.epoch,
        "best": [
            {
                "value": best.value,
                "auc": best.auc,
                "epoch": best.epoch,
                "looks_since": best.checks_without_improvement,
                "last_auc": best.last_auc,
            }
            for best in (fold.best for fold in run.folds)
        ],
        "history": history_to_json(run.history),
    } | environment()
    parts = {POSITION: encode_json(position)}
    for fold in run.folds:
        held = (fold.parameters(), _optimizer_state(fold), fold.best.parameters or {})
        for what, tables in zip(KINDS, held, strict=True):
            whole = _gathered(fold, tables, run.settings.half)
            if run.group.is_rank_zero:
                parts[f"{what}-{fold.number}.safetensors"] = encode_tensors(whole)
    card = f"# A dmte checkpoint\n\nAfter epoch {run.epoch}.\n"
    run.group.run_on_rank_zero(lambda: write_parts(folder, parts, card=card))


def load_checkpoint(
    folder: Path,
    network: TextualNetwork,
    settings: Settings,
    seed: int,
    group: ProcessGroup = SINGLE_PROCESS,
) -> TrainingRun:
    """Return the run stored in ``folder``, ready to resume with a group of any size.

    All settings must be those that the run was started with. ``epochs`` may differ without
    ``decay``; with it, the number of epochs determines the step sizes.

    Raises:
        StorageError: The folder has no checkpoint, or it is damaged.
        ConfigError: The checkpoint belongs to other settings, another seed or another network.
    """
    position = run_on_all(group, lambda: _position_of(folder, network, settings, seed))
    run = TrainingRun(network, settings, seed, group=group)
    run.epoch, run.history = position.epoch, position.history
    run_on_all(group, lambda: _restore(run, folder, position.best))
    return run


@dataclass(frozen=True, slots=True)
class _Position:
    """The stored position of a run."""

    settings: Settings
    seed: int
    fingerprint: str
    epoch: int
    best: list[Best]
    """The best validation result of every fold, without parameters."""
    history: list[EpochRecord]

    @classmethod
    def read(cls, folder: Path) -> "_Position":
        parts = StoredParts(folder, read_parts(folder, [POSITION]))
        with parts.checking(POSITION):
            content = parts.object(POSITION)
            return cls(
                Settings.from_stored(content.inner("settings").values),
                stored_seed(content),
                content.text("fingerprint"),
                content.whole("epoch"),
                [
                    Best(
                        # Without a value it is the AUC: the run is older than ``favor``.
                        best.number("value" if "value" in best.values else "auc", 2.0),
                        best.number("auc", 1.0),
                        best.whole("epoch"),
                        best.whole("looks_since"),
                        best.number("last_auc", 1.0),
                    )
                    for best in content.each("best")
                ],
                history_from_json(content.values.get("history")),
            )


def _position_of(folder: Path, network: TextualNetwork, settings: Settings, seed: int) -> _Position:
    """Return the position of the checkpoint, after checking that it belongs to this run."""
    if not is_stored(folder):
        raise StorageError(f"there is no checkpoint in {folder}; start without resuming")
    if POSITION not in part_names(folder):
        raise StorageError(f"{folder} is not the folder of a checkpoint")
    position = _Position.read(folder)
    _check_same_run(
        folder,
        seed=(position.seed, seed),
        network=(position.fingerprint, network.fingerprint()),
        **_paired(position.settings, settings),
    )
    if settings.epochs < position.epoch:
        raise ConfigError(
            f"epochs must be at least {position.epoch}, the epoch of the checkpoint in "
            f"{folder}, not {settings.epochs}"
        )
    return position


def _restore(run: TrainingRun, folder: Path, bests: list[Best]) -> None:
    if len(bests) != len(run.folds):
        raise StorageError(
            f"{folder}: {POSITION} has {len(bests)} trainings, not {len(run.folds)}; {REPAIR}"
        )
    for fold, best in zip(run.folds, bests, strict=True):
        # One at a time, since the undivided tables need the most memory.
        tensors = {what: _read_own(folder, what, fold, run.settings.half) for what in KINDS}
        # The set-up of the run has restored everything that is not a parameter.
        fold.model.load_state_dict(tensors["parameters"], strict=False)
        _restore_optimizer(fold, tensors["optimizer"])
        best.parameters = tensors["best"] or None
        fold.best = best


def _read_own(folder: Path, what: str, fold: Fold, width: int) -> dict[str, Tensor]:
    """Return the columns (or rows) of a fold's tables that belong to this process."""
    name = f"{what}-{fold.number}.safetensors"
    parts = StoredParts(folder, read_parts(folder, [name]))
    with parts.checking(name):
        found = {table: entry.shape for table, entry in parts.entries(name).items()}
        shapes = _expected_shapes(what, fold, width, found)
        check_shapes(found, shapes)
        tables = parts.tensors(name, dict.fromkeys(shapes, ("F32",)))
    own = fold.group.own(width)
    return {
        table: torch.from_numpy(_cut(values, _axis(fold.model, table, values.ndim), own))
        for table, values in tables.items()
    }


def _expected_shapes(what: str, fold: Fold, width: int, found: Collection[str]) -> dict[str, Shape]:
    """Return the shapes of the undivided tables; some are stored once there is something in them.

    ``best`` is empty before the first validation, and the state of a parameter before its first
    step.
    """
    shapes = {
        name: tuple(
            width if axis == fold.model.axes.get(name) else size
            for axis, size in enumerate(parameter.shape)
        )
        for name, parameter in fold.model.named_parameters()
    }
    if what == "optimizer":
        return {
            f"{name}/{key}": () if key == "step" else shape
            for name, shape in shapes.items()
            for key in STATE
            if any(f"{name}/{one}" in found for one in STATE)
        }
    return shapes if what == "parameters" or found else {}


def _cut(table: np.ndarray, axis: int | None, own: slice) -> np.ndarray:
    """Return a copy of a table, or of some of its columns or rows."""
    return table.copy() if axis is None else table.swapaxes(0, axis)[own].swapaxes(0, axis).copy()


def _gathered(fold: Fold, tables: dict[str, Tensor], width: int) -> dict[str, Tensor]:
    """Return the undivided tables on rank zero, and nothing on other processes."""
    whole = {
        name: table
        if (axis := _axis(fold.model, name, table.ndim)) is None
        else fold.group.collect(table, width, axis)
        for name, table in sorted(tables.items())  # All processes send in the same order.
    }
    return {name: table for name, table in whole.items() if table is not None}


def _axis(model: DiffusionMaps, name: str, num_axes: int) -> int | None:
    """Return the axis along which a table, or its state in Adam, is divided."""
    return model.axes.get(name.split("/")[0]) if num_axes else None


def _paired(stored: Settings, given: Settings) -> dict[str, tuple[object, object]]:
    """Return the stored and the given value of every setting that must be the same."""
    before, now = stored.to_dict(), given.to_dict()
    return {name: (before[name], now[name]) for name in before if name != "epochs" or stored.decay}


def _check_same_run(folder: Path, **pairs: tuple[object, object]) -> None:
    changed = [f"{name} was {a}, is {b}" for name, (a, b) in pairs.items() if a != b]
    if changed:
        raise ConfigError(
            f"the checkpoint in {folder} belongs to another run ({'; '.join(changed)}); "
            "resume with the same values, or start again without --resume"
        )


def _optimizer_state(fold: Fold) -> dict[str, Tensor]:
    state = fold.optimizer.state
    return {
        f"{name}/{key}": value
        for name, parameter in fold.model.named_parameters()
        for key, value in state[parameter].items()
    }


def _restore_optimizer(fold: Fold, tensors: dict[str, Tensor]) -> None:
    for name, parameter in fold.model.named_parameters():
        prefix = f"{name}/"
        fold.optimizer.state[parameter] = {
            key.removeprefix(prefix): value
            for key, value in tensors.items()
            if key.startswith(prefix)
        }
