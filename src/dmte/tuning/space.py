"""What a search may change about a recipe, as a space of names and ranges.

λ_h = decay^h, so that the number of hops H and one number stand for the hop weights. A recipe
brings what is not in the space: the encoder, the number of epochs, when to stop. Where vertices
come with features, every recipe reads those, and there are no words to leave out. Letters and
weights of words are for spectral texts: a point that asks for them with others does without.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from dmte.network import TextualNetwork
from dmte.recipes import RECIPES
from dmte.settings import WORD_SETTINGS, Settings

DEFAULT = "recommended"
OPEN, OTHERWISE_OPEN = "open", 200  # What is left open, and the width where it cannot be.
OF_WORDS = frozenset({*WORD_SETTINGS, "word_dropout"})
"""What changes nothing where there are no words."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One of these."""

    options: tuple[str | int | bool, ...]


@dataclass(frozen=True, slots=True)
class Between:
    """A number from low to high, on a logarithmic scale if so said."""

    low: float
    high: float
    log: bool = False


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number from low to high, on a logarithmic scale if so said."""

    low: int
    high: int
    log: bool = False


Range = Choice | Between | Whole


@dataclass(frozen=True, slots=True)
class Space:
    """Recipes, what may be changed about them, and what to change first.

    >>> SPACE.settings_of(SPACE.point_of("paper") | {"hops": 3, "decay": 0.5}).hop_weights
    (1.0, 0.5, 0.25)
    """

    recipes: Mapping[str, Settings]
    """What a point starts from; a search judges every one, the default first."""
    ranges: Mapping[str, Range]
    """What is searched. What the recipe decides besides, such as the encoder, comes with it."""
    nearby: Sequence[Mapping[str, Any]]
    """What trials change about the default before optuna proposes: few trials find more close
    by."""

    def settings_of(self, point: Mapping[str, Any]) -> Settings:
        """Return the settings a point of the space stands for.

        Raises:
            ConfigError: They contradict each other.
        """
        values = dict(point)
        start = self.recipes[values.pop("recipe")]
        decay = values.pop("decay")
        weights = tuple(round(decay**hop, 4) for hop in range(values.pop("hops")))
        if values["dim"] == OPEN:
            is_open = replace(start, structure=values["structure"], dim=OTHERWISE_OPEN).is_text_only
            values["dim"] = None if is_open else OTHERWISE_OPEN
        values |= {name: None for name in WORD_SETTINGS if values.get(name) == OPEN}
        if not start.encoder_traits.has_word_settings:
            values |= {name: False for name in WORD_SETTINGS if name in values}
        for name in ("learning_rate", "mixing_learning_rate", "sharpness", "noise_power"):
            values[name] = float(f"{values[name]:.3g}")  # More digits would only look precise.
        return replace(start, hop_weights=weights, **values)

    def point_of(self, recipe: str) -> dict[str, Any]:
        """Return the point of the space closest to a recipe."""
        settings = self.recipes[recipe]
        weights = settings.hop_weights
        point = {name: getattr(settings, name) for name in self.ranges if hasattr(settings, name)}
        # Any weights λ become the decay that leads from the first to the last.
        decay = (weights[-1] / weights[0]) ** (1 / (len(weights) - 1)) if len(weights) > 1 else 1.0
        point |= {"recipe": recipe, "decay": round(decay, 4)}
        left_open = ("dim", *WORD_SETTINGS)
        point |= {name: OPEN for name in left_open if getattr(settings, name) is None}
        return {name: _inside(point[name], kind) for name, kind in self.ranges.items()}

    def first_points(self) -> list[dict[str, Any]]:
        """Return the points to try before optuna proposes."""
        default = self.point_of(DEFAULT)
        recipes = [self.point_of(recipe) for recipe in self.recipes]
        return recipes + [default | dict(change) for change in self.nearby]

    def without_words(self) -> "Space":
        """Return the same where features stand in the place of texts."""
        return Space(
            {name: replace(recipe, encoder="features") for name, recipe in self.recipes.items()},
            {name: kind for name, kind in self.ranges.items() if name not in OF_WORDS},
            [change for change in self.nearby if not OF_WORDS & set(change)],
        )


SPACE = Space(
    recipes=RECIPES,
    ranges=MappingProxyType(
        {
            "recipe": Choice(tuple(RECIPES)),
            "hops": Whole(1, 6),
            "decay": Between(0.1, 1.0),
            "dim": Choice((OPEN, 64, 128, 200, 256, 512)),
            "learning_rate": Between(0.0005, 0.1, log=True),
            "mixing_learning_rate": Between(0.0001, 0.01, log=True),
            "transition": Choice(("symmetric", "walk")),
            "activation": Choice(("none", "tanh")),
            "mixing": Choice((False, True)),
            "unit_rows": Choice((False, True)),
            "structure": Choice((False, True)),
            "loss": Choice(("ranking", "pointwise")),
            "sharpness": Between(2.0, 40.0, log=True),
            "num_negatives": Whole(1, 20, log=True),
            "noise_power": Between(0.0, 1.0),
            "letters": Choice((OPEN, False, True)),
            "word_weights": Choice((OPEN, False, True)),
            "word_dropout": Between(0.0, 0.8),
            "hide_supervised": Choice((False, True)),
        }
    ),
    nearby=(
        {"hops": 6, "decay": 0.8},
        {"hops": 3, "decay": 0.4},
        {"num_negatives": 20},
        {"mixing_learning_rate": 0.003},
        {"sharpness": 20.0},
        {"letters": True},
        {"word_weights": False},
        {"word_dropout": 0.0},
        {"mixing": False},
        {"transition": "walk"},
        {"structure": True, "dim": 512},
        {"learning_rate": 0.03, "noise_power": 0.75},
    ),
)
"""What is searched where texts are read."""


def space_of(network: TextualNetwork) -> Space:
    """Return what is searched on ``network``."""
    return SPACE if network.features is None else SPACE.without_words()


def _inside(value: Any, kind: Range) -> Any:
    if not isinstance(kind, Choice):
        return min(max(value, kind.low), kind.high)
    if value in kind.options:
        return value
    return min(
        (option for option in kind.options if isinstance(option, int)),
        key=lambda option: abs(option - value),
    )
