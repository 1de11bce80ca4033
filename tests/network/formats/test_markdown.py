"""What one Markdown file says: title, labels, links and plain text."""

import pytest

from dmte.network.formats.markdown import parse_note


def targets(text: str) -> list[str]:
    return [link.target for link in parse_note(text).links]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[Note]]", ["Note"]),
        ("[[Note|words]]", ["Note"]),
        ("| [[Note\\|words]] |", ["Note"]),
        ("[[Note#A part]]", ["Note"]),
        ("[[Note#^block|words]]", ["Note"]),
        ("[[folder/Note]]", ["folder/Note"]),
        ("![[embedded]]", ["embedded"]),
        ("[[#here]]", []),
        ("[[]]", []),
        ("[[a]] and [[b]] and [[a]]", ["a", "b"]),
        ("[words](../other.md#part)", ["../other.md"]),
        ("[words](a%20note.md)", ["a note.md"]),
        ("[words](<a note.md>)", ["a note.md"]),
        ('[words](a.md "A title")', ["a.md"]),
        ("[words](a_(b).md)", ["a_(b).md"]),
        ("[words](a.md?plain=1#L3)", ["a.md"]),
        ("[![alt](pic.png)](page.md)", ["page.md", "pic.png"]),
        ("[words][name]\n\n[NAME]: place.md 'title'", ["place.md"]),
        ("[name][]\n\n[name]: <a place.md>", ["a place.md"]),
        ("[name]\n\n[name]: place.md", ["place.md"]),
        ("[`Name`][] and [`name`]\n\n[`Name`]: place.md", ["place.md"]),
        ("nobody uses it\n\n[name]: place.md", []),
        ("a footnote[^1]\n\n[^1]: note.md", []),
        ("[web](https://example.org/a.md) [mail](mailto:a@b.c) [w](//x.y/a.md)", []),
        ("[here](#part) <https://example.org>", []),
        ("\\[no](link.md)", []),
        ("`[[code]]` and ``[a](`b.md)`` [[Note]]", ["Note"]),
        ("```\n[[code]]\n```\n[[Note]]", ["Note"]),
        ("~~~~ md\n[[code]]\n~~~\n[[code]]\n~~~~\n[[Note]]", ["Note"]),
        ("> ```\n> [[code]]\n> ```\n\n[[Note]]", ["Note"]),
        ("```\n[[an open block runs to the end]]", []),
        ("<!-- [[comment]] -->[[Note]]%% [[comment]] %%", ["Note"]),
        ("`one tick\n\n[[Note]] another paragraph`", ["Note"]),
    ],
)
def test_links_to_other_files_are_found(text: str, expected: list[str]) -> None:
    assert sorted(targets(text)) == sorted(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A **bold** and *thin* and __b__ and _t_", "A bold and thin and b and t"),
        ("~~gone~~ ==marked==", "gone marked"),
        ("snake_case stays", "snake_case stays"),
        ("- one\n- [x] two\n  1. three\n", "one two three"),
        ("> quoted\n> > twice", "quoted twice"),
        ("> [!note] Title\n> body", "Title body"),
        ("| a | b |\n|---|:-:|\n| c | d |", "a b c d"),
        ("a\n\n---\n\nb\n***\nc", "a b c"),
        ("see [[folder/Note]] and [[Note|it]]", "see Note and it"),
        ("see [words](a.md) and ![alt](p.png)", "see words and alt"),
        ("![[picture.png]] text", "text"),
        ("use `read_csv(x)` now\n```python\nimport this\n```\n", "use read_csv(x) now"),
        ("<b>bold</b> &amp; <br/> more <!-- not this -->", "bold & more"),
        ("a \\* b ^block-id", "a * b"),
        ("word[^1]\n\n[^1]: A footnote.", "word A footnote."),
        ("import Tabs from '@theme/Tabs';\n\nimport it from abroad", "import it from abroad"),
        ("::: tip\ninside\n:::", "inside"),
        ("see https://example.org/x?y for more", "see for more"),
        ("2 < 3 and a > b", "2 < 3 and a > b"),
        ("a #tag here", "a tag here"),
    ],
)
def test_the_text_is_free_of_markup(text: str, expected: str) -> None:
    assert parse_note(text).text == expected


@pytest.mark.parametrize(
    ("text", "title", "rest"),
    [
        ("---\ntitle: 'Mine'\n---\n# Other\ntext", "Mine", "Other text"),
        ("---\ntitle: Same\n---\n# Same\ntext", "Same", "text"),
        ("intro\n\n## The `heading` ##\ntext", "The heading", "intro text"),
        ("Underlined\n==========\ntext", "Underlined", "text"),
        ("# A [linked](x.md) *title* {#id}\n", "A linked title", ""),
        ("```\n# not a heading\n```\ntext", "", "text"),
        ("#hashtag", "", "hashtag"),
    ],
)
def test_the_title_is_in_the_front_matter_or_the_first_heading(
    text: str, title: str, rest: str
) -> None:
    note = parse_note(text)
    assert (note.title, note.text) == (title, rest)


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("---\ntags: [a, 'b c', \"d, e\"]\n---\n", ("a", "b c", "d, e")),
        ("---\ntags:\n  - a\n  - '#b'\n  - c\n---\n", ("a", "b", "c")),
        ("---\ntags:\n- a\n- b\n---\n", ("a", "b")),
        ("---\ntags: a, b\n---\n", ("a", "b")),
        ("---\ntag: a\ncategories: [b]\n---\n#c and #c/d.", ("a", "b", "c", "c/d")),
        ("---\ntags: []\n---\n", ()),
        ("---\ntags:\n---\n", ()),
        ("---\nauthor:\n  - tags\nTags: [x] # why\n---\n", ("x",)),
        ("#tag (#other), #1 a#b `#code` [x](y#z) # heading", ("tag", "other")),
    ],
)
def test_labels_are_the_tags(text: str, labels: tuple[str, ...]) -> None:
    assert parse_note(text).labels == labels


def test_aliases_and_windows_line_ends_are_read() -> None:
    note = parse_note("---\r\naliases: [One, Two]\r\n---\r\ntext\r\n")
    assert (note.aliases, note.text) == (("One", "Two"), "text")


@pytest.mark.medium
@pytest.mark.parametrize("pattern", ["[", "[[", "[a](", "`", "#", "_", "<", "[^", "%%", "a", "|"])
def test_parsing_junk_takes_time_linear_in_its_length(pattern: str) -> None:
    parse_note(pattern * (300_000 // len(pattern)) + "a")
