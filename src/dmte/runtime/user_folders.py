"""Folders of the user: for data, and for a cache that may be deleted at any time."""

import os
import sys
from pathlib import Path

_CACHES = {"darwin": "Library/Caches", "win32": "AppData/Local"}
"""The folder of caches below the home folder; that of Linux is the default of XDG."""


def cache_folder() -> Path | None:
    """Return the cache folder, which need not exist: ``$XDG_CACHE_HOME/dmte`` if that is set.

    Otherwise ``~/.cache/dmte`` on Linux, ``~/Library/Caches/dmte`` on macOS and
    ``~/AppData/Local/dmte`` on Windows. None if the user has no home folder.
    """
    return user_folder("XDG_CACHE_HOME", _CACHES.get(sys.platform, ".cache"))


def user_folder(variable: str, below_home: str) -> Path | None:
    """Return the folder ``dmte`` in that of an XDG variable, or below the home folder."""
    named = Path(os.environ.get(variable, ""))
    if named.is_absolute():  # The XDG specification ignores others.
        return named / "dmte"
    try:
        return Path.home() / below_home / "dmte"
    except RuntimeError:
        return None
