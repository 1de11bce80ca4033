"""What ``dmte train`` does, alone or as one of several processes."""

import json
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

from dmte.cli.network_options import NetworkSource
from dmte.cli.options import LINE
from dmte.cli.progress import bar_on_stderr
from dmte.distributed.group import ProcessGroup, run_on_all
from dmte.distributed.launcher import (
    INTERRUPTED,
    USERS_MISTAKE,
    check_processes,
    group_size,
    is_restart,
    joined_group,
    num_local,
    prints_messages,
    require_shared_folder,
    supervise,
    use_threads,
)
from dmte.errors import (
    ConfigError,
    DmteError,
    DmteWarning,
    Interrupted,
    LostProcessError,
    TrainingError,
)
from dmte.model.history import outcome
from dmte.model.trained_model import TrainedModel
from dmte.network import TextualNetwork
from dmte.settings import Settings
from dmte.storage.folder import check_writable, is_stored
from dmte.training.checkpoint import Checkpoints, load_checkpoint
from dmte.training.estimate import check_memory
from dmte.training.run import EpochReport, TrainingRun

MOST_THREADS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainJob:
    """What is to be learned from what, and where it goes."""

    source: NetworkSource
    features: Path | None
    settings: Settings
    seed: int
    out: Path
    checkpoint_every: int | None
    resume: bool
    force: bool
    """Also where memory seems to be too short."""
    quiet: bool
    as_json: bool

    def read(self, *, quiet: bool) -> TextualNetwork:
        """Return the network to learn from."""
        return self.source.open(features=self.features, quiet=quiet)


@dataclass(frozen=True, slots=True)
class ParallelOptions:
    """How many share the work, and how they deal with each other."""

    threads: int | None
    processes: int | None
    restarts: int
    timeout: float


def run_train(order: TrainJob, together: ParallelOptions) -> None:
    """Train, store the model and say what came of it; or start the processes that do."""
    with _first_speaks():
        threads = together.threads
        use_threads(None if threads is None else _positive("threads", threads))
        checkpoints = Checkpoints(checkpoint_folder(order.out), order.checkpoint_every)
        check_writable(order.out)
        check_writable(checkpoints.folder)
        if together.restarts < 0:
            raise ConfigError(f"restarts must be at least 0, not {together.restarts}")
        if _are_to_be_started(together.processes, order.source):
            sys.exit(supervise(LINE.get(), together.processes or 1, together.restarts, _tell))
        with joined_group(_above_zero("timeout", together.timeout)) as group:
            require_shared_folder(checkpoints.folder.parent, group)
            _train(order, checkpoints, group)


def _train(order: TrainJob, checkpoints: Checkpoints, group: ProcessGroup) -> None:
    quiet = order.quiet or not group.is_rank_zero
    network = run_on_all(group, lambda: order.read(quiet=quiet))
    run = _open_run(order, network, checkpoints.folder, group)
    started, first_epoch = time.perf_counter(), run.epoch
    _run_epochs(run, checkpoints, quiet=quiet)
    trained = _finish(run, order.out, checkpoints.folder)
    seconds = time.perf_counter() - started
    if trained is not None:
        done = TrainSummary(run, trained.settings, first_epoch, seconds, order.out)
        _print_json(done) if order.as_json else _print_summary(done)


def _are_to_be_started(processes: int | None, source: NetworkSource) -> bool:
    """Return whether several processes are asked for, and this is none of them."""
    if processes is not None:
        check_processes(processes, MOST_THREADS)
    is_alone = group_size() == 1
    asked = (processes or 1) if is_alone else group_size()
    if source.network == "-" and asked > 1:
        raise ConfigError("several processes cannot read standard input; give them a file")
    return is_alone and asked > 1


@contextmanager
def _first_speaks() -> Iterator[None]:
    """Let only the first process of a host say what is wrong with what the user asked for."""
    if not prints_messages():
        warnings.simplefilter("ignore", DmteWarning)
    try:
        yield
    except LostProcessError:
        raise
    except DmteError as problem:
        if prints_messages():
            raise
        sys.exit(INTERRUPTED if isinstance(problem, Interrupted) else USERS_MISTAKE)


