"""What a part of a stored folder holds, as bytes: tensors as safetensors, all else as JSON.

Nothing is ever pickled: reading runs no code. The same content is always the same bytes, by which
``storage`` names it.
"""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dmte.errors import StorageError

if TYPE_CHECKING:  # torch takes seconds to import, and only the two tensor functions need it
    import torch

REPAIR = "restore it from a copy, or save again"


def pack_tensors(tensors: Mapping[str, "torch.Tensor"]) -> bytes:
    """Return the tensors as safetensors; equal tensors give equal bytes."""
    import torch
    from safetensors.torch import save

    # Cloned, as safetensors refuses tensors that share memory, such as two views of one table.
    layout = torch.contiguous_format
    return save({name: t.detach().cpu().clone(memory_format=layout) for name, t in tensors.items()})


def unpack_tensors(data: bytes) -> dict[str, "torch.Tensor"]:
    """Return the tensors that ``pack_tensors`` packed, on the CPU.

    Raises:
        StorageError: If the bytes are not safetensors.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        return load(data)
    except SafetensorError as error:
        raise StorageError(f"{len(data)} bytes are not safetensors: {error}; {REPAIR}") from error


def pack_json(value: object) -> bytes:
    r"""Return the value as JSON that people can read; equal values give equal bytes.

    >>> pack_json({"hops": 4, "dim": 200})
    b'{\n  "dim": 200,\n  "hops": 4\n}\n'

    Raises:
        StorageError: If JSON has no form for the value; not-a-number and infinity have none.
    """
    try:
        text = json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
        return f"{text}\n".encode()
    except (TypeError, ValueError) as error:
        raise StorageError(f"a value has no form in JSON: {error}; convert it first") from error


def unpack_json(data: bytes, name: str = "a part") -> Any:
    """Return the value that ``pack_json`` packed; the name is for the error.

    Raises:
        StorageError: If the bytes are not JSON in UTF-8.
    """
    try:
        return json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise StorageError(f"{name} is not JSON in UTF-8: {error}; {REPAIR}") from error
