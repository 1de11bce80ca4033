"""Reading and writing: folders in the layout of CANE, data sets by name, tables."""

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dmte.errors import DmteWarning, NetworkError
from dmte.network.datasets import DATASETS, find_dataset
from dmte.network.formats.cane_folder import read_folder, write_folder
from dmte.network.formats.columns import Columns
from dmte.network.formats.read import read_network, read_tables
from dmte.network.formats.write import write_tables
from dmte.network.textual_network import TextualNetwork

pytestmark = pytest.mark.filterwarnings("ignore::dmte.errors.DmteWarning")
REAL_DATA = Path(__file__).parents[4] / "shared" / "data"


@pytest.fixture(autouse=True)
def _empty_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, so that errors show a file's bare name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DMTE_DATA", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))


@pytest.fixture
def real_data(monkeypatch: pytest.MonkeyPatch) -> Path:
    if not REAL_DATA.exists():
        pytest.skip(f"the real data sets are not in {REAL_DATA}")
    monkeypatch.setenv("DMTE_DATA", str(REAL_DATA))
    return REAL_DATA


def folder(**files: str | bytes) -> Path:
    """Make the folder ``net`` with a file per argument: data, graph, group."""
    path = Path("net")
    path.mkdir(exist_ok=True)
    for name, content in files.items():
        encoded = content.encode() if isinstance(content, str) else content
        (path / f"{name}.txt").write_bytes(encoded)
    return path


def refusal(**files: str | bytes) -> str:
    with pytest.raises(NetworkError) as error:
        read_folder(folder(**files))
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_folder_is_a_network() -> None:
    network = read_folder(folder(data="one\n\nthree\n", graph="0\t2\n2\t2\n", group="x\n\ny z\n"))
    assert network.ids == ("0", "1", "2")
    assert network.texts == ("one", "", "three")
    assert network.edges.tolist() == [[0, 2], [2, 2]]
    assert network.weights is None
    assert network.labels == (frozenset("x"), frozenset(), frozenset("yz"))
    assert not network.directed


def test_a_folder_can_be_read_as_directed() -> None:
    assert read_folder(folder(data="a\nb\n", graph="0 1\n"), directed=True).directed


def test_a_folder_needs_no_groups() -> None:
    assert read_folder(folder(data="a\n", graph="")).labels is None


def test_the_last_line_needs_no_line_feed() -> None:
    network = read_folder(folder(data="a\nb", graph="0 1", group="x\ny"))
    assert (network.texts, len(network.edges), network.classes) == (("a", "b"), 1, ["x", "y"])


def test_lines_may_end_as_on_windows() -> None:
    network = read_folder(folder(data="a\r\nb\r\r\n", graph="0\t1\r\n", group="x\r\ny\r\n"))
    assert (network.texts, network.classes) == (("a", "b\r"), ["x", "y"])


def test_only_a_line_feed_ends_a_text() -> None:
    text = "a\u2028b\x0bc\x0cd\x1ce\x85f\rg"
    assert read_folder(folder(data=f"{text}\nx\n", graph="")).texts == (text, "x")


def test_a_graph_may_have_weights_and_spaces_and_blank_lines() -> None:
    network = read_folder(folder(data="a\nb\n", graph="0 1  2.5\n\n1\t1 3\n"))
    assert network.edge_weights.tolist() == [2.5, 3]


def test_a_last_vertex_without_a_label_may_lack_its_line_feed() -> None:
    network = read_folder(folder(data="a\nb\nc\n", graph="", group="x\n\n"))
    assert network.labels == (frozenset("x"), frozenset(), frozenset())


