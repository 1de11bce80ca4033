"""Names that come close."""

from dmte.runtime.spelling import close_names, propose


def test_case_does_not_count_and_the_closest_comes_first() -> None:
    assert close_names("B-TRE", ["trie", "r-tree", "B-tree", "heap"])[0] == "B-tree"


def test_a_name_is_never_proposed_in_its_own_place() -> None:
    assert close_names("notes.md", ["notes.md"]) == []
    assert close_names("notes.md", ["notes.md", "Notes.md"]) == ["Notes.md"]


def test_where_nothing_comes_close_all_are_named() -> None:
    assert propose("cake", iter(["tfidf", "random"])) == "there are tfidf, random"


def test_a_long_name_is_proposed_whole_where_it_is_to_be_used() -> None:
    long = "chapter " * 20
    assert close_names(long.upper(), [long]) == [long]
