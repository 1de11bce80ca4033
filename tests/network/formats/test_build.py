"""Networks from two tables, and every error in a row."""

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal

import numpy as np
import pytest

from dmte.errors import NetworkError
from dmte.network.formats.build import network_from_tables
from dmte.network.formats.columns import Columns
from dmte.network.formats.table import LazyColumns, Table
from dmte.network.textual_network import TextualNetwork

Cells = Mapping[str, Sequence[object]]


def table(name: str, columns: Cells, *, delimited: bool = False) -> Table:
    return Table(
        name=name,
        columns=columns,
        place=lambda row: f"{name}, line {row + 2}",
        delimited=delimited,
    )


def network(
    vertices: Cells | None, edges: Cells | None = None, *, directed: bool = False
) -> TextualNetwork:
    return network_from_tables(
        None if vertices is None else table("v.csv", vertices),
        None if edges is None else table("e.csv", edges),
        directed=directed,
    )


def test_two_tables_make_a_network() -> None:
    made = network(
        {"id": ["a", "b"], "text": ["left", "right"], "label": ["x", ["x", "y"]]},
        {"source": ["b"], "target": ["a"], "weight": [2.5]},
    )
    assert (made.ids, made.texts) == (("a", "b"), ("left", "right"))
    assert made.labels == (frozenset("x"), frozenset("xy"))
    assert made.edges.tolist() == [[1, 0]]
    assert made.weights is not None
    assert made.weights.tolist() == [2.5]
    assert not made.directed


def test_without_vertices_they_are_the_ends_in_order_of_appearance() -> None:
    made = network(None, {"from": ["c", "a"], "to": ["b", "c"]})
    assert made.ids == ("c", "b", "a")
    assert made.texts == ("", "", "")
    assert made.edges.tolist() == [[0, 1], [2, 0]]


def test_without_an_edge_table_there_are_no_edges() -> None:
    assert len(network({"id": ["a"], "text": ["x"]}).edges) == 0


@pytest.mark.parametrize("edges", [{}, {"source": [], "target": []}])
def test_an_edge_table_without_rows_gives_no_edges(edges: Cells) -> None:
    assert len(network({"id": ["a"]}, edges).edges) == 0


def test_a_network_is_undirected_by_default() -> None:
    assert network(None, {"from": ["a"], "to": ["b"]}, directed=True).directed


def test_missing_texts_are_empty() -> None:
    texts = [None, math.nan, "x ", 7]
    assert network({"id": list("abcd"), "text": texts}).texts == ("", "", "x ", "7")
    assert network({"id": ["a"]}).texts == ("",)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (7, "7"),
        (7.0, "7"),
        (np.int64(7), "7"),
        (np.float32(7), "7"),
        (Decimal("7.0"), "7"),
        (Decimal(12345678901234567890123456789012345678), "12345678901234567890123456789012345678"),
        (-0.0, "0"),
        (7.5, "7.5"),
        ("7.0", "7.0"),
        ("  7\t", "7"),
        ("07", "07"),
        (10**30, "1" + "0" * 30),
        ("naïve id; with, everything", "naïve id; with, everything"),
    ],
)
def test_an_id_is_a_plain_string(value: object, name: str) -> None:
    assert network({"id": [value]}).ids == (name,)


def test_numbers_and_their_strings_are_the_same_vertex() -> None:
    made = network({"id": ["7", "8"]}, {"source": [7.0], "target": [np.int32(8)]})
    assert made.edges.tolist() == [[0, 1]]


@pytest.mark.parametrize("value", [None, "", "  ", math.nan])
def test_an_empty_id_raises_with_its_line(value: object) -> None:
    with pytest.raises(NetworkError, match=r"v.csv, line 3: the id is empty"):
        network({"id": ["a", value]})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (float(2**53 + 2), "may have lost digits; give it as a string"),
        (math.inf, "may have lost digits"),
        (np.float32(np.inf), "may have lost digits"),
        (b"a", "the id is a bytes, b'a'; give it as a string"),
        (["a"], r"the id is a list, \['a'\]; give it as a string"),
        ({"a": 1}, "the id is a dict"),
    ],
)
def test_an_id_that_is_not_a_string_or_number_raises(value: object, message: str) -> None:
    with pytest.raises(NetworkError, match=f"v.csv, line 2: .*{message}"):
        network({"id": [value]})


def test_an_id_that_occurs_twice_raises_with_both_places() -> None:
    message = "v.csv, line 4: the id '7' is already used by v.csv, line 2; ids must be unique"
    with pytest.raises(NetworkError, match=message):
        network({"id": ["7", "8", 7.0]})


def test_a_label_may_be_missing_one_or_several() -> None:
    cells = [None, "", math.nan, [], "a b", ["c", " d "], {"e"}, ("f", None), 3, np.array(["g"])]
    made = network({"id": list(range(10)), "class": cells})
    sets = ["", "", "", "", {"a b"}, {"c", "d"}, {"e"}, {"f"}, {"3"}, {"g"}]
    assert made.labels == tuple(map(frozenset, sets))