@pytest.mark.parametrize(
    ("group", "num_lines"),
    [("x\n", 1), ("x", 1), ("x\ny\nz\nw\n", 4), ("x\ny\nz\n\n", 4), ("x\ny\nz\nw", 4), ("", 0)],
)
def test_labels_that_are_too_few_or_too_many_raise(group: str, num_lines: int) -> None:
    message = refusal(data="a\nb\nc\n", graph="", group=group)
    start = f"net/group.txt has {num_lines} lines, but data.txt has 3 texts; write one line per"
    assert message.startswith(start)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0", "found 1 fields where 2 are expected; a line is two vertex numbers and"),
        ("0 1 2", "found 3 fields where 2 are expected"),
        ("0 x", "'x' is not a vertex number; vertices are numbered from 0"),
        ("1.0 1", "'1.0' is not a vertex number"),
        ("0 1_0", "'1_0' is not a vertex number"),
        ("0 ١", "'١' is not a vertex number"),
        ("0 --1", "'--1' is not a vertex number"),
        ("-1 0", "the vertex -1 is negative; vertices are numbered from 0"),
        ("0 2", "the vertex 2 is out of range: data.txt has 2 texts, for vertices 0 to 1; every"),
        (f"0 {'9' * 5000}", f"the vertex {'9' * 40} is out of range: data.txt has 2 texts"),
    ],
    ids=lambda value: value[:20],
)
def test_a_bad_line_of_the_graph_raises_with_its_number(line: str, message: str) -> None:
    found = refusal(data="a\nb\n", graph=f"0 1\n\n{line}\n")
    assert found.startswith(f"net/graph.txt, line 3: {message}")


def test_a_first_line_of_four_fields_raises() -> None:
    message = refusal(data="a\n", graph="0 0 1 1\n")
    assert message.startswith("net/graph.txt, line 1: found 4 fields where 2 or 3 are expected")


@pytest.mark.parametrize("weight", ["0", "-1", "nan", "inf", "x"])
def test_a_bad_weight_raises_with_its_line(weight: str) -> None:
    message = refusal(data="a\n", graph=f"0 0 1\n0 0 {weight}\n")
    assert message.startswith(f"net/graph.txt, line 2: the weight is {weight!r}; weights must be")


@pytest.mark.parametrize("name", ["data", "graph", "group"])
def test_a_byte_that_is_not_utf_8_raises_with_file_and_line(name: str) -> None:
    contents: dict[str, str | bytes] = {"data": "a\n", "graph": "", "group": "x\n"}
    message = refusal(**{**contents, name: b"\n\xff\n"})
    assert message.startswith(f"net/{name}.txt, line 2: byte 1 is 0xff, which is not UTF-8")


def test_a_folder_without_texts_raises() -> None:
    assert refusal(data="", graph="") == "net/data.txt is empty; it must have one line per vertex"


@pytest.mark.parametrize("name", ["data", "graph"])
def test_a_missing_file_raises_by_name(name: str) -> None:
    contents: dict[str, str | bytes] = {"data": "a\n", "graph": "0 0\n"}
    del contents[name]
    assert refusal(**contents).startswith(
        f"net does not contain {name}.txt; it needs data.txt with"
    )


CHARACTERS = 'aé😀 \t\r\n\0\x0b\x0c\x1c\x85\u2028\ufeff;,"\\'


@st.composite
def small_networks(draw: st.DrawFn) -> dict[str, Any]:
    """The fields of a network; a strategy must not draw random numbers, as making it would."""
    vertex, weight = st.integers(0, 3), st.floats(1e-300, 1e300)
    edges = draw(st.lists(st.tuples(vertex, vertex, weight), max_size=5))
    weights = torch.tensor([edge[2] for edge in edges], dtype=torch.float64)
    labels = draw(st.tuples(*[st.frozensets(st.sampled_from(["x", "y;z", "ü"]))] * 4))
    return {
        "ids": tuple("0123"),
        "texts": draw(st.tuples(*[st.text(CHARACTERS, max_size=9)] * 4)),
        "edges": torch.tensor([edge[:2] for edge in edges], dtype=torch.int64).reshape(-1, 2),
        "weights": weights if draw(st.booleans()) else None,
        "directed": draw(st.booleans()),
        "labels": labels if any(labels) else None,
    }


@given(fields=small_networks())
@settings(max_examples=50, deadline=None, derandomize=True)
def test_tables_are_read_back_as_they_were_written(fields: dict[str, Any]) -> None:
    network = TextualNetwork(**fields)
    with TemporaryDirectory() as place:
        vertices, edges = Path(place) / "v.jsonl", Path(place) / "e.jsonl"
        write_tables(network, vertices, edges)
        again = read_tables(vertices, edges, directed=network.directed)
    assert again.fingerprint() == network.fingerprint()


