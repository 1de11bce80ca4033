"""Settings in a file that people read and write: TOML, or JSON.

A file sets some of the settings, by the names in ``Settings``; the others keep their values:

    encoder = "word-average"
    dim = 200
    hop_weights = [1.0, 0.3, 0.1]

    [objective]
    text_text = 1.0

TOML has no null, so ``"none"`` stands for None. JSON may use ``null`` as well.
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass, replace
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_type_hints

from dmte.constraints import check_value, takes_fractions
from dmte.errors import ConfigError
from dmte.runtime.spelling import close_names
from dmte.settings import Settings

NONE = "none"
_READERS = {".toml": tomllib.loads, ".json": json.loads}


def read_settings(path: Path | str, start: Settings | None = None) -> Settings:
    """Return ``start``, by default the recommended recipe, with the changes of a file.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "settings.toml")
    ...     _ = file.write_text("dim = 64")
    ...     read_settings(file).dim
    64

    Raises:
        ConfigError: The file cannot be read, a name is not a setting, or a value is out of range.
    """
    start = Settings() if start is None else start
    return change_settings(start, path, {})


def change_settings(start: Settings, path: Path | str, more: Mapping[str, Any]) -> Settings:
    """Return ``start`` with the changes of a file, and then those of ``more``.

    Rules between settings are checked at the end: one may need a value that only the other sets.

    Raises:
        ConfigError: The file cannot be read, a name is not a setting, or a value is out of range.
    """
    path = Path(path)
    changes = _changes(str(path), _parse(path), start)
    try:
        return replace(start, **(changes | dict(more)))
    except ConfigError as problem:
        raise ConfigError(f"{problem} (with the settings of {path})") from problem


def settings_text(settings: Settings, notes: Sequence[str] = ()) -> str:
    """Return every setting as TOML, after the notes as comments.

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
    return json.dumps(value)  # TOML and JSON write text, numbers and truth values alike.


def _parse(path: Path) -> dict[str, Any]:
    if path.suffix.lower() not in _READERS:
        raise ConfigError(f"a settings file must end in {' or '.join(_READERS)}, not {path}")
    try:
        values = _READERS[path.suffix.lower()](path.read_text("utf-8"))
    except OSError as problem:
        raise ConfigError(f"{path} cannot be read: {problem.strerror}") from problem
    except (ValueError, RecursionError) as problem:
        raise ConfigError(f"{path} is not {path.suffix[1:].upper()}: {problem}") from problem
    if not isinstance(values, dict):
        raise ConfigError(f"{path} must hold names with values, as in {{'dim': 200}}")
    return values


def _changes(place: str, values: Any, start: Any) -> dict[str, Any]:
    """Return the fields of the dataclass ``start`` that a table changes, checked one by one."""
    hints = get_type_hints(type(start), include_extras=True)
    if not isinstance(values, dict):
        raise ConfigError(f"{place} must be a table with {', '.join(hints)}, not {values!r:.60}")
    changes = {}
    for name, value in values.items():
        if name not in hints:
            raise ConfigError(f"{place}: {name!r:.60} is not a setting{_hint(name, hints)}")
        before, inside = getattr(start, name), f"{place}: {name}"
        if is_dataclass(before):
            changes[name] = replace(before, **_changes(inside, value, before))  # type: ignore[type-var]
        else:
            changes[name] = _checked(inside, value, hints[name])
    return changes


def _hint(name: str, known: Mapping[str, Any]) -> str:
    close = close_names(name, known, 2)
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


def _checked(name: str, value: Any, hint: Any) -> Any:
    """Return a value of the file as its setting holds it: None, tuples, and floats for floats."""
    if value == NONE and NoneType in get_args(hint):
        return None
    check_value(name, value, hint)
    if isinstance(value, list):
        return tuple(map(float, value))
    return float(value) if takes_fractions(hint) and value is not None else value
