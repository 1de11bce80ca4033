"""What a file holds, whether it is packed or not, or what comes from standard input.

Text is UTF-8 and nothing else: a guessed encoding would turn into wrong words without a word of
warning. ``papers.csv.gz`` and ``papers.csv.zst`` are ``papers.csv``, packed; ``-`` is standard
input. What is wrong is said with the line it is on, counted from 1.

Lines are read and unpacked as they are asked for, so a large file is never held whole. Only when
something is wrong with one is it read again, whole, to say what is wrong first.
"""

import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from io import BufferedIOBase, BufferedReader
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, cast

import pyarrow as pa  # type: ignore[import-untyped]

from dmte.errors import NetworkError
from dmte.runtime.progress import reach

STANDARD_INPUT = "-"
"""What stands for standard input where a file is expected."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
BEGINNINGS: Mapping[bytes, str] = MappingProxyType(
    {
        b"\xff\xfe\0\0": "is UTF-32; convert it to UTF-8",  # before UTF-16, which begins so too
        b"\0\0\xfe\xff": "is UTF-32; convert it to UTF-8",
        b"\xff\xfe": "is UTF-16; convert it to UTF-8",
        b"\xfe\xff": "is UTF-16; convert it to UTF-8",
        b"\x1f\x8b": "begins like a gzip file; unpack it, or let its name end in .gz",
        b"\x28\xb5\x2f\xfd": "begins like a zstd file; unpack it, or let its name end in .zst",
        b"PK\x03\x04": "begins like a zip file, as spreadsheets do; export it as CSV in UTF-8",
        b"PAR1": "begins like a Parquet file; let its name end in .parquet",
        b"%PDF-": "begins like a PDF file; extract its text first",
    }
)
"""How files that are not UTF-8 begin, and what to say of them."""

UTF16_SHARE = 0.4  # of the bytes are NUL at even or at odd places; of Latin text it is half.
BLOCK = 1 << 20  # Characters of lines that are held at a time.


@dataclass(frozen=True, slots=True)
class Content:
    """What a file holds, unpacked, and what errors call it."""

    name: str
    source: bytes | Path
    """The bytes, or the file they are in, which can be read again."""
    packing: str = ""
    """The suffix that says how they are packed, if they are."""

    @property
    def data(self) -> bytes:
        """All bytes.

        Raises:
            NetworkError: The file cannot be read, or its packing is damaged.
        """
        with self._packed() as packed, self._unpacked(packed) as stream:
            return stream.read()

    def lines(self, newline: str) -> Iterator[str]:
        r"""Yield the text line by line with the ends of the lines, a block of it in memory.

        A line ends where ``open`` would end it for ``newline``, ``""`` or ``"\n"``.

        >>> list(Content("notes.csv", b"\xef\xbb\xbfid\r\na").lines(newline=""))
        ['id\r\n', 'a']

        Raises:
            NetworkError: As of ``text``.
        """
        with self._packed() as packed, self._unpacked(packed) as stream:
            size = max(1, packed.seek(0, os.SEEK_END))
            packed.seek(0)
            text = io.TextIOWrapper(cast("BinaryIO", stream), "utf-8-sig", newline=newline)
            while lines := self._some_of(text):
                yield from lines
                reach(packed.tell() / size)

    @contextmanager
    def refusing_first(self) -> Iterator[None]:
        """Refuse what is no text before what is wrong with its lines, although it comes later.

        Raises:
            NetworkError: As of ``text``.
        """
        try:
            yield
        except NetworkError:
            self.text()
            raise

    def _some_of(self, text: io.TextIOBase) -> list[str]:
        """Return the next lines of the text, or refuse it."""
        try:
            lines = text.readlines(BLOCK)
        except UnicodeDecodeError:
            lines = ["\0"]
        if any("\0" in line for line in lines):
            self.text()
            raise NetworkError(f"{self.name} was changed while it was read; read it again")
        return lines

    def _packed(self) -> AbstractContextManager[BufferedIOBase]:
        return io.BytesIO(self.source) if isinstance(self.source, bytes) else _open(self.source)

    @contextmanager
    def _unpacked(self, packed: BufferedIOBase) -> Iterator[BufferedIOBase]:
        if not self.packing:
            yield packed
            return
        if not packed.read(1):
            raise NetworkError(
                f"{self.name} is empty, which no {self.packing} file is; fetch it again"
            )
        packed.seek(0)
        with UNPACKERS[self.packing](self.name, packed) as stream:
            yield stream

    def text(self) -> str:
        r"""Return the bytes as the text they are in UTF-8, without a byte order mark.

        >>> Content("notes.csv", b"\xef\xbb\xbfid").text()
        'id'

        Raises:
            NetworkError: They are not UTF-8, or hold a NUL.
        """
        data = self.data
        skipped = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
        try:
            text = data[skipped:].decode()
        except UnicodeDecodeError as error:
            offset = error.start + skipped
            _refuse_known_kinds(self.name, data)
            raise NetworkError(
                f"{self.name}, line {_line_of(data, offset)}: byte {offset} is "
                f"0x{data[offset]:02x}, which is not UTF-8; convert the file to UTF-8"
            ) from None
        if "\0" in text:
            _refuse_known_kinds(self.name, data)
            offset = data.index(b"\0")
            raise NetworkError(
                f"{self.name}, line {_line_of(data, offset)}: byte {offset} is NUL, which no text "
                "holds; the file is damaged, or not UTF-8 text"
            )
        return text


def _line_of(data: bytes, offset: int) -> int:
    return data.count(b"\n", 0, offset) + 1


def _refuse_known_kinds(name: str, data: bytes) -> None:
    """Say what a file is that is no text, if it is of a well-known kind."""
    for beginning, what in BEGINNINGS.items():
        if data.startswith(beginning):
            raise NetworkError(f"{name} {what}")
    start = data[:1024]
    halves = (start[0::2], start[1::2])
    if any(half.count(0) > UTF16_SHARE * len(start) for half in halves):
        raise NetworkError(f"{name} looks like UTF-16; convert it to UTF-8")


def read_content(path: Path, format: str | None = None) -> Content:  # noqa: A002
    """Return what the file holds; a format stands for its suffixes.

    A file is opened when its bytes are asked for, and may be asked again. What can be read once
    only, such as standard input or a pipe, is read now.

    Raises:
        NetworkError: It does not exist, is a folder, or may not be read.
    """
    packing = _packing(f".{format}" if format else path.name)
    if is_standard_input(path):
        return Content("standard input", _read_standard_input(), packing)
    if _is_file(path):
        return Content(str(path), path, packing)
    with _open(path) as stream:
        return Content(str(path), stream.read(), packing)


def is_standard_input(path: Path | str | None) -> bool:
    """Return whether ``path`` stands for standard input."""
    return str(path) == STANDARD_INPUT


def kind_of(path: Path, format: str | None = None) -> str:  # noqa: A002
    """Return the suffix that says how to read a file, whether packed or not.

    >>> kind_of(Path("papers.2024.CSV.gz")), kind_of(Path("-")), kind_of(Path("x.txt"), "tsv")
    ('.csv', '.jsonl', '.tsv')
    """
    if format is not None:
        name = f"x.{format.removeprefix('.')}"
    else:
        name = "x.jsonl" if is_standard_input(path) else path.name
    packing = _packing(name)
    return Path(name[: len(name) - len(packing)]).suffix.lower()


def _packing(name: str) -> str:
    return next((suffix for suffix in UNPACKERS if name.lower().endswith(suffix)), "")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # Opening it says what is wrong with it.
        return False


@contextmanager
def _open(path: Path) -> Iterator[BufferedIOBase]:
    try:
        with path.open("rb") as stream:
            yield stream
    except FileNotFoundError:
        raise NetworkError(f"{path} does not exist; check the path") from None
    except IsADirectoryError:
        raise NetworkError(f"{path} is a folder; give a file") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise NetworkError(f"{path} cannot be read: {reason}") from None


def _read_standard_input() -> bytes:
    try:
        return sys.stdin.buffer.read()
    except (AttributeError, OSError, ValueError):
        raise NetworkError("standard input cannot be read; pipe something into it") from None


@contextmanager
def _gunzip(name: str, packed: BufferedIOBase) -> Iterator[BufferedIOBase]:
    try:
        with gzip.GzipFile(fileobj=packed) as stream:
            yield stream
    except EOFError:
        raise NetworkError(f"{name} is a gzip file that ends too early; fetch it again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        reason = str(error).partition(" 0x")[0]  # Checksums that differ need not be shown.
        raise NetworkError(f"{name} is not a gzip file, or damaged: {reason}") from None


@contextmanager
def _unzstd(name: str, packed: BufferedIOBase) -> Iterator[BufferedIOBase]:
    try:
        with pa.CompressedInputStream(packed, "zstd") as stream:
            yield BufferedReader(stream)
    except OSError as error:
        if "Truncated" in str(error):
            raise NetworkError(
                f"{name} is a zstd file that ends too early; fetch it again"
            ) from None
        raise NetworkError(f"{name} is not a zstd file, or damaged: {error}") from None


UNPACKERS: Mapping[str, Callable[[str, BufferedIOBase], AbstractContextManager[BufferedIOBase]]] = (
    MappingProxyType({".gz": _gunzip, ".zst": _unzstd})
)
"""How a packed file is unpacked, by its last suffix."""
