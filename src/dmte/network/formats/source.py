"""The bytes and text of a file, plain or compressed, or of standard input.

Text must be UTF-8: a guessed encoding would silently produce wrong words. ``papers.csv.gz`` and
``papers.csv.zst`` are compressed CSV files; ``-`` is standard input. Errors name the line, counted
from 1.

Lines are decompressed and read lazily, so a large file is never in memory as a whole. After an
error, the file is read again to find its first invalid byte.
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
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, NoReturn, cast

import pyarrow as pa  # type: ignore[import-untyped]

from dmte.errors import NetworkError
from dmte.runtime.progress import report

STANDARD_INPUT = "-"
"""The file name that means standard input."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MAGIC_BYTES: Mapping[bytes, str] = MappingProxyType(
    {
        b"\xff\xfe\0\0": "is UTF-32; convert it to UTF-8",  # before UTF-16, a prefix of it
        b"\0\0\xfe\xff": "is UTF-32; convert it to UTF-8",
        b"\xff\xfe": "is UTF-16; convert it to UTF-8",
        b"\xfe\xff": "is UTF-16; convert it to UTF-8",
        b"\x1f\x8b": "looks like a gzip file; decompress it, or rename it to end in .gz",
        b"\x28\xb5\x2f\xfd": "looks like a zstd file; decompress it, or rename it to end in .zst",
        b"PK\x03\x04": "looks like a zip file or spreadsheet; export it as CSV in UTF-8",
        b"PAR1": "looks like a Parquet file; rename it to end in .parquet",
        b"%PDF-": "looks like a PDF file; extract its text first",
    }
)
"""First bytes of well-known files that are not UTF-8 text, with the end of the error message."""

UTF16_SHARE = 0.4  # Minimum fraction of NULs at even or odd positions; Latin text has 0.5.
BLOCK = 1 << 18  # Characters of lines in memory at a time; with more, the caches overflow.
BYTES = 1 << 20  # Bytes in memory at a time.


@dataclass(frozen=True, slots=True)
class Source:
    """The decompressed content of a file, and its name in errors."""

    name: str
    origin: bytes | Path
    """The bytes, or a file that can be read more than once."""
    compression: str = ""
    """Suffix of the compression: ".gz", ".zst" or empty."""

    @property
    def data(self) -> bytes:
        """All bytes.

        Raises:
            NetworkError: The file cannot be read, or its compression is damaged.
        """
        with self._compressed() as file, self._decompressed(file) as stream:
            return stream.read()

    def lines(self, newline: str) -> Iterator[str]:
        r"""Yield the lines with their line ends, with one block in memory at a time.

        ``newline`` is ``""`` or ``"\n"``, with the meaning it has for ``open``.

        >>> list(Source("notes.csv", b"\xef\xbb\xbfid\r\na").lines(newline=""))
        ['id\r\n', 'a']

        Raises:
            NetworkError: The file cannot be read or is not UTF-8 text, see ``text``.
        """
        return chain.from_iterable(self._blocks_of_lines(newline))

    def _blocks_of_lines(self, newline: str) -> Iterator[list[str]]:
        with self._compressed() as file, self._decompressed(file) as stream:
            size = max(1, file.seek(0, os.SEEK_END))
            file.seek(0)
            text = io.TextIOWrapper(cast("BinaryIO", stream), "utf-8-sig", newline=newline)
            while lines := self._next_lines(text):
                yield lines
                report(file.tell() / size)

    def blocks(self) -> Iterator[bytes]:
        r"""Yield the bytes in blocks, without a byte order mark; they may not be text.

        >>> list(Source("notes.csv", b"\xef\xbb\xbfid\r\na").blocks())
        [b'id\r\na']

        Raises:
            NetworkError: The file cannot be read.
        """
        with self._compressed() as file, self._decompressed(file) as stream:
            size = max(1, file.seek(0, os.SEEK_END))
            file.seek(0)
            start = stream.read(len(BYTE_ORDER_MARK))
            block = start.removeprefix(BYTE_ORDER_MARK) + stream.read(BYTES)
            while block:
                yield block
                report(file.tell() / size)
                block = stream.read(BYTES)

    @contextmanager
    def text_errors_first(self) -> Iterator[None]:
        """On an error in the block, raise the error of ``text`` instead if there is one.

        A byte that is not UTF-8 often explains an error in an earlier line.
        """
        try:
            yield
        except NetworkError:
            self.text()
            raise

    def _next_lines(self, text: io.TextIOBase) -> list[str]:
        try:
            lines = text.readlines(BLOCK)
        except UnicodeDecodeError:
            self._raise_text_error()
        if "\0" in "".join(lines):
            self._raise_text_error()
        return lines

    def _raise_text_error(self) -> NoReturn:
        """Read the whole file again to raise an error that names the first invalid byte."""
        self.text()
        raise NetworkError(f"{self.name} changed while it was read; read it again")

    def _compressed(self) -> AbstractContextManager[BufferedIOBase]:
        return io.BytesIO(self.origin) if isinstance(self.origin, bytes) else _open(self.origin)

    @contextmanager
    def _decompressed(self, file: BufferedIOBase) -> Iterator[BufferedIOBase]:
        if not self.compression:
            yield file
            return
        if not file.read(1):
            raise NetworkError(
                f"{self.name} is empty, so it is not a {self.compression} file; download it again"
            )
        file.seek(0)
        with DECOMPRESSORS[self.compression](self.name, file) as stream:
            yield stream

    def text(self) -> str:
        r"""Decode the bytes as UTF-8, without a byte order mark.

        >>> Source("notes.csv", b"\xef\xbb\xbfid").text()
        'id'

        Raises:
            NetworkError: The bytes are not UTF-8, or contain a NUL.
        """
        data = self.data
        skipped = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
        try:
            text = data[skipped:].decode()
        except UnicodeDecodeError as error:
            offset = error.start + skipped
            _check_known_kinds(self.name, data)
            raise NetworkError(
                f"{self.name}, line {_line_of(data, offset)}: byte {offset} is "
                f"0x{data[offset]:02x}, which is not UTF-8; convert the file to UTF-8"
            ) from None
        if "\0" in text:
            _check_known_kinds(self.name, data)
            offset = data.index(b"\0")
            raise NetworkError(
                f"{self.name}, line {_line_of(data, offset)}: byte {offset} is NUL, which text "
                "cannot contain; the file is damaged, or is not UTF-8 text"
            )
        return text


