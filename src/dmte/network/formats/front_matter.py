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


def _build(events: Iterable[Any]) -> Any:
    """The root of a document: a scalar event, a list, ``_Pairs``, or None if it is empty.

    PyYAML's ``compose`` recurses, and ten thousand nested lists crash the process. An alias
    is the value itself, so nested aliases take no memory.
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
    value: Any = event
    if isinstance(event, yaml.CollectionStartEvent):
        value = _Pairs() if isinstance(event, yaml.MappingStartEvent) else []
    if event.anchor:
        anchors[event.anchor] = value
    return value


def _check(event: Any, is_valid: bool, problem: str) -> None:  # noqa: FBT001 - the condition
    if not is_valid:
        raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)


def _known_values(root: _Pairs) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for key, value in zip(root[::2], root[1::2], strict=True):
        name = NAMES.get(key.value.lower(), "") if isinstance(key, yaml.ScalarEvent) else ""
        if name:
            texts = (text.strip() for text in _texts(name, value))
            clean = (text.removeprefix("#") if name == "tags" else text for text in texts)
            found.setdefault(name, []).extend(filter(None, clean))
    return {name: tuple(texts) for name, texts in found.items()}


def _texts(name: str, value: Any) -> list[str]:
    """A scalar, or the scalars of a list, as written."""
    if type(value) is list:
        return [_text(item) for item in value if isinstance(item, yaml.ScalarEvent)]
    if not isinstance(value, yaml.ScalarEvent):
        return []
    is_whole = name == "title" or value.style in QUOTES
    return [_text(value)] if is_whole else re.split(r"[,\n]", _text(value))


def _text(scalar: yaml.ScalarEvent) -> str:
    return "" if not scalar.style and scalar.value in NULLS else str(scalar.value)
