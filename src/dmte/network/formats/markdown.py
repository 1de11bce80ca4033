"""One Markdown file: title, text, labels and links."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from dmte.network.formats.front_matter import split_front_matter

_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})([^\n]*)")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)|%%.*?%%", re.DOTALL)
_TICKS = re.compile("`+")
_MARK = re.compile("\0(\\d+)\0")
_WIKI = re.compile(r"(!?)\[\[([^\[\]\n|]*+)(?:\|([^\[\]\n]*+))?\]\]")
_TITLE = r"(?:\s+(?:\"[^\"\n]*+\"|'[^'\n]*+'|\([^()\n]*+\)))?"
_INLINE = re.compile(
    r"(?<!\\)!?\[((?:[^\[\]]|\[[^\[\]]{0,200}+\]){0,400}+)\]"
    r"\(\s*+(<[^<>\n]*+>|[^\s()<>]*+(?:\([^\s()]*+\)[^\s()]*+)*+)" + _TITLE + r"\s*+\)"
)
_DEFINITION = re.compile(
    r"^ {0,3}\[(?!\^)([^\[\]\n]{1,1000}+)\]:[ \t]*+(<[^<>\n]*+>|\S++)" + _TITLE + r"[ \t]*+$",
    re.MULTILINE,
)
_REFERENCE = re.compile(r"!?\[([^\[\]]{1,1000}+)\](?:\[([^\[\]]{0,1000}+)\])?")
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(\S.*)$", re.MULTILINE)
_UNDERLINED = re.compile(r"^ {0,3}(\S[^\n]*)\n {0,3}(?:={2,}|-{2,})[ \t]*$", re.MULTILINE)
_TAG = re.compile(r"(?<![^\s(,;])#([\w/-]*[^\W\d][\w/-]*)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_MARKUP = (
    (re.compile(r"^[ \t>]*(?:(?:[-=*_|:+][ \t]*){3,}|=+|:::.*)$", re.MULTILINE), " "),
    (re.compile(r"^import [^\n]+ from ['\"][^\n]*$", re.MULTILINE), ""),  # of MDX
    (re.compile(r"^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?:\[[ xX]\][ \t]+)?", re.MULTILINE), ""),
    (re.compile(r"^#{1,6}[ \t]+|[ \t]#+[ \t]*$", re.MULTILINE), ""),
    (re.compile(r"\[!\w+\][-+]?|\[\^[^\]\s]{0,100}\]:?|[ \t]\^[\w-]+$", re.MULTILINE), " "),
    (re.compile(r"</?[A-Za-z][^<>]{0,2000}>|\bhttps?://\S+|\{[#:][^{}\n]*\}"), " "),
    (re.compile(r"(?<!\\)(?:\*+|[|`])|~~|==|(?<!\w)_+|(?<!_)_++(?!\w)"), ""),
)
"""Markup and its replacement, applied in this order."""

_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


@dataclass(frozen=True, slots=True)
class Link:
    """A link as it is written."""

    target: str
    wiki: bool
    """Whether it is a wiki link, in double brackets: a name instead of a path."""


@dataclass(frozen=True, slots=True)
class Note:
    """The content of a Markdown file."""

    title: str
    """The title in the front matter, or the first heading; empty without both."""
    text: str
    labels: tuple[str, ...]
    aliases: tuple[str, ...]
    links: tuple[Link, ...]
    problem: str = ""
    """Why the front matter cannot be read; empty if it can."""


def parse_note(source: str) -> Note:
    r"""Parse a Markdown file.

    >>> note = parse_note("# Trees\nA *tree* is a [graph](graph.md), see [[cycle|cycles]]. #math")
    >>> note.title, note.text, note.labels
    ('Trees', 'A tree is a graph, see cycles. math', ('math',))
    >>> [link.target for link in note.links]
    ['cycle', 'graph.md']
    """
    front, body = split_front_matter(source.replace("\r\n", "\n").replace("\r", "\n"))
    about = front.values
    body, spans = _mark_code_spans(_without_code_blocks(body))
    links, body = _take_links(_COMMENT.sub(" ", body), spans)
    title, body = _take_title(" ".join(about.get("title", ())), body)
    tags = [tag.strip("/") for tag in _TAG.findall(body)]
    return Note(
        title=_restore(_plain(title), spans),
        text=_restore(_plain(_TAG.sub(r"\1", body)), spans),
        labels=tuple(dict.fromkeys([*about.get("tags", ()), *tags])),
        aliases=about.get("aliases", ()),
        links=tuple(dict.fromkeys(links)),
        problem=front.problem,
    )


def _without_code_blocks(text: str) -> str:
    """Remove fenced blocks; an unclosed fence runs to the end."""
    kept, fence = [], ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if fence:
            closes = found is not None and found[1].startswith(fence) and not found[2].strip()
            fence = "" if closes else fence
        elif found is not None and not ("`" in found[1] and "`" in found[2]):
            fence = found[1]
        else:
            kept.append(line)
    return "\n".join(kept)


def _mark_code_spans(text: str) -> tuple[str, list[str]]:
    """Replace every code span by a mark; return the text and the spans.

    A span ends at the next run of equally many backticks in its paragraph.
    """
    spans: list[str] = []
    parts, end = [], 0
    ticks = [*_TICKS.finditer(text)]
    following: dict[int, list[re.Match[str]]] = {}
    for run in reversed(ticks):
        following.setdefault(len(run[0]), []).append(run)
    for run in ticks:
        same = following[len(run[0])]
        same.pop()
        words = text[run.end() : same[-1].start()] if same else "\n\n"
        if run.start() < end or "\n\n" in words:
            continue
        parts += [text[end : run.start()], f"\0{len(spans)}\0"]
        spans.append(words)
        end = same[-1].end()
    return "".join([*parts, text[end:]]), spans


def _restore(text: str, spans: list[str]) -> str:
    return " ".join(_MARK.sub(lambda found: spans[int(found[1])], text).split())


def _take_links(text: str, spans: list[str]) -> tuple[list[Link], str]:
    """The links of a text, and the text with each link replaced by its words."""
    links: list[Link] = []

    def normal(name: str) -> str:
        return _restore(name, spans).casefold()

    def take_wiki(found: re.Match[str]) -> str:
        target = found[2].replace("\\", "").split("#")[0].strip()
        if target:
            links.append(Link(target, wiki=True))
        return "" if found[1] else found[3] or target.rpartition("/")[2]

    def take_inline(found: re.Match[str]) -> str:
        links.extend(_file_links(found[2]))
        return _INLINE.sub(take_inline, found[1])

    def take_reference(found: re.Match[str]) -> str:
        name = normal(found[2] or found[1])
        if name not in places:
            return found[0]
        links.extend(_file_links(places[name]))
        return found[1]

    text = _WIKI.sub(take_wiki, text)
    text = _INLINE.sub(take_inline, text)
    places = {normal(found[1]): found[2] for found in reversed([*_DEFINITION.finditer(text)])}
    if places:
        text = _REFERENCE.sub(take_reference, _DEFINITION.sub("", text))
    return links, text


def _file_links(destination: str) -> Iterator[Link]:
    """Yield the link if its destination is another file, not a web address."""
    destination = destination.removeprefix("<").removesuffix(">")
    target = unquote(destination.split("#")[0].split("?")[0]).strip()
    if target and not _SCHEME.match(destination):
        yield Link(target, wiki=False)


def _take_title(title: str, body: str) -> tuple[str, str]:
    """The title, and the body without it if it is the first heading."""
    found = min(
        filter(None, (_HEADING.search(body), _UNDERLINED.search(body))),
        key=lambda heading: heading.start(),
        default=None,
    )
    heading = "" if found is None else found[1].rstrip("# \t")
    if found is None or title not in ("", heading):
        return title, body
    return heading, f"{body[: found.start()]}\n{body[found.end() :]}"


def _plain(text: str) -> str:
    for pattern, replacement in _MARKUP:
        text = pattern.sub(replacement, text)
    text = _ESCAPE.sub(r"\1", text)
    return " ".join(html.unescape(text).split())
