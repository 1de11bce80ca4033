"""Vectors for other programs: every format keeps the ids, and a file that exists is not replaced.

parquet      id and vector, a list of 32-bit floats
npz          ids and vectors as NumPy arrays, read without pickle
word2vec     the text format of word2vec, which gensim and many others read
csv          id and one column per dimension, safe to open as a spreadsheet
projector    two tab-separated files for the TensorBoard projector: vectors and metadata
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from dmte.errors import StorageError


@contextmanager
def new_file(path: Path, *, replace: bool) -> Iterator[BinaryIO]:
    """Yield a file that takes its place when it is complete, and leaves nothing when it fails.

    Raises:
        StorageError: It exists already and is not to be replaced, or is no regular file, such as
            a device, or cannot be written.
    """
    if path.is_dir():
        raise StorageError(f"{path} is a folder; give the name of a file")
    if path.exists() and not path.is_file():
        raise StorageError(
            f"{path} is a device or a pipe, which no file may take the place of; give another place"
        )
    if path.exists() and not replace:
        raise StorageError(
            f"{path} exists already and is not overwritten; give another place, or --force"
        )
    if path.parent.is_file():
        raise StorageError(f"{path} cannot be written: {path.parent} is a file, not a folder")
    begun = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _gone_if_it_fails(begun), begun.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            begun.replace(path)
    except OSError as problem:
        raise StorageError(f"{path} cannot be written: {problem.strerror}") from problem


@contextmanager
def _gone_if_it_fails(path: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise
