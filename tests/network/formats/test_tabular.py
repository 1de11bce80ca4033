"""CSV, TSV, JSON Lines and Parquet files: valid and damaged."""

import csv
import json
import threading
from contextlib import suppress
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dmte.errors import NetworkError
from dmte.network.formats.read import FORMATS, read_network, read_tables
from dmte.network.formats.source import DECOMPRESSORS
from dmte.network.formats.tabular import READERS, read_table
from dmte.network.textual_network import TextualNetwork

pytestmark = pytest.mark.filterwarnings("ignore::dmte.errors.DmteWarning")


@pytest.fixture(autouse=True)
def _empty_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, so that errors show a file's bare name."""
    monkeypatch.chdir(tmp_path)


def write(name: str, content: str | bytes) -> Path:
    path = Path(name)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refusal(vertices: Path | None, edges: Path | None = None) -> str:
    with pytest.raises(NetworkError) as error:
        read_tables(vertices, edges)
    assert "\n" not in str(error.value)
    return str(error.value)


def write_parquet(path: Path, columns: dict[str, list[object]]) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(("suffix", "separator"), [("csv", ","), ("tsv", "\t")])
def test_delimited_tables_make_a_network(suffix: str, separator: str, end: str) -> None:
    rows = [["id", "text", "label"], ["a", '"on, ""trees"""', "x;y"], ["b", "", ""]]
    vertices = write(f"v.{suffix}", end.join(separator.join(row) for row in rows))
    edges = write(f"e.{suffix}", f"source{separator}target{end}b{separator}a{end}")
    network = read_tables(vertices, edges)
    assert network.ids == ("a", "b")
    assert network.texts == ('on, "trees"', "")
    assert network.labels == (frozenset("xy"), frozenset())
    assert network.edges.tolist() == [[1, 0]]


@pytest.mark.parametrize("suffix", ["jsonl", "ndjson", "JSONL"])
def test_json_lines_make_a_network(suffix: str) -> None:
    rows = [{"id": 1, "text": "a\u2028b", "label": ["x"]}, {"id": "2", "label": "y;z"}, {"id": 3.0}]
    lines = "\n\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    network = read_tables(
        write(f"v.{suffix}", lines + "\r\n"), write("e.jsonl", '{"from": 1, "to": 3, "weight": 2}')
    )
    assert network.ids == ("1", "2", "3")
    assert network.texts == ("a\u2028b", "", "")
    assert network.labels == (frozenset("x"), frozenset({"y;z"}), frozenset())
    assert network.edge_weights.tolist() == [2]


def test_parquet_files_make_a_network() -> None:
    vertices = write_parquet(
        Path("v.parquet"),
        {
            "id": [1, 2],
            "abstract": ["x", None],
            "labels": [["a", "b"], None],
            "unused": [{"a": 1}] * 2,
        },
    )
    edges = write_parquet(Path("e.parquet"), {"src": [1.0, 2.0], "dst": [2.0, 2.0]})
    network = read_tables(vertices, edges)
    assert (network.ids, network.texts) == (("1", "2"), ("x", ""))
    assert network.labels == (frozenset("ab"), frozenset())
    assert network.edges.tolist() == [[0, 1], [1, 1]]


def test_a_byte_order_mark_is_accepted() -> None:
    assert read_tables(write("v.csv", b"\xef\xbb\xbfid\na\n")).ids == ("a",)
    assert read_tables(write("v.jsonl", b'\xef\xbb\xbf{"id": "a"}')).ids == ("a",)


def test_a_field_may_be_longer_than_the_csv_module_allows() -> None:
    limit = csv.field_size_limit()
    text = "word " * limit
    assert read_tables(write("v.csv", f"id,text\na,{text}\n")).texts == (text,)
    assert csv.field_size_limit() == limit


