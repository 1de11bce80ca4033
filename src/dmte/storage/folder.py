"""The crash-safe folder in which models and checkpoints are kept: write, verify, read.

A folder holds parts, each a named sequence of bytes, and perhaps a card for people:

    vectors-9f86d081884c7d65.safetensors   the part vectors.safetensors, named after its content
    config-60303ae22b998861.json           the part config.json
    manifest.json                          the parts that count, with size and SHA-256; its own too
    README.md                              the card
    .lock                                  locked while a process writes

A new content is a new name, so no part is ever written over. A write adds the new parts, waits for
the disk, and only then replaces the manifest, in one rename: a kill at any moment leaves the old
parts or the new ones, never a mixture. What the manifest no longer lists is then removed.
The card keeps its plain name, so the manifest also accepts the card that was there before.
"""

import hashlib
import mmap
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from dmte.errors import StorageError
from dmte.storage.codec import REPAIR, decode_json, encode_json
from dmte.storage.locks import locked

Data = TypeVar("Data", bytes, mmap.mmap)

FORMAT = 1  # raise it when the manifest changes; its "format" and "sha256" must keep their meaning
MANIFEST, CARD, LOCK = "manifest.json", "README.md", ".lock"

_CONTENT_NAME = re.compile(r"\w[\w.-]*-([0-9a-f]{16})\.\w+", re.ASCII)
_TEMPORARY_NAME = re.compile(r"\.[\w.-]+\.[0-9a-f]{8}\.dmte-tmp", re.ASCII)


def write_parts(folder: Path, parts: Mapping[str, bytes], card: str | None = None) -> None:
    """Make the folder hold exactly these parts and this card, or, if killed, those it held before.

    A user's own files beside them stay. Without a card, that of an earlier write is removed.

    Raises:
        StorageError: If the folder holds something else, or cannot be written.
    """
    listed = {name: _describe(name, data) for name, data in parts.items()}
    try:
        _make_folder(folder)
        _refuse_foreign(folder)
        with locked(folder / LOCK):
            _replace(folder, listed, parts, None if card is None else card.encode())
    except OSError as error:
        raise StorageError(
            f"cannot write to {folder}: {error.strerror or error}; check its permissions and the "
            "free space, or choose another folder"
        ) from error


def check_writable(folder: Path) -> None:
    """Find out before long work that ``write_parts`` could not write here; makes nothing.

    Raises:
        StorageError: If the folder holds something else, or cannot be written.
    """
    place = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    if not place.is_dir():
        raise StorageError(f"{place} is a file; choose a folder, new or empty")
    if not os.access(place, os.W_OK):
        raise StorageError(f"cannot write to {folder}: no permission; choose another folder")
    if folder.is_dir():
        _refuse_foreign(folder)


def read_parts(folder: Path, names: Collection[str] | None = None) -> dict[str, bytes]:
    """Return the named parts, or all, after checking size and SHA-256 of each, and the card.

    Raises:
        StorageError: If the folder is not one of ours, a part is not there, or a file is damaged.
    """
    with suppress(StorageError):
        return _read_once(folder, names, Path.read_bytes)
    with _without_writers(folder):
        return _read_once(folder, names, Path.read_bytes)


def map_parts(folder: Path, names: Collection[str]) -> dict[str, mmap.mmap]:
    """Return what ``read_parts`` does, as it lies in the files instead of copied.

    Whoever writes to it changes neither file nor folder. ``[:]`` is the bytes.

    Raises:
        StorageError: If the folder is not one of ours, a part is not there, or a file is damaged.
    """
    with suppress(StorageError):
        return _read_once(folder, names, _map_part)
    with _without_writers(folder):
        return _read_once(folder, names, _map_part)


def is_stored(folder: Path) -> bool:
    """Tell whether the folder has a manifest; reading the parts tells whether all is well."""
    return (folder / MANIFEST).is_file()


def part_names(folder: Path) -> list[str]:
    """Return the names of the parts that the folder holds, without reading them.

    Raises:
        StorageError: If the folder is not one of ours.
    """
    _refuse_unstored(folder)
    return sorted(_read_manifest(folder).parts)


# ── The manifest ──


@dataclass(frozen=True, slots=True)
class _Part:
    name: str
    size: int
    sha256: str

    @property
    def file(self) -> str:
        stem, _, extension = self.name.rpartition(".")
        return f"{stem}-{self.sha256[:16]}.{extension}"


