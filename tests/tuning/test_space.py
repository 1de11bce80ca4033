"""The search space: every point is settings, and the recipes are points."""

import itertools
from dataclasses import fields, replace

import pytest
import torch

from dmte.recipes import RECIPES
from dmte.settings import WORD_SETTINGS, Settings
from dmte.tuning.space import OPEN, SPACE, Choice, Space, Whole

NUMBERS = {"word_dropout", "softmax_weight"}
"""Choices that no other setting depends on."""


@pytest.fixture(params=["words", "features"])
def space(request: pytest.FixtureRequest) -> Space:
    return SPACE if request.param == "words" else SPACE.without_words()


def test_every_searched_name_is_a_setting_or_maps_to_one(space: Space) -> None:
    known = {setting.name for setting in fields(Settings)}
    assert set(space.ranges) - known == {"recipe", "hops", "hop_decay"}


@pytest.mark.medium
def test_every_combination_of_choices_is_settings(space: Space) -> None:
    choices = {
        name: kind.options
        for name, kind in space.ranges.items()
        if isinstance(kind, Choice) and name not in NUMBERS
    }
    start = space.point_of("paper")
    for options in itertools.product(*choices.values()):
        point = start | dict(zip(choices, options, strict=True))
        found = space.settings_of(point)
        for name in set(choices) - {"recipe", "dim", *WORD_SETTINGS}:
            assert getattr(found, name) == point[name]
        for name in set(choices) & set(WORD_SETTINGS):
            expected = None if point[name] == OPEN else point[name]
            assert getattr(found, name) is (expected if found.encoder == "spectral" else False)


@pytest.mark.parametrize("name", sorted(NUMBERS))
def test_a_number_may_be_open(name: str) -> None:
    kind, default = SPACE.ranges[name], SPACE.point_of("recommended")
    assert isinstance(kind, Choice)
    assert default[name] == OPEN
    for option in kind.options:
        found = getattr(SPACE.settings_of(default | {name: option}), name)
        assert found == (None if option == OPEN else option)


def test_negatives_are_searched_if_they_are_shared() -> None:
    for recipe, expected in (("recommended", 300), ("paper", RECIPES["paper"].num_negatives)):
        point = SPACE.point_of(recipe) | {"num_negatives": 300}
        assert SPACE.settings_of(point).num_negatives == expected


@pytest.mark.parametrize("end", ["low", "high"])
def test_the_ends_of_every_range_are_settings(space: Space, end: str) -> None:
    for name, kind in space.ranges.items():
        if not isinstance(kind, Choice):
            space.settings_of(space.point_of("recommended") | {name: getattr(kind, end)})


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_is_close_to_its_point(space: Space, recipe: str) -> None:
    found, exact = space.settings_of(space.point_of(recipe)), space.recipes[recipe]
    assert replace(found, hop_weights=exact.hop_weights) == exact
    torch.testing.assert_close(found.hop_weights, exact.hop_weights, atol=0.02, rtol=0)


def test_nearby_points_lie_in_the_space(space: Space) -> None:
    default = space.point_of("recommended")
    for change in space.nearby:
        for name, value in change.items():
            kind = space.ranges[name]
            if isinstance(kind, Choice):
                assert value in kind.options
            else:
                assert kind.low <= value <= kind.high
                assert not isinstance(kind, Whole) or isinstance(value, int)
        assert space.settings_of(default | dict(change)) != space.recipes["recommended"]


def test_without_words_every_recipe_reads_features_and_leaves_no_word_out() -> None:
    space = SPACE.without_words()
    assert {recipe.encoder for recipe in space.recipes.values()} == {"features"}
    assert set(SPACE.ranges) - set(space.ranges) == {"letters", "word_weights", "word_dropout"}
    assert len(space.nearby) == len(SPACE.nearby) - 3
