"""Settings in a file that people read and write: TOML, or JSON.

A file names the settings it changes, by the names of ``Settings``; the others stay as they were:

    encoder = "word-average"
    dim = 200
    hop_weights = [1.0, 0.3, 0.1]

    [objective]
    text_text = 1.0

TOML has no word for "none", so ``"none"`` stands for it where a setting may be left open. In JSON
it may be ``null`` as well.
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from dmte.errors import ConfigError
from dmte.runtime.spelling import close_names
from dmte.settings import ObjectiveWeights, Settings

NONE = "none"
_READERS = {".toml": tomllib.loads, ".json": json.loads}
_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text in quotes"}


def read_settings(path: Path | str, start: Settings | None = None) -> Settings:
    """Return ``start``, by default the recommended recipe, with what the file says put in.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "settings.toml")
    ...     _ = file.write_text("dim = 64")
    ...     read_settings(file).dim
    64

    Raises:
        ConfigError: The file cannot be read, a name is no setting, or a value does not fit.
    """
    start = Settings() if start is None else start
    return change_settings(start, path, {})


def change_settings(start: Settings, path: Path | str, more: Mapping[str, Any]) -> Settings:
    """Return ``start`` with what the file says put in, and ``more`` on top of it.

    They are checked together, since what one of them leaves open the other may say.

    Raises:
        ConfigError: The file cannot be read, a name is no setting, or a value does not fit.
    """
    changes = _read_changes(Path(path), start)
    try:
        return replace(start, **(changes | dict(more)))
    except ConfigError as problem:
        raise ConfigError(f"{problem} (with the settings of {path})") from problem


def settings_text(settings: Settings, notes: Sequence[str] = ()) -> str:
    """Return every setting as TOML, under the notes as comments.

    >>> print(settings_text(Settings(dim=64), ["width chosen by eye"]).splitlines()[:3])
    ['# width chosen by eye', '', 'encoder = "spectral"']
    """
    values = settings.to_dict()
    tables = {name: value for name, value in values.items() if isinstance(value, dict)}
    lines = [f"# {note}" if note else "#" for note in notes]
    lines += [""] if notes else []
    lines += [f"{name} = {_toml(v)}" for name, v in values.items() if name not in tables]
    for name, table in tables.items():
        lines += ["", f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    if value is None:
        return json.dumps(NONE)
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value)  # Texts, numbers and truth values are written alike.


def _read_changes(path: Path, start: Settings) -> dict[str, Any]:
    """Return what the file says, checked for names and types."""
    kinds = get_type_hints(Settings)
    values = _parse(path)
    for name in values:
        if name not in kinds:
            raise ConfigError(f"{path} has {name!r:.60}, which is no setting{_hint(name, kinds)}")
    changes = {}
    for name, value in values.items():
        if kinds[name] is ObjectiveWeights:
            changes[name] = _weights(f"{path}: {name}", value, getattr(start, name))
        else:
            changes[name] = _fit(f"{path}: {name}", value, kinds[name])
    return changes


def _parse(path: Path) -> dict[str, Any]:
    if path.suffix.lower() not in _READERS:
        raise ConfigError(f"a file of settings ends in {' or '.join(_READERS)}, not as {path} does")
    try:
        values = _READERS[path.suffix.lower()](path.read_text("utf-8"))
    except OSError as problem:
        raise ConfigError(f"{path} cannot be read: {problem.strerror}") from problem
    except (ValueError, RecursionError) as problem:
        raise ConfigError(f"{path} is no {path.suffix[1:].upper()}: {problem}") from problem
    if not isinstance(values, dict):
        raise ConfigError(f"{path} holds no names with values, as in {{'dim': 200}}")
    return values


def _hint(name: str, known: Mapping[str, Any]) -> str:
    close = close_names(name, known, 2)
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


def _fit(what: str, value: Any, kind: Any) -> Any:
    """Return the value as a setting of this kind holds it.

    Raises:
        ConfigError: It does not fit.
    """
    inner, may_be_none = _without_none(kind)
    if may_be_none and (value is None or value == NONE):
        return None
    if get_origin(inner) is tuple:
        if not isinstance(value, list):
            raise ConfigError(
                f"{what} takes numbers in brackets, as in [1, 0.3], not {value!r:.60}"
            )
        return tuple(_fit(what, number, get_args(inner)[0]) for number in value)
    # A truth value is a whole number to Python, and a whole number is as good as a broken one.
    fits = isinstance(value, (int, float) if inner is float else inner)
    if not fits or (isinstance(value, bool) and inner is not bool):
        also = f' or "{NONE}"' if may_be_none else ""
        raise ConfigError(
            f"{what} takes {_KINDS.get(inner, inner.__name__)}{also}, not {value!r:.60}"
        )
    try:
        return inner(value)
    except OverflowError as problem:
        raise ConfigError(f"{what} is too large a number") from problem


def _without_none(kind: Any) -> tuple[Any, bool]:
    """Return the kind that a kind or none is made of, and whether none is allowed."""
    if not isinstance(kind, UnionType):
        return kind, False
    return next(inner for inner in get_args(kind) if inner is not type(None)), True


def _weights(what: str, value: Any, start: ObjectiveWeights) -> ObjectiveWeights:
    parts = {part.name: float for part in fields(ObjectiveWeights)}
    if not isinstance(value, dict):
        raise ConfigError(f"{what} takes a table with {', '.join(parts)}, not {value!r:.60}")
    for part in value:
        if part not in parts:
            raise ConfigError(
                f"{what} has {part!r:.60}, which is no part of it{_hint(part, parts)}"
            )
    return replace(start, **{part: _fit(f"{what}.{part}", v, float) for part, v in value.items()})
