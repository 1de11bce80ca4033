"""Download data sets from GitHub or from a mirror.

A file is downloaded to ``data.txt.part``, verified by its git blob id, and then renamed. After a
lost connection, the partial file stays and the next download resumes it. The id covers the whole
file, so a remainder that does not fit is detected. A file that fails verification is deleted. Only
``download`` accesses the network.

A mirror is a URL (http, https or file) with the layout of a data folder, for example
``<mirror>/cora/data.txt``. Any web server that serves a data folder is a mirror.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any, NoReturn
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from dmte.errors import ConfigError, DownloadError, StorageError
from dmte.network.datasets import DATA_VARIABLE, DataFile, Dataset, check_dataset
from dmte.storage.folder import sync_folder
from dmte.storage.locks import lock_place, locked

MIRROR_VARIABLE = "DMTE_MIRROR"
"""Environment variable for the URL of a mirror."""

GITHUB = "https://raw.githubusercontent.com"
TIMEOUT_SECONDS = 30.0  # Without a single byte; chosen, not measured.

_CHUNK_BYTES = 2**16
_MOST_DIGITS = 19  # For a Content-Length; Python rejects integers with thousands of digits.
_PARTIAL, _RANGE_BEYOND_END = 206, 416  # HTTP status codes of range requests.


@dataclass(frozen=True, slots=True)
class Arrival:
    """Progress of the download of a file."""

    file: str
    num_bytes: int
    total_bytes: int | None
    """Size of the whole file, if known."""


Report = Callable[[Arrival], None]


def _ignore(_: Arrival) -> None: ...


def download(
    dataset: Dataset, folder: Path, *, base_url: str | None = None, report: Report = _ignore
) -> Path:
    """Download the missing files of a data set, and return its folder.

    Args:
        dataset: A data set with an origin.
        folder: The data folder; created if it does not exist.
        base_url: URL of a mirror; by default ``DMTE_MIRROR`` if set, else GitHub.
        report: Called whenever another part of a file has arrived.

    Raises:
        DownloadError: A file cannot be downloaded, or its content is wrong.
        ConfigError: The data set is bundled, or the mirror is not a URL.
        StorageError: The folder cannot be written, another process writes it, or it holds a file
            that is not the published one.
        NetworkError: An existing file cannot be read.
    """
    mirror = base_url or os.environ.get(MIRROR_VARIABLE) or None
    place = folder / dataset.name
    if not _missing(dataset, folder):
        return place
    busy = f"another process is downloading into {place}; wait until it has finished"
    with _created(place), locked(lock_place(place), StorageError(busy)):
        for file in _missing(dataset, folder):  # Another process may have fetched some of them.
            _fetch(file, url_of(dataset, file, mirror), place, report)
    return place


def url_of(dataset: Dataset, file: DataFile, mirror: str | None = None) -> str:
    """URL of a file of a data set.

    Raises:
        ConfigError: The data set is bundled, or the mirror is not a URL.
    """
    if dataset.origin is None:
        raise ConfigError(f"{dataset.name} is included in this package and needs no download")
    if mirror is None:
        origin = dataset.origin
        return f"{GITHUB}/{origin.repository}/HEAD/{origin.folder}/{file.name}"
    if not mirror.lower().startswith(("http://", "https://", "file://")):
        raise ConfigError(
            f"the mirror {mirror!r} is not a URL; it must start with http://, https:// or file://"
        )
    return f"{mirror.rstrip('/')}/{dataset.name}/{file.name}"


def _missing(dataset: Dataset, root: Path) -> list[DataFile]:
    """Files to download, after checking that existing files are the published ones."""
    found = check_dataset(dataset, root)
    if found.different:
        raise StorageError(
            f"{found.folder / found.different[0]} exists already, but is not the published file "
            "(its git blob id differs), and is not overwritten; move or delete it first"
        )
    return [file for file in dataset.files if file.name in found.missing]


# ── The folder ──


@contextmanager
def _created(folder: Path) -> Iterator[None]:
    """Create the folder and its parents; after an error, remove those of them that are empty."""
    created: list[Path] = []
    try:
        created += [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException as problem:
        for path in created:
            with suppress(OSError):  # It is not empty.
                path.rmdir()
        if isinstance(problem, OSError):
            raise StorageError(_cannot_write(folder, problem)) from problem
        raise


# ── One file ──


def _fetch(file: DataFile, url: str, folder: Path, report: Report) -> None:
    """Download a file; after an error, at most a partial file that can be resumed remains."""
    part = folder / f"{file.name}.part"
    try:
        resumed = _size(part) > 0
        _receive(file, url, part, report)
        if resumed and not file.is_at(part):  # The old part belongs to another file.
            part.unlink()
            _receive(file, url, part, report)
        if not file.is_at(part):
            _discard(part, f"{url} is not the published file: its git blob id is not {file.blob}")
        part.replace(folder / file.name)
    except DownloadError:
        if _size(part) == 0:
            part.unlink(missing_ok=True)
        raise
    except OSError as error:
        _remove(part)
        reason = f"{_cannot_write(folder, error)}; the partial file was deleted"
        raise StorageError(reason) from error
    with suppress(OSError):  # The file is complete; some file systems cannot sync a folder.
        sync_folder(folder)


def _receive(file: DataFile, url: str, part: Path, report: Report) -> None:
    """Append the missing bytes to the part, or replace it if the server sends the whole file."""
    have = _size(part)
    if have >= file.limit:
        return
    response = _connect(url, have)
    if response is None:
        return
    with response:
        have = have if _resumes(response, have) else 0
        length = _length(response)
        total = file.size if length is None else have + length
        too_large = total is not None and total > file.limit
        if not too_large:
            chunks = _received(response, url, have, total)
            too_large = not _store(chunks, file, part, Arrival(file.name, have, total), report)
    if too_large:
        _discard(part, f"{url} sends more than {file.limit:,} bytes, the limit for {file.name}")


def _resumes(response: Any, have: int) -> bool:
    """Whether a response begins after the first ``have`` bytes, not with the first byte."""
    begins = str(response.headers.get("Content-Range", ""))
    return response.status == _PARTIAL and begins.startswith(f"bytes {have}-")


def _length(response: Any) -> int | None:
    """Content-Length of a response, if it has a valid one."""
    length = str(response.headers.get("Content-Length", ""))
    return int(length) if length.isdecimal() and len(length) < _MOST_DIGITS else None


def _connect(url: str, have: int) -> Any:
    """Request the bytes after the first ``have``; ``None`` if there are no more."""
    try:
        request = Request(url, headers={"Range": f"bytes={have}-"} if have else {})
        return urlopen(request, timeout=TIMEOUT_SECONDS)
    except HTTPError as error:
        error.close()
        if have and error.code == _RANGE_BEYOND_END:
            return None
        problem = f"{url} cannot be fetched: {urlsplit(url).hostname} answered HTTP {error.code}"
    except (OSError, HTTPException, ValueError) as error:
        problem = f"{url} cannot be fetched: {_reason(error)}"
    raise DownloadError(
        f"{problem}; check the connection, or set {MIRROR_VARIABLE} to another mirror"
    )


def _received(response: Any, url: str, have: int, total: int | None) -> Iterator[bytes]:
    """Yield the chunks of a response, and raise if it ends too early."""
    reason = "it was closed"
    try:
        while chunk := response.read1(_CHUNK_BYTES):
            have += len(chunk)
            yield chunk
        if total is None or have >= total:
            return
    except (OSError, HTTPException) as error:
        reason = _reason(error)
    of_total = "" if total is None else f" of {total:,}"
    raise DownloadError(
        f"the connection for {url} was lost after {have:,}{of_total} bytes ({reason}); these are "
        "kept, run the same command again to resume"
    )


def _store(
    chunks: Iterator[bytes], file: DataFile, part: Path, start: Arrival, report: Report
) -> bool:
    """Write the chunks to the disk; return False if they exceed the limit of the file."""
    have = start.num_bytes
    with part.open("ab" if have else "wb") as sink:
        report(start)
        for chunk in chunks:
            have += len(chunk)
            if have > file.limit:
                return False
            sink.write(chunk)
            report(Arrival(file.name, have, start.total_bytes))
        sink.flush()
        os.fsync(sink.fileno())
    return True


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _discard(part: Path, reason: str) -> NoReturn:
    """Delete the partial file and raise an error."""
    _remove(part)
    raise DownloadError(f"{reason}; the partial file was deleted") from None


def _remove(part: Path) -> None:
    with suppress(OSError):
        part.unlink(missing_ok=True)


def _cannot_write(folder: Path, error: OSError) -> str:
    return (
        f"cannot write to {folder}: {error.strerror or error}; check its permissions and the free "
        f"space, or set {DATA_VARIABLE} to another folder"
    )


def _reason(error: Exception) -> str:
    """Short reason why a connection failed."""
    cause = error.reason if isinstance(error, URLError) else error
    if isinstance(cause, TimeoutError):
        return f"no data for {TIMEOUT_SECONDS:g} seconds"
    words = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    return " ".join(words.split())
