"""The search space: names of settings and their ranges.

λ_h = hop_decay^h, so the number of hops H and one number give the hop weights. A recipe supplies
the settings outside the space: the encoder, the number of epochs, the decay of step sizes, early
stopping. If vertices have features, every recipe reads those, and settings of words are dropped.
Letters and word weights apply to the spectral encoder only; with others they are switched off. The
number of negatives is searched if they are shared, since a set for each edge takes more time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from dmte.network import TextualNetwork
from dmte.recipes import FROM_FEATURES, RECIPES
from dmte.settings import WORD_SETTINGS, Settings

DEFAULT = "recommended"
OPEN, FIXED_DIM = "open", 200  # Stands for None, and the width if it cannot be None.
TEXT_SETTINGS = frozenset({*WORD_SETTINGS, "word_dropout"})
"""Settings without effect if there are no words."""
MAY_BE_OPEN = (*WORD_SETTINGS, "word_dropout", "softmax_weight")
"""Settings besides ``dim`` whose None is a choice."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several values."""

    options: tuple[str | float | bool, ...]


@dataclass(frozen=True, slots=True)
class Between:
    """A number from low to high, on a logarithmic scale with ``log``."""

    low: float
    high: float
    log: bool = False


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number from low to high, on a logarithmic scale with ``log``."""

    low: int
    high: int
    log: bool = False


Range = Choice | Between | Whole


@dataclass(frozen=True, slots=True)
class Space:
    """Recipes, the ranges to search, and the changes to try first.

    >>> SPACE.settings_of(SPACE.point_of("paper") | {"hops": 3, "hop_decay": 0.5}).hop_weights
    (1.0, 0.5, 0.25)
    """

    recipes: Mapping[str, Settings]
    """Starting points; a search tries every one, the default first."""
    ranges: Mapping[str, Range]
    """Names to search and their ranges; the recipe supplies all other settings."""
    nearby: Sequence[Mapping[str, Any]]
    """Changes of the default to try before optuna proposes, since few trials find more nearby."""

    def settings_of(self, point: Mapping[str, Any]) -> Settings:
        """Return the settings of a point of the space.

        Raises:
            ConfigError: The settings contradict each other.
        """
        values = dict(point)
        start = self.recipes[values.pop("recipe")]
        decay = values.pop("hop_decay")
        weights = tuple(round(decay**hop, 4) for hop in range(values.pop("hops")))
        if values["dim"] == OPEN:
            is_open = replace(start, structure=values["structure"], dim=FIXED_DIM).is_text_only
            values["dim"] = None if is_open else FIXED_DIM
        values |= {name: None for name in MAY_BE_OPEN if values.get(name) == OPEN}
        if not start.encoder_traits.has_word_settings:
            values |= {name: False for name in WORD_SETTINGS if name in values}
        if not start.share_negatives:
            values["num_negatives"] = start.num_negatives
        for name in ("learning_rate", "mixing_learning_rate", "sharpness", "noise_power"):
            values[name] = float(f"{values[name]:.3g}")  # More digits are noise.
        return replace(start, hop_weights=weights, **values)

    def point_of(self, recipe: str) -> dict[str, Any]:
        """Return the point of the space closest to a recipe."""
        settings = self.recipes[recipe]
        weights = settings.hop_weights
        point = {name: getattr(settings, name) for name in self.ranges if hasattr(settings, name)}
        # The decay that leads from the first weight to the last.
        decay = (weights[-1] / weights[0]) ** (1 / (len(weights) - 1)) if len(weights) > 1 else 1.0
        point |= {"recipe": recipe, "hop_decay": round(decay, 4)}
        left_open = ("dim", *MAY_BE_OPEN)
        point |= {name: OPEN for name in left_open if getattr(settings, name) is None}
        return {name: _inside(point[name], kind) for name, kind in self.ranges.items()}

    def first_points(self) -> list[dict[str, Any]]:
        """Return the points to try before optuna proposes."""
        default = self.point_of(DEFAULT)
        recipes = [self.point_of(recipe) for recipe in self.recipes]
        return recipes + [default | dict(change) for change in self.nearby]

    def without_words(self) -> "Space":
        """Return the space for features in place of texts."""
        return Space(
            {name: replace(recipe, **FROM_FEATURES) for name, recipe in self.recipes.items()},
            {name: kind for name, kind in self.ranges.items() if name not in TEXT_SETTINGS},
            [change for change in self.nearby if not TEXT_SETTINGS & set(change)],
        )


SPACE = Space(
    recipes=RECIPES,
    ranges=MappingProxyType(
        {
            "recipe": Choice(tuple(RECIPES)),
            "hops": Whole(1, 6),
            "hop_decay": Between(0.1, 1.0),
            "dim": Choice((OPEN, 64, 128, 200, 256, 512)),
            "learning_rate": Between(0.001, 0.2, log=True),
            "mixing_learning_rate": Between(0.0001, 0.02, log=True),
            "transition": Choice(("symmetric", "walk")),
            "activation": Choice(("none", "tanh")),
            "mixing": Choice((False, True)),
            "unit_rows": Choice((False, True)),
            "structure": Choice((False, True)),
            "loss": Choice(("ranking", "pointwise")),
            "sharpness": Between(2.0, 40.0, log=True),
            "softmax_weight": Choice((OPEN, 0.0, 0.1, 0.3, 1.0)),
            "num_negatives": Whole(16, 512, log=True),
            "noise_power": Between(0.0, 1.0),
            "letters": Choice((OPEN, False, True)),
            "word_weights": Choice((OPEN, False, True)),
            "word_dropout": Choice((OPEN, 0.0, 0.25, 0.5, 0.75)),
            "hide_supervised": Choice((False, True)),
        }
    ),
    nearby=(
        {"hops": 6, "hop_decay": 0.8},
        {"hops": 3, "hop_decay": 0.4},
        {"num_negatives": 512},
        {"mixing_learning_rate": 0.006},
        {"sharpness": 20.0},
        {"softmax_weight": 1.0},
        {"letters": True},
        {"word_weights": False},
        {"word_dropout": 0.0},
        {"mixing": False},
        {"transition": "walk"},
        {"structure": True, "dim": 512},
        {"learning_rate": 0.06, "noise_power": 0.75},
    ),
)
"""The space of a search that reads texts."""


def space_of(network: TextualNetwork) -> Space:
    """Return the search space for ``network``."""
    return SPACE if network.features is None else SPACE.without_words()


def _inside(value: Any, kind: Range) -> Any:
    if not isinstance(kind, Choice):
        return min(max(value, kind.low), kind.high)
    if value in kind.options:
        return value
    return min(
        (option for option in kind.options if isinstance(option, int | float)),
        key=lambda option: abs(option - value),
    )
