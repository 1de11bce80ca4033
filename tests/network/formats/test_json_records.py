"""JSON Lines and JSON documents with plain records or works."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmte.errors import DmteWarning, NetworkError
from dmte.network.formats.json_records import (
    BETWEEN,
    parse_one_by_one,
    parse_together,
    read_json_lines,
)
from dmte.network.formats.read import read_network
from dmte.network.formats.source import BYTE_ORDER_MARK, Source
from dmte.network.textual_network import TextualNetwork


@pytest.fixture(autouse=True)
def _empty_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, so that errors show a file's bare name."""
    monkeypatch.chdir(tmp_path)


def refusal(name: str, content: str) -> str:
    Path(name).write_text(content)
    with pytest.raises(NetworkError) as error:
        read_network(name)
    assert "\n" not in str(error.value)
    return str(error.value)


OPENALEX: list[dict[str, Any]] = [
    {
        "id": "https://openalex.org/W1",
        "display_name": "Random walks",
        "abstract_inverted_index": {"on": [1], "Walks": [0], "graphs": [2, 4], "and": [3]},
        "referenced_works": ["https://openalex.org/W2", "https://openalex.org/W9"],
        "topics": [{"display_name": "Graphs", "score": 0.9}, {"display_name": "Walks"}],
        "concepts": [{"display_name": "Ignored"}],
    },
    {
        "id": "https://openalex.org/W2",
        "title": "Graphs?",
        "display_name": "ignored",
        "abstract_inverted_index": None,
        "referenced_works": [],
        "topics": [],
        "keywords": [{"keyword": "no name"}, {"display_name": "Paths"}],
    },
]


def check_openalex(network: TextualNetwork) -> None:
    assert network.ids == ("https://openalex.org/W1", "https://openalex.org/W2")
    assert network.texts == ("Random walks. Walks on graphs and graphs", "Graphs?")
    assert network.edges.tolist() == [[0, 1]]
    assert network.labels == (frozenset({"Graphs", "Walks"}), frozenset({"Paths"}))


@pytest.mark.parametrize("wrapping", ["", "results", "items", "works"])
def test_openalex_works_are_a_network(wrapping: str) -> None:
    document = {"meta": {"count": 2}, wrapping: OPENALEX} if wrapping else OPENALEX
    Path("works.json").write_text(json.dumps(document))
    with pytest.warns(DmteWarning, match=r"works.json: links to unknown ids are ignored, 1 of 2"):
        check_openalex(read_network("works.json"))


def test_openalex_works_are_read_one_per_line() -> None:
    Path("works.jsonl").write_text("\n".join(map(json.dumps, OPENALEX)))
    with pytest.warns(DmteWarning, match="1 of 2"):
        check_openalex(read_network("works.jsonl"))


def test_csl_json_is_read_with_its_keywords() -> None:
    works = [
        {"id": "knuth", "type": "article", "title": "Programs", "issued": {}, "keyword": "a; b"},
        {"id": "dijkstra", "container-title": "CACM", "abstract": "Goto.", "references": ["knuth"]},
    ]
    Path("library.json").write_text(json.dumps(works))
    network = read_network("library.json")
    assert network.texts == ("Programs", "Goto.")
    assert network.labels == (frozenset("ab"), frozenset())
    assert network.edges.tolist() == [[1, 0]]


def test_unknown_links_of_plain_records_raise() -> None:
    Path("v.json").write_text('[{"id": 1, "text": "x", "links": [2]}, {"id": 2}]')
    assert read_network("v.json").edges.tolist() == [[0, 1]]
    message = refusal("v.json", '[{"id": 1, "text": "x", "links": [3]}]')
    assert message.startswith("v.json, record 1: the link must be one of the ids in v.json, but")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "v.json, line 1: not JSON at character 1 (Expecting value); fix it, or rename a"),
        ('[{"id": 1},\n{"id"]', "v.json, line 2: not JSON at character 6 (Expecting ':'"),
        ('{"id": 1}\n{"id": 2}', "v.json, line 2: not JSON at character 1 (Extra data); fix it"),
        ('{"id": 1}', "v.json does not hold a list of records; write a list of objects, such as"),
        ('{"results": 7}', "v.json does not hold a list of records"),
        ("[1]", "v.json, record 1: found a int where an object is expected; write one object per"),
        ("[" * 200_000, "v.json: a number is too long or lists are nested too deeply; simplify it"),
        ("[]", "v.json holds no vertices; a network needs at least one"),
        (
            r'[{"id": "\ud800"}]',
            r'v.json, record 1: the escape "\ud800" is half of a surrogate pair',
        ),
        (
            '[{"id": 1, "abstract_inverted_index": {"a": 3}}]',
            "v.json, record 1: the abstract_inverted_index must hold a list of positions for every",
        ),
        ('[{"id": 1, "abstract_inverted_index": []}]', "v.json, record 1: the abstract_inverted_"),
        ('[{"id": {"a": 1}, "issued": 1}]', "v.json, record 1: the id is a dict, {'a': 1}; give"),
    ],
    ids=lambda value: value[:30],
)
def test_a_malformed_document_raises_with_its_place(content: str, message: str) -> None:
    assert refusal("v.json", content).startswith(message)


