"""What a file holds, whether it is packed or not, or what comes from standard input.

Text is UTF-8 and nothing else: a guessed encoding would turn into wrong words without a word of
warning. ``papers.csv.gz`` and ``papers.csv.zst`` are ``papers.csv``, packed; ``-`` is standard
input. What is wrong is said with the line it is on, counted from 1.
"""

import gzip
import sys
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa  # type: ignore[import-untyped]

from dmte.errors import NetworkError

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


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes of a file, unpacked, and what errors call it."""

    name: str
    data: bytes

    def text(self) -> str:
        r"""Return the bytes as the text they are in UTF-8, without a byte order mark.

        >>> Content("notes.csv", b"\xef\xbb\xbfid").text()
        'id'

        Raises:
            NetworkError: They are not UTF-8, or hold a NUL.
        """
        skipped = len(BYTE_ORDER_MARK) if self.data.startswith(BYTE_ORDER_MARK) else 0
        try:
            text = self.data[skipped:].decode()
        except UnicodeDecodeError as error:
            offset = error.start + skipped
            self._refuse_known_kinds()
            raise NetworkError(
                f"{self._line_of(offset)}: byte {offset} is 0x{self.data[offset]:02x}, "
                "which is not UTF-8; convert the file to UTF-8"
            ) from None
        if "\0" in text:
            self._refuse_known_kinds()
            offset = self.data.index(b"\0")
            raise NetworkError(
                f"{self._line_of(offset)}: byte {offset} is NUL, which no text holds; "
                "the file is damaged, or not UTF-8 text"
            )
        return text

    def _line_of(self, offset: int) -> str:
        line = self.data.count(b"\n", 0, offset) + 1
        return f"{self.name}, line {line}"

    def _refuse_known_kinds(self) -> None:
        """Say what a file is that is no text, if it is of a well-known kind."""
        for beginning, what in BEGINNINGS.items():
            if self.data.startswith(beginning):
                raise NetworkError(f"{self.name} {what}")
        start = self.data[:1024]
        halves = (start[0::2], start[1::2])
        if any(half.count(0) > UTF16_SHARE * len(start) for half in halves):
            raise NetworkError(f"{self.name} looks like UTF-16; convert it to UTF-8")


def read_content(path: Path, format: str | None = None) -> Content:  # noqa: A002
    """Return what the file holds, unpacked; a format stands for its suffixes.

    Raises:
        NetworkError: It does not exist, is a folder, may not be read, or its packing is damaged.
    """
    name = "standard input" if is_standard_input(path) else str(path)
    data = _read_standard_input() if is_standard_input(path) else _read_bytes(path)
    packing = _packing(f".{format}" if format else path.name)
    if packing and not data:
        raise NetworkError(f"{name} is empty, which no {packing} file is; fetch it again")
    return Content(name, UNPACKERS[packing](name, data) if packing else data)


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


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
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


def _gunzip(name: str, data: bytes) -> bytes:
    try:
        return gzip.decompress(data)
    except EOFError:
        raise NetworkError(f"{name} is a gzip file that ends too early; fetch it again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise NetworkError(f"{name} is not a gzip file, or damaged: {error}") from None


def _unzstd(name: str, data: bytes) -> bytes:
    try:
        with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
            unpacked: bytes = stream.read()
    except OSError as error:
        if "Truncated" in str(error):
            raise NetworkError(
                f"{name} is a zstd file that ends too early; fetch it again"
            ) from None
        raise NetworkError(f"{name} is not a zstd file, or damaged: {error}") from None
    return unpacked


UNPACKERS: Mapping[str, Callable[[str, bytes], bytes]] = MappingProxyType(
    {".gz": _gunzip, ".zst": _unzstd}
)
"""How a packed file is unpacked, by its last suffix."""
