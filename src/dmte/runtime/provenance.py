"""What makes results: the revision of this code, the versions it stands on, and the processor.

A result is the same to the bit only where all of these are: another processor has other vector
instructions, which add in another order. Nothing here names a person or a place.
"""

import os
import platform
import subprocess
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from dmte.runtime.memory import total_bytes

PACKAGE = Path(__file__).parents[1]

CPUINFO = Path("/proc/cpuinfo")

DIRTY = "+"
"""What follows a revision whose files were changed since."""

_NUMBERS = {"family": "cpu family", "model": "model"}

_PATIENCE = 10.0  # Seconds; a network drive may make git wait.


@cache
def maker() -> dict[str, Any]:
    """Return what this process makes results with, in a few words.

    The answer is that of the first call: files that change later are not those that run.
    """
    return {
        "dmte": version("dmte"),
        "revision": revision(),
        "torch": version("torch"),
        "processor": processor(),
    }


def revision(package: Path = PACKAGE) -> str | None:
    """Return the commit that a package is run from, or None where it lies in no checkout.

    A "+" follows where files of the package were changed since. Other files do not count: results
    are written into the checkout while it runs.
    """
    # A package installed into a folder of somebody's checkout is no part of it.
    if not _git(package, "ls-files", "__init__.py"):
        return None
    commit = _git(package, "rev-parse", "--short=7", "HEAD")
    if not commit:
        return None
    changed = _git(package, "--no-optional-locks", "status", "--porcelain", "--", ".")
    return f"{commit}{DIRTY if changed else ''}"


def _git(folder: Path, *words: str) -> str | None:
    """Return what git says about a folder; None where there is no git, or it refuses."""
    try:
        done = subprocess.run(
            ["git", *words],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
            timeout=_PATIENCE,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def processor() -> str:
    """Return the model of the processor, or its kind where the system does not tell.

    Virtual machines give several models one name, so the numbers of family and model stand beside.
    """
    try:
        first, *_ = CPUINFO.read_text("utf-8").split("\n\n")
    except OSError:
        return platform.processor() or platform.machine()
    facts = {
        name.strip(): value.strip()
        for name, _, value in (line.partition(":") for line in first.splitlines())
    }
    if "model name" not in facts:
        return platform.processor() or platform.machine()
    numbers = [f"{name} {facts[key]}" for name, key in _NUMBERS.items() if key in facts]
    return ", ".join([facts["model name"], *numbers])


def environment() -> dict[str, Any]:
    """Return what a bit-identical rerun needs to have in common, besides settings and seed."""
    return {
        "versions": {
            "dmte": version("dmte"),
            "torch": torch.__version__,
            "python": platform.python_version(),
        },
        "threads": torch.get_num_threads(),
    }


def _machine() -> dict[str, Any]:
    memory = total_bytes()
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "memory_gb": None if memory is None else round(memory / 1e9, 1),
    }
