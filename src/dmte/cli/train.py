"""``dmte train``: a network in, a model folder out."""

import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from dmte.checkpoint import load_checkpoint, save_checkpoint
from dmte.cli.networks import FeaturesOption, JsonOption, NetworkSource, with_network
from dmte.cli.output import complete
from dmte.cli.settings import settings_from, with_settings
from dmte.config import RECIPES, VARIANTS, Settings
from dmte.errors import ConfigError, Interrupted, TrainingError
from dmte.estimate import refuse_too_large
from dmte.features import read_features
from dmte.network import TextualNetwork
from dmte.storage import is_stored, refuse_unwritable
from dmte.training import EpochReport, TrainingRun

MOST_THREADS = 1024


@with_network
@with_settings
def train(
    source: NetworkSource,
    out: Annotated[Path | None, typer.Option(help="The model folder to write.")] = None,
    recipe: Annotated[
        str | None,
        typer.Option(
            help=f"What the settings start from: {' or '.join(RECIPES)}; by default the first.",
            autocompletion=complete(lambda: RECIPES),
        ),
    ] = None,
    variant: Annotated[
        str | None,
        typer.Option(
            help=f"A version of the paper's recipe: {', '.join(VARIANTS)}.",
            autocompletion=complete(lambda: VARIANTS),
        ),
    ] = None,
    settings_file: Annotated[
        Path | None,
        typer.Option(
            "--settings",
            metavar="FILE",
            help="Settings in TOML or JSON, as dmte tune writes them; options go before.",
        ),
    ] = None,
    features: FeaturesOption = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same vectors.")] = 0,
    checkpoint_every: Annotated[
        int, typer.Option(help="Epochs between two checkpoints; 0 for none.")
    ] = 50,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the checkpoint of an interrupted run.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Train even where memory seems to be too short.")
    ] = False,
    threads: Annotated[int | None, typer.Option(help="Threads to use, by default all.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
    as_json: JsonOption = False,
    **settings: Any,
) -> None:
    """Learn one vector per vertex of NETWORK and store the model in a folder."""
    if out is None:
        raise ConfigError("say where the model goes with --out FOLDER")
    if threads is not None:
        torch.set_num_threads(_positive("threads", threads))
    checkpoint = checkpoint_folder(out)
    refuse_unwritable(out)
    refuse_unwritable(checkpoint)
    chosen = settings_from(recipe, variant, settings_file, settings)
    network = source.open(quiet=quiet)
    if features is not None:
        if settings.get("encoder") not in (None, "features"):
            raise ConfigError("--features are read by the encoder 'features' and by no other")
        network, chosen = read_features(features, network), replace(chosen, encoder="features")
    run = _open_run(network, chosen, seed, checkpoint, resume=resume, force=force)
    started, first_epoch = time.perf_counter(), run.epoch
    with _left_behind(run, checkpoint), progress(chosen.epochs, quiet=quiet) as show:
        for report in run.epochs():
            show(report)
            if checkpoint_every > 0 and report.epoch % checkpoint_every == 0 and not run.is_done:
                save_checkpoint(run, checkpoint)
    run.result().save(out)
    if is_stored(checkpoint):
        shutil.rmtree(checkpoint)
    seconds = time.perf_counter() - started
    _print_summary(run, first_epoch, seconds, out, as_json=as_json)


def checkpoint_folder(out: Path) -> Path:
    """Return where the checkpoints of a model folder are kept until it is finished."""
    place = out.resolve()
    if not place.name:
        raise ConfigError(f"{out} cannot be a model folder; choose a new folder")
    return place.with_name(f"{place.name}.checkpoint")


@contextmanager
def progress(epochs: int, *, quiet: bool) -> Iterator[Callable[[EpochReport], None]]:
    """Show a bar on stderr with loss, speed and time left; yield what feeds it."""
    columns = (
        TextColumn("training"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    shown = console.is_terminal and not quiet
    with Progress(*columns, console=console, transient=True, disable=not shown) as bar:
        task = bar.add_task("", total=epochs)

        def show(report: EpochReport) -> None:
            words = f"loss {report.loss:.4f}  {report.num_edges / report.seconds:,.0f} edges/s"
            if report.validation_auc is not None:
                words += f"  AUC {100 * report.validation_auc:.1f}"
            bar.update(task, completed=report.epoch, description=words)

        yield show


def _open_run(
    network: TextualNetwork,
    settings: Settings,
    seed: int,
    checkpoint: Path,
    *,
    resume: bool,
    force: bool,
) -> TrainingRun:
    if not force:
        refuse_too_large(network, settings)
    if resume:
        return load_checkpoint(checkpoint, network, settings, seed)
    if is_stored(checkpoint):
        raise ConfigError(
            f"{checkpoint} holds the checkpoint of an interrupted run; "
            "go on with --resume, or delete the folder to start anew"
        )
    return TrainingRun(network, settings, seed)


@contextmanager
def _left_behind(run: TrainingRun, checkpoint: Path) -> Iterator[None]:
    """Say what is left of a run that fails or is interrupted."""
    try:
        yield
    except TrainingError as problem:
        kept = f"the last good checkpoint is in {checkpoint}" if is_stored(checkpoint) else ""
        raise TrainingError(f"{problem}{'; ' if kept else ''}{kept}") from problem
    except KeyboardInterrupt as problem:
        done = f"interrupted after {run.epoch} of {run.settings.epochs} epochs"
        kept = "go on from the last checkpoint with --resume" if is_stored(checkpoint) else ""
        raise Interrupted(f"{done}{'; ' if kept else ''}{kept}") from problem


def _positive(name: str, number: int) -> int:
    if not 1 <= number <= MOST_THREADS:
        raise ConfigError(f"{name} must be at least 1 and at most {MOST_THREADS}, not {number}")
    return number


def _print_summary(
    run: TrainingRun, first_epoch: int, seconds: float, out: Path, *, as_json: bool
) -> None:
    best = run.best
    if as_json:
        summary = {
            "model": str(out),
            "vertices": run.network.num_vertices,
            "edges": len(run.network.edges),
            "seed": run.seed,
            "epochs": run.epoch,
            "resumed_after_epoch": first_epoch or None,
            "train_seconds": round(seconds, 3),
            "validation_auc": None if best is None else best.auc,
            "settings": run.settings.to_dict(),
        }
        json.dump(summary, sys.stdout, indent=2)
        print()
        return
    print(f"{run.network!r}")
    resumed = f", resumed after epoch {first_epoch}" if first_epoch else ""
    print(f"{run.epoch - first_epoch} epochs in {seconds:.1f} s, seed {run.seed}{resumed}")
    if best is not None:
        times = f", mean of the best of {len(run.folds)} trainings" if len(run.folds) > 1 else ""
        print(f"AUC {100 * best.auc:.1f} on held-back edges, best after epoch {best.epoch}{times}")
    if run.epoch == 0:
        print("too few links to learn from: texts were diffused over them, and nothing learned")
    print(f"model in {out}")
