"""PyArrow and the csv module find the same cells, or PyArrow is not used."""

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmte.errors import NetworkError
from dmte.network.formats.delimited import read_checked, read_delimited, read_plain
from dmte.network.formats.source import Source
from dmte.network.formats.table import Table

PLAIN = {
    "numbers as they are written": b"id,n\n007,1.0\n1e5,-0\nNA,NULL\nnan,true\n2020-01-01,0x1\n",
    "blank lines": b"\n\r\nid,text\n\n\r\na,b\n\n\n",
    "no line end": b"id,text\na,b",
    "carriage returns": b"id,text\r\na,b\r\n",
    "a carriage return at the end": b"id,text\na,b\r",
    "a byte order mark": b"\xef\xbb\xbfid,text\na,b\n",
    "spaces": b" id , text\n a , b \n\x0c,\x0b\n",
    "quotes": b'"id","ti""tle"\n"a,""b""","c\r\nd\n\n"\n"","""" \n'.replace(b'"""" ', b'""""'),
    "one column": b'id\na\n""\n\n"b"\n',
    "other line ends": "id,text\na\u2028,b\x85\x1c\x0c\n".encode(),
    "no rows": b"id,text\n",
    "a name that is quoted over lines": b'"i\nd",text\na,b\n',
    "no name": b",text\na,b\n",
    "not ASCII": "id,text\né,😀\n".encode(),
}
NOT_PLAIN = {
    "empty": b"",
    "blank": b"\n\n",
    "a quote within a field": b'id,text\na,5" pipe\n',
    "quotes within a field": b'id,text\na,the "b" c\n',
    "a space before a quote": b'id,text\na, "b"\n',
    "text after a quote": b'id,text\na,"b"c\n',
    "a quote that is not closed": b'id,text\na,"b\nc,d\n',
    "too many fields": b"id,text\na,b,c\n",
    "too few fields": b'id,text\na,"b\n\n"\nc\n',
    "a field too few at the end": b"id,text\na,b\nc",
    "another separator": b"id;text\na;b\n",
    "equal names": b"id,text, id\na,b,c\n",
    "a NUL": b"id,text\na,\0\n",
    "not UTF-8": b"id,text\na,b\nc,\xff\n",
    "a name that is not UTF-8": b"id,ti\xfft\na,b\n",
    "UTF-16": "id,text\na,b\n".encode("utf-16"),
    "old line ends": b"id,text\ra,b\r",
    "mixed line ends": b"id,text\na,b\rc,d\n",
    "a carriage return within quotes": b'id,text\na,"b\rc"\n',
    "two byte order marks": b"\xef\xbb\xbf\xef\xbb\xbfid,text\na,b\n",
}


def outcome(table: Table) -> object:
    cells = {name: list(table.columns[name]) for name in table.columns}
    places = [table.place(row) for row in range(table.num_rows)]
    return cells, places, table.num_rows, table.delimited


def checked_outcome(source: Source, delimiter: str = ",") -> object:
    """Cells and places, or the error."""
    try:
        return outcome(read_checked(source, delimiter))
    except NetworkError as error:
        return str(error)


def outcome_of_either(source: Source, delimiter: str = ",") -> object:
    try:
        return outcome(read_delimited(source, delimiter))
    except NetworkError as error:
        return str(error)


@pytest.mark.parametrize("delimiter", [",", "\t"])
@pytest.mark.parametrize("content", PLAIN.values(), ids=PLAIN.keys())
def test_plain_files_give_equal_cells_and_places(content: bytes, delimiter: str) -> None:
    source = Source("v", content.replace(b",", delimiter.encode()))
    table = read_plain(source, delimiter)
    assert table is not None
    assert outcome(table) == checked_outcome(source, delimiter)


@pytest.mark.parametrize("content", NOT_PLAIN.values(), ids=NOT_PLAIN.keys())
def test_other_files_are_left_to_the_csv_module(content: bytes) -> None:
    source = Source("v.csv", content)
    assert read_plain(source, ",") is None
    assert outcome_of_either(source) == checked_outcome(source)


def test_a_missing_file_raises() -> None:
    source = Source("no.csv", Path("no.csv"))
    assert read_plain(source, ",") is None
    assert outcome_of_either(source) == "no.csv does not exist; check the path"


PIECES = [
    "a",
    "7",
    " ",
    "é",
    ",",
    ",",
    "\n",
    "\n",
    "\r\n",
    "\r",
    '"',
    '"',
    '""',
    '",',
    '\n"',
    '"\n',
]
RAW = st.lists(st.sampled_from([*PIECES, "\0", "\ufeff"]), max_size=14).map("".join)
CELLS = st.text(st.sampled_from('a7 ,"\n\r\té😀'), max_size=4)


@pytest.mark.medium
@given(header=st.sampled_from(["id,text\n", "id\n", "\n\nid,text\r\n", ""]), raw=RAW)
@settings(max_examples=1500, deadline=None, derandomize=True)
def test_any_text_gives_the_same_as_the_csv_module(header: str, raw: str) -> None:
    source = Source("v.csv", (header + raw).encode())
    expected = checked_outcome(source)
    table = read_plain(source, ",")
    assert table is None or outcome(table) == expected
    assert outcome_of_either(source) == expected


@pytest.mark.medium
@given(
    data=st.data(),
    width=st.integers(1, 3),
    end=st.sampled_from(["\n", "\r\n"]),
    size=st.integers(1, 40),
)
@settings(max_examples=400, deadline=None, derandomize=True)
def test_written_tables_are_read_in_blocks_of_any_size(
    data: st.DataObject, width: int, end: str, size: int
) -> None:
    rows = data.draw(st.lists(st.lists(CELLS, min_size=width, max_size=width), max_size=8))
    written = io.StringIO(newline="")
    writer = csv.writer(written, lineterminator=end, quoting=csv.QUOTE_ALL)
    writer.writerows([[f"c{column}" for column in range(width)], *rows])
    content = written.getvalue()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dmte.network.formats.source.BYTES", size)
        source = Source("v.csv", content.encode())
        table = read_plain(source, ",")
        assert outcome_of_either(source) == checked_outcome(source)
    has_lone_return = "\r" in content.replace("\r\n", "")
    assert (table is None) == has_lone_return
    if table is not None:
        found = [list(table.columns[name]) for name in table.columns]
        assert [list(row) for row in zip(*found, strict=True)] == rows


def test_a_record_that_is_too_long_is_left_to_the_csv_module(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dmte.network.formats.source.BYTES", 10)
    monkeypatch.setattr("dmte.network.formats.delimited.LONGEST_RECORD", 20)
    source = Source("v.csv", b"id,text\na,b\n" + b"c" * 50 + b",d\n")
    assert read_plain(source, ",") is None
    assert outcome_of_either(source) == checked_outcome(source)
