"""The front matter of a Markdown file: YAML between ``---`` at its top.

Only the names in ``NAMES`` are read; their values are a text, a list of texts, or texts separated
by commas. Every scalar is text: ``1.0`` and ``2024-01-02`` stay as they are written.
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
"""The names that are read, and the part of a note that each one gives."""

_BLOCK = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)

DEEPEST = 100
"""Lists within lists that a front matter may have; with many more, libyaml takes long."""

NULLS, QUOTES = frozenset({"", "~", "null", "Null", "NULL"}), frozenset({"'", '"'})

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml is not in every build of PyYAML.


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The values that a front matter gives to ``NAMES``."""

    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    problem: str = ""
    """Why it cannot be read; empty if it can."""


def split_front_matter(source: str) -> tuple[FrontMatter, str]:
    r"""Return the front matter, and the text below it.

    A block that is not a mapping, such as a paragraph between two rules, belongs to the text.

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
    except (yaml.YAMLError, ValueError, OverflowError):  # The last two for what is not Unicode.
        return FrontMatter(problem="line 1: it has characters that YAML does not allow"), body
    if root is None:
        return FrontMatter(), body
    if not isinstance(root, _Pairs):
        return FrontMatter(), source
    return FrontMatter(_known_values(root)), body


class _Pairs(list[Any]):
    """The keys and values of a mapping, in turn."""


def _build(events: Iterable[Any]) -> Any:
    """Return the root of a document: a scalar event, a list, ``_Pairs``, or None without any.

    PyYAML's own ``compose`` recurses, and lists nested ten thousand deep end the process.
    An alias is the value itself, so aliases within aliases take no memory.
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
                _check(event, len(open_values) <= DEEPEST, "lists are nested too deeply")
    return next(iter(open_values[0]), None)


def _value(event: Any, anchors: dict[str | None, Any]) -> Any:
    """Return the value that begins with this event."""
    if isinstance(event, yaml.AliasEvent):
        _check(event, event.anchor in anchors, f"no anchor is called {event.anchor!r}")
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
    """Return a scalar, or the scalars of a list, as they are written: ``yes`` stays ``yes``."""
    if type(value) is list:
        return [_text(item) for item in value if isinstance(item, yaml.ScalarEvent)]
    if not isinstance(value, yaml.ScalarEvent):
        return []
    is_whole = name == "title" or value.style in QUOTES
    return [_text(value)] if is_whole else re.split(r"[,\n]", _text(value))


def _text(scalar: yaml.ScalarEvent) -> str:
    return "" if not scalar.style and scalar.value in NULLS else str(scalar.value)
