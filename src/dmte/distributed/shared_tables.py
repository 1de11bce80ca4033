"""Tables that several processes of a host keep only once, in a file that all of them map.

Where edges and words stand is the same for everybody, and no step changes it. So after everybody
has made these tables, one process writes them down, all map the file in place of what they made,
and the file loses its name: the system keeps one copy in memory as long as somebody uses it.
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
"""Bytes at a multiple of which a table begins, for the widest instructions."""


def write_tables(path: Path, tables: object) -> None:
    """Write every tensor of a dataclass or named tuple, however deep, one after the other.

    Raises:
        StorageError: There is no room.
    """
    try:
        with path.open("wb") as file:
            for tensor in _tensors(tables):
                file.write(bytes(-file.tell() % ALIGNMENT))
                tensor.contiguous().numpy().tofile(file)
    except OSError as error:
        raise StorageError(
            f"cannot write {path}, in which the processes of this host share tables: "
            f"{error.strerror or error}; TMPDIR names a folder with more room"
        ) from error


def mapped_tables(path: Path, tables: Tables) -> Tables:
    """Return the same tables with every tensor in the file that ``write_tables`` wrote of them."""
    offset = 0

    def of_file(tensor: Tensor) -> Tensor:
        nonlocal offset
        offset += -offset % ALIGNMENT
        begin, offset = offset, offset + tensor.nbytes
        if tensor.numel() == 0:
            return tensor
        kind = tensor.new_empty(0).numpy().dtype
        # Copied when written to, which nobody does; torch would warn of a table it cannot write.
        table = np.memmap(path, kind, mode="c", offset=begin, shape=tuple(tensor.shape))
        return torch.from_numpy(table)

    mapped: Tables = _replaced(tables, of_file)
    return mapped


def _tensors(tables: Any) -> Iterator[Tensor]:
    """Yield the tensors in their order."""
    if isinstance(tables, Tensor):
        yield tables
    for name in _names(tables):
        yield from _tensors(getattr(tables, name))


def _replaced(tables: Any, replace: Any) -> Any:
    """Return the same with every tensor replaced, in their order."""
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
