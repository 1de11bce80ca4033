"""Stored JSON: values of the right kind are returned, others refused with their place."""

from typing import Any

import pytest

from dmte.storage.stored_json import DamageError, Stored

WHOLE: dict[str, Any] = {
    "name": "cora",
    "seconds": 3,
    "peak": None,
    "network": {"vertices": 2, "directed": False, "ids": ["a", "é"]},
    "rows": [{"auc": [0.9, 1]}, {"auc": [0]}],
}


def read(values: Any) -> list[Any]:
    stored = Stored.of(values)
    return [
        stored.text("name"),
        stored.number("seconds"),
        stored.optional_number("peak"),
        stored.inner("network").number("vertices", high=5.0),
        stored.inner("network").whole("vertices", high=5),
        stored.inner("network").flag("directed"),
        stored.inner("network").texts("ids"),
        *(row.shares("auc") for row in stored.each("rows")),
    ]


def test_values_of_the_right_kind_are_returned_and_others_ignored() -> None:
    assert read(WHOLE | {"more": 1}) == [
        *("cora", 3.0, None, 2.0, 2, False, ["a", "é"]),
        *((0.9, 1.0), (0.0,)),
    ]
    named = {"first": {"auc": [0.5]}}
    assert read(WHOLE | {"rows": named})[-1] == (0.5,)


@pytest.mark.parametrize(
    ("values", "place"),
    [
        (None, "everything"),
        ([], "everything"),
        ({}, "name"),
        (WHOLE | {"name": 3}, "name"),
        (WHOLE | {"seconds": "3"}, "seconds"),
        (WHOLE | {"seconds": True}, "seconds"),
        (WHOLE | {"seconds": float("inf")}, "seconds"),
        (WHOLE | {"peak": -1}, "peak"),
        (WHOLE | {"network": []}, "network"),
        (WHOLE | {"network": {"vertices": 6}}, "network.vertices"),
        *(
            (WHOLE | {"network": WHOLE["network"] | {name: value}}, f"network.{place}")
            for name, value, place in [
                ("vertices", 2.0, "vertices"),
                ("vertices", True, "vertices"),
                ("vertices", -1, "vertices"),
                ("vertices", 10**400, "vertices"),
                ("directed", 0, "directed"),
                ("ids", "ab", "ids"),
                ("ids", {"0": "a"}, "ids"),
                ("ids", ["a", 3], "ids.1"),
                ("ids", ["\ud800"], "ids.0"),
            ]
        ),
        (WHOLE | {"name": "\udc00"}, "name"),
        (WHOLE | {"seconds": 10**400}, "seconds"),
        (WHOLE | {"rows": []}, "rows"),
        (WHOLE | {"rows": "auc"}, "rows"),
        (WHOLE | {"rows": [{"auc": [1]}, {}]}, "rows.1.auc"),
        (WHOLE | {"rows": [{"auc": [1, float("nan")]}]}, "rows.0.auc.1"),
        (WHOLE | {"rows": {"first": {"auc": [1.5]}}}, "rows.first.auc.0"),
    ],
)
def test_a_damaged_value_is_named_by_its_place(values: Any, place: str) -> None:
    with pytest.raises(DamageError) as refused:
        read(values)
    assert str(refused.value) == place