def test_labels_of_a_delimited_table_are_separated_by_semicolons() -> None:
    cells = {"id": ["a", "b"], "labels": ["x; y;", "z"]}
    made = network_from_tables(table("v.csv", cells, delimited=True), None)
    assert made.labels == (frozenset("xy"), frozenset("z"))


def test_a_semicolon_elsewhere_is_part_of_the_label() -> None:
    assert network({"id": ["a"], "label": ["x;y"]}).labels == (frozenset({"x;y"}),)


def test_labels_are_none_when_nothing_is_labelled() -> None:
    assert network({"id": ["a"], "label": [None]}).labels is None
    assert network({"id": ["a"]}).labels is None


def test_a_title_becomes_the_first_sentence_of_the_text() -> None:
    made = network(
        {
            "id": list("abcde"),
            "title": ["Graph", "Why?", None, "Tree ", "Set (theory)"],
            "text": ["Vertices.", "So.", "Alone.", "", "Sets."],
        }
    )
    assert made.texts == ("Graph. Vertices.", "Why? So.", "Alone.", "Tree", "Set (theory). Sets.")


def test_links_are_edges() -> None:
    made = network({"id": ["a", "b", 3], "links": [["b", 3.0], None, []]})
    assert made.edges.tolist() == [[0, 1], [0, 2]]
    assert made.weights is None


def test_a_link_mentioned_at_both_ends_is_one_undirected_edge() -> None:
    cells: Cells = {"id": ["a", "b"], "references": [["b", "b"], ["a"]]}
    assert network(cells).edges.tolist() == [[0, 1]]
    assert network(cells, directed=True).edges.tolist() == [[0, 1], [1, 0]]


def test_links_in_a_delimited_table_are_separated_by_semicolons() -> None:
    cells = {"id": ["a", "b", "c"], "links": ["b; c", "", "a"]}
    made = network_from_tables(table("v.csv", cells, delimited=True), None)
    assert made.edges.tolist() == [[0, 1], [0, 2]]


def test_links_in_a_set_come_in_the_same_order_every_time() -> None:
    names = [f"vertex {i:03}" for i in range(100)]
    made = network({"id": names, "links": [set(names[1:]), *[None] * 99]})
    assert made.edges[:, 1].tolist() == list(range(1, 100))


def test_a_column_of_counts_called_references_is_not_links() -> None:
    assert len(network({"id": ["a", "b"], "references": [12, 3]}).edges) == 0


def test_an_edge_table_takes_precedence_over_links() -> None:
    made = network({"id": ["a", "b"], "links": [["b"], []]}, {"from": ["b"], "to": ["b"]})
    assert made.edges.tolist() == [[1, 1]]


def test_a_link_to_an_unknown_vertex_raises_with_its_line() -> None:
    message = "v.csv, line 3: the link must be one of the ids in v.csv, but there is no vertex 'c'"
    with pytest.raises(NetworkError, match=message):
        network({"id": ["a", "b"], "links": [["b"], ["c"]]})


@pytest.mark.parametrize(("column", "bad"), [("source", "graaph"), ("target", "graphs")])
def test_an_edge_to_an_unknown_vertex_raises_with_a_hint(column: str, bad: str) -> None:
    edges = {"source": ["graph", "graph"], "target": ["tree", "tree"]}
    edges[column][1] = bad
    message = (
        f"e.csv, line 3: the {column} must be one of the ids in v.csv, but .* '{bad}'; .*'graph'"
    )
    with pytest.raises(NetworkError, match=message):
        network({"id": ["graph", "tree"]}, edges)


def test_an_unknown_long_id_raises_without_comparing_it_to_all_others() -> None:
    texts = [f"{i} " + "many words and more of them " * 40 for i in range(2000)]
    with pytest.raises(NetworkError, match="there is no vertex"):
        network({"id": texts}, {"source": [texts[0] + "?"], "target": [texts[1]]})


NO_WEIGHTS = [
    *[0, -1, math.nan, math.inf, 10**400, True, None],
    *["-2.5", "nan", "inf", "x", "", "1_0"],
    *[[1], {}, np.array([1.5, 2.5]), np.array(["x"])],
]


@pytest.mark.parametrize("value", NO_WEIGHTS, ids=type)
def test_a_weight_that_is_not_positive_and_finite_raises_with_its_line(value: object) -> None:
    edges: Cells = {"source": ["a", "b"], "target": ["b", "a"], "weight": [1, value]}
    with pytest.raises(NetworkError, match=r"^e.csv, line 3: the weight is .*; weights must be"):
        network(None, edges)


