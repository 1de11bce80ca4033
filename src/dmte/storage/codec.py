"""Encode the parts of a stored folder as bytes: tensors as safetensors, all else as JSON.

Nothing is pickled, so reading runs no code. Equal content gives equal bytes, from which
``storage.folder`` derives the file name.
"""

import json
import math
import mmap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dmte.errors import StorageError

if TYPE_CHECKING:  # torch takes seconds to import; only the two tensor functions need it
    import torch
    from numpy.typing import NDArray

REPAIR = "restore it from a copy, or save again"
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
_KINDS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "BOOL": "?"}


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


def decode_tensors(data: bytes) -> dict[str, "torch.Tensor"]:
    """Decode the bytes of ``encode_tensors`` to tensors on the CPU.

    Raises:
        StorageError: The bytes are not safetensors.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        return load(data)
    except SafetensorError as error:
        raise StorageError(f"{len(data)} bytes are not safetensors: {error}; {REPAIR}") from error


def view_tensors(data: mmap.mmap | bytes) -> dict[str, "NDArray[Any]"]:
    """Decode the bytes of ``encode_tensors`` to arrays over the same memory.

    The format is the length of the header in eight bytes, the header in JSON with type, shape and
    offset of every tensor, and the numbers.

    Raises:
        StorageError: The bytes are not safetensors, or NumPy does not have the type of a tensor.
    """
    import numpy as np

    try:
        start = 8 + int.from_bytes(data[:8], "little")
        header = json.loads(data[8:start])
        return {
            name: np.frombuffer(
                data, _KINDS[tensor["dtype"]], math.prod(tensor["shape"]), start + place
            ).reshape(tensor["shape"])
            for name, tensor in header.items()
            if name != "__metadata__"
            for place in tensor["data_offsets"][:1]
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StorageError(f"{len(data)} bytes are not safetensors: {error}; {REPAIR}") from error


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
