"""Crash-safe folder for models and checkpoints: write, verify, read.

A folder holds parts, each a named sequence of bytes, and optionally a card for people:

    vectors-9f86d081884c7d65.safetensors   the part vectors.safetensors, named after its content
    config-60303ae22b998861.json           the part config.json
    manifest.json                          the current parts with size and SHA-256, and its own
    README.md                              the card
    .lock                                  locked during a write

A new content gets a new name, so no part is overwritten. A write adds the new parts, waits for the
disk, and only then replaces the manifest, in one rename: a kill at any moment leaves the old parts
or the new ones, never a mixture. Then files that the manifest no longer lists are removed. The card
keeps its plain name, so the manifest also accepts the previous card.
"""

import mmap
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from io import BufferedReader
from pathlib import Path
from typing import TypeVar

from dmte.errors import StorageError
from dmte.storage.atomic_file import TEMPORARY_NAME, stage_files
from dmte.storage.codec import REPAIR
from dmte.storage.locks import locked
from dmte.storage.manifest import (
    CONTENT_NAME,
    MANIFEST,
    Manifest,
    Part,
    card_sha256,
    describe,
    file_sha256,
    read_manifest,
    sha256,
)
from dmte.storage.regular_file import copy_file, is_regular, map_file, open_regular

Data = TypeVar("Data", bytes, mmap.mmap)
Reader = Callable[[Path, BufferedReader, int], Data]
"""Reads a file of this size; the path is used in errors."""

CARD, LOCK = "README.md", ".lock"


def write_parts(folder: Path, parts: Mapping[str, bytes], card: str | None = None) -> None:
    """Replace the parts and the card of a folder; a kill leaves either the old or the new ones.

    Other files of the user stay. Without a card, the card of an earlier write is removed.

    Raises:
        StorageError: dmte did not write the folder, or it is not writable.
    """
    listed = {name: describe(name, data) for name, data in parts.items()}
    try:
        _make_folder(folder)
        _check_not_foreign(folder)
        with _locked_for_writing(folder):
            _replace(folder, listed, parts, None if card is None else card.encode())
    except OSError as error:
        raise StorageError(
            f"cannot write to {folder}: {error.strerror or error}; check its permissions and the "
            "free space, or choose another folder"
        ) from error


def check_writable(folder: Path) -> None:
    """Check, before long work, that ``write_parts`` can write here; changes nothing.

    Raises:
        StorageError: dmte did not write the folder, or it is not writable.
    """
    place = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    if not place.is_dir():
        raise StorageError(f"{place} is a file; choose a folder, new or empty")
    if not os.access(place, os.W_OK):
        raise StorageError(f"cannot write to {folder}: no permission; choose another folder")
    if folder.is_dir():
        _check_not_foreign(folder)


def read_parts(folder: Path, names: Collection[str] | None = None) -> dict[str, bytes]:
    """Read the named parts, or all, and verify their size and SHA-256, and the card.

    Raises:
        StorageError: dmte did not write the folder, a part is missing, or a file is damaged.
    """
    with suppress(StorageError):
        return _read_once(folder, names, copy_file)
    with _locked_against_writers(folder):
        return _read_once(folder, names, copy_file)


def map_parts(folder: Path, names: Collection[str] | None = None) -> dict[str, mmap.mmap]:
    """Memory-map the named parts, or all, instead of copying them; otherwise like ``read_parts``.

    Writing to the mapped memory does not change the files. ``[:]`` gives the bytes.

    Raises:
        StorageError: dmte did not write the folder, a part is missing, or a file is damaged.
    """
    with suppress(StorageError):
        return _read_once(folder, names, map_file)
    with _locked_against_writers(folder):
        return _read_once(folder, names, map_file)


def is_stored(folder: Path) -> bool:
    """Whether the folder has a manifest; only reading verifies the parts."""
    return (folder / MANIFEST).is_file()


def part_names(folder: Path) -> list[str]:
    """Sorted names of the parts, without reading them.

    Raises:
        StorageError: dmte did not write the folder.
    """
    _check_stored(folder)
    return sorted(read_manifest(folder).parts)


# ── Reading ──


@contextmanager
def _locked_against_writers(folder: Path) -> Iterator[None]:
    """Lock writers out for a second read: a writer may have replaced the parts during the first."""
    lock = folder / LOCK
    with locked(lock) if is_regular(lock) and os.access(lock, os.R_OK) else nullcontext():
        yield


def _read_once(folder: Path, names: Collection[str] | None, read: Reader[Data]) -> dict[str, Data]:
    try:
        _check_stored(folder)
        manifest = read_manifest(folder)
        _check_card(folder, manifest)
        names = manifest.parts if names is None else names
        if missing := sorted(set(names) - set(manifest.parts)):
            held = ", ".join(sorted(manifest.parts)) or "no parts"
            raise StorageError(f"{folder} has no part {', '.join(missing)}; it holds {held}")
        return {name: _read_checked(folder, manifest.parts[name], read) for name in names}
    except OSError as error:
        where, reason = error.filename or folder, error.strerror or error
        raise StorageError(f"cannot read {where}: {reason}; check its permissions") from error


