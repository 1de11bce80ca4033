"""Tokenization of many scripts, the limits of the vocabulary, the bag of words."""

import unicodedata
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dmte.errors import ConfigError
from dmte.text.vocabulary import TokenizedTexts, Vocabulary, tokenize, tokenized

# Letters with unusual case or composition, combining marks, and separators.
TRICKY = "aÉßİJTΣǅﬁＡ²½图𠀀豈が한िन\u0301\u030c\u0308\u3099_' \u3000😀"
texts_of_any_script = st.text(max_size=30) | st.text(TRICKY, max_size=30)
words_of_three = st.lists(st.lists(st.sampled_from("abc"), max_size=8), max_size=6)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Fast search, in B-trees!", ["fast", "search", "in", "b", "trees"]),
        ("Größe und ÜBUNG", ["größe", "und", "übung"]),
        ("Граф и ВЕКТОР", ["граф", "и", "вектор"]),
        ("ΓΡΑΦΟΣ", ["γραφος"]),
        ("한국어 그래프", ["한국어", "그래프"]),
        ("2018 top10 3.5", ["2018", "top10", "3", "5"]),
        ("snake_case __init__ _", ["snake", "case", "init"]),
        ("...!? -- (),;:'\"", []),
        ("图嵌入", ["图", "嵌", "入"]),
        ("图graph嵌入2018年", ["图", "graph", "嵌", "入", "2018", "年"]),
        ("𠀀𠀁x", ["𠀀", "𠀁", "x"]),
        ("ひらがな", ["ひらがな"]),
        ("カタカナの漢字", ["カタカナの", "漢", "字"]),
        ("Ａ１Ｂ", ["a1b"]),
        ("ﾊﾟﾝ", ["パン"]),
        ("ﬁnd", ["find"]),
        ("𝐆raph in ℝ", ["graph", "in", "r"]),
        ("graph 😀 map🚀x", ["graph", "map", "x"]),
        ("", []),
        (" \t\r\n\u00a0\u3000\u2003", []),
        ("one\ttwo\nthree\u3000four\u00a0five", ["one", "two", "three", "four", "five"]),
    ],
    ids=[
        "punctuation between words",
        "German",
        "Cyrillic",
        "Greek final sigma",
        "Korean",
        "digits",
        "underscores",
        "only punctuation",
        "Chinese",
        "Chinese mixed with Latin",
        "extension B",
        "kana",
        "kana and ideographs",
        "full width",
        "half width kana",
        "ligature",
        "mathematical capitals",
        "emoji",
        "empty",
        "white space",
        "white space between words",
    ],
)
def test_a_text_is_cut_into_its_words(text: str, words: list[str]) -> None:
    # Editors may save the examples composed or decomposed; tokens are always composed.
    assert tokenize(text) == [unicodedata.normalize("NFC", word) for word in words]


@pytest.mark.parametrize("word", ["café", "Ångström", "naïveté", "ệ", "Ĳssel", "й", "が", "한"])
def test_composed_and_decomposed_letters_are_the_same_word(word: str) -> None:
    composed, decomposed = (unicodedata.normalize(form, word) for form in ("NFC", "NFD"))
    assert tokenize(composed) == tokenize(decomposed)
    assert len(tokenize(decomposed)) == 1


@pytest.mark.parametrize("letter", ["ǰ", "ẖ", "ẗ", "ẘ", "ẙ", "ΐ", "ΰ"])
def test_a_capital_that_exists_only_decomposed_is_the_same_word_in_lower_case(letter: str) -> None:
    assert tokenize(letter.upper()) == tokenize(letter)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("தமிழ் மொழி", ["தமிழ்", "மொழி"]),
        ("كِتَاب", ["كِتَاب"]),
        ("שָׁלוֹם", ["שָׁלוֹם"]),
        ("ที่นี่", ["ที่นี่"]),
    ],
    ids=["Devanagari", "Tamil", "Arabic", "Hebrew", "Thai"],
)
def test_the_marks_of_every_script_belong_to_their_word(text: str, words: list[str]) -> None:
    assert tokenize(text) == [unicodedata.normalize("NFKC", word) for word in words]


def test_a_lone_surrogate_separates_words() -> None:
    assert tokenize("a\ud800b") == ["a", "b"]


@given(text=texts_of_any_script)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_tokens_are_lower_case_and_never_empty_or_spaced(text: str) -> None:
    for token in tokenize(text):
        assert token
        assert token == token.lower()
        assert not any(character.isspace() for character in token)


@given(text=texts_of_any_script)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_tokenizing_the_joined_tokens_gives_the_same_tokens(text: str) -> None:
    tokens = tokenize(text)
    assert tokenize(" ".join(tokens)) == tokens


