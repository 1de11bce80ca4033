"""JSON Lines and JSON documents with plain records or works."""

import json
from pathlib import Path
from typing import Any

import pytest

from dmte.errors import DmteWarning, NetworkError
from dmte.network.formats.read import read_network
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
