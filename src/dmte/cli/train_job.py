"""The work of ``dmte train``, in one process or several."""

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

from dmte.cli.exit_codes import exit_code
from dmte.cli.network_options import NetworkSource
from dmte.cli.options import LINE
from dmte.cli.output import print_json
from dmte.cli.progress import bar_on_stderr, description_column
from dmte.distributed.group import ProcessGroup, run_on_all
from dmte.distributed.launcher import supervise
from dmte.distributed.membership import LOST_PROCESS, Place, require_shared_folder
from dmte.errors import (
    ConfigError,
    DmteError,
    DmteWarning,
    Interrupted,
    LostProcessError,
    StorageError,
    TrainingError,
    warn,
)
from dmte.model.history import outcome
from dmte.model.trained_model import TrainedModel
from dmte.network import TextualNetwork
from dmte.settings import Settings
from dmte.storage.atomic_file import remove_folder
from dmte.storage.folder import check_writable, is_stored
from dmte.storage.locks import run_lock
from dmte.training.checkpoint import Checkpoints, load_checkpoint
from dmte.training.estimate import check_memory
from dmte.training.run import EpochReport, TrainingRun

MOST_THREADS = 1024
MOST_PER_PROCESSOR = 4
"""Processes of one command per processor of this host: a thousand would stop it for everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainJob:
    """Arguments of a training."""

    source: NetworkSource
    features: Path | None
    settings: Settings
    seed: int
    out: Path
    checkpoint_every: int | None
    resume: bool
    force: bool
    """Train even if memory seems insufficient."""
    quiet: bool
    as_json: bool


@dataclass(frozen=True, slots=True)
class ParallelOptions:
    """Threads and processes that share the work."""

    threads: int | None
    processes: int | None
    restarts: int
    timeout: float


def run_train(job: TrainJob, parallel: ParallelOptions) -> None:
    """Train, store the model and print a summary; or start the processes that do."""
    place = Place.from_environment()
    with _errors_of_first_process(place):
        _check_parallel(parallel)
        place.use_threads(parallel.threads)
        checkpoints = Checkpoints(checkpoint_folder(job.out), job.checkpoint_every)
        check_writable(job.out)
        check_writable(checkpoints.folder)
        if _starts_processes(parallel.processes, job.source, place):
            with _only_training(job.out):  # Also while processes restart.
                code = supervise(LINE.get(), parallel.processes or 1, parallel.restarts, _announce)
            sys.exit(code)
        with place.joined_group(parallel.timeout) as group, ExitStack() as lock:
            require_shared_folder(checkpoints.folder.parent, group)
            if place.rendezvous is None:  # Otherwise the launcher holds the lock.
                group.run_on_rank_zero(lambda: lock.enter_context(_only_training(job.out)))
            _train(job, checkpoints, group, place)


@contextmanager
def _only_training(out: Path) -> Iterator[None]:
    """Lock a model folder against other trainings.

    Raises:
        StorageError: Another training writes to the folder; the message names its process.
    """
    place = out.resolve()

    def busy(holder: str) -> StorageError:
        return StorageError(
            f"another training writes to {out} ({holder}); wait until it has ended, or give "
            "another --out"
        )

    with run_lock(place.with_name(f".{place.name}.training"), busy):
        yield


def _train(job: TrainJob, checkpoints: Checkpoints, group: ProcessGroup, place: Place) -> None:
    quiet = job.quiet or not group.is_rank_zero
    network = run_on_all(group, lambda: job.source.open(features=job.features, quiet=quiet))
    run = _open_run(job, network, checkpoints.folder, group, place)
    started, first_epoch, epochs = time.perf_counter(), run.epoch, run.settings.epochs
    with _naming_checkpoint(run, checkpoints.folder), progress(epochs, quiet=quiet) as show:
        for report in run.epochs():
            show(report)
            checkpoints.save_if_due(run)
    trained = _finish(run, job.out, checkpoints.folder)
    if trained is None:
        return
    facts = {
        "model": str(job.out),
        "vertices": network.num_vertices,
        "edges": len(network.edges),
        "seed": run.seed,
        "epochs": run.epoch,
        "resumed_after_epoch": first_epoch or None,
        "train_seconds": round(time.perf_counter() - started, 3),
        "validation_auc": None if run.best is None else run.best.auc,
        "settings": trained.settings.to_dict(),
    }
    print_json(facts) if job.as_json else _print_summary(run, trained.settings, facts)


def _starts_processes(processes: int | None, source: NetworkSource, place: Place) -> bool:
    """Whether this process is to start the others instead of training."""
    size = place.size if processes is None else processes
    most = MOST_PER_PROCESSOR * max(2, os.cpu_count() or 1)
    if processes is not None and not 1 <= processes <= most:
        raise ConfigError(
            f"processes must be at least 1 and at most {most} on this host, four per processor, "
            f"not {size}"
        )
    if place.size not in (1, size):
        raise ConfigError(
            f"--processes must be left out under torchrun, which started {place.size}, not {size}"
        )
    if source.network == "-" and size > 1:
        raise ConfigError("several processes cannot read standard input; give a file")
    return place.size == 1 < size


@contextmanager
def _errors_of_first_process(place: Place) -> Iterator[None]:
    """Report errors and warnings from the first process of a host only."""
    if not place.prints_messages:
        warnings.simplefilter("ignore", DmteWarning)
    try:
        yield
    except LostProcessError as problem:
        if place.rendezvous is None:
            raise
        _announce(str(problem))
        sys.exit(LOST_PROCESS)
    except DmteError as problem:
        if place.prints_messages:
            raise
        sys.exit(exit_code(problem))


def _announce(message: str) -> None:
    print(f"dmte: {message}", file=sys.stderr, flush=True)


def _finish(run: TrainingRun, out: Path, checkpoint: Path) -> TrainedModel | None:
    """Store the model and remove the checkpoint; only the first process returns the model."""
    trained = run.collect_result()

    def store() -> None:
        if trained is not None:
            trained.save(out)
            try:
                remove_folder(checkpoint)
            except OSError as problem:
                warn(f"{checkpoint} cannot be removed: {problem.strerror}; delete it")

    run.group.run_on_rank_zero(store)
    return trained


def checkpoint_folder(out: Path) -> Path:
    """Folder of the checkpoints until the model is finished."""
    place = out.resolve()
    if not place.name:
        raise ConfigError(f"{out} cannot be a model folder; choose a new folder")
    return place.with_name(f"{place.name}.checkpoint")


@contextmanager
def progress(epochs: int, *, quiet: bool) -> Iterator[Callable[[EpochReport], None]]:
    """A bar on stderr with loss, speed and remaining time; yields the function that updates it."""
    columns = (
        TextColumn("training"),
        BarColumn(),
        MofNCompleteColumn(),
        description_column(),
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
    job: TrainJob,
    network: TextualNetwork,
    checkpoint: Path,
    group: ProcessGroup,
    place: Place,
) -> TrainingRun:
    if not job.force:
        sizes = {"processes": group.size, "num_local": place.num_local}
        run_on_all(group, lambda: check_memory(network, job.settings, **sizes))
    exists = group.broadcast_string("left" if is_stored(checkpoint) else "") == "left"
    # In a group over several hosts, some processes may be restarted and others new.
    restarts = group.any(found=place.num_restarts > 0)
    if job.resume or (restarts and exists):
        return load_checkpoint(checkpoint, network, job.settings, job.seed, group)
    if exists:
        raise ConfigError(
            f"{checkpoint} holds the checkpoint of an interrupted run; "
            "resume it with --resume, or delete the folder to start again"
        )
    return TrainingRun(network, job.settings, job.seed, group=group)


@contextmanager
def _naming_checkpoint(run: TrainingRun, checkpoint: Path) -> Iterator[None]:
    """Name the last checkpoint in the error of a run that fails or is interrupted."""
    try:
        yield
    except LostProcessError:
        raise
    except TrainingError as problem:
        kept = f"the last good checkpoint is in {checkpoint}" if is_stored(checkpoint) else ""
        raise TrainingError(f"{problem}{'; ' if kept else ''}{kept}") from problem
    except KeyboardInterrupt as problem:
        done = f"interrupted after {run.epoch} of {run.settings.epochs} epochs"
        kept = "continue from the last checkpoint with --resume" if is_stored(checkpoint) else ""
        raise Interrupted(f"{done}{'; ' if kept else ''}{kept}") from problem


def _check_parallel(options: ParallelOptions) -> None:
    if options.threads is not None and not 1 <= options.threads <= MOST_THREADS:
        raise ConfigError(
            f"threads must be at least 1 and at most {MOST_THREADS}, not {options.threads}"
        )
    if options.restarts < 0:
        raise ConfigError(f"restarts must be at least 0, not {options.restarts}")
    if not 0 < options.timeout < float("inf"):
        raise ConfigError(f"timeout must be above 0, not {options.timeout}")


def _print_summary(run: TrainingRun, settings: Settings, facts: dict[str, Any]) -> None:
    first = facts["resumed_after_epoch"] or 0
    print(f"{run.network!r}")
    resumed = f", resumed after epoch {first}" if first else ""
    print(f"{run.epoch - first} epochs in {facts['train_seconds']:.1f} s, seed {run.seed}{resumed}")
    if run.best is not None or not run.history:
        print(outcome(run.history))
    if share := settings.structure_share:
        print(f"links count for {100 * share:g} % of a score, texts for the rest")
    if power := settings.degree_power:
        print(f"a vector with weighted degree d has length (1 + d / 3)^{power:g}")
    print(f"model in {facts['model']}")
