"""Constraints allow valid values and raise one sentence for others."""

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest

from dmte.constraints import Above, AtLeast, Range, Weights, check_fields, check_value
from dmte.errors import ConfigError

GOOD: list[tuple[Any, Any]] = [
    (Annotated[int, AtLeast(1)], 1),
    (Annotated[int, AtLeast(1)] | None, None),
    (Annotated[float, Above(0)], 1),  # A whole number is a number.
    (Annotated[float, Range(0, 4)], 4.0),
    (Annotated[tuple[float, ...], Weights()], [0, 0.5]),
    (Literal["a", "b"], "b"),
    (bool | None, False),
]
BAD: list[tuple[Any, Any, str]] = [
    (Annotated[int, AtLeast(1)], 0, "a whole number of at least 1, not 0"),
    (Annotated[int, AtLeast(1)], 1.0, "a whole number of at least 1, not 1.0"),
    (Annotated[int, AtLeast(1)], True, "a whole number of at least 1, not True"),
    (Annotated[int, AtLeast(1)] | None, "", "a whole number of at least 1 or none, not ''"),
    (Annotated[float, Above(0)], 0, "a number above 0, not 0"),
    (Annotated[float, Above(0)], float("inf"), "a number above 0, not inf"),
    (Annotated[float, Above(0)], 10**400, "a number above 0, not 1000"),
    (Annotated[float, Range(0, 4)], 4.1, "a number from 0 to 4, not 4.1"),
    (Annotated[float, Range(0, 1, closed=False)], 1.0, "a number from 0 to below 1, not 1.0"),
    (Annotated[tuple[float, ...], Weights()], (0.0,), "of at least 0, one of them above 0, not"),
    (Annotated[tuple[float, ...], Weights()], 1.0, "of at least 0, one of them above 0, not 1.0"),
    (Literal["a", "b"], "c", "one of a, b, not 'c'"),
    (bool, 1, "true or false, not 1"),
    (bool, None, "true or false, not None"),
]


@pytest.mark.parametrize(("hint", "value"), GOOD)
def test_a_value_that_fits_passes(hint: Any, value: object) -> None:
    check_value("it", value, hint)


@pytest.mark.parametrize(("hint", "value", "message"), BAD)
def test_an_invalid_value_raises(hint: Any, value: object, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_value("it", value, hint)
    assert message in str(caught.value)
    assert str(caught.value).startswith("it must be ")
    assert len(str(caught.value)) < 200


@dataclass
class Inner:
    """A dataclass that is a field of another."""

    weight: Annotated[float, AtLeast(0)] = 1.0


@dataclass
class Outer:
    """A dataclass with another one in it."""

    inner: Inner = field(default_factory=Inner)


def test_fields_of_a_nested_dataclass_have_its_name_as_a_prefix() -> None:
    check_fields(Outer())
    with pytest.raises(ConfigError, match=r"^inner\.weight must be a number of at least 0, not -1"):
        check_fields(Outer(Inner(-1.0)))
