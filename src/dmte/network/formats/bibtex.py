r"""Read a BibTeX bibliography as a table of entries.

    @article{key, title = {...}, abstract = "...", keywords = {a, b}, cites = {key1, key2}}

Links are the keys in ``crossref`` and, if a tool wrote them, in ``cites``, ``references`` or
``citations``. LaTeX is converted to plain text: ``\"{o}`` becomes ö, braces and commands around a
text are removed, and other commands leave their name, as in mathematics.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from dmte.errors import NetworkError
from dmte.network.formats.source import Source
from dmte.network.formats.table import Table
from dmte.runtime.progress import track

LINKS = ("cites", "references", "citations", "cited-references", "crossref", "xref")
"""Fields that hold keys of other entries."""

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

ACCENTS = dict(
    zip("`'^~=.\"uvHcdbrk", "\u0300\u0301\u0302\u0303\u0304\u0307\u0308\u0306\u030c\u030b"
        "\u0327\u0323\u0331\u030a\u0328", strict=True)
)  # fmt: skip
"""LaTeX's accents as Unicode's combining marks."""

LETTERS = {"ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "o": "ø", "O": "Ø", "l": "ł"} | {
    "L": "Ł", "aa": "å", "AA": "Å", "i": "ı", "j": "ȷ"}  # fmt: skip
"""LaTeX commands that print a letter."""

_ACCENT = re.compile(
    r"\\(?:([`'^~=.\"])\s*|([uvHcdbrk])(?:\s+|(?=\{)))(?:\{\s*(\\?[^\W\d_])\s*\}|(\\?[^\W\d_]))"
)
_LETTER = re.compile(r"\\(ss|ae|AE|oe|OE|aa|AA|[oOlLij])(?![A-Za-z])(?:\{\}|\s+|)")
_COMMAND = re.compile(r"\\(?:[A-Za-z]+\*?\s*(?=\{)|(?:em|it|bf|tt|sc|rm|sf|sl)\b\s*)")
_NAMED = re.compile(r"\\([A-Za-z]+)")
_ESCAPE = re.compile(r"\\([^A-Za-z\s])")
_ENTRY = re.compile(r"@\s*([A-Za-z]+)\s*([{(])")
_NAME = re.compile(r"\s*([^\s=,{}()\"#]+)\s*=\s*")
_KEY = re.compile(r"\s*([^\s,{}]+)\s*(?=[,})])")
_BARE = re.compile(r"[^\s,{}()\"#=]+")
_SPACE = re.compile(r"\s*")
_BRACE = re.compile(r"(?<!\\)[{}]")
_QUOTE = re.compile(r"(?<!\\)[{}\"]")


@dataclass(slots=True)
class _Cursor:
    """A position in the text of a bibliography."""

    name: str
    text: str
    at: int = 0

    def take(self, pattern: re.Pattern[str]) -> str | None:
        """Match the pattern here, advance behind the match, and return its group."""
        found = pattern.match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        return found[found.lastindex or 0]

    def peek(self) -> str:
        """Skip white space and return the next character."""
        self.take(_SPACE)
        return self.text[self.at : self.at + 1]

    def place(self, at: int) -> str:
        """File and line of a position in the text."""
        line = self.text.count("\n", 0, at) + 1
        return f"{self.name}, line {line}"


def read_bibtex(source: Source) -> Table:
    """Read a row per entry: id, title, abstract, labels and links.

    Raises:
        NetworkError: An entry is malformed or not closed; the message has its first line.
    """
    cursor = _Cursor(source.name, source.text())
    starts, keys, entries = [], [], []
    for start, key, entry in _entries(cursor):
        starts.append(start)
        keys.append(key)
        entries.append(entry)
    spelled = {key.casefold(): key for key in reversed(keys)} | {key: key for key in keys}
    links = [_links(entry) for entry in track(entries)]
    return Table(
        name=source.name,
        columns={
            "id": keys,
            "title": [plain(entry.get("title", "")) for entry in entries],
            "abstract": [plain(entry.get("abstract", "")) for entry in entries],
            "labels": [_names(plain(entry.get("keywords", ""))) for entry in entries],
            "links": [
                [spelled.get(key, spelled.get(key.casefold(), key)) for key in cited]
                for cited in links
            ],
        },
        place=lambda row: cursor.place(starts[row]),
        open_links=True,
    )


def plain(text: str) -> str:
    r"""Convert LaTeX to plain text.

    >>> plain(r'{G}\"odel, Erd{\H o}s and \emph{na{\"\i}ve}  $\alpha$-sets \& trees')
    'Gödel, Erdős and naïve $alpha$-sets & trees'
    """
    text = _ACCENT.sub(_accented, text)
    text = _LETTER.sub(lambda found: LETTERS[found[1]], text)
    text = _NAMED.sub(r"\1", _COMMAND.sub("", text))
    text = _BRACE.sub("", text).replace("~", " ")
    return " ".join(_ESCAPE.sub(r"\1", text).split())


def _accented(found: re.Match[str]) -> str:
    letter = (found[3] or found[4]).removeprefix("\\")
    return unicodedata.normalize("NFC", letter + ACCENTS[found[1] or found[2]])


def _entries(cursor: _Cursor) -> Iterator[tuple[int, str, dict[str, str]]]:
    """Yield start, key and fields of every entry; text between entries is ignored."""
    macros = {month: month for month in MONTHS}
    while found := _ENTRY.search(cursor.text, cursor.at):
        cursor.at = found.end()
        kind, start = found[1].lower(), found.start()
        if kind == "comment":
            continue
        if kind == "preamble":
            _value(cursor, start, macros)
        elif kind == "string":
            macros |= _fields(cursor, start, macros)
        else:
            key = cursor.take(_KEY)
            if key is None:
                raise NetworkError(
                    f"{cursor.place(start)}: the entry has no key; write it as @{kind}{{key, ...}}"
                )
            yield start, key, _fields(cursor, start, macros)


def _fields(cursor: _Cursor, start: int, macros: dict[str, str]) -> dict[str, str]:
    """Fields up to the end of the entry that begins at ``start``."""
    fields: dict[str, str] = {}
    while True:
        while cursor.peek() == ",":
            cursor.at += 1
        if cursor.peek() in ("}", ")"):
            cursor.at += 1
            return fields
        name = cursor.take(_NAME)
        if name is None:
            _raise_missing(cursor, start, "a field such as title = {...} or the closing brace")
        fields[name.lower()] = _value(cursor, start, macros)


def _value(cursor: _Cursor, start: int, macros: dict[str, str]) -> str:
    """Value of a field; parts separated by # are concatenated."""
    parts = [_part(cursor, start, macros)]
    while cursor.peek() == "#":
        cursor.at += 1
        parts.append(_part(cursor, start, macros))
    return "".join(parts)


