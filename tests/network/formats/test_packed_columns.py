"""Tables that are read and packed in batches are what they are when read at once."""

import json
import os
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmte.errors import NetworkError
from dmte.network.formats.packed_columns import FEW, PackedColumns
from dmte.network.formats.read import read_network, read_tables

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=4,
)
RECORDS = st.lists(st.dictionaries(st.sampled_from("abcdef"), VALUES), min_size=1, max_size=6)


@pytest.fixture(autouse=True)
def _empty_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, so that errors show a file's bare name."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pack every two rows, whatever is in them, and read a few characters at a time."""
    monkeypatch.setattr("dmte.network.formats.packed_columns.BATCH", 2)
    monkeypatch.setattr("dmte.network.formats.packed_columns.FEW", 1)
    monkeypatch.setattr("dmte.network.formats.source.BLOCK", 5)


@pytest.mark.medium
@given(records=RECORDS)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_packed_cells_are_unpacked_unchanged(records: list[dict[str, object]]) -> None:
    rows = records * FEW  # So many are packed.
    packed = PackedColumns()
    packed.add_records(range(len(rows)), rows)
    packed.add_records([7], [{"only here": 1}])
    table = packed.table("v.jsonl", packed.names())
    all_rows: list[dict[str, object]] = [*rows, {"only here": 1}]
    assert list(table.columns) == list(dict.fromkeys(name for row in all_rows for name in row))
    for name in table.columns:
        expected = [row.get(name) for row in all_rows]
        assert repr(table.columns[name]) == repr(expected)  # 1, 1.0 and True are equal.
    assert (table.num_rows, table.place(len(rows))) == (len(all_rows), "v.jsonl, line 7")


def test_long_strings_are_not_packed() -> None:
    texts, packed = [f"{number} " + "word " * 50 for number in range(FEW)], PackedColumns()
    packed.add(range(FEW), {"text": texts})
    assert all(cell is text for cell, text in zip(*packed.parts("text"), texts, strict=False))


@pytest.mark.usefixtures("small_batches")
def test_batches_of_every_kind_of_file_make_one_network() -> None:
    ids, ends = "abcde", [*zip("abcde", "bcdea", strict=True)]
    Path("v.csv").write_text("id,text\n" + "".join(f'{name},"of\n{name}"\n\n' for name in ids))
    rows = [{"id": name, "text": f"of\n{name}"} for name in ids]
    Path("v.jsonl").write_text("\n\n".join(map(json.dumps, rows)))
    Path("e.csv").write_text("source,target\n" + "".join(f"{s},{t}\n" for s, t in ends))
    links = [{"source": source, "target": target} for source, target in ends]
    Path("e.jsonl").write_text("\n".join(map(json.dumps, links)))
    Path("e.edgelist").write_text("".join(f"{s} {t}\n# and\n" for s, t in ends))
    networks = [
        read_tables(f"v.{vertices}", f"e.{edges}")
        for vertices in ("csv", "jsonl")
        for edges in ("csv", "jsonl", "edgelist")
    ]
    assert len({network.fingerprint() for network in networks}) == 1
    assert networks[0].edges.tolist() == [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]]


@pytest.mark.usefixtures("small_batches")
def test_a_late_work_makes_earlier_records_works() -> None:
    rows = [{"id": name, "display_name": f"On {name}", "title": None} for name in "abcd"]
    works = [*rows, {"id": "e", "issued": 1, "title": "On e", "links": ["a", "elsewhere"]}]
    Path("w.jsonl").write_text("\n".join(map(json.dumps, works)))
    with pytest.warns(match="1 of 2"):
        network = read_network("w.jsonl")
    assert network.texts == ("On a", "On b", "On c", "On d", "On e")
    assert network.edges.tolist() == [[4, 0]]


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("v.csv", b"id,text\na\nb,b\nc,c\nd,\xff\n", "line 5: byte 20 is 0xff"),
        ("v.csv", b"id,text\na,b\0\nb,b\nc,c\nd,\xff\n", "line 5: byte 23 is 0xff"),
        ("v.csv", b"id,id\na,b\nb,b\nc\n", "line 4: found 1 fields where the header has 2"),
        ("v.jsonl", b'[]\n{"id": 1}\n{"id": 2}\n{"\xff": 3}', "line 4: byte 25 is 0xff"),
        (
            "v.jsonl",
            b'{"id": 1, "abstract_inverted_index": 1}\n{"id": 2}\n{"id": 3}\n[]',
            "line 4: found a list where an object is expected",
        ),
    ],
)
def test_the_first_error_of_a_file_is_reported(name: str, content: bytes, message: str) -> None:
    Path(name).write_bytes(content)
    with pytest.raises(NetworkError, match=rf"^{name}, {message}"):
        read_network(name)


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("name", ["e.csv", "e.jsonl", "e.edgelist"])
@pytest.mark.parametrize("padding", ["", " "])
@pytest.mark.parametrize("many_edges", [0, 100])
def test_few_and_many_edges_find_the_same_ends(
    name: str, padding: str, many_edges: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dmte.network.formats.edge_rows.MANY_EDGES", many_edges)
    ends = [("a", f"{padding}é"), ("é", "c"), (f"c{padding}", "a")]
    Path("v.csv").write_text("id,text\na,x\né,y\nc,z\n")
    Path("e.csv").write_text("source,target\n" + "".join(f"{s},{t}\n" for s, t in ends))
    rows = [{"source": source, "target": target} for source, target in ends]
    Path("e.jsonl").write_text("\n".join(map(json.dumps, rows)))
    Path("e.edgelist").write_text("".join(f"{s} {t}\n" for s, t in ends))
    assert read_tables("v.csv", name).edges.tolist() == [[0, 1], [1, 2], [2, 0]]


@pytest.mark.usefixtures("small_batches")
def test_a_missing_end_is_reported_before_an_unknown_end() -> None:
    Path("v.csv").write_text("id\na\n")
    Path("e.csv").write_text("source,target\na,z\na,a\na,a\na,\n")
    with pytest.raises(NetworkError, match=r"^e\.csv, line 5: the edge has no target"):
        read_tables("v.csv", "e.csv")


def test_a_pipe_is_read_once() -> None:
    os.mkfifo("p.csv")
    content = "id,text,links\na,x,b\nb,y\n"
    writer = threading.Thread(target=lambda: Path("p.csv").write_text(content))
    writer.start()
    with pytest.raises(NetworkError, match=r"^p\.csv, line 3: found 2 fields"):
        read_network(Path("p.csv"))
    writer.join()