@pytest.mark.parametrize("value", ["2.5", " 2.5 ", 2.5, Decimal("2.5"), np.float32(2.5)])
def test_a_weight_may_be_written_in_any_way(value: object) -> None:
    made = network(None, {"source": ["a"], "target": ["b"], "weight": [value]})
    assert made.edge_weights.tolist() == [2.5]


@pytest.mark.parametrize("missing", ["source", "target"])
def test_an_edge_without_an_end_raises_with_its_line(missing: str) -> None:
    edges: dict[str, list[object]] = {"source": ["a", "a"], "target": ["b", "b"]}
    edges[missing][1] = None
    with pytest.raises(NetworkError, match=f"e.csv, line 3: the edge has no {missing}; every edge"):
        network(None, edges)


def test_tables_without_any_vertex_raise() -> None:
    with pytest.raises(NetworkError, match="neither a vertex table nor an edge table"):
        network(None)
    with pytest.raises(NetworkError, match=r"v.csv holds no vertices; a network needs at least"):
        network({"id": []})
    with pytest.raises(
        NetworkError, match=r"e.csv holds no edges; without a vertex table it needs some"
    ):
        network(None, {"source": [], "target": []})
    with pytest.raises(NetworkError, match="holds no vertices"):
        network({})


@pytest.mark.parametrize("vertices", [None, {"id": ["a", "b", "c"]}])
@pytest.mark.parametrize("header", [("a", "b"), ("0", "1"), ("a", "x")])
def test_a_delimited_edge_list_without_a_header_line_raises(
    vertices: Cells | None, header: tuple[str, str]
) -> None:
    edges = table("e.csv", {header[0]: ["a", "b"], header[1]: ["c", "b"]}, delimited=True)
    with pytest.raises(NetworkError, match=f"e.csv begins with '{header[0]}', .* a header line"):
        network_from_tables(None if vertices is None else table("v.csv", vertices), edges)


def test_a_delimited_edge_list_may_have_any_header_line() -> None:
    edges = table("e.csv", {"her": ["a"], "him": ["b"]}, delimited=True)
    assert network_from_tables(None, edges).ids == ("a", "b")


def test_columns_named_like_vertices_are_read_when_they_are_named() -> None:
    edges = table("e.csv", {"a": ["a", "b"], "b": ["c", "b"]}, delimited=True)
    made = network_from_tables(None, edges, columns=Columns(source="a", target="b"))
    assert made.ids == ("a", "c", "b")


def test_an_error_shows_a_long_value_briefly_and_on_one_line() -> None:
    long = "a\n" * 10_000
    for vertices in ([long, long], [np.eye(9)], [{"a": long}], ["b"]):
        with pytest.raises(NetworkError) as refusal:
            network({"id": vertices}, {"source": ["b"], "target": [long]})
        assert len(str(refusal.value)) < 300
        assert "\n" not in str(refusal.value)


def test_lazy_columns_are_read_on_first_use() -> None:
    asked: list[str] = []

    def read(name: str) -> list[object]:
        asked.append(name)
        return ["a", "b"]

    wide = LazyColumns(["id", "vector", "picture"], read)
    assert network_from_tables(table("v.csv", wide), None).ids == ("a", "b")
    assert set(asked) == {"id"}
    assert len(wide) == 3
    with pytest.raises(KeyError):
        wide["other"]


def test_known_ids_that_edges_lead_to_become_vertices_without_texts() -> None:
    rows = {"id": ["n1", "n2"], "text": ["new", ""], "label": ["x", ""]}
    vertices = Table(name="v", columns=rows, place="row {}".format)
    ends = {"source": ["n1", "far"], "target": ["near", "n2"], "weight": ["2", "1"]}
    edges = Table(name="e", columns=ends, place="row {}".format)
    known = ["unused", "near", "n2", "far"]
    network = network_from_tables(vertices, edges, known=known)
    assert network.ids == ("n1", "n2", "near", "far")
    assert network.texts == ("new", "", "", "")
    assert network.edges.tolist() == [[0, 2], [3, 1]]
    assert network.labels == (frozenset({"x"}), frozenset(), frozenset(), frozenset())
    with pytest.raises(NetworkError, match=r"ids in v or of the model, .* did you mean 'nears'"):
        network_from_tables(vertices, edges, known=["nears", "far"])


@pytest.mark.parametrize("other", ["c", " b ", "\ud800", 7, 7.0])
def test_ends_of_any_kind_are_found_by_their_ids(other: object) -> None:
    ids = ["a", "b", "c", "7", *(["\ud800"] if other == "\ud800" else [])]
    ends = ["a", "b", other, "a"]
    expected = [
        ids.index("7" if isinstance(end, int | float) else str(end).strip()) for end in ends
    ]
    pairs = network({"id": ids}, {"source": ends, "target": ends[::-1]}).edges.tolist()
    assert pairs == [list(pair) for pair in zip(expected, expected[::-1], strict=True)]
