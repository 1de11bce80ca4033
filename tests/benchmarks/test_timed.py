"""Commands measured from outside."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "timed.py"

pytestmark = pytest.mark.medium


def timed(code: str, limit: float = 60) -> dict[str, Any]:
    command = [sys.executable, str(SCRIPT), str(limit), sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_time_and_memory_include_what_the_command_starts() -> None:
    inner = "b'x' * 200_000_000; sum(range(3_000_000))"
    found = timed(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])")
    assert 200 < found["peak_mb"] < 260
    assert 0 < found["cpu_seconds"] <= 1.5 * found["seconds"]


def test_a_command_that_prints_much_does_not_wait() -> None:
    assert "seconds" in timed("import sys; print('x' * 10**6); print('x' * 10**6, file=sys.stderr)")


def test_a_command_that_takes_too_long_is_stopped() -> None:
    assert timed("import time; time.sleep(60)", limit=0.2) == {"problem": "stopped after 0.2 s"}


def test_a_command_that_fails_says_why() -> None:
    assert timed("import sys; sys.exit('no such network')") == {"problem": "no such network"}
