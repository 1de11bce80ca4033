"""Write a file completely or not at all: to a temporary name first, then in one rename.

A folder is removed in the same way: renamed first, so that no half of it is found at its place.
"""

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from dmte.errors import StorageError

TEMPORARY_NAME = re.compile(r"\.[\w.-]+\.[0-9a-f]{8}\.dmte-tmp", re.ASCII)
"""The names of staged files."""


@contextmanager
def new_file(path: Path, *, replace: bool) -> Iterator[BinaryIO]:
    """Yield a temporary file that is renamed to ``path`` on success and deleted on an error.

    Raises:
        StorageError: The path exists and ``replace`` is False, is not a regular file, or cannot be
            written.
    """
    if path.is_dir():
        raise StorageError(f"{path} is a folder; give the name of a file")
    if path.exists() and not path.is_file():
        raise StorageError(
            f"{path} is a device or a pipe, which cannot be replaced by a file; give another path"
        )
    if path.exists() and not replace:
        raise StorageError(
            f"{path} exists already and is not overwritten; give another path or --force"
        )
    if path.parent.is_file():
        raise StorageError(f"{path} cannot be written: {path.parent} is a file, not a folder")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _deleted_on_error(temporary), temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            temporary.replace(path)
    except OSError as problem:
        reason = problem.strerror or problem
        raise StorageError(f"{path} cannot be written: {reason}") from problem


@contextmanager
def _deleted_on_error(path: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise


def stage_files(contents: Mapping[Path, bytes]) -> dict[Path, Path]:
    """Write files under temporary names next to their paths, wait for the disk, return the names.

    The disk takes about as long for all of them at once as for one.
    """
    from concurrent.futures import ThreadPoolExecutor  # Loading a model does not need it.

    with ThreadPoolExecutor(len(contents)) as pool:
        return dict(zip(contents, pool.map(_stage, contents, contents.values()), strict=True))


def _stage(path: Path, data: bytes) -> Path:
    temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}.dmte-tmp")
    with temporary.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return temporary


def remove_folder(folder: Path) -> None:
    """Remove a folder, if there is one, and what a kill has left of earlier ones.

    Raises:
        OSError: The folder cannot be renamed.
    """
    if folder.is_dir():
        folder.rename(folder.with_name(f".{folder.name}.{os.urandom(4).hex()}.done"))
    # Release 0.1.0 added no digits.
    left = re.compile(rf"\.{re.escape(folder.name)}(\.[0-9a-f]{{8}})?\.done", re.ASCII)
    for path in folder.parent.iterdir():
        if left.fullmatch(path.name):
            shutil.rmtree(path, ignore_errors=True)
