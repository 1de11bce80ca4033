"""Run a command; print its seconds, CPU seconds and peak of memory, or its problem, as JSON.

The system counts the memory of the process that starts a command as memory of the command. So this
process imports little, and other scripts start a command through it.

    python benchmarks/timed.py LIMIT_SECONDS COMMAND ...
"""

import json
import os
import signal
import subprocess
import sys
import threading
from time import perf_counter


def timed(limit: float, command: list[str]) -> dict[str, float | str]:
    """Measure a command with all its processes, and kill it after ``limit`` seconds."""
    began = perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as started:
        timer = threading.Timer(limit, os.kill, (started.pid, signal.SIGKILL))
        timer.start()
        messages = started.stderr.read() if started.stderr else ""
        _, status, usage = os.wait4(started.pid, 0)
        seconds = perf_counter() - began
        timer.cancel()
        started.returncode = os.waitstatus_to_exitcode(status)  # Popen must not wait again.
    if started.returncode:
        return {"problem": problem(started.returncode, messages, seconds, limit)}
    return {
        "seconds": round(seconds, 2),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 2),
        "peak_mb": round(1024 * usage.ru_maxrss / 1e6),
    }


def problem(code: int, messages: str, seconds: float, limit: float) -> str:
    """Describe in a line why a command failed.

    >>> problem(1, "dmte: no such file", 0.1, 60)
    'dmte: no such file'
    >>> problem(-9, "", 60.2, 60), problem(-9, "", 5.0, 60)
    ('stopped after 60 s', 'killed by signal 9')
    """
    if code < 0:
        return f"stopped after {limit:g} s" if seconds >= limit else f"killed by signal {-code}"
    lines = messages.strip().splitlines()
    return lines[-1] if lines else f"exit code {code}"


if __name__ == "__main__":
    print(json.dumps(timed(float(sys.argv[1]), sys.argv[2:])))
