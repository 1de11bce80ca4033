"""Words numbered by one process or by several."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmte.text import tokenize as words
from dmte.text.tokenize import number_words, tokenize


@settings(deadline=None)  # The first text that is not ASCII makes the pattern of words.
@given(st.lists(st.text(max_size=30), max_size=8))
def test_numbers_stand_for_the_words_in_order(texts: list[str]) -> None:
    found = number_words(texts)
    spelled = [found.words[number] for number in found.numbers]
    assert spelled == [word for text in texts for word in tokenize(text)]
    assert found.lengths.tolist() == [len(tokenize(text)) for text in texts]
    assert len(set(found.words)) == len(found.words)


@pytest.mark.parametrize("processes", [2, 3])
def test_several_processes_find_what_one_does(
    processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["Red fox", "", "図 a\u0301 fox\0hen", "x\ny\r\nz", "red \udc80 hen", "zebra", "ok"]
    alone = number_words(texts)
    monkeypatch.setattr(words, "MANY_LETTERS", 1)
    together = number_words(texts, processes)
    assert together.words == alone.words
    assert together.numbers.tolist() == alone.numbers.tolist()
    assert together.lengths.tolist() == alone.lengths.tolist()
    assert number_words(iter(()), processes).words == []
