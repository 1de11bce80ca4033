"""Checkpoints: an interrupted run ends in the same bits as an uninterrupted one."""

import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from dmte.cli import main
from dmte.embedding.embedding import Embedding
from dmte.errors import ConfigError, StorageError, TrainingError
from dmte.network import TextualNetwork, read_network
from dmte.recipes import PAPER
from dmte.settings import Settings
from dmte.storage.codec import decode_json
from dmte.storage.folder import read_parts
from dmte.training import checkpoint
from dmte.training.checkpoint import Checkpoints, load_checkpoint, save_checkpoint
from dmte.training.method import DmteMethod
from dmte.training.run import TrainingRun

SMALL = replace(PAPER, dim=16, epochs=9, batch_size=50)
CHANGES: list[dict[str, object]] = [
    {},
    {"encoder": "bilstm"},
    {"structure": False},
    {"hide_supervised": True},
    {"validation_fraction": 0.2, "validate_every": 2, "patience": 2},
    {"num_negatives": 3},
]

STOPS = (1, 4, 8)
"""The epochs after which a run is interrupted."""


def finish(run: TrainingRun) -> torch.Tensor:
    for _ in run.epochs():
        pass
    return run.result().embedding.vectors


@pytest.mark.medium
@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_resumed_run_ends_in_the_same_bits(
    planted: TextualNetwork, tmp_path: Path, change: dict[str, object]
) -> None:
    settings = replace(SMALL, **change)  # type: ignore[arg-type]
    whole = DmteMethod(settings).train(planted, seed=1)
    run = TrainingRun(planted, settings, seed=1)
    for report in run.epochs():
        if report.epoch in STOPS:
            save_checkpoint(run, tmp_path / str(report.epoch))
        if report.epoch == STOPS[-1]:
            break
    for stop in STOPS:
        resumed = load_checkpoint(tmp_path / str(stop), planted, settings, seed=1)
        assert resumed.epoch == stop
        assert torch.equal(finish(resumed), whole.embedding.vectors)
        assert tuple(resumed.history) == whole.history


@pytest.mark.medium
def test_a_resumed_run_may_have_more_epochs(planted: TextualNetwork, tmp_path: Path) -> None:
    run = TrainingRun(planted, replace(SMALL, epochs=3), seed=0)
    finish(run)
    save_checkpoint(run, tmp_path / "checkpoint")
    resumed = load_checkpoint(tmp_path / "checkpoint", planted, SMALL, seed=0)
    assert torch.equal(finish(resumed), DmteMethod(SMALL).fit(planted, seed=0).vectors)


@pytest.mark.medium
@pytest.mark.parametrize("stop", [1, 2])
def test_the_recommended_recipe_resumes_to_the_same_bits(
    planted: TextualNetwork, tmp_path: Path, stop: int
) -> None:
    """Step sizes, word weights and the turns of three folds included."""
    settings = Settings(dim=16, epochs=4)
    run = TrainingRun(planted, settings, seed=1)
    reports = run.epochs()
    while next(reports).epoch < stop:
        pass
    save_checkpoint(run, tmp_path / "checkpoint")
    resumed = load_checkpoint(tmp_path / "checkpoint", planted, settings, seed=1)
    assert torch.equal(finish(resumed), finish(run))


@pytest.mark.parametrize("epochs", [2, 5])
def test_a_run_with_decreasing_step_sizes_keeps_its_number_of_epochs(
    planted: TextualNetwork, tmp_path: Path, epochs: int
) -> None:
    settings, folder = replace(SMALL, decay=True, epochs=3), tmp_path / "checkpoint"
    save_checkpoint(TrainingRun(planted, settings, seed=0), folder)
    with pytest.raises(
        ConfigError, match=rf"another run \(epochs was 3, is {epochs}\); resume with"
    ):
        load_checkpoint(folder, planted, replace(settings, epochs=epochs), seed=0)
    assert load_checkpoint(folder, planted, settings, seed=0).epoch == 0


