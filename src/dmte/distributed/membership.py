"""The place of this process in a group, and joining the others.

Processes form a group by the environment variables of ``torchrun``: RANK, WORLD_SIZE and so on.
Under ``torchrun`` they meet at MASTER_ADDR. Those of our own launcher meet by a file, and connect
over the loopback interface.
"""

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import torch

from dmte.distributed.gloo import GlooGroup
from dmte.distributed.group import SINGLE_PROCESS, ProcessGroup
from dmte.errors import ConfigError, LostProcessError, StorageError

RENDEZVOUS = "DMTE_RENDEZVOUS"
"""Environment variable of our own launcher: the file by which its processes meet."""
FOLDER_PREFIX = "dmte-processes-"
"""The name of the folder of that file begins with this."""
LOST_PROCESS = 75
"""Exit code, to our own launcher, of a process that lost another; EX_TEMPFAIL in sysexits.h."""
REMOVALS = 100
"""Attempts to remove that folder, in which the other thread may be making the file again."""
_MOST = 65_535
"""The largest port, and more processes and restarts than there are."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place of this process in its group."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    num_local: int = 1
    """Processes of the group on this host."""
    num_restarts: int = 0
    """Starts of the group before this one."""
    rendezvous: Path | None = None
    """The file of our own launcher, or None under torchrun."""

    @classmethod
    def from_environment(cls) -> "Place":
        """Read the environment variables of torchrun, or of our own launcher.

        Raises:
            ConfigError: A variable is not a number or out of range.
        """
        if "RANK" not in os.environ or (size := _number("WORLD_SIZE", 1, least=1)) == 1:
            return cls()
        rank = _number("RANK", 0, most=size - 1)
        return cls(
            rank,
            size,
            _number("LOCAL_RANK", rank, most=size - 1),
            _number("LOCAL_WORLD_SIZE", 1, least=1, most=size),
            _number("TORCHELASTIC_RESTART_COUNT", 0),
            _rendezvous(),
        )

    @property
    def prints_messages(self) -> bool:
        """Whether this process is the first of its group on this host."""
        return self.local_rank == 0

    def use_threads(self, threads: int | None) -> None:
        """Set the number of threads, by default an even share of the processors of this host."""
        if threads is not None:
            torch.set_num_threads(threads)
        elif self.size > 1:
            torch.set_num_threads(max(1, torch.get_num_threads() // self.num_local))

    @contextmanager
    def joined_group(self, timeout_seconds: float) -> Iterator[ProcessGroup]:
        """Join the group, or use ``SINGLE_PROCESS`` if this process was started alone.

        Raises:
            LostProcessError: The other processes cannot be reached.
        """
        if self.size == 1:
            yield SINGLE_PROCESS
            return
        connect = _connect_by_torchrun if self.rendezvous is None else self._connect_by_file
        try:
            connection = connect(timedelta(seconds=timeout_seconds))
        except (RuntimeError, ValueError, OSError) as problem:
            where = self.rendezvous or "{MASTER_ADDR}:{MASTER_PORT}".format_map(os.environ)
            raise LostProcessError(
                f"process {self.rank} of {self.size} cannot reach the others at {where}: "
                f"{' '.join(str(problem).split())[:200]}"
            ) from problem
        host = f"{os.environ.get('GROUP_RANK', '')}@{socket.gethostname()}"
        group = GlooGroup(
            connection, self.rank, self.size, host=host, timeout_seconds=timeout_seconds
        )
        del connection  # Its threads must end before Python does.
        try:
            yield group
        finally:
            group.leave()
            if self.rendezvous is None:
                torch.distributed.destroy_process_group()

    def _connect_by_file(self, timeout: timedelta) -> Any:
        import torch.distributed as dist

        gloo: Any = dist.ProcessGroupGloo
        store = dist.FileStore(str(self.rendezvous), self.size)  # type: ignore[attr-defined]
        store.set_timeout(timeout)
        # After the store: it would wait for a removed folder, and stop all threads meanwhile.
        Thread(target=_leave_with_launcher, args=(self.rendezvous,), daemon=True).start()
        options = gloo._Options()
        options._timeout = timeout
        # By default gloo listens at the address of the host's name.
        options._devices = [gloo.create_device(hostname="127.0.0.1")]
        return gloo(store, self.rank, self.size, options)


def _connect_by_torchrun(timeout: timedelta) -> Any:
    import torch.distributed as dist

    _number("MASTER_PORT", 0, least=1)
    if not os.environ.get("MASTER_ADDR"):
        raise ConfigError("the environment variable MASTER_ADDR must name a host")
    dist.init_process_group("gloo", timeout=timeout)
    return dist.group.WORLD


def _number(name: str, default: int, *, least: int = 0, most: int = _MOST) -> int:
    """Value of an environment variable that torchrun sets."""
    text = os.environ.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) < 9 and least <= int(text) <= most):
        raise ConfigError(
            f"the environment variable {name} must be a number from {least} to {most}, "
            f"not {text[:40]!r}"
        )
    return int(text)


def _rendezvous() -> Path | None:
    """File of our own launcher, or None under torchrun."""
    path = Path(os.environ.get(RENDEZVOUS, ""))
    if path.parent.name.startswith(FOLDER_PREFIX) and path.parent.is_dir():
        return path
    if RENDEZVOUS in os.environ:
        raise ConfigError(f"the environment variable {RENDEZVOUS} is for dmte's own processes only")
    return None


def _leave_with_launcher(rendezvous: Path) -> None:
    """Exit when the launcher is gone, without its temporary files.

    The launcher holds the other end of standard input, and writes nothing.
    """
    with suppress(OSError):
        while os.read(0, 1):
            pass
    for _ in range(REMOVALS):
        shutil.rmtree(rendezvous.parent, ignore_errors=True)
        if not rendezvous.parent.exists():
            break
    os._exit(LOST_PROCESS)


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
