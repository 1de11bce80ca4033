"""Checkpoints: a training run on disk, to be continued to the same bits.

A checkpoint holds the position and, of every fold, the parameters, Adam's state and the best
parameters so far. Random numbers are a function of seed and position (randomness.py), so no
generator needs saving.
"""

from dataclasses import replace
from pathlib import Path

from torch import Tensor

from dmte.config import Settings
from dmte.errors import ConfigError, StorageError
from dmte.fold import Best, Fold
from dmte.history import history_from_json, history_to_json
from dmte.network import TextualNetwork
from dmte.packing import pack_json, pack_tensors, unpack_json, unpack_tensors
from dmte.storage import is_stored, read_parts, write_parts
from dmte.trained import environment
from dmte.training import TrainingRun


def save_checkpoint(run: TrainingRun, folder: Path) -> None:
    """Store ``run`` as it stands; the checkpoint that was there stays whole until replaced.

    Raises:
        StorageError: The folder holds something else or cannot be written.
    """
    position = {
        "settings": run.asked_for.to_dict(),
        "seed": run.seed,
        "fingerprint": run.network.fingerprint(),
        "epoch": run.epoch,
        "best": [
            {
                "auc": best.auc,
                "epoch": best.epoch,
                "looks_since": best.looks_since,
                "last_auc": best.last_auc,
            }
            for best in (fold.best for fold in run.folds)
        ],
        "history": history_to_json(run.history),
    } | environment()
    parts = {"position.json": pack_json(position)}
    for fold in run.folds:
        parts |= {
            f"parameters-{fold.number}.safetensors": pack_tensors(fold.parameters()),
            f"optimizer-{fold.number}.safetensors": pack_tensors(_optimizer_state(fold)),
            f"best-{fold.number}.safetensors": pack_tensors(fold.best.parameters or {}),
        }
    write_parts(folder, parts, card=f"# A dmte checkpoint\n\nAfter epoch {run.epoch}.\n")


def load_checkpoint(
    folder: Path, network: TextualNetwork, settings: Settings, seed: int
) -> TrainingRun:
    """Return the run stored in ``folder``, ready to go on.

    Only the number of epochs may differ from what the run was started with.

    Raises:
        StorageError: There is no checkpoint, or it is damaged.
        ConfigError: It belongs to other settings, another seed or another network.
    """
    if not is_stored(folder):
        raise StorageError(f"there is no checkpoint in {folder}; start without resuming")
    parts = read_parts(folder)
    if "position.json" not in parts:
        raise StorageError(f"{folder} holds no checkpoint")
    position = unpack_json(parts["position.json"])
    if "history" not in position:
        raise StorageError(f"the checkpoint in {folder} is of an older version; start anew")
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
    run = TrainingRun(network, settings, seed)
    run.epoch = position["epoch"]
    run.history = history_from_json(position["history"])
    for fold, best in zip(run.folds, position["best"], strict=True):
        tensors = {
            what: unpack_tensors(parts[f"{what}-{fold.number}.safetensors"])
            for what in ("parameters", "optimizer", "best")
        }
        # Whatever is no parameter was found again when the run was set up.
        fold.model.load_state_dict(tensors["parameters"], strict=False)
        _restore_optimizer(fold, tensors["optimizer"])
        fold.best = Best(**best, parameters=tensors["best"] or None)
    return run


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
