"""The roles of columns."""

import re

import pytest

from dmte.errors import NetworkError
from dmte.network.formats.columns import Columns, find_edge_columns, find_vertex_columns


def test_usual_names_are_found_in_any_case() -> None:
    found = find_vertex_columns("papers.csv", ["Year", "Node ID", "ABSTRACT", "Area"], Columns())
    assert (found.id, found.text, found.label) == ("Node ID", "ABSTRACT", "Area")


def test_the_best_of_several_usual_names_is_taken() -> None:
    assert find_vertex_columns("papers.csv", ["name", "key", "id"], Columns()).id == "id"


def test_a_named_column_is_taken_before_a_usual_one() -> None:
    found = find_vertex_columns("papers.csv", ["id", "doi", "text"], Columns(id="doi"))
    assert found.id == "doi"


def test_a_missing_named_column_raises_with_the_existing_ones() -> None:
    message = "papers.csv has no column 'doi' for the id; it has 'id', 'text'"
    with pytest.raises(NetworkError, match=message):
        find_vertex_columns("papers.csv", ["id", "text"], Columns(id="doi"))
    with pytest.raises(NetworkError, match="no column 'x' for the weight; it has 'a'"):
        find_edge_columns("edges.csv", ["a", "b"], Columns(weight="x"))


def test_a_vertex_table_without_an_obvious_id_raises_with_its_columns() -> None:
    with pytest.raises(NetworkError, match="obviously the id, only 'year', 'text'; rename one"):
        find_vertex_columns("papers.csv", ["year", "text"], Columns())


def test_a_title_goes_with_a_guessed_text_but_not_with_a_named_one() -> None:
    present = ["id", "title", "text"]
    assert find_vertex_columns("t", present, Columns()).title == "title"
    assert find_vertex_columns("t", present, Columns(text="text")).title is None
    assert find_vertex_columns("t", present, Columns(text="text", title="title")).title == "title"


def test_a_column_gets_only_one_role() -> None:
    found = find_vertex_columns("t", ["text", "area"], Columns(id="text"))
    assert (found.id, found.text, found.label) == ("text", None, "area")


def test_ends_that_belong_together_are_guessed_together() -> None:
    found = find_edge_columns("t", ["source", "from", "to", "year"], Columns())
    assert (found.source, found.target) == ("from", "to")


def test_ends_may_be_found_by_order_but_a_weight_only_by_its_name() -> None:
    two = find_edge_columns("t", ["her", "him"], Columns())
    assert (two.source, two.target, two.weight, two.by_place) == ("her", "him", None, True)
    three = find_edge_columns("t", ["her", "him", "year"], Columns())
    assert (three.source, three.target, three.weight) == ("her", "him", None)


def test_a_weight_in_the_first_column_is_not_an_end() -> None:
    found = find_edge_columns("t", ["weight", "her", "him"], Columns())
    assert (found.source, found.target, found.weight) == ("her", "him", "weight")


def test_naming_one_end_leaves_the_other_to_the_guess() -> None:
    found = find_edge_columns("t", ["her", "him"], Columns(source="him"))
    assert (found.source, found.target) == ("him", "her")
    found = find_edge_columns("t", ["a", "to", "c", "d"], Columns(source="a"))
    assert (found.source, found.target) == ("a", "to")


def test_a_third_column_is_not_a_weight() -> None:
    assert find_edge_columns("t", ["source", "target", "kind"], Columns()).weight is None


@pytest.mark.parametrize("present", [["a"], ["a", "b", "c", "d"]])
def test_ends_that_are_not_obvious_raise_with_the_columns(present: list[str]) -> None:
    shown = re.escape(", ".join(map(repr, present)))
    with pytest.raises(NetworkError, match=f"edges.csv has no columns .* only {shown}; rename two"):
        find_edge_columns("edges.csv", present, Columns())


def test_one_column_cannot_be_both_ends() -> None:
    with pytest.raises(NetworkError, match="no columns that are obviously the ends"):
        find_edge_columns("edges.csv", ["a", "b"], Columns(source="a", target="a"))


def test_a_column_named_for_a_table_that_is_not_given_raises() -> None:
    with pytest.raises(NetworkError, match="the id column 'x' belongs to the vertex table"):
        Columns(id="x").check_tables(vertices=False, edges=True)
    with pytest.raises(NetworkError, match="the weight column 'x' belongs to the edge table"):
        Columns(weight="x").check_tables(vertices=True, edges=False)
    with pytest.raises(
        NetworkError, match="the links column 'x' cannot be combined with an edge table"
    ):
        Columns(links="x").check_tables(vertices=True, edges=True)


def test_a_very_wide_table_is_listed_briefly() -> None:
    with pytest.raises(NetworkError, match="and 980 more; rename"):
        find_vertex_columns("wide.csv", [f"c{i}" for i in range(1000)], Columns())