@given(fields=small_networks())
@settings(max_examples=50, deadline=None, derandomize=True)
def test_a_folder_is_read_back_except_for_line_breaks(fields: dict[str, Any]) -> None:
    network = TextualNetwork(**fields)
    with TemporaryDirectory() as place:
        write_folder(network, Path(place) / "net")
        again = read_folder(Path(place) / "net", directed=network.directed)
    texts = [text.replace("\r\n", " ") for text in network.texts]
    for control in "\r\n\0\ufeff":
        texts = [text.replace(control, " ") for text in texts]
    assert replace(again, texts=network.texts).fingerprint() == network.fingerprint()
    assert list(again.texts) == texts


@pytest.fixture
def pair() -> TextualNetwork:
    return TextualNetwork(
        ids=("a b", "c"),
        texts=("x", "y"),
        edges=torch.tensor([[0, 1]]),
        labels=(frozenset({"two words"}), frozenset()),
    )


def test_tables_keep_any_id(pair: TextualNetwork) -> None:
    write_tables(pair, Path("v.jsonl"), Path("e.ndjson"))
    assert read_tables(Path("v.jsonl"), Path("e.ndjson")).fingerprint() == pair.fingerprint()
    assert json.loads(Path("e.ndjson").read_text()) == {"source": "a b", "target": "c"}


def test_a_folder_takes_only_numbered_vertices_and_labels_of_one_word(pair: TextualNetwork) -> None:
    with pytest.raises(NetworkError, match=r"vertex 0 has the id 'a b', but .*write tables"):
        write_folder(pair, Path("net"))
    numbered = read_folder(folder(data="x\ny\n", graph=""))
    labelled = TextualNetwork(
        ids=numbered.ids, texts=numbered.texts, edges=numbered.edges, labels=pair.labels
    )
    with pytest.raises(
        NetworkError, match="the label 'two words' is empty or contains white space"
    ):
        write_folder(labelled, Path("other"))
    assert not Path("other").exists()


@pytest.mark.parametrize("bad", ["", " a", "a\n"])
def test_names_that_would_change_on_reading_are_not_written(bad: str) -> None:
    network = TextualNetwork(ids=(bad,), texts=("",), edges=torch.zeros((0, 2), dtype=torch.int64))
    with pytest.raises(NetworkError, match="empty, or begins or ends with white space"):
        write_tables(network, Path("v.jsonl"), Path("e.jsonl"))


def test_half_of_a_surrogate_pair_is_not_written(pair: TextualNetwork) -> None:
    broken = TextualNetwork(ids=pair.ids, texts=("x", "\ud800"), edges=pair.edges)
    with pytest.raises(
        NetworkError, match=r"v.jsonl cannot be written: .* half of a surrogate pair"
    ):
        write_tables(broken, Path("v.jsonl"), Path("e.jsonl"))
    assert not list(Path().iterdir())


@pytest.mark.parametrize("existing", ["v.jsonl", "e.jsonl"])
def test_existing_tables_are_not_overwritten(pair: TextualNetwork, existing: str) -> None:
    Path(existing).write_text("precious")
    with pytest.raises(NetworkError, match=f"{existing} exists already and is not overwritten"):
        write_tables(pair, Path("v.jsonl"), Path("e.jsonl"))
    assert Path(existing).read_text() == "precious"
    assert len(list(Path().iterdir())) == 1


def test_existing_folders_are_not_overwritten() -> None:
    network = read_folder(folder(data="a\n", graph="", group="x\n"))
    Path("other").mkdir()
    Path("other/group.txt").write_text("precious")
    with pytest.raises(NetworkError, match=r"other/group.txt exists already"):
        write_folder(network, Path("other"))
    assert [path.name for path in Path("other").iterdir()] == ["group.txt"]


def test_tables_are_written_only_to_readable_paths(pair: TextualNetwork) -> None:
    with pytest.raises(NetworkError, match=r"v.csv must end in .jsonl or .ndjson"):
        write_tables(pair, Path("v.csv"), Path("e.jsonl"))
    with pytest.raises(NetworkError, match=r"v.jsonl cannot hold both tables; give two files"):
        write_tables(pair, Path("v.jsonl"), Path("v.jsonl"))
    with pytest.raises(NetworkError, match=r"no/v.jsonl cannot be written: No such file"):
        write_tables(pair, Path("no/v.jsonl"), Path("no/e.jsonl"))
    Path("file").touch()
    with pytest.raises(NetworkError, match="file/net cannot be created"):
        write_folder(read_folder(folder(data="a\n", graph="")), Path("file/net"))