def test_a_vocabulary_holds_every_word_once_in_order() -> None:
    assert Vocabulary.of(["b a c", "A b"]).words == ("a", "b", "c")
    assert len(Vocabulary.of(["b a c", "A b"])) == 3


def test_a_vocabulary_does_not_depend_on_the_order_of_the_texts() -> None:
    texts = ["b a c", "a b", "d", "c"]
    assert Vocabulary.of(texts, max_size=2) == Vocabulary.of(texts[::-1], max_size=2)


def test_a_vocabulary_of_texts_without_words_is_empty() -> None:
    assert Vocabulary.of([]).words == ()
    assert Vocabulary.of(["", "?!"]).words == ()


@pytest.mark.parametrize(
    ("min_count", "words"),
    [(1, ("once", "thrice", "twice")), (2, ("thrice", "twice")), (3, ("thrice",)), (4, ())],
)
def test_words_rarer_than_min_count_are_dropped(min_count: int, words: tuple[str, ...]) -> None:
    texts = ["thrice twice once", "thrice twice", "thrice"]
    assert Vocabulary.of(texts, min_count=min_count).words == words


def test_repeated_occurrences_in_one_text_are_counted() -> None:
    assert Vocabulary.of(["echo echo", "once"], min_count=2).words == ("echo",)


@pytest.mark.parametrize(
    ("max_size", "words"),
    [
        (1, ("z",)),
        (2, ("b", "z")),
        (3, ("b", "m", "z")),
        (4, ("b", "m", "x", "z")),
        (9, ("b", "m", "x", "y", "z")),
        (None, ("b", "m", "x", "y", "z")),
    ],
)
def test_the_most_frequent_words_are_kept_and_ties_are_alphabetical(
    max_size: int | None, words: tuple[str, ...]
) -> None:
    assert Vocabulary.of(["z z z m m b b y x"], max_size=max_size).words == words
    assert Vocabulary.of(["x y b b m m z z z"], max_size=max_size).words == words


def test_both_limits_apply_together() -> None:
    texts = ["a a a b b c c d"]
    assert Vocabulary.of(texts, min_count=2, max_size=2).words == ("a", "b")
    assert Vocabulary.of(texts, min_count=3, max_size=2).words == ("a",)


@pytest.mark.parametrize(
    ("min_count", "max_size"), [(0, None), (-1, None), (1, 0), (1, -3)], ids=str
)
def test_a_limit_below_one_raises(min_count: int, max_size: int | None) -> None:
    with pytest.raises(ConfigError, match=f"at least 1, not {min_count} and {max_size}"):
        Vocabulary.of(["a"], min_count=min_count, max_size=max_size)


def split_into_words(vocabulary: Vocabulary, texts: TokenizedTexts) -> list[list[str]]:
    """Convert the word numbers of every text back to words."""
    bounds = texts.offsets.tolist()
    return [
        [vocabulary.words[number] for number in texts.tokens[start:end].tolist()]
        for start, end in pairwise(bounds)
    ]


def test_encoding_keeps_the_words_and_their_order() -> None:
    vocabulary = Vocabulary.of(["c b a"])
    texts = vocabulary.encode(["b, a B!", "", "c"])
    assert split_into_words(vocabulary, texts) == [["b", "a", "b"], [], ["c"]]
    assert texts.lengths().tolist() == [3, 0, 1]
    assert len(texts) == 3
    assert texts.vocabulary_size == 3


def test_unknown_words_are_skipped() -> None:
    vocabulary = Vocabulary.of(["red fox"])
    texts = vocabulary.encode(["the red, red rose", "unknown", "fox"])
    assert split_into_words(vocabulary, texts) == [["red", "red"], [], ["fox"]]


@pytest.mark.parametrize("limits", [{}, {"min_count": 2}, {"max_size": 2}, {"max_size": 1}])
def test_tokenized_equals_building_the_vocabulary_and_encoding(
    limits: dict[str, int],
) -> None:
    texts = ["c b a b", "", "b d", "unique"]
    vocabulary, once = tokenized(texts, **limits)
    assert vocabulary == Vocabulary.of(texts, **limits)
    twice = vocabulary.encode(texts)
    assert torch.equal(once.tokens, twice.tokens)
    assert torch.equal(once.offsets, twice.offsets)
    assert once.vocabulary_size == twice.vocabulary_size


def test_an_empty_list_of_texts_can_be_encoded() -> None:
    texts = Vocabulary.of(["a"]).encode([])
    assert len(texts) == 0
    assert texts.bag_of_words().shape == (0, 1)