def test_several_threads_may_read_long_fields_at_once() -> None:
    limit = csv.field_size_limit()
    path = write("v.csv", f"id,text\na,{'word ' * limit}\n")
    lengths: list[int] = []
    threads = [
        threading.Thread(target=lambda: lengths.append(len(read_tables(path).texts[0])))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert lengths == [5 * limit] * 8
    assert csv.field_size_limit() == limit


def test_an_error_does_not_affect_the_next_file() -> None:
    with pytest.raises(NetworkError) as refused:
        read_tables(write("v.csv", "id,text\na\n"))
    assert read_tables(write("w.csv", "id\na\n")).ids == ("a",)
    assert refused.value is not None


def test_a_ragged_line_raises_with_its_line_and_fields() -> None:
    message = refusal(write("v.csv", 'id,text\na,"one\ntwo\n\nthree"\nb\n'))
    assert message.startswith("v.csv, line 6: found 1 fields where the header has 2; quote")


@pytest.mark.parametrize(
    ("name", "header", "found"),
    [("v.csv", "id;text", "semicolons"), ("v.csv", "id\ttext", "tabs"), ("v.tsv", "a,b", "commas")],
)
def test_another_separator_is_named(name: str, header: str, found: str) -> None:
    message = refusal(write(name, f"{header}\n"))
    assert message.startswith(f"{name}, line 1: the columns are separated by {found}, found '")
    assert "\n" not in message


def test_lines_are_counted_through_quoted_line_breaks_and_blank_lines() -> None:
    message = refusal(write("v.csv", '\nid,text\n\na,"one\r\ntwo\n"\n\na,again\n'))
    assert message.startswith("v.csv, line 8: the id 'a' is already used by v.csv, line 4")


def test_a_quote_that_is_never_closed_raises_with_the_line_it_opens_on() -> None:
    message = refusal(write("v.csv", 'id,text\na,fine\nb,"open\nc,x\n'))
    assert message.startswith("v.csv, line 3: unexpected end of data; a field that contains")


def test_a_quote_in_the_wrong_place_raises_with_its_line() -> None:
    assert refusal(write("v.csv", 'id,text\na,"b"c\n')).startswith("v.csv, line 2: ")


def test_two_columns_of_one_name_raise() -> None:
    assert refusal(write("v.csv", "id,text, id\n")) == (
        "v.csv, line 1: two columns have the name 'id'; rename one of them"
    )


@pytest.mark.parametrize("name", ["v.csv", "v.tsv"])
@pytest.mark.parametrize("content", ["", "\n\n"])
def test_an_empty_delimited_file_raises(name: str, content: str) -> None:
    assert refusal(write(name, content)).startswith(f"{name} is empty; it needs a header line")


def test_a_table_without_rows_holds_no_vertices() -> None:
    assert refusal(write("v.csv", "id,text\n")).startswith("v.csv holds no vertices; a network")
    assert refusal(write("v.jsonl", "")).startswith("v.jsonl holds no vertices")
    assert refusal(None, write("e.csv", "source,target\n")).startswith("e.csv holds no edges")


@pytest.mark.parametrize("name", ["v.csv", "v.tsv", "v.jsonl"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_byte_that_is_not_utf_8_raises_with_line_and_offset(name: str, mark: bytes) -> None:
    message = refusal(write(name, mark + b"id\nna\xefve\n"))
    offset = len(mark) + 5
    assert message == (
        f"{name}, line 2: byte {offset} is 0xef, which is not UTF-8; convert the file to UTF-8"
    )


@pytest.mark.parametrize("name", ["v.csv", "v.tsv", "v.jsonl", "v.json", "v.bib", "v.edgelist"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_raises_by_its_name(name: str, encoding: str) -> None:
    message = refusal(write(name, "id\na\n".encode(encoding)))
    assert message in (
        f"{name} is UTF-16; convert it to UTF-8",
        f"{name} looks like UTF-16; convert it to UTF-8",
    )


@pytest.mark.parametrize("name", ["v.csv", "v.tsv", "v.jsonl"])
def test_a_nul_byte_raises_with_its_line(name: str) -> None:
    message = refusal(write(name, b"id\na\0\n"))
    assert message.startswith(f"{name}, line 2: byte 4 is NUL, which text cannot contain")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "b"', "not JSON at character 11 (Expecting ',' delimiter); write one object per"),
        ("id,text", "not JSON at character 1 (Expecting value); write one object per line"),
        ('["b"]', "found a list where an object is expected; write one object per line"),
        ("null", "found a NoneType where an object is expected"),
        (
            '{"id": ' + "1" * 5000 + "}",
            "a number is too long or lists are nested too deeply; simplify it",
        ),
        ("[" * 200_000, "a number is too long or lists are nested too deeply; simplify it"),
        (r'{"id": "b\ud800"}', r'the escape "\ud800" is half of a surrogate pair'),
        (r'{"\udfff": 1}', r'the escape "\udfff" is half of a surrogate pair'),
    ],
    ids=lambda value: value[:20],
)
def test_a_line_that_is_not_a_json_object_raises(line: str, message: str) -> None:
    found = refusal(write("v.jsonl", f'{{"id": "a"}}\n\n{line}\n'))
    assert found.startswith(f"v.jsonl, line 3: {message}")


def test_both_halves_of_an_escaped_character_are_read() -> None:
    assert read_tables(write("v.jsonl", r'{"id": "\ud83d\ude00"}')).ids == ("😀",)


def test_a_json_row_without_an_id_raises_with_its_line() -> None:
    assert refusal(write("v.jsonl", '{"id": "a"}\n{"text": "x"}\n')) == (
        "v.jsonl, line 2: the id is empty; every vertex needs one"
    )


def test_a_row_of_a_parquet_file_is_named_by_its_number() -> None:
    path = write_parquet(Path("v.parquet"), {"id": ["a", "a"]})
    assert refusal(path).startswith("row 1 of v.parquet: the id 'a' is already used by row 0 of")


@pytest.mark.parametrize("content", [b"", b"id\na\n", b"PAR1", b"PAR1" * 100])
def test_a_damaged_parquet_file_raises(content: bytes) -> None:
    assert refusal(write("v.parquet", content)).startswith(
        "v.parquet is not a Parquet file, or is d"
    )


def test_parquet_columns_of_one_name_raise() -> None:
    table = pa.Table.from_arrays([pa.array(["a"])] * 2, names=["id", "id"])
    pq.write_table(table, "v.parquet")
    assert refusal(Path("v.parquet")).startswith("v.parquet: two columns have the name 'id'")


def test_parquet_text_that_is_not_utf_8_raises() -> None:
    array = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"], pa.binary()).buffers())
    pq.write_table(pa.table({"id": array}), "v.parquet")
    assert refusal(Path("v.parquet")).startswith("v.parquet is not a Parquet file, or is damaged")


def test_a_parquet_column_without_python_values_raises() -> None:
    years = pa.array([2**50], pa.timestamp("s"))
    pq.write_table(pa.table({"text": ["a"], "id": years}), "v.parquet")
    assert refusal(Path("v.parquet")).startswith("v.parquet has a column 'id' that cannot be read")


@pytest.mark.parametrize("suffix", READERS)
def test_an_unreadable_file_raises_in_one_line(suffix: str) -> None:
    assert refusal(Path(f"no{suffix}")) == f"no{suffix} does not exist; check the path"
    Path(f"folder{suffix}").mkdir()
    assert refusal(Path(f"folder{suffix}")) == f"folder{suffix} is a folder; give a file"
    assert "cannot be read: " in refusal(Path("x" * 300 + suffix))
    assert "cannot be read: " in refusal(Path(f"x\0{suffix}"))


@pytest.mark.parametrize("name", ["v.xlsx", "v", "v.txt"])
def test_an_unknown_suffix_raises_with_the_known_ones(name: str) -> None:
    message = refusal(write(name, "id\na\n"))
    assert message.startswith(f"{name} ends in")
    assert message.endswith(
        "it must be one of .csv, .tsv, .parquet, .jsonl, .ndjson, .json, .bib, .edgelist, "
        "alone or followed by .gz or .zst"
    )


@pytest.mark.parametrize("name", ["e.csv", "e.jsonl"])
def test_an_edge_to_an_unknown_vertex_raises_with_file_and_line(name: str) -> None:
    rows = {
        "e.csv": "source,target\na,a\na,b\n",
        "e.jsonl": '{"source": "a", "target": "a"}\n{"source": "a", "target": "b"}\n',
    }
    message = refusal(write("v.csv", "id\na\n"), write(name, rows[name]))
    line = 3 if name == "e.csv" else 2
    assert message.startswith(f"{name}, line {line}: the target must be one of the ids in v.csv")


def read_or_refuse(vertices: Path | None, edges: Path | None) -> None:
    with suppress(NetworkError):
        assert isinstance(read_tables(vertices, edges), TextualNetwork)


WORDS = rb"""id text links source target weight a 7 1e999 null , " ; { } [ ] : - = # \ud800 PAR1
    {"id":1,"links":[ {"source":"a","target":"b"} {"results":[ "issued":1, "referenced_works":["a"]
    "abstract_inverted_index":{"a":[0]} @book{ @string( title= abstract= crossref= cites= &amp; <!--
    <graphml> <graph> <node <edge id="a" > /> <data key="text"> </data> <key </graph> </graphml>
    <!DOCTYPE &lt; <default> for="node" attr.name="text" source="a" target="a" ]]> """.split()
SPACES = [b" ", b"\t", b"\n", b"\r", b"id,text\n", b"\xff\xfe", b"\x1f\x8b", b"\0"]
fragments = st.lists(
    st.one_of(st.sampled_from(WORDS + SPACES), st.binary(max_size=3)), max_size=30
).map(b"".join)


@pytest.mark.medium
@pytest.mark.parametrize("suffix", [*FORMATS, *DECOMPRESSORS])
@given(content=st.one_of(fragments, st.binary(max_size=60)))
@example(content=b"id,text\n")
@settings(max_examples=120, deadline=None, derandomize=True)
def test_any_bytes_give_a_network_or_a_network_error(
    suffix: str, content: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"any.csv{suffix}"
    path.write_bytes(content)
    read_or_refuse(path, None)
    read_or_refuse(None, path)
    read_or_refuse(path, path)
    with suppress(NetworkError):
        assert isinstance(read_network(path), TextualNetwork)


@pytest.mark.medium
@pytest.mark.parametrize("suffix", FORMATS)
@given(content=fragments, packing=st.sampled_from(sorted(DECOMPRESSORS)))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_any_packed_bytes_raise_or_read_as_the_same_bytes_are(
    suffix: str, content: bytes, packing: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    plain = tmp_path_factory.getbasetemp() / f"plain{suffix}"
    packed = plain.with_name(f"packed{suffix}{packing}")
    plain.write_bytes(content)
    pa_codec = {".gz": "gzip", ".zst": "zstd"}[packing]
    with pa.CompressedOutputStream(str(packed), pa_codec) as stream:
        stream.write(content)
    outcomes = []
    for path in (plain, packed):
        try:
            outcomes.append(read_network(path).fingerprint())
        except NetworkError as error:
            outcomes.append(str(error).replace(str(packed), str(plain)))
    assert outcomes[0] == outcomes[1]


@pytest.mark.medium
@given(data=st.data())
@settings(max_examples=150, deadline=None, derandomize=True)
def test_a_parquet_file_with_flipped_bytes_gives_a_network_or_a_network_error(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "flipped.parquet"
    write_parquet(path, {"id": ["a", "b"], "text": ["x", None], "links": [["b"], []]})
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    read_or_refuse(path, None)


def test_a_table_knows_its_rows() -> None:
    assert read_table(write("v.csv", "id,text\na,b\nc,d\n")).num_rows == 2


def test_edges_of_a_parquet_file_are_read_batch_by_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dmte.network.formats.tabular.BATCH", 2)
    pq.write_table(pa.table({"id": list("abcde"), "text": list("vwxyz")}), "v.parquet")
    ends = {"source": list("abcde"), "target": [*"bcde", " a "], "weight": [1, 2, 3, 4, 5]}
    pq.write_table(pa.table(ends), "e.parquet")
    network = read_tables("v.parquet", "e.parquet")
    assert network.texts == tuple("vwxyz")
    assert network.edges.tolist() == [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]]
    pq.write_table(pa.table(ends | {"target": [*"bcd", "f", "a"]}), "e.parquet")
    with pytest.raises(NetworkError, match=r"row 3 of e\.parquet: the target must be one of"):
        read_tables("v.parquet", "e.parquet")
