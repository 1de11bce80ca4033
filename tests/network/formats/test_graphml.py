"""GraphML files: valid, damaged and malicious."""

from pathlib import Path

import networkx  # type: ignore[import-untyped]
import pytest

from dmte.errors import DmteWarning, NetworkError
from dmte.network.convert import network_from_networkx
from dmte.network.formats.columns import Columns
from dmte.network.formats.read import read_network, read_tables


@pytest.fixture(autouse=True)
def _empty_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, so that errors show a file's bare name."""
    monkeypatch.chdir(tmp_path)


def graphml(inside: str) -> str:
    return f'<graphml><key id="t" for="node" attr.name="text"/>{inside}</graphml>'


def refusal(content: str | bytes) -> str:
    Path("g.graphml").write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(NetworkError) as error:
        read_network("g.graphml")
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_file_of_networkx_gives_the_same_network() -> None:
    graph = networkx.Graph()
    graph.add_node("a", text="red fox & <hen>", label="animal")
    graph.add_node("b", text="ein Bau, größer", label="place")
    graph.add_node("c")
    graph.add_edge("a", "b", weight=2.5)
    graph.add_edge("c", "c", weight=1.0)
    networkx.write_graphml(graph, "g.graphml")
    expected = network_from_networkx(graph)
    assert read_network("g.graphml").fingerprint() == expected.fingerprint()


def test_defaults_prefixes_and_nested_graphs_are_understood() -> None:
    Path("g.graphml").write_text(
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<g:graphml xmlns:g="http://graphml.graphdrawing.org/xmlns">'
        '<g:key id="t" for="node" attr.name="text"><g:default>none</g:default></g:key>'
        '<g:key id="w" for="edge" attr.name="weight"><g:default>3</g:default></g:key>'
        '<g:graph edgedefault="undirected"><g:node id="a"><g:data key="t">one</g:data>'
        '<g:graph id="inner"><g:node id="a::b"/></g:graph></g:node>'
        '<g:edge source="a" target="a::b"/></g:graph></g:graphml>'
    )
    network = read_network("g.graphml")
    assert (network.ids, network.texts) == (("a", "a::b"), ("one", "none"))
    assert network.edge_weights.tolist() == [3]


def test_declared_directions_are_ignored_with_a_warning() -> None:
    content = graphml(
        '<graph edgedefault="directed"><node id="a"><data key="t">x</data></node>'
        '<edge source="a" target="a"/></graph>'
    )
    Path("g.graphml").write_text(content)
    with pytest.warns(DmteWarning, match=r"g.graphml declares its edges directed, but they are"):
        assert not read_network("g.graphml").directed


def test_attributes_are_columns_to_name() -> None:
    Path("g.graphml").write_text(
        '<graphml><graph><node id="a"><data key="d6"> <y>A word</y> </data></node>'
        '<edge source="a" target="a"/></graph></graphml>'
    )
    network = read_network("g.graphml", columns=Columns(text="d6"))
    assert network.texts[0].strip() == "A word"


BOMB = "<!DOCTYPE lolz [<!ENTITY a 'lol'>" + "".join(
    f"<!ENTITY {new} '{f'&{old};' * 10}'>" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "",
            "g.graphml, line 1: not XML (no element found); the file is damaged, or is not GraphML",
        ),
        ("id,text\n", "g.graphml, line 1: not XML (syntax error)"),
        ("<graphml>\n<graph>\n</graphml>", "g.graphml, line 3: not XML (mismatched tag)"),
        ("<graphml><graph>", "g.graphml, line 1: not XML (no element found)"),
        ("<html></html>", "g.graphml holds no graph; GraphML has a <graph> in a <graphml>"),
        (graphml("<graph/>"), "g.graphml holds no vertices; a network needs at least one"),
        (graphml("<graph><node/></graph>"), "g.graphml, line 1: the <node> has no id; it is"),
        (
            graphml('<graph><node id="a"/><edge source="a"/></graph>'),
            "g.graphml, line 1: the <edge> has no target; it is required",
        ),
        (
            graphml('<graph><node id="a"/>\n<edge source="a" target="b"/></graph>'),
            "g.graphml, line 2: the target must be one of the ids in g.graphml, but there is no",
        ),
        (
            graphml('<graph><node id="a"/>\n<node id="a"/></graph>'),
            "g.graphml, line 2: the id 'a' is already used by g.graphml, line 1",
        ),
        (graphml("<graph><hyperedge/></graph>"), "g.graphml, line 1: hyperedges are not supported"),
        (f"{BOMB}]><graphml>&i;</graphml>", "g.graphml, line 1: a document type (DOCTYPE) is"),
        (
            "<!DOCTYPE x SYSTEM 'file:///etc/passwd'><graphml/>",
            "g.graphml, line 1: a document type (DOCTYPE) is not allowed",
        ),
        ("<graphml>&undefined;</graphml>", "g.graphml, line 1: not XML (undefined entity)"),
        ("<g>" * 200_000, "g.graphml, line 1: not XML (no element found)"),
        ("<graphml/>".encode("utf-16"), "g.graphml is UTF-16; convert it to UTF-8"),
        (b"<graphml>\xe9</graphml>", "g.graphml, line 1: byte 9 is 0xe9, which is not UTF-8"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_malformed_graph_raises_with_its_line(content: str | bytes, message: str) -> None:
    assert refusal(content).startswith(message)


def test_a_graph_cannot_be_read_as_a_table() -> None:
    with pytest.raises(NetworkError, match=r"g.graphml ends in '.graphml'; it must be one of"):
        read_tables("g.graphml")
