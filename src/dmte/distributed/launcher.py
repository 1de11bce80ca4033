"""Starting a group of processes on this host, and joining one that torchrun started.

Processes form a group of ``torch.distributed`` by the environment variables of ``torchrun``: RANK,
WORLD_SIZE, MASTER_ADDR and so on. On one host ``supervise`` starts them with torch's agent, and
restarts all of them when one dies; the run then resumes from its checkpoint. Every start has a new
rendezvous, so that no process reads addresses of an earlier start.
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
"""Environment variables: the number of restarts, and the id of the launcher process."""
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG in linux/prctl.h: the signal to send when the parent dies.


def group_size() -> int:
    """Return the number of processes in the group of this process."""
    return int(os.environ.get("WORLD_SIZE", "1")) if "RANK" in os.environ else 1


def group_rank() -> int:
    """Return the rank of this process."""
    return int(os.environ.get("RANK", "0")) if group_size() > 1 else 0


def prints_messages() -> bool:
    """Return whether this process is the first of its group on this host."""
    return group_size() == 1 or int(os.environ.get("LOCAL_RANK", group_rank())) == 0


def is_restart() -> bool:
    """Return whether the group was restarted after it lost a process."""
    names = (RESTART, "TORCHELASTIC_RESTART_COUNT")
    return group_size() > 1 and any(int(os.environ.get(name, "0")) for name in names)


def num_local() -> int:
    """Return the number of processes of the group on this host."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1")) if group_size() > 1 else 1


@contextmanager
def joined_group(timeout_seconds: float) -> Iterator[ProcessGroup]:
    """Join the group of this process, or use ``SINGLE_PROCESS`` if it was started alone.

    Raises:
        LostProcessError: The other processes cannot be reached.
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


def require_shared_folder(folder: Path, group: ProcessGroup) -> None:
    """Check that all processes share the folder, which is created if it is missing.

    Raises:
        StorageError: A process sees another folder or none.
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
        blind = StorageError(f"{socket.gethostname()} does not see {folder}")
        found = group.first_error(None if is_seen else blind)
    finally:
        if mark is not None:
            mark.unlink()
    if found is not None:
        rank, words = found
        raise StorageError(
            f"{words} as process 0 does (process {rank}); all hosts must share the folder of the "
            "model, which has the checkpoints"
        )


def supervise(
    arguments: Sequence[str], processes: int, restarts: int, notify: Callable[[str], None]
) -> int:
    """Run ``python -m dmte`` with these arguments in several processes; return the exit code.

    If a process is killed, all are restarted at most ``restarts`` times, and ``notify`` receives a
    message. An error of the program itself, such as an invalid option, is not repeated.
    """
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import elastic_launch

    for left in reversed(range(restarts + 1)):
        try:
            with _environment(restart=restarts - left):
                elastic_launch(_one_start(processes), sys.executable)("-m", "dmte", *arguments)
        except SignalException as stopped:
            return 128 + int(stopped.sigval)
        except ChildFailedError as failed:
            code = _exit_code([failure.exitcode for failure in failed.failures.values()])
            if code > 0:
                return code
            notify(f"a process was killed by {signal.Signals(-code).name}; {_what_follows(left)}")
        else:
            return 0
    return 1


def check_processes(processes: int, most: int) -> None:
    """Check the number of processes.

    Raises:
        ConfigError: The number is out of range or differs from WORLD_SIZE.
    """
    if not 1 <= processes <= most:
        raise ConfigError(f"processes must be at least 1 and at most {most}, not {processes}")
    if group_size() > 1 and processes != group_size():
        raise ConfigError(
            f"--processes must be left out under torchrun, which started {group_size()}, "
            f"not {processes}"
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
def _environment(restart: int) -> Iterator[None]:
    """Set environment variables for the processes, and silence the log of torch's agent."""
    variables = {
        RESTART: str(restart),
        LAUNCHER: str(os.getpid()),
        # Otherwise processes of a later start may read addresses of an earlier one.
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
    }
    if sys.platform == "linux":  # The host name may not resolve.
        variables["GLOO_SOCKET_IFNAME"] = os.environ.get("GLOO_SOCKET_IFNAME", "lo")
    before, level = dict(os.environ), logging.root.manager.disable
    os.environ |= variables
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(level)
        os.environ.clear()
        os.environ |= before


def _exit_code(codes: Sequence[int]) -> int:
    """Return the exit code of the process that ended a group; a signal's is negative.

    When one process ends, the agent ends the others by SIGTERM, and those that lose the connection
    exit with 1.
    """
    of_agent = -int(signal.SIGTERM)
    own = [code for code in codes if code != of_agent]
    return min(own, key=lambda code: (code > 0, -code)) if own else of_agent


def _what_follows(left: int) -> str:
    if left == 0:
        return "giving up; resume from the last checkpoint, if there is one, with --resume"
    return f"all processes restart from the last checkpoint (at most {left} more times)"


def _die_with_launcher() -> None:
    """Have the system kill this process when its launcher is killed."""
    if LAUNCHER not in os.environ or sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != int(os.environ[LAUNCHER]):  # The launcher died before prctl.
        raise LostProcessError("the process that started this one is gone")


def use_threads(threads: int | None) -> None:
    """Set the number of threads, by default an even share of the processors of this host."""
    if threads is not None:
        torch.set_num_threads(threads)
    elif group_size() > 1:
        torch.set_num_threads(max(1, torch.get_num_threads() // num_local()))