def test_an_empty_vocabulary_encodes_every_text_as_empty() -> None:
    texts = Vocabulary.of([]).encode(["a b", "c"])
    assert texts.lengths().tolist() == [0, 0]
    assert texts.bag_of_words().shape == (2, 0)


@pytest.mark.parametrize(
    "which", [[0, 1, 2, 3], [3, 0], [2], [1, 1, 0, 1], [1, 3], []], ids=lambda which: str(which)
)
def test_selecting_texts_equals_encoding_only_those(which: list[int]) -> None:
    texts = ["c b a", "", "b b", "a c c c"]
    vocabulary = Vocabulary.of(texts)
    selected = vocabulary.encode(texts).select(torch.tensor(which, dtype=torch.int64))
    expected = vocabulary.encode([texts[number] for number in which])
    assert torch.equal(selected.tokens, expected.tokens)
    assert torch.equal(selected.offsets, expected.offsets)
    assert selected.vocabulary_size == expected.vocabulary_size


def test_dropout_keeps_the_expected_share_of_words_in_order() -> None:
    texts = ["a b c d e f g h i j", "", "b a"] * 200
    whole = Vocabulary.of(texts).encode(texts)
    thin = whole.dropout_words(0.3, torch.Generator().manual_seed(0))
    assert len(thin) == len(whole)
    assert len(thin.tokens) / len(whole.tokens) == pytest.approx(0.7, abs=0.03)
    for number in range(len(texts)):
        kept, all_words = (
            texts_.select(torch.tensor([number])).tokens.tolist() for texts_ in (thin, whole)
        )
        assert kept == [word for word in all_words if word in kept]
    again = whole.dropout_words(0.3, torch.Generator().manual_seed(0))
    assert torch.equal(thin.tokens, again.tokens)


def test_first_words_truncates_every_text() -> None:
    _, texts = tokenized(["a b c d", "c", "", "e a e b b", "d d"])
    cut = texts.first_words(2)
    assert cut.tokens.tolist() == [0, 1, 2, 4, 0, 3, 3]
    assert cut.lengths().tolist() == [2, 1, 0, 2, 2]


def test_a_dropout_of_zero_keeps_every_word() -> None:
    texts = Vocabulary.of(["b a b"]).encode(["b a b", ""])
    assert torch.equal(texts.dropout_words(0.0, torch.Generator()).offsets, texts.offsets)


@given(words=words_of_three)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_the_bag_of_words_equals_counting_with_loops(words: list[list[str]]) -> None:
    bag = Vocabulary(("a", "b", "c")).encode([" ".join(text) for text in words]).bag_of_words()
    expected = np.zeros((len(words), 3))
    for row, text in enumerate(words):
        for column, word in enumerate("abc"):
            expected[row, column] = text.count(word) / len(text) if text else 0.0
    np.testing.assert_allclose(bag.toarray(), expected, rtol=1e-12)


def test_rows_of_the_bag_of_words_sum_to_one_unless_the_text_is_empty() -> None:
    texts = ["a b c d e f g", "", "a a a", "b c b", "unknown"]
    bag = Vocabulary.of(texts[:4]).encode(texts).bag_of_words()
    np.testing.assert_allclose(bag.sum(axis=1), [1, 0, 1, 1, 0], rtol=1e-12)


def test_the_bag_of_words_stores_a_repeated_word_once() -> None:
    assert Vocabulary.of(["b a b b"]).encode(["b a b b", "b"]).bag_of_words().nnz == 3


def test_making_the_bag_of_words_does_not_modify_the_texts() -> None:
    texts = Vocabulary.of(["b a b"]).encode(["b a b", "a"])
    tokens, offsets = texts.tokens.clone(), texts.offsets.clone()
    texts.bag_of_words()
    assert torch.equal(texts.tokens, tokens)
    assert torch.equal(texts.offsets, offsets)


@pytest.mark.parametrize("blocks", [1, 3, 100])
def test_words_are_counted_in_blocks_as_in_one(
    monkeypatch: pytest.MonkeyPatch, blocks: int
) -> None:
    numbers = np.random.default_rng(0)
    texts = [
        " ".join(numbers.choice(list("abcde"), size=length)) for length in (0, 3, 500, 1, 0, 40, 0)
    ]
    encoded = tokenized(texts)[1]
    monkeypatch.setattr("dmte.text.vocabulary.BLOCK_TOKENS", 600 // blocks)
    slow = [[text.split().count(word) for word in "abcde"] for text in texts]
    assert encoded.word_counts().toarray().tolist() == slow


def test_no_texts_have_no_word_counts() -> None:
    assert tokenized([])[1].word_counts().shape == (0, 0)
