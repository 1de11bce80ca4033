"""The front matter of a Markdown file: the lines between ``---`` at its top.

It is YAML, of which a subset is read: a name and a value, a list in brackets or with dashes, a text
with commas. Names other than those below, and whatever is nested deeper, are passed over.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

NAMES: Mapping[str, str] = MappingProxyType(
    {
        "title": "title",
        "tag": "tags",
        "tags": "tags",
        "keywords": "tags",
        "category": "tags",
        "categories": "tags",
        "alias": "aliases",
        "aliases": "aliases",
    }
)
"""What the names that are read mean."""

_BLOCK = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_LINE = re.compile(r"([A-Za-z_-]+)[ \t]*:(?:[ \t]+(.*)|[ \t]*)$")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)$")
_LIST = re.compile(r"\[(.*)\](?:\s+#.*)?$")
_VALUE = re.compile(r"\s*(\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'|[^,]+)")


def split_front_matter(source: str) -> tuple[dict[str, tuple[str, ...]], str]:
    r"""Return what the front matter says by ``NAMES``, and the text below it.

    >>> split_front_matter("---\ntags: [a, 'b c']\ntitle: A: b\n---\nText")
    ({'tags': ('a', 'b c'), 'title': ('A: b',)}, 'Text')
    >>> split_front_matter("---\ntags:\n  - a\n  - b\n---\n")[0]
    {'tags': ('a', 'b')}
    """
    block = _BLOCK.match(source)
    if block is None:
        return {}, source
    found: dict[str, tuple[str, ...]] = {}
    name = ""
    for line in block[1].split("\n"):
        start, item = _LINE.match(line), _ITEM.match(line)
        if start is not None:
            name = NAMES.get(start[1].lower(), "")
            values = _values(name, start[2] or "")
        elif item is not None:
            values = (_unquoted(item[1]),)
        else:
            continue
        if name:
            clean = (value.removeprefix("#") if name == "tags" else value for value in values)
            found[name] = (*found.get(name, ()), *(value for value in clean if value))
    return found, source[block.end() :]


def _values(name: str, text: str) -> tuple[str, ...]:
    text = text.strip()
    if name == "title":
        return (_unquoted(text),)
    listed = _LIST.match(text)
    return tuple(map(_unquoted, _VALUE.findall(text if listed is None else listed[1])))


def _unquoted(text: str) -> str:
    """Return a value without its quotes, or without the comment behind it.

    >>> _unquoted('"a # b"'), _unquoted("'it''s'"), _unquoted("a # note"), _unquoted("null")
    ('a # b', "it's", 'a', '')
    """
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    text = re.split(r"(?:^|\s)#(?=\s)", text)[0].strip()
    return "" if text in ("null", "~", "[]", "|", ">", "|-", ">-") else text