def _line_of(data: bytes, offset: int) -> int:
    return data.count(b"\n", 0, offset) + 1


def _check_known_kinds(name: str, data: bytes) -> None:
    """Raise an error that names the kind of a file that is not text, if it is a known kind."""
    for magic, problem in MAGIC_BYTES.items():
        if data.startswith(magic):
            raise NetworkError(f"{name} {problem}")
    start = data[:1024]
    halves = (start[0::2], start[1::2])
    if any(half.count(0) > UTF16_SHARE * len(start) for half in halves):
        raise NetworkError(f"{name} looks like UTF-16; convert it to UTF-8")


def open_source(path: Path, format: str | None = None) -> Source:  # noqa: A002
    """Source of a file or of standard input; ``format`` overrides the suffix.

    A regular file is opened when it is used, and can be used again. Standard input and pipes are
    read at once, since they can be read only once.

    Raises:
        NetworkError: The file does not exist, is a folder, or cannot be read.
    """
    compression = _compression(f".{format}" if format else path.name)
    if is_standard_input(path):
        return Source("standard input", _read_standard_input(), compression)
    if _is_file(path):
        return Source(str(path), path, compression)
    with _open(path) as stream:
        return Source(str(path), stream.read(), compression)


def is_standard_input(path: Path | str | None) -> bool:
    """Whether ``path`` means standard input."""
    return str(path) == STANDARD_INPUT


def kind_of(path: Path, format: str | None = None) -> str:  # noqa: A002
    """Suffix of the format of a file, without the suffix of the compression.

    >>> kind_of(Path("papers.2024.CSV.gz")), kind_of(Path("-")), kind_of(Path("x.txt"), "tsv")
    ('.csv', '.jsonl', '.tsv')
    """
    if format is not None:
        name = f"x.{format.removeprefix('.')}"
    else:
        name = "x.jsonl" if is_standard_input(path) else path.name
    compression = _compression(name)
    return Path(name[: len(name) - len(compression)]).suffix.lower()


def _compression(name: str) -> str:
    return next((suffix for suffix in DECOMPRESSORS if name.lower().endswith(suffix)), "")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # Opening it raises an error that names the reason.
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
        raise NetworkError("standard input cannot be read; pipe data into the command") from None


@contextmanager
def _gunzip(name: str, file: BufferedIOBase) -> Iterator[BufferedIOBase]:
    try:
        with gzip.GzipFile(fileobj=file) as stream:
            yield stream
    except EOFError:
        raise NetworkError(f"{name} is a truncated gzip file; download it again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        reason = str(error).partition(" 0x")[0]  # Drop the two checksums.
        raise NetworkError(f"{name} is not a gzip file, or is damaged: {reason}") from None


@contextmanager
def _unzstd(name: str, file: BufferedIOBase) -> Iterator[BufferedIOBase]:
    try:
        with pa.CompressedInputStream(file, "zstd") as stream:
            yield BufferedReader(stream)
    except OSError as error:
        if "Truncated" in str(error):
            raise NetworkError(f"{name} is a truncated zstd file; download it again") from None
        raise NetworkError(f"{name} is not a zstd file, or is damaged: {error}") from None


Decompressor = Callable[[str, BufferedIOBase], AbstractContextManager[BufferedIOBase]]

DECOMPRESSORS: Mapping[str, Decompressor] = MappingProxyType({".gz": _gunzip, ".zst": _unzstd})
"""Decompressors by the last suffix of a file name."""