def _tell(what: str) -> None:
    print(f"dmte: {what}", file=sys.stderr, flush=True)


def _run_epochs(run: TrainingRun, checkpoints: Checkpoints, *, quiet: bool) -> None:
    with _left_behind(run, checkpoints.folder), progress(run.settings.epochs, quiet=quiet) as show:
        for report in run.epochs():
            show(report)
            checkpoints.save_if_due(run)


def _finish(run: TrainingRun, out: Path, checkpoint: Path) -> TrainedModel | None:
    """Store the model, remove the checkpoint that is no longer needed, and return the model.

    Only the first process of a group has it.
    """
    trained = run.collect_result()

    def store() -> None:
        if trained is not None:
            trained.save(out)
            if is_stored(checkpoint):
                # Renamed first: what is removed bit by bit is no checkpoint any more.
                shutil.rmtree(checkpoint.rename(checkpoint.with_name(f".{checkpoint.name}.done")))

    run.group.run_on_rank_zero(store)
    return trained


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
    with bar_on_stderr(*columns, quiet=quiet) as bar:
        task = bar.add_task("", total=epochs)

        def show(report: EpochReport) -> None:
            words = f"loss {report.loss:.4f}  {report.num_edges / report.seconds:,.0f} edges/s"
            if report.validation_auc is not None:
                words += f"  AUC {100 * report.validation_auc:.1f}"
            bar.update(task, completed=report.epoch, description=words)

        yield show


def _open_run(
    order: TrainJob, network: TextualNetwork, checkpoint: Path, group: ProcessGroup
) -> TrainingRun:
    if not order.force:
        sizes = {"processes": group.size, "num_local": num_local()}
        run_on_all(group, lambda: check_memory(network, order.settings, **sizes))
    is_left = group.broadcast_string("left" if is_stored(checkpoint) else "") == "left"
    # Of a group over several hosts some may have been started again, and others only now.
    starts_again = group.any(found=is_restart())
    if order.resume or (starts_again and is_left):
        return load_checkpoint(checkpoint, network, order.settings, order.seed, group)
    if is_left:
        raise ConfigError(
            f"{checkpoint} holds the checkpoint of an interrupted run; "
            "go on with --resume, or delete the folder to start anew"
        )
    return TrainingRun(network, order.settings, order.seed, group=group)


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


@dataclass(frozen=True, slots=True)
class TrainSummary:
    """A training that is over, and its model stored."""

    run: TrainingRun
    settings: Settings
    """Of the model, with everything chosen that was left open."""
    first_epoch: int
    """Epochs made before, where it was resumed."""
    seconds: float
    out: Path


def _print_json(done: TrainSummary) -> None:
    run, best = done.run, done.run.best
    summary = {
        "model": str(done.out),
        "vertices": run.network.num_vertices,
        "edges": len(run.network.edges),
        "seed": run.seed,
        "epochs": run.epoch,
        "resumed_after_epoch": done.first_epoch or None,
        "train_seconds": round(done.seconds, 3),
        "validation_auc": None if best is None else best.auc,
        "settings": done.settings.to_dict(),
    }
    json.dump(summary, sys.stdout, indent=2)
    print()


def _print_summary(done: TrainSummary) -> None:
    run, first = done.run, done.first_epoch
    print(f"{run.network!r}")
    resumed = f", resumed after epoch {first}" if first else ""
    print(f"{run.epoch - first} epochs in {done.seconds:.1f} s, seed {run.seed}{resumed}")
    if run.best is not None or not run.history:
        print(outcome(run.history))
    if share := done.settings.structure_share:
        print(f"links alone have {100 * share:g} % of a score, texts the rest (--structure-share)")
    if power := done.settings.degree_power:
        print(f"d links, by weight, make a vector (1 + d / 3)^{power:g} long (--degree-power)")
    print(f"model in {done.out}")
