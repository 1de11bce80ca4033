"""The front matter of a Markdown file: YAML between ``---`` at its top.

Only the names in ``NAMES`` are read. A value is a text, a list of texts, or texts separated by
commas. Scalars are not converted: ``1.0`` and ``2024-01-02`` remain text.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import yaml

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
"""Names in a front matter, and the part of a note that each one sets."""
LONGEST_NAME = max(map(len, NAMES))

_BLOCK = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)

MAX_DEPTH = 100
"""Maximum depth of nested lists; libyaml is slow with many more."""
NULLS, QUOTES = frozenset({"", "~", "null", "Null", "NULL"}), frozenset({"'", '"'})
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # Some builds of PyYAML lack libyaml.


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """Parsed front matter."""

    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    problem: str = ""
    """Why it cannot be read; empty if it can."""


def split_front_matter(source: str) -> tuple[FrontMatter, str]:
    r"""The front matter and the text below it.

    A block that is not a mapping, such as a paragraph between two rules, is text.

    >>> front, text = split_front_matter("---\ntags: [a, 'b c']\ntitle: 2024-01-02\n---\nText")
    >>> front.values, text
    ({'tags': ('a', 'b c'), 'title': ('2024-01-02',)}, 'Text')
    >>> split_front_matter("---\ntitle: A: b\n---\n")[0].problem
    'line 2: mapping values are not allowed in this context'
    """
    block = _BLOCK.match(source)
    if block is None:
        return FrontMatter(), source
    body = source[block.end() :]
    try:
        root = _build(yaml.parse(block[1], Loader=LOADER))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 1  # The first line is ---.
        return FrontMatter(problem=f"line {line}: {error.problem}"), body
    except (yaml.YAMLError, ValueError, OverflowError):  # The last two: not Unicode.
        return FrontMatter(problem="line 1: it has characters that YAML does not allow"), body
    if root is None:
        return FrontMatter(), body
    if not isinstance(root, _Pairs):
        return FrontMatter(), source
    return FrontMatter(_known_values(root)), body


class _Pairs(list[Any]):
    """Keys and values of a mapping, alternating."""


class _Quoted(str):
    """A scalar in quotes, which is one text even with commas in it."""

    __slots__ = ()


def _build(events: Iterable[Any]) -> Any:
    """The root of a document: a scalar, a list, ``_Pairs``, or None if it is empty.

    PyYAML's ``compose`` recurses, and ten thousand nested lists crash the process. An alias
    is the value itself, so nested aliases take no memory. No event is kept: Python would search
    all of them for garbage again and again.
    """
    open_values: list[list[Any]] = [[]]
    anchors: dict[str | None, Any] = {}
    for event in events:
        if isinstance(event, yaml.CollectionEndEvent):
            open_values.pop()
        elif isinstance(event, yaml.NodeEvent):
            value = _value(event, anchors)
            open_values[-1].append(value)
            if isinstance(event, yaml.CollectionStartEvent):
                open_values.append(value)
                _check(event, len(open_values) <= MAX_DEPTH, "lists are nested too deeply")
    return next(iter(open_values[0]), None)


def _value(event: Any, anchors: dict[str | None, Any]) -> Any:
    """The value that begins with this event."""
    if isinstance(event, yaml.AliasEvent):
        _check(event, event.anchor in anchors, f"unknown anchor {event.anchor!r}")
        return anchors[event.anchor]
    value: Any
    if isinstance(event, yaml.MappingStartEvent):
        value = _Pairs()
    elif isinstance(event, yaml.SequenceStartEvent):
        value = []
    else:
        value = _scalar(event)
    if event.anchor:
        anchors[event.anchor] = value
    return value


def _scalar(event: yaml.ScalarEvent) -> str:
    if event.style in QUOTES:
        return _Quoted(event.value)
    return "" if not event.style and event.value in NULLS else str(event.value)


def _check(event: Any, is_valid: bool, problem: str) -> None:  # noqa: FBT001 - the condition
    if not is_valid:
        raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)


def _known_values(root: _Pairs) -> dict[str, tuple[str, ...]]:
    """The texts under every known name, without repetitions.

    A value that aliases repeat is read once per name: a short file can repeat a long list often.
    """
    found: dict[str, dict[str, None]] = {}
    seen: set[tuple[str, int]] = set()
    for key, value in zip(root[::2], root[1::2], strict=True):
        is_short = isinstance(key, str) and len(key) <= LONGEST_NAME
        name = NAMES.get(key.lower(), "") if is_short else ""
        if name and (name, id(value)) not in seen:
            seen.add((name, id(value)))
            found.setdefault(name, {}).update(dict.fromkeys(_texts(name, value)))
    return {name: _clean(name, texts) for name, texts in found.items()}


def _clean(name: str, texts: Iterable[str]) -> tuple[str, ...]:
    stripped = (text.strip() for text in texts)
    clean = (text.removeprefix("#") if name == "tags" else text for text in stripped)
    return tuple(dict.fromkeys(filter(None, clean)))


def _texts(name: str, value: Any) -> list[str]:
    """A scalar, or the scalars of a list, as written."""
    if type(value) is list:
        return [item for item in value if isinstance(item, str)]
    if not isinstance(value, str):
        return []
    is_whole = name == "title" or isinstance(value, _Quoted)
    return [value] if is_whole else re.split(r"[,\n]", value)
