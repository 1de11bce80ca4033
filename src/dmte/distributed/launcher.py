"""Starting a group of processes on this host, and joining one that torchrun started.

A group is what ``torch.distributed`` makes of processes that find each other by the environment
variables of ``torchrun``: RANK, WORLD_SIZE, MASTER_ADDR and so on. On one host ``supervise`` starts
them with torch's own agent, waits, and starts all of them again when one dies; a run that finds a
checkpoint then goes on from it. Every start is a rendezvous of its own, so that nobody reads the
addresses of those who died.
"""

import ctypes
import logging
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from dmte.distributed.gloo import GlooGroup
from dmte.distributed.group import SINGLE_PROCESS, ProcessGroup
from dmte.errors import ConfigError, LostProcessError, StorageError

if TYPE_CHECKING:
    from torch.distributed.launcher.api import LaunchConfig

RESTART, LAUNCHER = "DMTE_RESTART", "DMTE_LAUNCHER"
"""Environment variables: which start this is, and the process that started a group."""
USERS_MISTAKE, INTERRUPTED = 2, 130
"""Exit codes; the latter is that of a process that Ctrl-C ended."""
_DEATH_SIGNAL = 1  # Of prctl, from linux/prctl.h: which signal to get when the parent dies.


def group_size() -> int:
    """Return how many processes the group has that this process was started in."""
    return int(os.environ.get("WORLD_SIZE", "1")) if "RANK" in os.environ else 1


def group_rank() -> int:
    """Return the number of this process in its group."""
    return int(os.environ.get("RANK", "0")) if group_size() > 1 else 0


def speaks() -> bool:
    """Return whether this process is the first of its group on this host."""
    return group_size() == 1 or int(os.environ.get("LOCAL_RANK", group_rank())) == 0


def is_restart() -> bool:
    """Whether the group was started before and lost a process."""
    names = (RESTART, "TORCHELASTIC_RESTART_COUNT")
    return group_size() > 1 and any(int(os.environ.get(name, "0")) for name in names)


def num_local() -> int:
    """Return how many processes of the group run on this host."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1")) if group_size() > 1 else 1


@contextmanager
def joined_group(timeout_seconds: float) -> Iterator[ProcessGroup]:
    """Join the group this process was started in; one process alone has no other to wait for.

    Raises:
        LostProcessError: The others cannot be reached.
    """
    if group_size() == 1:
        yield SINGLE_PROCESS
        return
    import torch.distributed as dist

    _die_with_launcher()
    try:
        dist.init_process_group("gloo", timeout=timedelta(seconds=timeout_seconds))
    except (RuntimeError, ValueError, OSError) as problem:
        raise LostProcessError(
            f"process {group_rank()} of {group_size()} cannot reach the others at "
            f"{os.environ.get('MASTER_ADDR')}:{os.environ.get('MASTER_PORT')}: "
            f"{' '.join(str(problem).split())[:200]}"
        ) from problem
    group = GlooGroup(
        dist.group.WORLD,
        dist.get_rank(),
        dist.get_world_size(),
        host=f"{os.environ.get('GROUP_RANK', '')}@{socket.gethostname()}",
        timeout_seconds=timeout_seconds,
    )
    try:
        yield group
    finally:
        group.leave()
        dist.destroy_process_group()


def refuse_separate_folders(folder: Path, group: ProcessGroup) -> None:
    """Make sure that all processes see the same folder, which is made if it is not there.

    Raises:
        StorageError: A process sees another folder, or none.
    """
    if group.size == 1:
        return
    mark = None
    if group.is_rank_zero:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".dmte-", delete=False) as file:
            mark = Path(file.name)
    try:
        name = group.broadcast_string("" if mark is None else mark.name)
        is_seen = (folder / name).exists()
        blind = None if is_seen else f"{socket.gethostname()} does not see {folder}"
        found = group.first_error(blind)
    finally:
        if mark is not None:
            mark.unlink()
    if found is not None:
        rank, words = found
        raise StorageError(
            f"{words} as process 0 does (process {rank}); all hosts must share the folder of the "
            "model, where checkpoints are kept"
        )


def supervise(
    arguments: Sequence[str], processes: int, restarts: int, tell: Callable[[str], None]
) -> int:
    """Run ``python -m dmte`` with these arguments in several processes; return the exit code.

    When a process is killed, all are started again, as often as ``restarts`` says; what happened is
    told. What would happen again, such as a user's mistake, is not repeated.
    """
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import elastic_launch

    for left in reversed(range(restarts + 1)):
        try:
            with _surroundings(restart=restarts - left):
                elastic_launch(_one_start(processes), sys.executable)("-m", "dmte", *arguments)
        except SignalException as stopped:
            return 128 + int(stopped.sigval)
        except ChildFailedError as failed:
            code = _decisive([failure.exitcode for failure in failed.failures.values()])
            if code > 0:
                return code
            tell(f"a process was killed by {signal.Signals(-code).name}; {_what_follows(left)}")
        else:
            return 0
    return 1


def refuse_processes(processes: int, most: int) -> None:
    """Refuse a number of processes that makes no sense, or that is not the number started.

    Raises:
        ConfigError: It is.
    """
    if not 1 <= processes <= most:
        raise ConfigError(f"processes must be at least 1 and at most {most}, not {processes}")
    if group_size() > 1 and processes != group_size():
        raise ConfigError(
            f"--processes says {processes}, but {group_size()} were started; "
            "leave it out under torchrun"
        )


def _one_start(processes: int) -> "LaunchConfig":
    from torch.distributed.launcher.api import LaunchConfig

    return LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=processes,
        run_id=f"dmte-{os.getpid()}",
        rdzv_backend="c10d",
        rdzv_endpoint="127.0.0.1:0",
        local_addr="127.0.0.1",
        max_restarts=0,
        monitor_interval=0.1,
    )


@contextmanager
def _surroundings(restart: int) -> Iterator[None]:
    """Say in the environment what the processes need to know, and keep torch's agent quiet."""
    said = {
        RESTART: str(restart),
        LAUNCHER: str(os.getpid()),
        # Without it, processes of a later start may read the addresses of those who died.
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
    }
    if sys.platform == "linux":  # All are on this host, whose name may lead nowhere.
        said["GLOO_SOCKET_IFNAME"] = os.environ.get("GLOO_SOCKET_IFNAME", "lo")
    before, level = dict(os.environ), logging.root.manager.disable
    os.environ |= said
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(level)
        os.environ.clear()
        os.environ |= before


def _decisive(codes: Sequence[int]) -> int:
    """Return the exit code that tells why a group has ended; that of a signal is below zero.

    When one process ends, the agent ends those that are left by SIGTERM, and those that lose it end
    with 1.
    """
    of_agent = -int(signal.SIGTERM)
    own = [code for code in codes if code != of_agent]
    return min(own, key=lambda code: (code > 0, -code)) if own else of_agent


def _what_follows(left: int) -> str:
    if left == 0:
        return "giving up; go on from the last checkpoint, if there is one, with --resume"
    return f"all start again from the last checkpoint ({left} more times at most)"


def _die_with_launcher() -> None:
    """Let the system end this process when the one that supervises it is killed."""
    if LAUNCHER not in os.environ or sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != int(os.environ[LAUNCHER]):  # It died before the line above.
        raise LostProcessError("the process that started this one is gone")


def use_threads(threads: int | None) -> None:
    """Use so many threads, or an even share of the processors of this host."""
    if threads is not None:
        torch.set_num_threads(threads)
    elif group_size() > 1:
        torch.set_num_threads(max(1, torch.get_num_threads() // num_local()))
