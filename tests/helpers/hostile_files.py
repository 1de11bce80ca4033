"""What a stranger may put in place of a file, and a limit on the time that reading takes."""

import os
import signal
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import pytest

GIANT = 1 << 42
"""Bytes that a sparse file claims to have."""


def sparse(path: Path) -> None:
    """Make a file that takes no room on the disk."""
    path.touch()
    os.truncate(path, GIANT)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server, pytest.MonkeyPatch.context() as patch:
        patch.chdir(path.parent)  # The name of a socket has at most 108 bytes.
        server.bind(path.name)


PLANTS: Mapping[str, Callable[[Path], object]] = MappingProxyType(
    {
        "pipe": os.mkfifo,
        "device": lambda path: path.symlink_to("/dev/zero"),
        "link": lambda path: path.symlink_to("/etc/passwd"),
        "link in a circle": lambda path: path.symlink_to(path.name),
        "folder": Path.mkdir,
        "socket": _socket,
        "sparse giant": sparse,
    }
)
"""Functions that put something at a path, by name."""


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Raise ``TimeoutError`` in what takes longer, such as opening a pipe."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
