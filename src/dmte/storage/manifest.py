"""The manifest of a stored folder: size, SHA-256 and file of each part, and its own SHA-256."""

import hashlib
import mmap
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dmte.errors import StorageError
from dmte.storage.codec import REPAIR, decode_json, encode_json
from dmte.storage.regular_file import open_regular

FORMAT = 1  # Increase it when the manifest changes; "format" and "sha256" must keep their meaning.
MANIFEST = "manifest.json"
MOST_BYTES = 1 << 22
"""Maximum size of a manifest and of a card; those of a model have a few kilobytes."""

_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
CONTENT_NAME = re.compile(r"\w[\w.-]*-([0-9a-f]{16})\.\w+", re.ASCII)
"""The file name of a part, with the first 16 digits of the SHA-256 of its content."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part as listed in the manifest."""

    name: str
    size: int
    sha256: str

    @property
    def file(self) -> str:
        """File name, derived from the content."""
        stem, _, extension = self.name.rpartition(".")
        return f"{stem}-{self.sha256[:16]}.{extension}"


@dataclass(frozen=True, slots=True)
class Manifest:
    """The parts of a folder, and the SHA-256 of its card."""

    parts: Mapping[str, Part]
    card: str | None = None
    """SHA-256 of the card, if any."""
    previous_card: str | None = None
    """SHA-256 of the card before the last write."""

    @property
    def files(self) -> set[str]:
        """File names of all parts."""
        return {part.file for part in self.parts.values()}

    def to_bytes(self) -> bytes:
        """Content of the manifest file."""
        parts = {
            name: {"file": part.file, "size": part.size, "sha256": part.sha256}
            for name, part in self.parts.items()
        }
        card = {"sha256": self.card, "previous": self.previous_card}
        return _seal({"format": FORMAT, "card": card, "parts": parts})


def read_manifest(folder: Path) -> Manifest:
    """Read and verify the manifest of a folder.

    Raises:
        StorageError: The manifest is damaged, or a newer version of dmte wrote it.
    """
    path = folder / MANIFEST
    with open_regular(path) as (file, size):
        data = file.read(MOST_BYTES)
    if size > MOST_BYTES:
        raise StorageError(f"{path} has {size} bytes, more than {MOST_BYTES}; {REPAIR}")
    content = _unseal(data)
    found = content.get("format")
    if found not in (None, FORMAT):
        raise StorageError(
            f"{path} has format {repr(found)[:40]}, but this dmte reads only format {FORMAT}; "
            "upgrade dmte"
        )
    with suppress(AttributeError, KeyError, TypeError):  # The content has another structure.
        entries = content["parts"].items()
        parts = {name: Part(name, entry["size"], entry["sha256"]) for name, entry in entries}
        manifest = Manifest(parts, content["card"]["sha256"], content["card"]["previous"])
        cards = (manifest.card, manifest.previous_card)
        is_sound = all(map(_is_sound, parts.values())) and all(map(_is_optional_sha256, cards))
        if is_sound and manifest.to_bytes() == data:
            return manifest
    raise StorageError(f"{path} is damaged, or was not written by dmte; {REPAIR}")


def _is_sound(part: Part) -> bool:
    has_size = type(part.size) is int and part.size >= 0
    has_name = CONTENT_NAME.fullmatch(part.file) is not None
    return has_size and has_name and _SHA256.fullmatch(part.sha256) is not None


def _is_optional_sha256(value: object) -> bool:
    return value is None or (isinstance(value, str) and _SHA256.fullmatch(value) is not None)


def describe(name: str, data: bytes) -> Part:
    """Entry of a new part in the manifest.

    Raises:
        StorageError: The name cannot become a file name.
    """
    part = Part(name, len(data), sha256(data))
    if not CONTENT_NAME.fullmatch(part.file):
        raise StorageError(
            f"{name!r} cannot name a part; use ASCII letters, digits, '_', '-' and '.', "
            "no dot at the beginning, and an extension, as in 'config.json'"
        )
    return part


def sha256(data: bytes | mmap.mmap) -> str:
    """SHA-256 of bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def file_sha256(path: Path) -> str | None:
    """SHA-256 of a file, or ``None`` if it does not exist.

    Raises:
        StorageError: The path is not a regular file.
    """
    try:
        with open_regular(path) as (file, _):
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None


def card_sha256(path: Path) -> str | None:
    """SHA-256 of a card, read up to ``MOST_BYTES``, or ``None`` if it does not exist.

    Raises:
        StorageError: The path is not a regular file.
    """
    try:
        with open_regular(path) as (file, _):
            return sha256(file.read(MOST_BYTES + 1))
    except FileNotFoundError:
        return None


def _seal(content: Mapping[str, object]) -> bytes:
    """Encode the content as JSON, with the SHA-256 of that JSON added."""
    return encode_json({**content, "sha256": sha256(encode_json(content))})


def _unseal(data: bytes) -> dict[str, Any]:
    """Content of sealed JSON, or an empty dict if a bit has changed."""
    with suppress(StorageError):
        content = decode_json(data)
        if isinstance(content, dict) and content.pop("sha256", None) and _seal(content) == data:
            return content
    return {}
