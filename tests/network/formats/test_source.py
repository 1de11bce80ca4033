"""Bytes from files, compressed files and standard input."""

import gzip
import io
import subprocess
import sys
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from dmte.errors import NetworkError
from dmte.network.formats.read import read_network, read_tables
from dmte.network.formats.source import kind_of, open_source

ROWS = "id,text,links\na,red fox,b\nb,a den,\n"


@pytest.fixture(autouse=True)
def _empty_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, so that errors show a file's bare name."""
    monkeypatch.chdir(tmp_path)


def pack(name: str, content: bytes) -> bytes:
    """Compress the content according to the last suffix of the name."""
    if name.endswith(".gz"):
        return gzip.compress(content)
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def pipe(monkeypatch: pytest.MonkeyPatch, content: str | bytes) -> None:
    data = content.encode() if isinstance(content, str) else content
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.parametrize("name", ["v.csv.gz", "v.csv.zst", "V.CSV.GZ", "v.tsv.zst"])
def test_a_compressed_file_is_read(name: str) -> None:
    content = ROWS.replace(",", "\t") if "tsv" in name else ROWS
    Path(name).write_bytes(pack(name.lower(), content.encode()))
    network = read_network(name)
    assert (network.texts, network.edges.tolist()) == (("red fox", "a den"), [[0, 1]])
    assert read_tables(name).fingerprint() == network.fingerprint()


def test_concatenated_compressed_files_are_one_file() -> None:
    for name in ("v.csv.gz", "v.csv.zst"):
        half = len(ROWS) // 2
        Path(name).write_bytes(pack(name, ROWS[:half].encode()) + pack(name, ROWS[half:].encode()))
        assert read_network(name).ids == ("a", "b")


@pytest.mark.parametrize("name", ["v.csv.gz", "v.csv.zst"])
def test_damaged_compression_raises_in_one_line(name: str) -> None:
    whole = pack(name, b"id,text\n" + bytes(range(32, 127)) * 9)
    kind = "gzip" if name.endswith("gz") else "zstd"
    for content, message in (
        (b"", f"{name} is empty, so it is not a .{name.split('.')[-1]} file; download it again"),
        (b"id,text\na,b\n", f"{name} is not a {kind} file, or is damaged: "),
        (whole[:-5], f"{name} is a truncated {kind} file; download it again"),
        (whole[: len(whole) // 2], f"{name} is a truncated {kind} file; download it again"),
        (whole + b"junk" * 5, f"{name} is not a {kind} file, or is damaged: "),
    ):
        Path(name).write_bytes(content)
        with pytest.raises(NetworkError) as error:
            read_network(name)
        assert str(error.value).startswith(message)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("beginning", "message"),
    [
        (
            b"\x1f\x8b\x08",
            "v.csv looks like a gzip file; decompress it, or rename it to end in .gz",
        ),
        (b"\x28\xb5\x2f\xfd", "v.csv looks like a zstd file"),
        (b"PK\x03\x04", "v.csv looks like a zip file or spreadsheet"),
        (b"PAR1", "v.csv looks like a Parquet file"),
        (b"%PDF-1.4\n", "v.csv looks like a PDF file"),
        (b"\xff\xfe", "v.csv is UTF-16; convert it to UTF-8"),
        (b"ab", "v.csv, line 1: byte 2 is 0xff, which is not UTF-8"),
    ],
)
def test_a_file_of_another_kind_raises_with_its_kind(beginning: bytes, message: str) -> None:
    Path("v.csv").write_bytes(beginning + b"\xff\x00\xff")
    with pytest.raises(NetworkError, match="^" + message.replace("(", r"\(")):
        read_network("v.csv")


def test_a_line_of_ten_megabytes_is_read() -> None:
    text = "word " * 2_000_000
    Path("v.jsonl").write_text(f'{{"id": "a", "text": "{text}", "links": ["a"]}}')
    assert len(read_network("v.jsonl").texts[0]) == len(text)


def test_standard_input_is_json_lines_by_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pipe(monkeypatch, '{"id": "a", "text": "x", "links": ["b"]}\n{"id": "b"}\n')
    assert read_network("-").ids == ("a", "b")
    pipe(monkeypatch, ROWS)
    assert read_network("-", format="csv").texts == ("red fox", "a den")
    pipe(monkeypatch, pack("csv.gz", ROWS.encode()))
    assert read_network("-", format=".csv.gz").texts == ("red fox", "a den")


def test_a_format_applies_to_standard_input_but_not_to_a_file_beside_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("e.jsonl").write_text('{"source": "a", "target": "b"}')
    pipe(monkeypatch, ROWS)
    assert len(read_tables("-", "e.jsonl", format="csv").edges) == 1
    Path("v.dat").write_text("id,text\na,x\nb,y\n")
    Path("e.dat").write_text("source,target\na,b\n")
    assert len(read_tables("v.dat", "e.dat", format="csv").edges) == 1


def test_standard_input_is_named_in_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe(monkeypatch, '{"id": "a"}\n{"id"')
    with pytest.raises(NetworkError, match=r"^standard input, line 2: not JSON at character 6"):
        read_network("-")
    with pytest.raises(NetworkError, match="only one table can come from standard input"):
        read_tables("-", "-")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(NetworkError, match="standard input cannot be read; pipe data"):
        read_network("-")


def test_an_unknown_format_raises_with_the_known_ones() -> None:
    with pytest.raises(NetworkError, match=r"the format 'xml' of - is not a data set .*\.graphml"):
        read_network("-", format="xml")
    with pytest.raises(NetworkError, match=r"the format is 'xml'; it must be one of \.csv"):
        read_tables("-", None, format="xml")


def test_output_of_the_zstd_program_is_read() -> None:
    Path("v.csv").write_text(ROWS)
    try:
        subprocess.run(["zstd", "-q", "v.csv"], check=True)
    except FileNotFoundError:
        pytest.skip("there is no zstd program here")
    assert open_source(Path("v.csv.zst")).text() == ROWS


def test_the_kind_ignores_the_suffix_of_the_compression() -> None:
    assert [kind_of(Path(name)) for name in ("a.b.JSON", "a.csv.gz", "gz", "a.gz", ".gz")] == [
        ".json",
        ".csv",
        "",
        "",
        "",
    ]
