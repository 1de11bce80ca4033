"""``dmte train``: a network in, a model folder out."""

import json
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from dmte.checkpoint import load_checkpoint, save_checkpoint
from dmte.cli.line import LINE
from dmte.cli.networks import FeaturesOption, JsonOption, NetworkSource, with_network
from dmte.cli.output import complete
from dmte.cli.settings import settings_from, with_settings
from dmte.config import RECIPES, VARIANTS, Settings
from dmte.errors import (
    ConfigError,
    DmteError,
    DmteWarning,
    Interrupted,
    LostProcessError,
    TrainingError,
)
from dmte.features import read_features
from dmte.launcher import (
    INTERRUPTED,
    USERS_MISTAKE,
    is_restart,
    joined_team,
    refuse_processes,
    refuse_separate_folders,
    speaks,
    supervise,
    team_size,
    use_threads,
)
from dmte.network import TextualNetwork
from dmte.storage import is_stored, refuse_unwritable
from dmte.team import Team, opened_by_all
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
    threads: Annotated[
        int | None,
        typer.Option(help="Threads to use, by default all; of several processes, each."),
    ] = None,
    processes: Annotated[
        int | None, typer.Option(help="Processes on this host that share the work.")
    ] = None,
    restarts: Annotated[
        int, typer.Option(help="How often processes are started again when one of them dies.")
    ] = 10,
    timeout: Annotated[
        float, typer.Option(help="Seconds that a process waits for another one in a step.")
    ] = 300.0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
    as_json: JsonOption = False,
    **settings: Any,
) -> None:
    """Learn one vector per vertex of NETWORK and store the model in a folder."""
    with _first_speaks():
        if out is None:
            raise ConfigError("say where the model goes with --out FOLDER")
        use_threads(None if threads is None else _positive("threads", threads))
        checkpoint = checkpoint_folder(out)
        refuse_unwritable(out)
        refuse_unwritable(checkpoint)
        if features is not None and settings.get("encoder") not in (None, "features"):
            raise ConfigError("--features are read by the encoder 'features' and by no other")
        chosen = settings_from(recipe, variant, settings_file, settings)
        chosen = chosen if features is None else replace(chosen, encoder="features")
        if _are_to_be_started(processes, source):
            sys.exit(supervise(LINE.get(), processes or 1, restarts, _tell))
        with joined_team(_above_zero("timeout", timeout)) as team:
            refuse_separate_folders(checkpoint.parent, team)
            quiet = quiet or not team.is_first
            network = opened_by_all(team, lambda: _read(source, features, quiet=quiet))
            run = _open_run(network, chosen, seed, checkpoint, team, resume=resume)
            started, first_epoch = time.perf_counter(), run.epoch
            _run_epochs(run, checkpoint, checkpoint_every, quiet=quiet)
            _finish(run, out, checkpoint)
            seconds = time.perf_counter() - started
            if team.is_first:
                _print_summary(run, first_epoch, seconds, out, as_json=as_json)


def _are_to_be_started(processes: int | None, source: NetworkSource) -> bool:
    """Return whether several processes are asked for, and this is none of them."""
    if processes is not None:
        refuse_processes(processes, MOST_THREADS)
    is_alone = team_size() == 1
    asked = (processes or 1) if is_alone else team_size()
    if source.network == "-" and asked > 1:
        raise ConfigError("several processes cannot read standard input; give them a file")
    return is_alone and asked > 1


@contextmanager
def _first_speaks() -> Iterator[None]:
    """Let only the first process of a host say what is wrong with what the user asked for."""
    if not speaks():
        warnings.simplefilter("ignore", DmteWarning)
    try:
        yield
    except LostProcessError:
        raise
    except DmteError as problem:
        if speaks():
            raise
        sys.exit(INTERRUPTED if isinstance(problem, Interrupted) else USERS_MISTAKE)


def _tell(what: str) -> None:
    print(f"dmte: {what}", file=sys.stderr, flush=True)


def _read(source: NetworkSource, features: Path | None, *, quiet: bool) -> TextualNetwork:
    network = source.open(quiet=quiet)
    return network if features is None else read_features(features, network)


def _run_epochs(run: TrainingRun, checkpoint: Path, checkpoint_every: int, *, quiet: bool) -> None:
    with _left_behind(run, checkpoint), progress(run.settings.epochs, quiet=quiet) as show:
        for report in run.epochs():
            show(report)
            is_due = checkpoint_every > 0 and report.epoch % checkpoint_every == 0
            if is_due and not run.is_done:
                save_checkpoint(run, checkpoint)


def _finish(run: TrainingRun, out: Path, checkpoint: Path) -> None:
    """Store the model, and remove the checkpoint that is no longer needed."""
    trained = run.gathered()

    def store() -> None:
        if trained is not None:
            trained.save(out)
            if is_stored(checkpoint):
                # Renamed first: what is removed bit by bit is no checkpoint any more.
                shutil.rmtree(checkpoint.rename(checkpoint.with_name(f".{checkpoint.name}.done")))

    run.team.let_first(store)


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
    team: Team,
    *,
    resume: bool,
) -> TrainingRun:
    is_left = team.say("left" if is_stored(checkpoint) else "") == "left"
    # Of a team over several hosts some may have been started again, and others only now.
    starts_again = team.is_any(found=is_restart())
    if resume or (starts_again and is_left):
        return load_checkpoint(checkpoint, network, settings, seed, team)
    if is_left:
        raise ConfigError(
            f"{checkpoint} holds the checkpoint of an interrupted run; "
            "go on with --resume, or delete the folder to start anew"
        )
    return TrainingRun(network, settings, seed, team=team)


@contextmanager
def _left_behind(run: TrainingRun, checkpoint: Path) -> Iterator[None]:
    """Say what is left of a run that fails or is interrupted."""
    try:
        yield
    except LostProcessError:
        raise
    except TrainingError as problem:
        kept = f"the last good checkpoint is in {checkpoint}" if is_stored(checkpoint) else ""
        raise TrainingError(f"{problem}{'; ' if kept else ''}{kept}") from problem
    except KeyboardInterrupt as problem:
        done = f"interrupted after {run.epoch} of {run.settings.epochs} epochs"
        kept = "go on from the last checkpoint with --resume" if is_stored(checkpoint) else ""
        raise Interrupted(f"{done}{'; ' if kept else ''}{kept}") from problem


def _above_zero(name: str, seconds: float) -> float:
    if not 0 < seconds < float("inf"):
        raise ConfigError(f"{name} must be above 0, not {seconds}")
    return seconds


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
