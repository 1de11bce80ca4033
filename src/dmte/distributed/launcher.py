"""Starting a group of processes on this host, and starting it again when one dies.

The processes meet by a file in a folder that only this user can enter, so nothing has to listen for
them. Every start has a new folder, so that no process reads addresses of an earlier start. Standard
input of a process is a pipe from the launcher, whose end means that the launcher is gone.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from subprocess import PIPE, Popen
from tempfile import TemporaryDirectory

from dmte.distributed.membership import FOLDER_PREFIX, LOST_PROCESS, RENDEZVOUS
from dmte.runtime.children import python_command

POLL_SECONDS = 0.05
GRACE_SECONDS = 20.0
"""Time for the other processes to end by themselves after an error or a signal to the launcher."""

Worker = Popen[bytes]


def supervise(
    arguments: Sequence[str], processes: int, restarts: int, notify: Callable[[str], None]
) -> int:
    """Run ``python -m dmte`` with these arguments in several processes; return the exit code.

    If a process is killed or does not answer, all are restarted at most ``restarts`` times, and
    ``notify`` receives a message. An error of the program itself, such as an invalid option, is not
    repeated.
    """
    with _signals_caught() as caught:
        for restart in range(restarts + 1):
            codes = _run_group(arguments, processes, restart, caught)
            if set(codes) == {0}:
                return 0
            if caught:
                return 128 + caught[0]
            killed_by = [-code for code in codes if code is not None and code < 0]
            errors = [code for code in codes if code and code != LOST_PROCESS]
            if errors and not killed_by:
                return errors[0]
            notify(f"{_what_happened(killed_by)}; {_what_follows(restarts - restart)}")
    return 1


def _run_group(
    arguments: Sequence[str], processes: int, restart: int, caught: list[int]
) -> list[int | None]:
    """Run the processes until they end or one fails; return exit codes, None for one that hangs."""
    with (
        TemporaryDirectory(prefix=FOLDER_PREFIX, ignore_cleanup_errors=True) as folder,
        ExitStack() as running,
    ):
        workers: list[Worker] = []
        for rank in range(processes):
            worker = Popen(
                python_command("-m", "dmte", *arguments),
                stdin=PIPE,
                env=os.environ | variables_of(rank, processes, restart, folder),
                start_new_session=True,  # Otherwise Ctrl-C reaches it twice.
            )
            workers.append(running.enter_context(worker))
            running.callback(worker.kill)
        _wait(workers, float("inf"), lambda: bool(caught) or any(_exit_codes(workers)))
        if caught:
            _forward(caught[0], workers)
            _wait(workers, GRACE_SECONDS, lambda: len(caught) > 1)
        elif min(code or 0 for code in _exit_codes(workers)) >= 0:
            # A process that lost another may end before the other has printed its error.
            _wait(workers, GRACE_SECONDS, lambda: bool(caught))
        return _exit_codes(workers)


def variables_of(rank: int, processes: int, restart: int, folder: str) -> dict[str, str]:
    """Environment variables of a process, most of them those of torchrun."""
    return {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(processes),
        "LOCAL_WORLD_SIZE": str(processes),
        "GROUP_RANK": "0",
        "TORCHELASTIC_RESTART_COUNT": str(restart),
        RENDEZVOUS: f"{folder}{os.sep}rendezvous",
        "TMPDIR": folder,  # Temporary files of a killed process are removed with the folder.
    }


def _wait(workers: Sequence[Worker], seconds: float, is_over: Callable[[], bool]) -> None:
    """Wait until all processes have ended or ``is_over`` is true."""
    ends = time.monotonic() + seconds
    while None in _exit_codes(workers) and not is_over() and time.monotonic() < ends:
        time.sleep(POLL_SECONDS)


def _exit_codes(workers: Sequence[Worker]) -> list[int | None]:
    return [worker.poll() for worker in workers]


@contextmanager
def _signals_caught() -> Iterator[list[int]]:
    """Yield a list that collects Ctrl-C and requests to end, instead of ending this process.

    Only the main thread can do so. Signals that are ignored stay ignored.
    """
    caught: list[int] = []
    before = {}
    if threading.current_thread() is threading.main_thread():
        kinds = (signal.SIGINT, signal.SIGTERM)
        before = {kind: signal.getsignal(kind) for kind in kinds}
        before = {kind: old for kind, old in before.items() if old is not signal.SIG_IGN}
    try:
        for kind in before:
            signal.signal(kind, lambda number, _: caught.append(number))
        yield caught
    finally:
        for kind, old in before.items():
            signal.signal(kind, old)


def _forward(number: int, workers: Sequence[Worker]) -> None:
    if sys.platform == "win32":  # Ctrl-C reaches all processes of a console.
        return
    for worker in workers:
        worker.send_signal(number)


def _what_happened(killed_by: Sequence[int]) -> str:
    if not killed_by:
        return "a process did not answer in time"
    names = {int(kind): kind.name for kind in signal.Signals}
    return f"a process was killed by {names.get(killed_by[0], f'signal {killed_by[0]}')}"


def _what_follows(left: int) -> str:
    if left == 0:
        return "giving up; resume from the last checkpoint, if there is one, with --resume"
    return f"all processes restart from the last checkpoint (at most {left} more times)"
