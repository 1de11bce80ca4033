"""The search space: every point is settings, and the recipes are points."""

import itertools
from dataclasses import fields, replace
from typing import Any

import pytest
import torch

from dmte.config import RECIPES, Settings
from dmte.tuning.space import NEARBY, SPACE, Choice, Whole, point_of, settings_of


def test_every_searched_name_is_a_setting_or_stands_for_one() -> None:
    known = {setting.name for setting in fields(Settings)}
    assert set(SPACE) - known == {"recipe", "hops", "decay"}


def test_every_combination_of_choices_is_settings() -> None:
    choices = {name: kind.options for name, kind in SPACE.items() if isinstance(kind, Choice)}
    start = point_of("paper")
    for options in itertools.product(*choices.values()):
        point = start | dict(zip(choices, options, strict=True))
        found = settings_of(point)
        for name in set(choices) - {"recipe", "dim"}:
            assert getattr(found, name) == point[name]


@pytest.mark.parametrize("end", ["low", "high"])
def test_the_ends_of_every_range_are_settings(end: str) -> None:
    for name, kind in SPACE.items():
        if not isinstance(kind, Choice):
            settings_of(point_of("recommended") | {name: getattr(kind, end)})


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_is_close_to_its_point(recipe: str) -> None:
    found, exact = settings_of(point_of(recipe)), RECIPES[recipe]
    assert replace(found, hop_weights=exact.hop_weights) == exact
    torch.testing.assert_close(found.hop_weights, exact.hop_weights, atol=0.02, rtol=0)


@pytest.mark.parametrize("change", NEARBY)
def test_points_close_by_lie_in_the_space(change: dict[str, Any]) -> None:
    for name, value in change.items():
        kind = SPACE[name]
        if isinstance(kind, Choice):
            assert value in kind.options
        else:
            assert kind.low <= value <= kind.high
            assert not isinstance(kind, Whole) or isinstance(value, int)
    assert settings_of(point_of("recommended") | change) != RECIPES["recommended"]
