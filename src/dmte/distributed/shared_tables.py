"""Tables that the processes of a host share in a memory-mapped file.

The positions of edges and words are the same in all processes and do not change in training. After
all have computed these tables, one process writes them to a file, and all map it instead. Then the
file is deleted, and the system keeps one copy in memory while any process uses it.
"""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from dmte.errors import StorageError

Tables = TypeVar("Tables")
ALIGNMENT = 64
"""Alignment of tables in bytes, for the widest instructions."""


def write_tables(path: Path, tables: object) -> None:
    """Write all tensors in nested dataclasses and named tuples.

    Raises:
        StorageError: There is not enough space.
    """
    try:
        with path.open("wb") as file:
            for tensor in _tensors(tables):
                file.write(bytes(-file.tell() % ALIGNMENT))
                file.write(tensor.contiguous().numpy().data)
    except OSError as error:
        raise StorageError(
            f"cannot write {path}, the file of tables that the processes of this host share: "
            f"{error.strerror or error}; set TMPDIR to a folder with more space"
        ) from error


def mapped_tables(path: Path, tables: Tables) -> Tables:
    """Return the tables with all tensors mapped from a file of ``write_tables``."""
    offset = 0

    def of_file(tensor: Tensor) -> Tensor:
        nonlocal offset
        offset += -offset % ALIGNMENT
        begin, offset = offset, offset + tensor.nbytes
        if tensor.numel() == 0:
            return tensor
        kind = tensor.new_empty(0).numpy().dtype
        # Copy-on-write, since torch warns of read-only tables; no table is written to.
        table = np.memmap(path, kind, mode="c", offset=begin, shape=tuple(tensor.shape))
        return torch.from_numpy(table)

    mapped: Tables = _replaced(tables, of_file)
    return mapped


def _tensors(tables: Any) -> Iterator[Tensor]:
    """Yield the tensors in order."""
    if isinstance(tables, Tensor):
        yield tables
    for name in _names(tables):
        yield from _tensors(getattr(tables, name))


def _replaced(tables: Any, replace: Any) -> Any:
    """Return a copy with all tensors replaced, in order."""
    if isinstance(tables, Tensor):
        return replace(tables)
    changed = {name: _replaced(getattr(tables, name), replace) for name in _names(tables)}
    if isinstance(tables, tuple):
        return tables._replace(**changed)  # type: ignore[attr-defined]
    return dataclasses.replace(tables, **changed) if changed else tables


def _names(tables: Any) -> tuple[str, ...]:
    if isinstance(tables, tuple):
        return tables._fields  # type: ignore[attr-defined, no-any-return]
    if dataclasses.is_dataclass(tables):
        return tuple(field.name for field in dataclasses.fields(tables))
    return ()
