"""Numbering words in one process or in several."""

import sys
from importlib import import_module
from unicodedata import category

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmte.text.tokenize import number_words, tokenize


@settings(deadline=None)  # The first text that is not ASCII compiles the pattern of words.
@given(st.lists(st.text(max_size=30), max_size=8))
def test_numbers_index_the_words_in_order(texts: list[str]) -> None:
    found = number_words(texts)
    spelled = [found.words[number] for number in found.numbers]
    assert spelled == [word for text in texts for word in tokenize(text)]
    assert found.lengths.tolist() == [len(tokenize(text)) for text in texts]
    assert len(set(found.words)) == len(found.words)


@pytest.mark.medium
@pytest.mark.parametrize("processes", [2, 3])
def test_several_processes_give_the_result_of_one(
    processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["Red fox", "", "図 a\u0301 fox\0hen", "x\ny\r\nz", "red \udc80 hen", "zebra", "ok"]
    alone = number_words(texts)
    # An attribute lookup of dmte.text.tokenize returns the function, not the module.
    monkeypatch.setattr(import_module("dmte.text.tokenize"), "MIN_PARALLEL_CHARACTERS", 1)
    divided = number_words(texts, processes)
    assert divided.words == alone.words
    assert divided.numbers.tolist() == alone.numbers.tolist()
    assert divided.lengths.tolist() == alone.lengths.tolist()
    assert number_words(iter(()), processes).words == []


def test_every_mark_of_unicode_is_part_of_a_word() -> None:
    marks = [mark for mark in map(chr, range(sys.maxunicode + 1)) if category(mark)[0] == "M"]
    assert [mark for mark in marks if len(tokenize(f"a{mark}b")) != 1] == []