def test_works_with_few_fields_keep_their_keywords(tmp_path: Path) -> None:
    works = [
        {"id": "a", "title": "One", "abstract": "t", "keyword": "k1, k2"},
        {"id": "b", "title": "Two", "keywords": ["k2"]},
    ]
    path = tmp_path / "library.json"
    path.write_text(json.dumps(works), encoding="utf-8")
    with pytest.warns(DmteWarning, match="no links"):
        network = read_network(path)
    assert network.labels == (frozenset({"k1", "k2"}), frozenset({"k2"}))


LINES = (
    '{"id": "a"}',
    '{"id": 7, "n": 1.0, "m": 1e5, "k": -0, "l": -0.0}',
    '{"id": "2020-01-01", "id": null, "x": [1, 2.5, "a", null, {"y": []}]}',
    '{"n": NaN, "m": -Infinity, "k": 123456789012345678901234567890}',
    r'{"id": "\ud83d\ude00 \u0000 \u00e9"}',
    '{"id": "\u2028 é"}',
    "{}",
    "",
    " \t\u00a0",
    "\r",
    ' {"id" : "b" } \r',
)
BAD_LINES = (
    '{"id": "a"} {"id": "b"}',
    '{"id": "a"}, {"id": "b"}',
    '{"id": "a"},',
    ',{"id": "a"}',
    f'{{"id": 1}},{BETWEEN},{{"id": 2}}',
    f'{{"id": {BETWEEN}}}',
    f"{BETWEEN}",
    '{"id": "a"',
    '"n": 2}',
    '{"id": ["a"',
    '"b"]}',
    '{"x": [{"id": "a"}',
    '{"id": "b"}]}',
    "]",
    "[",
    "[]",
    "null",
    "1",
    "NaN",
    '"a"',
    '{"id": Inf}',
    '{"id": 01}',
    '{"id": "a\tb"}',
    r'{"id": "\ud800"}',
    r'{"\udfff": 1}',
    '{"id": ' + "1" * 5000 + "}",
    "[" * 100_000,
    '{"id": ' + "[" * 900 + "]" * 900 + "}",
    "\ufeff{}",
    "id,text",
)


def parsed_one_by_one(lines: list[str]) -> str:
    """The objects, or the error, as a string: 1, 1.0 and True are equal, and NaN is not."""
    try:
        return repr(parse_one_by_one("v.jsonl", range(1, len(lines) + 1), lines))
    except NetworkError as error:
        return str(error)


@given(lines=st.lists(st.sampled_from([line for line in LINES if not line.isspace()]), max_size=6))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_lines_parsed_together_are_what_they_are_one_by_one(lines: list[str]) -> None:
    lines = [f"{line}\n" for line in lines if line]
    assert repr(parse_together(lines)) == parsed_one_by_one(lines)


@pytest.mark.parametrize("line", BAD_LINES, ids=lambda line: line[:20])
def test_a_bad_line_is_not_parsed_together_with_others(line: str) -> None:
    for lines in ([line], ['{"id": 1}', line], [line, '{"id": 1}']):
        found = parse_together(lines)
        assert found is None or repr(found) == parsed_one_by_one(lines)


@pytest.mark.medium
@given(lines=st.lists(st.sampled_from(LINES + BAD_LINES), min_size=1, max_size=5))
@settings(max_examples=1000, deadline=None, derandomize=True)
def test_any_lines_give_the_same_objects_or_the_same_error(lines: list[str]) -> None:
    source = Source("v.jsonl", BYTE_ORDER_MARK + "\n".join(lines).encode())
    filled = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    found = parse_together([f"{line}\n" for _, line in filled])
    try:
        expected = parse_one_by_one("v.jsonl", *zip(*filled, strict=True)) if filled else []
    except NetworkError as error:
        assert found is None
        with pytest.raises(NetworkError, match=f"^{re.escape(str(error))}$"):
            read_json_lines(source)
        return
    assert found is None or repr(found) == repr(expected)
    table = read_json_lines(source)
    assert [table.place(row) for row in range(table.num_rows)] == [
        f"v.jsonl, line {number}" for number, _ in filled
    ]
    for name in table.columns:
        assert repr(list(table.columns[name])) == repr([row.get(name) for row in expected])


def test_an_object_over_two_lines_is_an_error_even_beside_two_on_one() -> None:
    content = '{"x": [{"id": 1}\n{"id": 2}]}\n{"id": 3}, {"id": 4}\n'
    with pytest.raises(NetworkError, match=r"^v\.jsonl, line 1: not JSON at character 17"):
        read_json_lines(Source("v.jsonl", content.encode()))
