"""Bibliographies in BibTeX."""

from pathlib import Path

import pytest

from dmte.errors import DmteWarning, NetworkError
from dmte.network.formats.bibtex import plain, read_bibtex
from dmte.network.formats.read import read_network
from dmte.network.formats.source import Source

LIBRARY = r"""
A note between entries, as user@example.org writes it.
@comment{nothing}
@preamble{"\newcommand{\x}{y}" # " more"}
@string{acm = "Communications of the " # {ACM}}
@Article{Knuth84,
  author = {Donald E. Knuth},
  title = {Literate {P}rogramming},
  abstract = "He says ``we'' {"}quotes{"} and 50\% of it",
  keywords = {programs, prose; style},
  year = 1984,
  journal = acm,
  cites = {goedel, Proc, elsewhere},
}
@misc(goedel, title = "{\"U}ber formal unentscheidbare S{\"a}tze",)
@inproceedings{paper, crossref = {proc}, month = jan # "~1"}
@proceedings{Proc}
"""


def test_a_bibliography_is_a_network() -> None:
    table = read_bibtex(Source("library.bib", LIBRARY.encode()))
    assert table.columns["id"] == ["Knuth84", "goedel", "paper", "Proc"]
    assert table.columns["title"] == [
        "Literate Programming",
        "Über formal unentscheidbare Sätze",
        "",
        "",
    ]
    assert table.columns["abstract"][0] == "He says ``we'' \"quotes\" and 50% of it"
    assert table.columns["labels"][0] == ["programs", "prose", "style"]
    assert table.columns["links"] == [["goedel", "Proc", "elsewhere"], [], ["Proc"], []]
    assert table.place(1) == "library.bib, line 15"


def test_citations_of_missing_entries_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "library.bib"
    path.write_text(LIBRARY)
    with pytest.warns(DmteWarning, match="links to unknown ids are ignored, 1 of 4"):
        assert read_network(path).edges.tolist() == [[0, 1], [0, 3], [2, 3]]


def test_texts_alone_are_read_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "library.bib"
    path.write_text("@book{a, title={One}}\n@book{b, title={Two}}")
    with pytest.warns(DmteWarning, match="has no links for its 2 vertices"):
        assert read_network(path).texts == ("One", "Two")


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        (r"Erd{\H o}s, G\"odel, \'{E}cole, \c{c}a, {\v S}koda", "Erdős, Gödel, École, ça, Škoda"),
        (r"Stra{\ss}e \L{}ukasiewicz \O re na{\"\i}ve", "Straße Łukasiewicz Øre naïve"),
        (r"\emph{very} {\bf bold} \& 100\% $\alpha$-test", "very bold & 100% $alpha$-test"),
        ("{BERT}: a~b\n   c", "BERT: a b c"),
    ],
)
def test_latex_becomes_plain_text(latex: str, expected: str) -> None:
    assert plain(latex) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "x.bib holds no vertices; a network needs at least one"),
        ("no entries", "x.bib holds no vertices"),
        ("\n@book{", "x.bib, line 2: the entry has no key; write it as @book{key, ...}"),
        ("@book{, title={a}}", "x.bib, line 1: the entry has no key"),
        ("@book{k", "x.bib, line 1: the entry has no key"),
        ("@book{k,\n title={a", "x.bib, line 2: the entry that begins with '@book{k,' lacks the c"),
        (
            "@book{k, title={a}",
            "x.bib, line 1: the entry that begins with '@book{k,' lacks a field",
        ),
        (
            '@book{k, title="a}"}',
            "x.bib, line 1: the entry that begins with '@book{k,' lacks the closing q",
        ),
        (
            "@book{k, title}",
            "x.bib, line 1: the entry that begins with '@book{k,' lacks a field su",
        ),
        ("@book{k, title=,}", "x.bib, line 1: the entry that begins with '@book{k,' lacks a value"),
        ("@book{k,}\n@book{k,}", "x.bib, line 2: the id 'k' is already used by x.bib, line 1"),
        ("@book{k, a={" + "{" * 100_000, "x.bib, line 1: the entry that begins with '@book{k,'"),
    ],
    ids=lambda value: value[:30],
)
def test_a_malformed_bibliography_raises_with_its_line(
    content: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.bib").write_text(content)
    with pytest.raises(NetworkError) as error:
        read_network("x.bib")
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)
