"""Suggestions for misspelled names."""

from dmte.runtime.spelling import close_names, propose, unknown_id_message


def test_case_does_not_count_and_the_closest_comes_first() -> None:
    assert close_names("B-TRE", ["trie", "r-tree", "B-tree", "heap"])[0] == "B-tree"


def test_a_name_is_never_suggested_for_itself() -> None:
    assert close_names("notes.md", ["notes.md"]) == []
    assert close_names("notes.md", ["notes.md", "Notes.md"]) == ["Notes.md"]


def test_without_a_close_name_all_names_are_listed() -> None:
    assert propose("cake", iter(["tfidf", "random"])) == "there are tfidf, random"


def test_a_long_name_is_suggested_in_full() -> None:
    long = "chapter " * 20
    assert close_names(long.upper(), [long]) == [long]


def test_an_unknown_id_is_compared_with_the_last_part_of_paths() -> None:
    message = unknown_id_message("Tree", iter(["math/tree", "street"]))
    assert message == "there is no vertex 'Tree'; did you mean 'math/tree'?"
