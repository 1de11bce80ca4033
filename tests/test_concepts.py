"""The bundled network: what a newcomer sees first is sound."""

import json
from collections import Counter
from importlib.resources import files
from typing import Any

import pytest

from dmte.network import read_network


@pytest.fixture(scope="module")
def entries() -> list[dict[str, Any]]:
    lines = (files("dmte") / "data" / "concepts.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_there_are_enough_entries_links_and_areas(entries: list[dict[str, Any]]) -> None:
    pairs = {frozenset((entry["id"], link)) for entry in entries for link in entry["links"]}
    assert len(entries) >= 400
    assert len(pairs) >= 1200
    assert 8 <= len({entry["area"] for entry in entries}) <= 12
    assert min(Counter(entry["area"] for entry in entries).values()) >= 20


def test_every_entry_has_the_same_fields(entries: list[dict[str, Any]]) -> None:
    assert {tuple(entry) for entry in entries} == {("id", "title", "area", "text", "links")}


def test_no_id_title_or_text_occurs_twice(entries: list[dict[str, Any]]) -> None:
    for field in ("id", "title", "text"):
        assert max(Counter(entry[field] for entry in entries).values()) == 1


def test_links_resolve_and_never_lead_back_to_themselves(entries: list[dict[str, Any]]) -> None:
    ids = {entry["id"] for entry in entries}
    for entry in entries:
        assert entry["links"], entry["id"]
        assert set(entry["links"]) <= ids - {entry["id"]}, entry["id"]
        assert len(set(entry["links"])) == len(entry["links"]), entry["id"]


def test_definitions_have_25_to_60_words(entries: list[dict[str, Any]]) -> None:
    lengths = {entry["id"]: len(entry["text"].split()) for entry in entries}
    assert not {name: length for name, length in lengths.items() if not 25 <= length <= 60}


def test_definitions_are_whole_sentences(entries: list[dict[str, Any]]) -> None:
    for entry in entries:
        assert entry["text"][0].isupper() or not entry["text"][0].isalpha(), entry["id"]
        assert entry["text"].endswith("."), entry["id"]
        assert "  " not in entry["text"], entry["id"]


def test_it_is_read_as_a_network_without_isolated_vertices(entries: list[dict[str, Any]]) -> None:
    network = read_network("concepts")
    assert network.ids == tuple(entry["id"] for entry in entries)
    assert len(network.edges.unique()) == len(entries)
    assert len(network.distinct_edges()[0]) == len(network.edges)
    assert network.texts[0].startswith(entries[0]["title"] + ". ")
