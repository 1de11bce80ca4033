"""Python processes that do not look for modules in the current folder.

``python -m`` and ``python -c`` put the current folder first on the path of modules. It may hold
files of a stranger, such as a ``json.py`` among notes, which must not run.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

SAFE_PATH = "PYTHONSAFEPATH"
"""Environment variable with the effect of ``-P``, also for the children of a child."""

_environment = Lock()


def python_command(*arguments: str) -> list[str]:
    """Command that runs this Python with ``arguments``.

    >>> python_command("-m", "dmte")[1:]
    ['-P', '-m', 'dmte']
    """
    return [sys.executable, "-P", *arguments]


def module_paths() -> list[str]:
    """Where this process finds modules, without the folders that depend on the current one."""
    return [path for path in map(str, sys.path) if Path(path).is_absolute()]


@contextmanager
def safe_spawning() -> Iterator[None]:
    """Let processes that ``multiprocessing`` spawns meanwhile have the safe path.

    It takes neither options nor an environment for them, so that of this process has a further
    variable for a moment.
    """
    with _environment:
        before = os.environ.get(SAFE_PATH)
        os.environ[SAFE_PATH] = "1"
        try:
            yield
        finally:
            if before is None:
                del os.environ[SAFE_PATH]
            else:
                os.environ[SAFE_PATH] = before
