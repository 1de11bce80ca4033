"""The parts of a stored folder, and checks of what they hold.

A checksum detects damage, but a stranger computes right checksums of anything. So every value that
is used is checked for type, shape and range first; the error names the folder and the part.
"""

import mmap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dmte.errors import ConfigError, NetworkError, StorageError
from dmte.storage.codec import REPAIR, TensorEntry, decode_json, tensor_entries, view_tensors
from dmte.storage.stored_json import DamageError, Stored

if TYPE_CHECKING:
    from numpy.typing import NDArray

Kinds = tuple[str, ...]
"""Allowed types of a tensor, by their names in safetensors."""
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StoredParts:
    """Parts that were read together from a folder.

    >>> parts = StoredParts(Path("model"), {"config.json": b'{"seed": 0}'})
    >>> with parts.checking("config.json"):
    ...     parts.object("config.json").whole("seed")
    0
    """

    folder: Path
    data: Mapping[str, bytes | mmap.mmap]

    def __contains__(self, name: str) -> bool:
        return name in self.data

    def part(self, name: str) -> bytes | mmap.mmap:
        """Return the content of a part.

        Raises:
            StorageError: The part is missing.
        """
        if name not in self.data:
            held = ", ".join(sorted(self.data)) or "no parts"
            raise StorageError(f"{self.folder} has no part {name}; it holds {held}")
        return self.data[name]

    def json(self, name: str) -> Any:
        """Return the value of a part in JSON."""
        return decode_json(self.part(name)[:], "the part")

    def object(self, name: str) -> Stored:
        """Return the object of a part in JSON."""
        return Stored.of(self.json(name))

    def tensors(self, name: str, kinds: Mapping[str, Kinds]) -> "dict[str, NDArray[Any]]":
        """Return the named tensors of a part, over the same memory.

        Raises:
            StorageError: A tensor is missing, of a type that is not allowed, or not finite.
        """
        entries = self.entries(name)
        for tensor, allowed in kinds.items():
            require(tensor in entries, f"it has no tensor {tensor!r}")
            kind = entries[tensor].kind
            require(kind in allowed, f"{tensor} has the type {kind}, not {' or '.join(allowed)}")
        arrays = view_tensors(self.part(name), kinds)
        for tensor, array in arrays.items():
            require(is_finite(array), f"{tensor} must be finite numbers")
        return arrays

    def entries(self, name: str) -> dict[str, TensorEntry]:
        """Return the headers of the tensors of a part."""
        return tensor_entries(self.part(name))

    @contextmanager
    def checking(self, name: str) -> Iterator[None]:
        """Name the folder and the part in errors of its content.

        Raises:
            StorageError: The part, or a value in it, is missing or invalid.
        """
        self.part(name)
        try:
            yield
        except DamageError as problem:
            raise StorageError(
                f"{self.folder}: {name} has no valid value at {problem}; {REPAIR}"
            ) from problem
        except (StorageError, ConfigError, NetworkError) as problem:
            reason = str(problem).removesuffix(f"; {REPAIR}")
            raise StorageError(f"{self.folder}: {name} is invalid: {reason}; {REPAIR}") from problem


def require(holds: object, message: str) -> None:
    """Check a condition on stored values.

    Raises:
        StorageError: It does not hold.
    """
    if not holds:
        raise StorageError(message)


def check_shapes(found: Mapping[str, Shape], expected: Mapping[str, Shape]) -> None:
    """Check the names and shapes of tensors.

    Raises:
        StorageError: One of them differs.
    """
    for name in {**expected, **found}:
        is_, must_be = (of.get(name, "missing") for of in (found, expected))
        require(is_ == must_be, f"the tensor {name[:60]!r} is {is_}, not {must_be}")


def is_finite(array: "NDArray[Any]") -> bool:
    """Whether all numbers are finite, without an array of truth values."""
    import numpy as np

    return array.size == 0 or bool(np.isfinite(array.min()) and np.isfinite(array.max()))
