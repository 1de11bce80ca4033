"""Provenance of results: revision of this code, versions of its dependencies, and processor.

Results are equal to the bit only if all of these are equal: processors differ in their vector
instructions, which add in different orders. Nothing here identifies a person or a place.
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
"""Suffix of a revision with uncommitted changes."""

_NUMBERS = {"family": "cpu family", "model": "model"}

_TIMEOUT_SECONDS = 10.0  # git may be slow on a network drive.


@cache
def build_info() -> dict[str, Any]:
    """Versions, revision and processor of this process.

    Computed once: files that change later are not the ones that run.
    """
    return {
        "dmte": version("dmte"),
        "revision": revision(),
        "torch": version("torch"),
        "processor": processor(),
    }


def revision(package: Path = PACKAGE) -> str | None:
    """Commit of the checkout that contains the package, or ``None`` outside a checkout.

    A "+" is appended if files of the package have changed since. Other files do not count, since
    results are written into the checkout during a run.
    """
    # A package that is installed in a folder of a checkout, but not tracked, does not belong to it.
    if not _git(package, "ls-files", "__init__.py"):
        return None
    commit = _git(package, "rev-parse", "--short=7", "HEAD")
    if not commit:
        return None
    changed = _git(package, "--no-optional-locks", "status", "--porcelain", "--", ".")
    return f"{commit}{DIRTY if changed else ''}"


def _git(folder: Path, *words: str) -> str | None:
    """Output of a git command in a folder, or ``None`` if it fails."""
    try:
        done = subprocess.run(
            ["git", *words],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
            timeout=_TIMEOUT_SECONDS,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def processor() -> str:
    """Model of the processor, or its architecture if the model is unknown.

    Includes the family and model numbers, since virtual machines share names between models.
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
    """Versions and thread count, which a bit-identical rerun needs besides settings and seed."""
    return {
        "versions": {
            "dmte": version("dmte"),
            "torch": torch.__version__,
            "python": platform.python_version(),
        },
        "threads": torch.get_num_threads(),
    }


def machine() -> dict[str, Any]:
    """Operating system, processor, cores and memory."""
    memory = total_bytes()
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "memory_gb": None if memory is None else round(memory / 1e9, 1),
    }