def _part(cursor: _Cursor, start: int, macros: dict[str, str]) -> str:
    opening = cursor.peek()
    if opening in ("{", '"'):
        cursor.at += 1
        return _enclosed(cursor, start, quoted=opening == '"')
    word = cursor.take(_BARE)
    if word is None:
        _raise_missing(cursor, start, "a value in braces or quotes")
    return macros.get(word.lower(), word)


def _enclosed(cursor: _Cursor, start: int, *, quoted: bool) -> str:
    """Text up to the brace or quote that closes the value."""
    begin, depth = cursor.at, 0
    for found in (_QUOTE if quoted else _BRACE).finditer(cursor.text, begin):
        mark = found[0]
        if depth == 0 and mark == ('"' if quoted else "}"):
            cursor.at = found.end()
            return cursor.text[begin : found.start()]
        depth += {"{": 1, "}": -1}.get(mark, 0)
        if depth < 0:
            break
    cursor.at = begin
    return _raise_missing(cursor, start, f"the closing {'quote' if quoted else 'brace'}")


def _raise_missing(cursor: _Cursor, start: int, expected: str) -> NoReturn:
    found = " ".join(cursor.text[cursor.at : cursor.at + 30].split())
    raise NetworkError(
        f"{cursor.place(cursor.at)}: the entry that begins with "
        f"{cursor.text[start : start + 30].split()[0]!r} lacks {expected}, found {found!r}"
    )


def _links(entry: dict[str, str]) -> list[str]:
    keys = [key for name in LINKS for key in re.split(r"[\s,;]+", entry.get(name, "")) if key]
    return list(dict.fromkeys(key.strip("{}") for key in keys))


def _names(text: str) -> list[str]:
    return [name.strip() for name in re.split("[,;]", text) if name.strip()]
