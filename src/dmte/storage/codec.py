"""Encode the parts of a stored folder as bytes: tensors as safetensors, all else as JSON.

Nothing is pickled, so reading runs no code. Equal content gives equal bytes, from which
``storage.folder`` derives the file name.
"""

import json
import math
import mmap
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dmte.errors import StorageError

if TYPE_CHECKING:  # torch takes seconds to import; only one function needs it
    import torch
    from numpy.typing import NDArray

REPAIR = "restore it from a copy, or save again"
MOST_HEADER_BYTES = 1 << 20
MOST_AXES = 8
_TORCH_KINDS = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "int16": "I16",
    "float16": "F16",
    "bfloat16": "BF16",
    "int32": "I32",
    "float32": "F32",
    "float64": "F64",
    "int64": "I64",
}
"""Types of torch and of safetensors, which stores tensors of the last type first."""
_KINDS = {
    "BOOL": "?",
    "U8": "u1",
    "I8": "i1",
    "I16": "<i2",
    "F16": "<f2",
    "BF16": "<i2",  # NumPy has no such type.
    "I32": "<i4",
    "F32": "<f4",
    "F64": "<f8",
    "I64": "<i8",
}
_WIDTHS = {kind: int(name[-1]) if name[-1].isdigit() else 1 for kind, name in _KINDS.items()}
"""Bytes of a number."""
FLOAT_KINDS, WHOLE_KINDS = ("F64", "F32", "F16"), ("I64", "I32", "I16", "I8", "U8")
"""Types of numbers that NumPy has."""


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """The header of a stored tensor."""

    kind: str
    """The name of its type in safetensors."""
    shape: tuple[int, ...]
    start: int
    """Its first byte."""
    end: int
    """The byte after its last."""


def encode_tensors(tensors: Mapping[str, "torch.Tensor"]) -> bytes:
    """Encode tensors as safetensors; equal tensors give equal bytes, those of ``safetensors``.

    Its own function needs the memory of the result twice.
    """
    import torch

    kinds = {getattr(torch, name): kind for name, kind in _TORCH_KINDS.items()}
    order = sorted(tensors, key=lambda name: (-list(kinds).index(tensors[name].dtype), name))
    header, blocks, end = {}, [], 0
    for name in order:
        table = tensors[name].detach().cpu().contiguous()
        blocks.append(table.view(-1).view(torch.uint8).numpy().data)
        place = [end, end := end + table.nbytes]
        facts = {"dtype": kinds[table.dtype], "shape": list(table.shape), "data_offsets": place}
        header[name] = facts
    head = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    return b"".join([len(head).to_bytes(8, "little"), head, *blocks])


def view_tensors(
    data: mmap.mmap | bytes, names: Collection[str] | None = None
) -> "dict[str, NDArray[Any]]":
    """Decode the named tensors, or all, to arrays over the same memory.

    Raises:
        StorageError: The bytes are not safetensors, or NumPy does not have the type of a tensor.
    """
    entries = tensor_entries(data)
    chosen = {name: entries[name] for name in (entries if names is None else names)}
    for name, entry in chosen.items():
        if entry.kind == "BF16":
            raise StorageError(f"the tensor {name!r} has the type BF16, which NumPy does not have")
    return {name: _view(data, entry) for name, entry in chosen.items()}


def tensor_entries(data: mmap.mmap | bytes) -> dict[str, TensorEntry]:
    """Return the headers of the tensors that ``encode_tensors`` stored, after checking them.

    The format is the length of the header in eight bytes, the header in JSON with type, shape and
    offsets of every tensor, and the numbers. The tensors must fill the data without a gap.

    Raises:
        StorageError: The bytes are not safetensors.
    """
    try:
        return _tensor_entries(data)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = str(error)[:200]
        raise StorageError(f"{len(data)} bytes are not safetensors: {reason}; {REPAIR}") from error


def _tensor_entries(data: mmap.mmap | bytes) -> dict[str, TensorEntry]:
    length = int.from_bytes(data[:8], "little")
    start = 8 + length
    if len(data) < 8 or length % 8 or start > len(data) or length > MOST_HEADER_BYTES:
        raise ValueError(f"the header has {length} bytes")
    header = json.loads(data[8:start])
    header.pop("__metadata__", None)
    entries = {name: _entry(name, tensor, start) for name, tensor in header.items()}
    ordered = sorted(entries.values(), key=lambda entry: (entry.start, entry.end))
    ends = [start, *(entry.end for entry in ordered)]
    if [entry.start for entry in ordered] != ends[:-1] or ends[-1] != len(data):
        raise ValueError("the tensors do not fill the data")
    return entries


def _entry(name: str, tensor: Any, start: int) -> TensorEntry:
    """Return the header of a tensor whose offsets count from ``start``."""
    kind, shape, (first, end) = tensor["dtype"], tensor["shape"], tensor["data_offsets"]
    width, numbers = _WIDTHS[kind], [*shape, first, end]
    if any(type(one) is not int or not 0 <= one <= sys.maxsize for one in numbers):
        raise ValueError(f"the shape and the offsets of {name!r} are not numbers of at least 0")
    if len(shape) > MOST_AXES or width * math.prod(max(1, one) for one in shape) > sys.maxsize:
        raise ValueError(f"the shape of {name!r} is too large")
    if end != first + width * math.prod(shape) or (start + first) % width:
        raise ValueError(f"the offsets of {name!r} do not fit its type and shape")
    return TensorEntry(kind, tuple(shape), start + first, start + end)


def _view(data: mmap.mmap | bytes, entry: TensorEntry) -> "NDArray[Any]":
    import numpy as np

    count = math.prod(entry.shape)
    return np.frombuffer(data, _KINDS[entry.kind], count, entry.start).reshape(entry.shape)


def encode_json(value: object) -> bytes:
    r"""Encode a value as indented JSON; equal values give equal bytes.

    >>> encode_json({"hops": 4, "dim": 200})
    b'{\n  "dim": 200,\n  "hops": 4\n}\n'

    Raises:
        StorageError: JSON cannot represent the value, for example NaN or infinity.
    """
    try:
        text = json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
        return f"{text}\n".encode()
    except (TypeError, ValueError) as error:
        raise StorageError(f"a value has no JSON form: {error}; convert it first") from error


def decode_json(data: bytes, name: str = "a part") -> Any:
    """Decode the bytes of ``encode_json``; ``name`` is used in errors.

    Raises:
        StorageError: The bytes are not JSON in UTF-8.
    """
    try:
        return json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise StorageError(f"{name} is not JSON in UTF-8: {error}; {REPAIR}") from error
