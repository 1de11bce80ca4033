"""Checkpoints: a training run on disk, to be continued to the same bits.

A checkpoint holds the position and, of every fold, the parameters, Adam's state and the best
parameters so far. Random numbers are a function of seed and position (randomness.py), so no
generator needs saving. Tables are stored whole, whoever held them: a group of any size can go on.
"""

import math
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from dmte.distributed.group import SINGLE_PROCESS, ProcessGroup, run_on_all
from dmte.errors import ConfigError, StorageError
from dmte.model.diffusion_maps import DiffusionMaps
from dmte.model.history import history_from_json, history_to_json
from dmte.network import TextualNetwork
from dmte.runtime.provenance import environment
from dmte.settings import Settings
from dmte.storage.codec import decode_json, decode_tensors, encode_json, encode_tensors
from dmte.storage.folder import is_stored, part_names, read_parts, write_parts
from dmte.training.fold import Fold
from dmte.training.run import TrainingRun
from dmte.training.validation import Best

POSITION = "position.json"
KINDS = ("parameters", "optimizer", "best")
"""What is stored of every fold."""
WRITING_SHARE = 0.05
"""Of the time, spent on checkpoints where nobody says how often to write one."""


@dataclass(slots=True)
class Checkpoints:
    """Where the checkpoints of a run go, and when the next one is due."""

    folder: Path
    every: int | None = None
    """Epochs between two of them, 0 for no checkpoint. None writes one after the first epoch, and
    the next ones as soon as writing takes no more than a twentieth of the time."""
    _not_before: float = -math.inf

    def __post_init__(self) -> None:
        if self.every is not None and self.every < 0:
            raise ConfigError(
                f"checkpoint_every must be at least 0, which is no checkpoint, not {self.every}"
            )

    def save_if_due(self, run: TrainingRun) -> None:
        """Store ``run`` after an epoch, if it is time and there is more to come.

        All processes of a group have to call it, and go by the clock of the first one.

        Raises:
            StorageError: The folder holds something else or cannot be written.
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
    """Store ``run`` as it stands; the checkpoint that was there stays whole until replaced.

    All processes of a group have to call it; the first one writes.

    Raises:
        StorageError: The folder holds something else or cannot be written.
    """
    position = {
        "settings": run.requested_settings.to_dict(),
        "seed": run.seed,
        "fingerprint": run.network.fingerprint(),
        "epoch": run.epoch,
        "best": [
            {
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
            whole = _gathered(fold.model, tables, run.settings.half)
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
    """Return the run stored in ``folder``, ready to go on, with a group of any size.

    Only the number of epochs may differ from what the run was started with.

    Raises:
        StorageError: There is no checkpoint, or it is damaged.
        ConfigError: It belongs to other settings, another seed or another network.
    """
    position = run_on_all(group, lambda: _position_of(folder, network, settings, seed))
    run = TrainingRun(network, settings, seed, group=group)
    run.epoch = position["epoch"]
    run.history = history_from_json(position["history"])
    run_on_all(group, lambda: _restore(run, folder, position["best"]))
    return run


def _position_of(
    folder: Path, network: TextualNetwork, settings: Settings, seed: int
) -> dict[str, Any]:
    """Return how far the checkpoint is, if it belongs to this run."""
    if not is_stored(folder):
        raise StorageError(f"there is no checkpoint in {folder}; start without resuming")
    if POSITION not in part_names(folder):
        raise StorageError(f"{folder} holds no checkpoint")
    position: dict[str, Any] = decode_json(read_parts(folder, [POSITION])[POSITION])
    _refuse_other_run(
        folder,
        seed=(position["seed"], seed),
        network=(position["fingerprint"], network.fingerprint()),
        **_paired(Settings.from_dict(position["settings"]), settings),
    )
    if settings.epochs < position["epoch"]:
        raise ConfigError(
            f"the checkpoint in {folder} is of epoch {position['epoch']}, beyond the "
            f"{settings.epochs} epochs asked for"
        )
    return position


def _restore(run: TrainingRun, folder: Path, bests: list[dict[str, Any]]) -> None:
    for fold, best in zip(run.folds, bests, strict=True):
        # One after the other, because each is whole for a moment.
        tensors = {what: _read_own(folder, what, fold, run.settings.half) for what in KINDS}
        # Whatever is no parameter was found again when the run was set up.
        fold.model.load_state_dict(tensors["parameters"], strict=False)
        _restore_optimizer(fold, tensors["optimizer"])
        fold.best = Best(
            best["auc"],
            best["epoch"],
            best["looks_since"],
            best["last_auc"],
            tensors["best"] or None,
        )


def _read_own(folder: Path, what: str, fold: Fold, width: int) -> dict[str, Tensor]:
    """Return a fold's tables, of each the columns, or rows, of this process."""
    name = f"{what}-{fold.number}.safetensors"
    tables = decode_tensors(read_parts(folder, [name])[name])
    model = fold.model
    if model.group.size == 1:
        return tables
    own = model.group.column_slice(width)
    return {
        name: table.narrow(axis, own.start, own.stop - own.start).clone()
        if (axis := _axis(model, name, table)) is not None
        else table
        for name, table in tables.items()
    }


def _gathered(model: DiffusionMaps, tables: dict[str, Tensor], width: int) -> dict[str, Tensor]:
    """Return whole tables on the first process of the group; none on the others."""
    whole = {
        name: table
        if (axis := _axis(model, name, table)) is None
        else model.group.gather(table, width, axis)
        for name, table in sorted(tables.items())  # Everybody sends in the same order.
    }
    return {name: table for name, table in whole.items() if table is not None}


def _axis(model: DiffusionMaps, name: str, table: Tensor) -> int | None:
    """Return along which axis a table, or a running mean of Adam for it, is divided."""
    return model.axes.get(name.split("/")[0]) if table.ndim else None


def _paired(stored: Settings, given: Settings) -> dict[str, tuple[object, object]]:
    """Return every setting as it was stored and as it is given, but for the number of epochs."""
    before, now = stored.to_dict(), replace(given, epochs=stored.epochs).to_dict()
    return {name: (before[name], now[name]) for name in before}


def _refuse_other_run(folder: Path, **pairs: tuple[object, object]) -> None:
    changed = [f"{name} was {a}, is {b}" for name, (a, b) in pairs.items() if a != b]
    if changed:
        raise ConfigError(
            f"the checkpoint in {folder} belongs to another run ({'; '.join(changed)}); "
            "give what it was started with, or start anew"
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
