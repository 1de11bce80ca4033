"""What a part of a stored folder holds, as bytes: tensors as safetensors, all else as JSON.

Nothing is ever pickled: reading runs no code. The same content is always the same bytes, by which
``storage`` names it.
"""

import json
import math
import mmap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dmte.errors import StorageError

if TYPE_CHECKING:  # torch takes seconds to import, and only the two tensor functions need it
    import torch
    from numpy.typing import NDArray

REPAIR = "restore it from a copy, or save again"
_KINDS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "BOOL": "?"}


def encode_tensors(tensors: Mapping[str, "torch.Tensor"]) -> bytes:
    """Return the tensors as safetensors; equal tensors give equal bytes."""
    import torch
    from safetensors.torch import save

    # Cloned, as safetensors refuses tensors that share memory, such as two views of one table.
    layout = torch.contiguous_format
    return save({name: t.detach().cpu().clone(memory_format=layout) for name, t in tensors.items()})


def decode_tensors(data: bytes) -> dict[str, "torch.Tensor"]:
    """Return the tensors that ``encode_tensors`` packed, on the CPU.

    Raises:
        StorageError: If the bytes are not safetensors.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        return load(data)
    except SafetensorError as error:
        raise StorageError(f"{len(data)} bytes are not safetensors: {error}; {REPAIR}") from error


def view_tensors(data: mmap.mmap | bytes) -> dict[str, "NDArray[Any]"]:
    """Return the tensors that ``encode_tensors`` packed as arrays over the same memory.

    That is a header's length in eight bytes, the header in JSON with kind, shape and place of every
    tensor, and the numbers themselves.

    Raises:
        StorageError: If the bytes are not safetensors, or hold what NumPy has no kind for.
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
    r"""Return the value as JSON that people can read; equal values give equal bytes.

    >>> encode_json({"hops": 4, "dim": 200})
    b'{\n  "dim": 200,\n  "hops": 4\n}\n'

    Raises:
        StorageError: If JSON has no form for the value; not-a-number and infinity have none.
    """
    try:
        text = json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
        return f"{text}\n".encode()
    except (TypeError, ValueError) as error:
        raise StorageError(f"a value has no form in JSON: {error}; convert it first") from error


def decode_json(data: bytes, name: str = "a part") -> Any:
    """Return the value that ``encode_json`` packed; the name is for the error.

    Raises:
        StorageError: If the bytes are not JSON in UTF-8.
    """
    try:
        return json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise StorageError(f"{name} is not JSON in UTF-8: {error}; {REPAIR}") from error
