"""Constraints on settings: declared in a field's annotation and checked by one function.

    epochs: Annotated[int, AtLeast(1)] = 40
    folds: Annotated[int, AtLeast(1)] | None = None
    word_dropout: Annotated[float, Range(0, 1, closed=False)] = 0.5
    loss: Literal["pointwise", "ranking"] = "ranking"

Type checkers see a plain ``int``, ``float`` or ``Literal``. ``check_fields`` reads the same
annotations at run time. All its messages have one form: what must hold, then what was found.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from dmte.errors import ConfigError

Number = int | float


@dataclass(frozen=True, slots=True)
class AtLeast:
    """A number that is not below ``low``."""

    low: Number

    def holds(self, value: Number) -> bool:
        """Return whether the number is large enough."""
        return value >= self.low

    def __str__(self) -> str:
        return f"of at least {self.low:g}"


@dataclass(frozen=True, slots=True)
class Above:
    """A number above ``low``."""

    low: Number

    def holds(self, value: Number) -> bool:
        """Return whether the number is large enough."""
        return value > self.low

    def __str__(self) -> str:
        return f"above {self.low:g}"


@dataclass(frozen=True, slots=True)
class Range:
    """A number from ``low`` to ``high``, which is excluded unless the range is closed."""

    low: Number
    high: Number
    closed: bool = True

    def holds(self, value: Number) -> bool:
        """Return whether the number is in the range."""
        return self.low <= value and (value <= self.high if self.closed else value < self.high)

    def __str__(self) -> str:
        return f"from {self.low:g} to {'' if self.closed else 'below '}{self.high:g}"


@dataclass(frozen=True, slots=True)
class Weights:
    """Numbers of at least 0 that are not all 0."""

    def holds(self, values: Sequence[Number]) -> bool:
        """Return whether none is negative and one is positive."""
        return min(values, default=0) >= 0 and any(values)

    def __str__(self) -> str:
        return "of at least 0, one of them above 0"


def check_fields(instance: Any, prefix: str = "") -> None:
    """Check every field of a dataclass, and of dataclasses in it, against its annotation.

    Raises:
        ConfigError: A value has the wrong type or violates a constraint.
    """
    for name, (hint, fits) in _tests(type(instance)).items():  # type: ignore[arg-type] # hashable
        value = getattr(instance, name)
        if not fits(value):
            raise _violation(f"{prefix}{name}", value, hint)
        if is_dataclass(value):
            check_fields(value, f"{prefix}{name}.")


def check_value(name: str, value: object, hint: Any) -> None:
    """Check a value against an annotation.

    >>> check_value("epochs", 0, Annotated[int, AtLeast(1)] | None)
    Traceback (most recent call last):
    ...
    dmte.errors.ConfigError: epochs must be a whole number of at least 1 or none, not 0

    Raises:
        ConfigError: The value has the wrong type or violates a constraint.
    """
    if not _test(hint)(value):
        raise _violation(name, value, hint)


def takes_fractions(hint: Any) -> bool:
    """Return whether an annotation allows numbers that are not whole.

    >>> takes_fractions(Annotated[float, AtLeast(1)] | None), takes_fractions(int)
    (True, False)
    """
    return hint is float or any(takes_fractions(one) for one in get_args(hint))


@cache
def _tests(kind: type) -> dict[str, tuple[Any, Callable[[Any], bool]]]:
    """Return the annotation of every field and its test; Settings are made by the thousand."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: (hint, _test(hint)) for name, hint in hints.items()}


def _test(hint: Any) -> Callable[[Any], bool]:
    """Return a function that tests a value for the type and the constraints of an annotation."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        choices = [_test(one) for one in inner]
        return lambda value: any(fits(value) for fits in choices)
    if origin is Annotated:
        has_type, holds = _test(inner[0]), inner[1].holds
        return lambda value: has_type(value) and holds(value)
    if origin is Literal:
        return lambda value: value in inner
    if origin is tuple:
        fits_one = _test(inner[0])
        return lambda value: isinstance(value, (tuple, list)) and all(map(fits_one, value))
    if hint in (int, float):
        return lambda value: _is_number(value, hint)
    return lambda value: isinstance(value, hint)


def _is_number(value: object, hint: type) -> bool:
    """Return whether a value is a finite number; Python counts truth values as whole numbers."""
    allowed = (int, float) if hint is float else int
    is_number = isinstance(value, allowed) and not isinstance(value, bool)
    return is_number and abs(value) <= sys.float_info.max  # type: ignore[arg-type]


def _violation(name: str, value: object, hint: Any) -> ConfigError:
    return ConfigError(f"{name} must be {_expected(hint)}, not {repr(value)[:60]}")


_EXPECTED = {bool: "true or false", int: "a whole number", float: "a number", NoneType: "none"}


def _expected(hint: Any) -> str:
    """Return an annotation in words."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(_expected(one) for one in inner)
    if origin is Annotated:
        return f"{_expected(inner[0])} {inner[1]}"
    if origin is Literal:
        return f"one of {', '.join(inner)}"
    if origin is tuple:
        return "numbers"
    return _EXPECTED.get(hint) or f"of the class {hint.__name__}"