LINKED = '{"id": "a", "title": "A", "text": "b", "links": ["c"]}\n{"id": "c", "links": ["a"]}\n'


def test_a_table_of_vertices_with_links_is_a_network() -> None:
    Path("pages.jsonl").write_text(LINKED)
    network = read_network("pages.jsonl")
    assert network.texts == ("A. b", "")
    assert network.edges.tolist() == [[0, 1]]
    assert len(read_network(Path("pages.jsonl"), directed=True).edges) == 2
    Path("pages.csv").write_text("id,links\na,b;c\nb,\nc,a\n")
    assert len(read_network("pages.csv").edges) == 2


def test_texts_alone_are_read_with_a_warning() -> None:
    Path("pages.csv").write_text("id,text\na,b\n")
    with pytest.warns(DmteWarning, match=r"pages.csv has no links for its 1 vertex: nothing can"):
        assert read_network("pages.csv").texts == ("b",)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("e.csv", "source,target\na,b\n"),
        ("e.csv", "her,him\na,b\n"),
        ("e.csv", "id,source,target,label\n1,a,b,cites\n"),
        ("e.edgelist", "# a comment\na b\n"),
        ("e.tsv", "From\tTo\tYear\na\tb\t1999\n"),
    ],
)
def test_edges_alone_are_read_with_a_warning(name: str, content: str) -> None:
    Path(name).write_text(content)
    with pytest.warns(DmteWarning, match=f"{name} has no texts for its 2 vertices: only the"):
        network = read_network(name)
    assert (network.ids, network.edges.tolist()) == (("a", "b"), [[0, 1]])


def test_a_table_of_texts_without_ids_is_not_taken_for_edges() -> None:
    Path("pages.csv").write_text("title,text\na,b\n")
    with pytest.raises(NetworkError, match="no column that is obviously the id"):
        read_network("pages.csv")


def test_unusual_columns_can_be_named() -> None:
    Path("pages.csv").write_text("doi,words,out\na,red fox,b\nb,den,\n")
    columns = Columns(id="doi", text="words", links="out")
    network = read_network("pages.csv", columns=columns)
    assert (network.texts, network.edges.tolist()) == (("red fox", "den"), [[0, 1]])
    Path("e.csv").write_text("id,x,y\n1,a,b\n")
    assert read_network("e.csv", columns=Columns(source="x", target="y")).ids == ("a", "b")
    for source in ("concepts", "."):
        with pytest.raises(NetworkError, match="columns and --format apply only to files"):
            read_network(source, columns=columns)


def test_a_folder_of_nothing_and_a_model_raise() -> None:
    with pytest.raises(NetworkError, match=r". holds neither data.txt and graph.txt nor Markdown"):
        read_network(".")
    for name in ("manifest.json", "vectors-0.safetensors", "README.md"):
        Path(name).touch()
    with pytest.raises(NetworkError, match=r". holds a model, not a network"):
        read_network(".")


def test_a_name_is_the_data_set_and_a_path_is_the_folder() -> None:
    Path("concepts").mkdir()
    Path("concepts/data.txt").write_text("mine\n")
    Path("concepts/graph.txt").write_text("")
    for source in ("./concepts", "concepts/", Path("concepts"), Path("concepts").absolute()):
        assert read_network(source).texts == ("mine",)
    assert read_network("concepts").num_vertices > 1


@pytest.mark.parametrize("source", ["nope", "x" * 5000, "a\0b", ""])
def test_anything_else_raises_with_what_is_accepted(source: str) -> None:
    with pytest.raises(NetworkError) as error:
        read_network(source)
    for accepted in [*DATASETS, "data.txt", ".csv", ".jsonl", "links"]:
        assert accepted in str(error.value)


