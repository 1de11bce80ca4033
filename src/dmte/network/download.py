"""Data sets from where they are published, or from a mirror.

A file arrives as ``data.txt.part`` beside its place, is verified by its git blob id, and only then
gets its name, in one rename. What arrived before a lost connection stays, and the next download
asks for the rest; the id is of the whole, so a rest that does not fit is noticed. Whatever is
refused leaves nothing behind. Only ``download`` ever contacts another machine.

A mirror is a URL (http, https or file) under which files lie as in a folder of data sets, for
example ``<mirror>/cora/data.txt``: such a folder, served by any web server, is one.
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

from dmte.errors import DownloadError
from dmte.network.datasets import DATA_VARIABLE, DataFile, Dataset, check_dataset
from dmte.storage.folder import sync_folder
from dmte.storage.locks import lock_place, locked

MIRROR_VARIABLE = "DMTE_MIRROR"
"""The environment variable that names a mirror."""

GITHUB = "https://raw.githubusercontent.com"
TIMEOUT_SECONDS = 30.0  # without a single byte; a choice

_CHUNK_BYTES = 2**16
_MOST_DIGITS = 19  # of a length; Python refuses to read thousands of them
_PARTIAL, _RANGE_BEYOND_END = 206, 416  # HTTP's answers to a request for the rest


@dataclass(frozen=True, slots=True)
class Arrival:
    """How much of a file has arrived."""

    file: str
    num_bytes: int
    total_bytes: int | None
    """Of the whole file, if the sender or we know it."""


Report = Callable[[Arrival], None]


def _ignore(_: Arrival) -> None: ...


def download(
    dataset: Dataset, folder: Path, *, base_url: str | None = None, report: Report = _ignore
) -> Path:
    """Fetch the files that a folder of data sets lacks, and return the data set's own folder.

    Args:
        dataset: One with an origin.
        folder: The folder of data sets; made if it does not exist.
        base_url: A mirror; without it the one ``DMTE_MIRROR`` names, or else GitHub.
        report: Called whenever more of a file has arrived.

    Raises:
        DownloadError: It cannot be had, is not what it should be, or cannot be written.
        NetworkError: A file that is there already cannot be read.
    """
    mirror = base_url or os.environ.get(MIRROR_VARIABLE) or None
    place = folder / dataset.name
    if not _lacking(dataset, folder):
        return place
    busy = f"another process is downloading into {place}; wait until it has finished"
    with _made(place), locked(lock_place(place), DownloadError(busy)):
        for file in _lacking(dataset, folder):  # asked again: another process may have fetched it
            _fetch(file, url_of(dataset, file, mirror), place, report)
    return place


def url_of(dataset: Dataset, file: DataFile, mirror: str | None = None) -> str:
    """Return where a file of a data set is fetched from.

    Raises:
        DownloadError: The data set is bundled, or the mirror is none.
    """
    if dataset.origin is None:
        raise DownloadError(f"{dataset.name} comes with this package; there is nothing to download")
    if mirror is None:
        origin = dataset.origin
        return f"{GITHUB}/{origin.repository}/HEAD/{origin.folder}/{file.name}"
    if not mirror.lower().startswith(("http://", "https://", "file://")):
        raise DownloadError(
            f"the mirror {mirror!r} is not a URL; it must start with http://, https:// or file://"
        )
    return f"{mirror.rstrip('/')}/{dataset.name}/{file.name}"


def _lacking(dataset: Dataset, root: Path) -> list[DataFile]:
    """Return the files to fetch; refuse to fetch beside a file that is not the published one."""
    found = check_dataset(dataset, root)
    if found.different:
        raise DownloadError(
            f"{found.folder / found.different[0]} is there already, but is not the published file "
            "(its git blob id differs), and is not overwritten; move or delete it first"
        )
    return [file for file in dataset.files if file.name in found.missing]


# ── The folder ──


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """Make the folder, and remove it and those made above it if a failure leaves them empty."""
    made: list[Path] = []
    try:
        made += [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException as problem:
        for path in made:
            with suppress(OSError):  # it holds something
                path.rmdir()
        if isinstance(problem, OSError):
            raise DownloadError(_cannot_write(folder, problem)) from None
        raise


# ── One file ──


def _fetch(file: DataFile, url: str, folder: Path, report: Report) -> None:
    """Put the file into the folder, or leave at most what can be gone on from."""
    part = folder / f"{file.name}.part"
    try:
        resumed = _size(part) > 0
        _receive(file, url, part, report)
        if resumed and not file.is_at(part):  # the old part was of something else
            part.unlink()
            _receive(file, url, part, report)
        if not file.is_at(part):
            _refuse(part, f"{url} is not the published file: its git blob id is not {file.blob}")
        part.replace(folder / file.name)
    except DownloadError:
        if _size(part) == 0:
            part.unlink(missing_ok=True)
        raise
    except OSError as error:
        _refuse(part, _cannot_write(folder, error))
    with suppress(
        OSError
    ):  # the file is right and in place; not every file system can sync a folder
        sync_folder(folder)


def _receive(file: DataFile, url: str, part: Path, report: Report) -> None:
    """Add to the part what it lacks; a sender that cannot go on from there sends all of it."""
    have = _size(part)
    if have >= file.limit:
        return
    response = _connect(url, have)
    if response is None:
        return
    with response:
        have = have if _goes_on(response, have) else 0
        length = _length(response)
        total = file.size if length is None else have + length
        too_large = total is not None and total > file.limit
        if not too_large:
            arriving = _arriving(response, url, have, total)
            too_large = not _store(arriving, file, part, Arrival(file.name, have, total), report)
    if too_large:
        _refuse(part, f"{url} sends more than {file.limit:,} bytes, the most {file.name} may have")


def _goes_on(response: Any, have: int) -> bool:
    """Return whether an answer begins where we left off, not with the first byte."""
    begins = str(response.headers.get("Content-Range", ""))
    return response.status == _PARTIAL and begins.startswith(f"bytes {have}-")


def _length(response: Any) -> int | None:
    """Return how many bytes an answer announces."""
    length = str(response.headers.get("Content-Length", ""))
    return int(length) if length.isdecimal() and len(length) < _MOST_DIGITS else None


def _connect(url: str, have: int) -> Any:
    """Return the answer to a request for what follows the first bytes, None for nothing more."""
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
        f"{problem}; check the connection, or name another mirror in {MIRROR_VARIABLE}"
    )


def _arriving(response: Any, url: str, have: int, total: int | None) -> Iterator[bytes]:
    """Yield what arrives, and refuse an end before the end."""
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
        f"the connection for {url} was lost after {have:,}{of_total} bytes ({reason}); what has "
        "arrived is kept, run the same again to go on from there"
    )


def _store(
    arriving: Iterator[bytes], file: DataFile, part: Path, start: Arrival, report: Report
) -> bool:
    """Write what arrives down to the disk; return False if it is more than the file may have."""
    have = start.num_bytes
    with part.open("ab" if have else "wb") as sink:
        report(start)
        for chunk in arriving:
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


def _refuse(part: Path, why: str) -> NoReturn:
    """Leave nothing behind, and say why."""
    with suppress(OSError):
        part.unlink(missing_ok=True)
    raise DownloadError(f"{why}; nothing of it is kept") from None


def _cannot_write(folder: Path, error: OSError) -> str:
    return (
        f"cannot write to {folder}: {error.strerror or error}; check its permissions and the free "
        f"space, or name another folder in {DATA_VARIABLE}"
    )


def _reason(error: Exception) -> str:
    """Return why a connection failed, in a few words."""
    cause = error.reason if isinstance(error, URLError) else error
    if isinstance(cause, TimeoutError):
        return f"nothing arrived for {TIMEOUT_SECONDS:g} seconds"
    words = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    return " ".join(words.split())