@dataclass(frozen=True, slots=True)
class _Manifest:
    parts: Mapping[str, _Part]
    card: str | None = None  # SHA-256 of the card, if any
    previous_card: str | None = None  # and of the card that it replaces

    @property
    def files(self) -> set[str]:
        return {part.file for part in self.parts.values()}

    def to_bytes(self) -> bytes:
        parts = {
            name: {"file": part.file, "size": part.size, "sha256": part.sha256}
            for name, part in self.parts.items()
        }
        card = {"sha256": self.card, "previous": self.previous_card}
        return _seal({"format": FORMAT, "card": card, "parts": parts})


def _seal(content: Mapping[str, object]) -> bytes:
    """Return the content as JSON together with the SHA-256 of that JSON."""
    return encode_json({**content, "sha256": _sha256(encode_json(content))})


def _unseal(data: bytes) -> dict[str, Any]:
    """Return what was sealed, or nothing if a single bit has changed."""
    with suppress(StorageError):
        content = decode_json(data)
        if isinstance(content, dict) and content.pop("sha256", None) and _seal(content) == data:
            return content
    return {}


def _read_manifest(folder: Path) -> _Manifest:
    path = folder / MANIFEST
    data = path.read_bytes()
    content = _unseal(data)
    found = content.get("format")
    if found not in (None, FORMAT):
        raise StorageError(
            f"{path} has format {found}, but this dmte knows only format {FORMAT}: a newer dmte "
            "wrote it; upgrade dmte"
        )
    with suppress(AttributeError, KeyError, TypeError):  # of a content in another shape
        entries = content["parts"].items()
        parts = {name: _Part(name, entry["size"], entry["sha256"]) for name, entry in entries}
        manifest = _Manifest(parts, content["card"]["sha256"], content["card"]["previous"])
        if all(map(_CONTENT_NAME.fullmatch, manifest.files)) and manifest.to_bytes() == data:
            return manifest
    raise StorageError(f"{path} is damaged, or not written by dmte; {REPAIR}")


def _describe(name: str, data: bytes) -> _Part:
    part = _Part(name, len(data), _sha256(data))
    if not _CONTENT_NAME.fullmatch(part.file):
        raise StorageError(
            f"{name!r} cannot name a part; use ASCII letters, digits, '_', '-' and '.', "
            "no dot at the beginning, and an extension, as in 'config.json'"
        )
    return part


def _sha256(data: bytes | mmap.mmap) -> str:
    return hashlib.sha256(data).hexdigest()


def _file_sha256(path: Path) -> str | None:
    """Return the SHA-256 of a file, or None where there is no file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None


# ── Reading ──


@contextmanager
def _without_writers(folder: Path) -> Iterator[None]:
    """Let the folder be looked at again: a writer may have replaced what the manifest listed."""
    with locked(folder / LOCK) if os.access(folder / LOCK, os.R_OK) else nullcontext():
        yield


def _read_once(
    folder: Path, names: Collection[str] | None, read: Callable[[Path], Data]
) -> dict[str, Data]:
    try:
        _refuse_unstored(folder)
        manifest = _read_manifest(folder)
        _check_card(folder, manifest)
        names = manifest.parts if names is None else names
        if missing := sorted(set(names) - set(manifest.parts)):
            held = ", ".join(sorted(manifest.parts)) or "no part at all"
            raise StorageError(f"{folder} has no part {', '.join(missing)}; it holds {held}")
        return {name: _read_checked(folder, manifest.parts[name], read) for name in names}
    except OSError as error:
        where, reason = error.filename or folder, error.strerror or error
        raise StorageError(f"cannot read {where}: {reason}; check its permissions") from error


def _refuse_unstored(folder: Path) -> None:
    if not is_stored(folder):
        found = f"has no {MANIFEST}, so dmte did not save it" if folder.is_dir() else "is a file"
        found = found if folder.exists() else "does not exist"
        raise StorageError(f"{folder} {found}; give the folder of a saved model")


def _check_card(folder: Path, manifest: _Manifest) -> None:
    """Refuse a card that is neither the manifest's nor the one that a kill left in its place."""
    if manifest.card is None:  # then a README.md is the user's own
        return
    found = _file_sha256(folder / CARD)
    if found not in {manifest.card, manifest.previous_card}:
        what = "is missing" if found is None else "is damaged or edited"
        raise StorageError(f"{folder / CARD} {what}, not what {MANIFEST} lists; {REPAIR}")