def test_another_run_raises_with_the_differences(planted: TextualNetwork, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    save_checkpoint(TrainingRun(planted, SMALL, seed=0), folder)
    with pytest.raises(ConfigError, match="seed was 0, is 1"):
        load_checkpoint(folder, planted, SMALL, seed=1)
    with pytest.raises(ConfigError, match="dim was 16, is 32"):
        load_checkpoint(folder, planted, replace(SMALL, dim=32), seed=0)
    with pytest.raises(ConfigError, match="network was"):
        load_checkpoint(folder, planted.with_edges(planted.edges[1:]), SMALL, seed=0)


def test_a_folder_without_a_checkpoint_raises(tmp_path: Path) -> None:
    network = read_network("concepts")
    with pytest.raises(StorageError):
        load_checkpoint(tmp_path / "nothing", network, SMALL, seed=0)
    Embedding(("a",), torch.ones(1, 2), 2).save(tmp_path / "embedding")
    with pytest.raises(StorageError, match="is not the folder of a checkpoint"):
        load_checkpoint(tmp_path / "embedding", network, SMALL, seed=0)


@pytest.mark.parametrize(
    ("every", "expected"), [(None, [1, 20, 39]), (30, [30]), (1, [*range(1, 50)]), (0, [])]
)
def test_writing_takes_a_twentieth_of_the_time_unless_an_interval_is_given(
    planted: TextualNetwork,
    monkeypatch: pytest.MonkeyPatch,
    every: int | None,
    expected: list[int],
) -> None:
    """By a clock on which an epoch, and writing a checkpoint, take a second each."""
    run, now, saved = TrainingRun(planted, replace(SMALL, epochs=50), seed=0), 0.0, []

    def write(run: TrainingRun, _: Path) -> None:
        nonlocal now
        now += 1.0
        saved.append(run.epoch)

    monkeypatch.setattr(checkpoint, "save_checkpoint", write)
    monkeypatch.setattr("time.perf_counter", lambda: now)
    checkpoints = Checkpoints(Path("nowhere"), every)
    for epoch in range(1, 51):
        now += 1.0
        run.epoch = epoch
        checkpoints.save_if_due(run)
    assert saved == expected


def test_a_diverging_run_keeps_the_last_good_checkpoint(
    planted: TextualNetwork, tmp_path: Path
) -> None:
    run = TrainingRun(planted, replace(SMALL, epochs=50), seed=0)
    reports = run.epochs()
    while next(reports).epoch < 3:
        pass
    save_checkpoint(run, tmp_path / "checkpoint")
    for parameter in run.folds[0].model.parameters():
        parameter.data.fill_(float("nan"))
    with pytest.raises(TrainingError, match="the loss was no longer a finite number in epoch 4"):
        next(reports)
    kept = load_checkpoint(tmp_path / "checkpoint", planted, replace(SMALL, epochs=50), seed=0)
    assert kept.epoch == 3
    assert all(torch.isfinite(parameter).all() for parameter in kept.folds[0].model.parameters())


@pytest.mark.slow
def test_a_killed_training_resumes_to_the_same_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the command line: killed in mid-epoch, continued with --resume."""
    monkeypatch.chdir(tmp_path)
    # Without decay the number of epochs may change.
    options = ["--seed", "2", "--dim", "16", "--checkpoint-every", "5", "--no-decay", "--quiet"]
    command = ["train", "concepts", *options]
    killed = subprocess.Popen(
        [sys.executable, "-m", "dmte", *command, "--out", "cut", "--epochs", "100000"]
    )
    while not Path("cut.checkpoint", "manifest.json").exists():
        assert killed.poll() is None
        time.sleep(0.05)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert not Path("cut").exists()
    epochs = decode_json(read_parts(Path("cut.checkpoint"))["position.json"])["epoch"] + 3
    for more in (["--out", "whole"], ["--out", "cut", "--resume"]):
        with pytest.raises(SystemExit, match="0"):
            main([*command, "--epochs", str(epochs), *more])
    assert torch.equal(*(Embedding.load(name).vectors for name in ("whole", "cut")))
    assert not Path("cut.checkpoint").exists()