def test_a_missing_path_raises(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    for name in ("nots", "papers.cvs"):
        with pytest.raises(NetworkError, match="does not exist"):
            read_network(tmp_path / name)
    with pytest.raises(NetworkError, match=r"does not exist; did you mean .*/notes\?"):
        read_network(tmp_path / "nots")


@pytest.mark.parametrize("name", ["README.md", "Roses.MDX"])
def test_a_single_note_raises_with_its_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("[[b]]")
    with pytest.raises(NetworkError, match="single Markdown file") as error:
        read_network(tmp_path / name)
    assert str(error.value).endswith(f"give the folder {tmp_path}")


def test_a_name_is_not_suggested_for_itself(tmp_path: Path) -> None:
    for name in ("notes.txt", "notes.tsv"):
        (tmp_path / name).touch()
    with pytest.raises(NetworkError, match=r"did you mean .*/notes\.tsv\?"):
        read_network(tmp_path / "notes.txt")


def test_a_missing_data_set_raises_with_its_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    needed = "set DMTE_DATA to a folder that holds cora/data.txt and cora/graph.txt and cora/group"
    with pytest.raises(NetworkError, match=f"DMTE_DATA is not set; {needed}"):
        read_network("cora")
    monkeypatch.setenv("DMTE_DATA", "elsewhere")
    with pytest.raises(NetworkError, match=f"DMTE_DATA is elsewhere, which lacks cora/.*{needed}"):
        read_network(Path("cora"))


def test_zhihu_without_its_texts_names_the_missing_file(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("zhihu").mkdir()
    Path("zhihu/graph.txt").touch()
    monkeypatch.setenv("DMTE_DATA", ".")
    with pytest.raises(NetworkError, match=r"which lacks zhihu/data.txt; set DMTE_DATA"):
        read_network("zhihu")


def test_the_bundled_concepts_are_a_labelled_network_of_links() -> None:
    network = read_network("concepts")
    pairs, weights = network.distinct_edges()
    assert len(pairs) == len(network.edges)
    assert weights.unique().tolist() == [1]
    assert network.labels is not None
    assert all(len(areas) == 1 for areas in network.labels)
    assert all(network.texts)
    assert set(network.edges.flatten().tolist()) == set(range(network.num_vertices))


def test_cora_has_the_documented_size(real_data: Path) -> None:
    network = read_network("cora")
    assert find_dataset("cora") == real_data / "cora"
    pairs, _ = network.distinct_edges()
    loops = int((network.edges[:, 0] == network.edges[:, 1]).sum())
    degrees = network.adjacency().sum(axis=1)
    assert (network.num_vertices, len(network.edges), loops) == (2277, 5214, 230)
    assert int((pairs[:, 0] != pairs[:, 1]).sum()) == 4771
    assert len(network.classes) == 7
    assert sum(map(bool, network.labels or ())) == 2211
    assert int((degrees == 0).sum()) == 66


@pytest.mark.usefixtures("real_data")
def test_hepth_has_the_documented_size() -> None:
    network = read_network("hepth")
    assert (network.num_vertices, len(network.edges), network.labels) == (1038, 1990, None)


@pytest.mark.slow
@pytest.mark.usefixtures("real_data")
def test_dblp_has_the_documented_size() -> None:
    network = read_network("dblp")
    assert (network.num_vertices, len(network.edges)) == (60744, 52914)
    assert len(network.classes) == 4


numbers = st.lists(st.sampled_from([b"0", b"1", b"9", b"-", b" ", b"\t", b"\n", b"\r", b"."]))
any_bytes = st.one_of(numbers.map(b"".join), st.binary(max_size=30))


@given(data=any_bytes, graph=any_bytes, group=any_bytes)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_any_bytes_give_a_network_or_a_network_error(
    data: bytes, graph: bytes, group: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.getbasetemp() / "any"
    place.mkdir(exist_ok=True)
    for name, content in {"data": data, "graph": graph, "group": group}.items():
        (place / f"{name}.txt").write_bytes(content)
    with suppress(NetworkError):
        assert isinstance(read_folder(place), TextualNetwork)


@given(source=st.text(max_size=20))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_any_name_gives_a_network_or_a_network_error(source: str) -> None:
    with suppress(NetworkError):
        assert isinstance(read_network(source), TextualNetwork)