def _read_checked(folder: Path, part: _Part, read: Callable[[Path], Data]) -> Data:
    path = folder / part.file
    try:
        data = read(path)
    except FileNotFoundError as error:
        raise StorageError(f"{path} is missing, though {MANIFEST} lists it; {REPAIR}") from error
    if len(data) != part.size:
        raise StorageError(f"{path} has {len(data)} bytes instead of {part.size}; {REPAIR}")
    if (found := _sha256(data)) != part.sha256:
        raise StorageError(
            f"{path} is damaged, its SHA-256 is {found} instead of {part.sha256}; {REPAIR}"
        )
    return data


def _map_part(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise StorageError(f"{path} is empty; {REPAIR}")
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)


# ── Writing ──


def _make_folder(folder: Path) -> None:
    """Make the folder, and those above it, and wait until they are on the disk."""
    if folder.is_dir():
        return
    if folder.exists():
        raise StorageError(f"{folder} is a file; choose a folder, new or empty")
    _make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def _refuse_foreign(folder: Path) -> None:
    if is_stored(folder):
        _read_manifest(folder)
        return
    others = (path for path in folder.iterdir() if path.name != LOCK)
    foreign = sorted(path.name for path in others if not _is_leftover(path))
    if foreign and not is_stored(folder):  # asked again: another process may just have written it
        raise StorageError(
            f"{folder} holds {foreign[0]!r} but no {MANIFEST}, so dmte did not save it; "
            "choose a new or empty folder"
        )


def _is_leftover(path: Path) -> bool:
    """Tell whether a write of ours left this: a temporary name, or one that its content gives."""
    if path.is_dir():
        return False
    if _TEMPORARY_NAME.fullmatch(path.name):
        return True
    named = _CONTENT_NAME.fullmatch(path.name)
    # A file that has vanished since it was listed was another writer's.
    return named is not None and (_file_sha256(path) or named[1]).startswith(named[1])


def _replace(
    folder: Path, listed: Mapping[str, _Part], parts: Mapping[str, bytes], card: bytes | None
) -> None:
    """Replace what the folder holds, while the lock is held."""
    old = _read_manifest(folder) if is_stored(folder) else _Manifest({})
    previous_card = _card_to_replace(folder, old, card)
    new = _Manifest(listed, None if card is None else _sha256(card), previous_card)
    try:
        _commit(folder, new, parts, card)
    finally:
        _tidy(folder, old)


def _card_to_replace(folder: Path, old: _Manifest, card: bytes | None) -> str | None:
    """Return the SHA-256 of our card in the folder, if any, and refuse to write over a user's."""
    found = _file_sha256(folder / CARD)
    if found is None or old.card is not None or found == old.previous_card:
        return found
    if card is not None:
        raise StorageError(f"{folder / CARD} is not from dmte; move it, or save without a card")
    return None


def _commit(folder: Path, new: _Manifest, parts: Mapping[str, bytes], card: bytes | None) -> None:
    for name, part in new.parts.items():
        path = folder / part.file
        if _file_sha256(path) != part.sha256:
            _stage(path, parts[name]).replace(path)
    # Whatever may fail for want of space comes before the manifest is replaced.
    staged_manifest = _stage(folder / MANIFEST, new.to_bytes())
    staged_card = None if card is None else _stage(folder / CARD, card)
    sync_folder(folder)
    staged_manifest.replace(folder / MANIFEST)
    sync_folder(folder)
    if staged_card is not None:
        staged_card.replace(folder / CARD)
    elif new.previous_card is not None:
        (folder / CARD).unlink()
    sync_folder(folder)


def _stage(path: Path, data: bytes) -> Path:
    """Write the data to a temporary file beside the path, down to the disk, and return its path."""
    temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}.dmte-tmp")
    with temporary.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return temporary


def sync_folder(folder: Path) -> None:
    """Make the names in ``folder`` survive a loss of power, where the system can."""
    if sys.platform == "win32":  # which cannot open a folder
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _tidy(folder: Path, old: _Manifest) -> None:
    """Remove the parts of the old manifest and of killed writes, unless they are listed now."""
    kept = _read_manifest(folder).files if is_stored(folder) else set()
    for path in folder.iterdir():
        if path.name not in kept and (path.name in old.files or _is_leftover(path)):
            with suppress(OSError):  # the next write tries again
                path.unlink()
