"""JSON that was stored, taken apart with a check of every value that is used.

    Stored.of(json.loads(text)).inner("network").text("name")

A value that is missing or of another kind raises ``DamageError`` with its place, ``network.name``.

A damaged text may still be valid JSON with another figure. So objects are stored with a checksum of
their text as the last value (``with_checksum``), which ``read_checked`` verifies.
"""

import hashlib
import json
import math
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class DamageError(ValueError):
    """A stored value is missing or of another kind; the message is its place."""


class ChecksumError(ValueError):
    """A text does not match its checksum."""

    def __init__(self) -> None:
        super().__init__("damaged, its checksum differs")


CHECKSUM = "sha256"
_AT_END = re.compile(rb',"%s":"([0-9a-f]{16})"\}[ \r\n\t]*\Z' % CHECKSUM.encode())


def with_checksum(text: str) -> str:
    """The text of a JSON object, with a checksum of this text as its last value.

    >>> with_checksum('{"auc": 0.9}')
    '{"auc": 0.9,"sha256":"bce0b3488e3cc2bd"}'
    """
    return f'{text[:-1]},"{CHECKSUM}":"{_checksum(text.encode())}"}}'


def read_checked(text: bytes) -> tuple[Any, bool]:
    """The value of a JSON text without its checksum, and whether it has one.

    Raises:
        ChecksumError: The text does not match its checksum.
        ValueError: The text is not JSON.
    """
    found = _AT_END.search(text)
    body = text if found is None else text[: found.start()] + b"}"
    value = json.loads(body)
    if found is None and not (isinstance(value, dict) and CHECKSUM in value):
        return value, False
    if found is None or found[1].decode() != _checksum(body):
        raise ChecksumError
    return value, True


def _checksum(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Stored:
    """A JSON object; taking out a value of another kind raises ``DamageError``."""

    values: Mapping[str, Any]
    place: str = ""

    @classmethod
    def of(cls, value: Any, place: str = "") -> "Stored":
        """Take a value that must be an object."""
        if not isinstance(value, dict):
            raise DamageError(place or "everything")
        return cls(value, place)

    def within(self, name: str | int) -> str:
        """Return the place of one of the values."""
        return f"{self.place}.{name}".strip(".")

    def text(self, name: str) -> str:
        """Return a string."""
        value = self.values.get(name)
        if not _is_text(value):
            raise DamageError(self.within(name))
        return str(value)

    def texts(self, name: str) -> list[str]:
        """Return a list of strings."""
        return check_texts(self.values.get(name), self.within(name))

    def flag(self, name: str) -> bool:
        """Return a truth value."""
        value = self.values.get(name)
        if not isinstance(value, bool):
            raise DamageError(self.within(name))
        return value

    def whole(self, name: str, high: int | None = None) -> int:
        """Return a whole number from 0 to another one."""
        value = self.values.get(name)
        if type(value) is not int or value < 0 or (high is not None and value > high):
            raise DamageError(self.within(name))
        return value

    def number(self, name: str, high: float = math.inf, low: float = 0.0) -> float:
        """Return a finite number from ``low`` to ``high``."""
        return check_number(self.values.get(name), self.within(name), high, low)

    def optional_number(self, name: str) -> float | None:
        """Return a number, or ``None`` if it is missing or null."""
        return None if self.values.get(name) is None else self.number(name)

    def shares(self, name: str) -> tuple[float, ...]:
        """Return a list of numbers between 0 and 1, at least one."""
        values, place = self.values.get(name), self.within(name)
        if not isinstance(values, list) or not values:
            raise DamageError(place)
        return tuple(check_number(one, f"{place}.{at}", 1.0) for at, one in enumerate(values))

    def inner(self, name: str) -> "Stored":
        """Return an object."""
        return Stored.of(self.values.get(name), self.within(name))

    def each(self, name: str) -> list["Stored"]:
        """Return the objects of a list, or of an object, at least one."""
        values, place = self.values.get(name), self.within(name)
        held = dict(enumerate(values)) if isinstance(values, list) else values
        if not isinstance(held, dict) or not held:
            raise DamageError(place)
        return [Stored.of(one, f"{place}.{key}") for key, one in held.items()]


def check_texts(values: Any, place: str) -> list[str]:
    """Return a value that must be a list of strings with a form in UTF-8."""
    if not isinstance(values, list):
        raise DamageError(place)
    for at, value in enumerate(values):
        if not _is_text(value):
            raise DamageError(f"{place}.{at}")
    return values


def _is_text(value: Any) -> bool:
    """Whether a value is a string with a form in UTF-8: JSON allows half of a surrogate pair."""
    if not isinstance(value, str):
        return False
    try:
        return value.isascii() or bool(value.encode())
    except UnicodeEncodeError:
        return False


def check_number(value: Any, place: str, high: float = math.inf, low: float = 0.0) -> float:
    """Return a value that must be a finite number from ``low`` to ``high``."""
    largest = sys.float_info.max
    if type(value) not in (int, float) or not max(low, -largest) <= value <= min(high, largest):
        raise DamageError(place)
    return float(value)