def _check_stored(folder: Path) -> None:
    if not is_stored(folder):
        found = f"has no {MANIFEST}, so dmte did not write it" if folder.is_dir() else "is a file"
        found = found if folder.exists() else "does not exist"
        raise StorageError(f"{folder} {found}; give the folder of a saved model")


def _check_card(folder: Path, manifest: Manifest) -> None:
    """Check that the card is the current one, or the previous one after a kill."""
    if manifest.card is None:  # Then a README.md belongs to the user.
        return
    found = card_sha256(folder / CARD)
    if found not in {manifest.card, manifest.previous_card}:
        problem = "is missing" if found is None else "is damaged or was edited"
        raise StorageError(f"{folder / CARD} {problem}, so it does not match {MANIFEST}; {REPAIR}")


def _read_checked(
    folder: Path, part: Part, read: Callable[[Path, BufferedReader, int], Data]
) -> Data:
    path = folder / part.file
    try:
        with open_regular(path) as (file, size):
            if size != part.size:
                raise StorageError(f"{path} has {size} bytes instead of {part.size}; {REPAIR}")
            data = read(path, file, size)
    except FileNotFoundError as error:
        raise StorageError(f"{path} is missing, but listed in {MANIFEST}; {REPAIR}") from error
    if (found := sha256(data)) != part.sha256:
        raise StorageError(
            f"{path} is damaged, its SHA-256 is {found} instead of {part.sha256}; {REPAIR}"
        )
    return data


# ── Writing ──


@contextmanager
def _locked_for_writing(folder: Path) -> Iterator[None]:
    lock = folder / LOCK
    if os.path.lexists(lock) and not is_regular(lock):
        raise StorageError(f"{lock} must be a regular file; delete it")
    with locked(lock):
        yield


def _make_folder(folder: Path) -> None:
    """Create the folder and its parents, and wait until they are on the disk."""
    if folder.is_dir():
        return
    if folder.exists():
        raise StorageError(f"{folder} is a file; choose a folder, new or empty")
    _make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def _check_not_foreign(folder: Path) -> None:
    if is_stored(folder):
        read_manifest(folder)
        return
    others = (path for path in folder.iterdir() if path.name != LOCK)
    foreign = sorted(path.name for path in others if not _is_leftover(path))
    if foreign and not is_stored(folder):  # Checked again: another process may have written it.
        raise StorageError(
            f"{folder} holds {foreign[0]!r} but no {MANIFEST}, so dmte did not write it; "
            "choose a new or empty folder"
        )


def _is_leftover(path: Path) -> bool:
    """Whether a killed write left this file: its name is temporary, or matches its content."""
    if os.path.lexists(path) and not is_regular(path):
        return False
    if TEMPORARY_NAME.fullmatch(path.name):
        return True
    named = CONTENT_NAME.fullmatch(path.name)
    # A file that has vanished since it was listed belonged to another writer.
    return named is not None and (file_sha256(path) or named[1]).startswith(named[1])


def _replace(
    folder: Path, listed: Mapping[str, Part], parts: Mapping[str, bytes], card: bytes | None
) -> None:
    """Replace the content of the folder; requires the lock."""
    old = read_manifest(folder) if is_stored(folder) else Manifest({})
    previous_card = _card_to_replace(folder, old, card)
    new = Manifest(listed, None if card is None else sha256(card), previous_card)
    try:
        _commit(folder, new, parts, card)
    finally:
        _remove_unlisted(folder, old)


def _card_to_replace(folder: Path, old: Manifest, card: bytes | None) -> str | None:
    """SHA-256 of the existing card, if any, after checking that dmte wrote it."""
    found = card_sha256(folder / CARD)
    if found is None or old.card is not None or found == old.previous_card:
        return found
    if card is not None:
        raise StorageError(f"{folder / CARD} is not from dmte; move it, or save without a card")
    return None


def _commit(folder: Path, new: Manifest, parts: Mapping[str, bytes], card: bytes | None) -> None:
    manifest_path, card_path = folder / MANIFEST, folder / CARD
    paths = {name: folder / part.file for name, part in new.parts.items()}
    changed = {
        path: parts[name]
        for name, path in paths.items()
        if file_sha256(path) != new.parts[name].sha256
    }
    # All steps that need disk space come before the manifest is replaced.
    others = {manifest_path: new.to_bytes()} | ({} if card is None else {card_path: card})
    staged = stage_files(changed | others)
    for path in changed:
        staged[path].replace(path)
    sync_folder(folder)
    staged[manifest_path].replace(manifest_path)
    sync_folder(folder)
    if card is not None:
        staged[card_path].replace(card_path)
    elif new.previous_card is not None:
        card_path.unlink()
    sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Wait until the names in ``folder`` are on the disk, if the system supports it."""
    if sys.platform == "win32":  # It cannot open a folder.
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_unlisted(folder: Path, old: Manifest) -> None:
    """Remove the parts of the old manifest and of killed writes, except those listed now."""
    kept = read_manifest(folder).files if is_stored(folder) else set()
    for path in folder.iterdir():
        if path.name not in kept and (path.name in old.files or _is_leftover(path)):
            with suppress(OSError):  # The next write tries again.
                path.unlink()
