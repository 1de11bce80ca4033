"""Settings have the recommended defaults, are checked once and survive JSON."""

import ast
import inspect
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any, get_args

import jaxtyping
import pytest

from dmte import recipes
from dmte.diffusion.transition import TRANSITIONS
from dmte.errors import ConfigError
from dmte.evaluation import PROTOCOLS
from dmte.plotting.map import TITLES
from dmte.recipes import PAPER, RECIPES, VARIANTS
from dmte.settings import (
    ENCODER_TRAITS,
    PARTS,
    WORD_SETTINGS,
    Encoder,
    ObjectiveWeights,
    Projection,
    Protocol,
    Settings,
    Transition,
)
from dmte.text import ENCODERS, FrozenEncoder

INF, NAN = float("inf"), float("nan")
NO_WEIGHTS = ObjectiveWeights(**dict.fromkeys(PARTS, 0.0))


def test_the_paper_settings_are_those_of_the_paper() -> None:
    """Section 5, evaluation and parameter settings."""
    settings = PAPER
    assert (settings.dim, settings.half, settings.hops, settings.num_negatives) == (200, 100, 4, 1)
    assert list(settings.hop_weights) == sorted(settings.hop_weights, reverse=True)
    assert (settings.letters, settings.word_weights) == (False, False)
    assert settings.objective == ObjectiveWeights(
        text_text=1.0, structure_structure=1.0, structure_text=0.3, text_structure=0.3
    )


def test_a_changed_default_is_not_the_papers() -> None:
    """Stored results are identified by the settings that differ from the paper's."""
    (paper,) = (
        statement.value
        for statement in ast.parse(inspect.getsource(recipes)).body
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "PAPER"
    )
    assert isinstance(paper, ast.Call)
    written = {keyword.arg for keyword in paper.keywords}
    assert {"mixing_learning_rate", "word_learning_rate", "sharpness", "word_weights"} <= written


def test_variants_are_the_four_versions_of_the_paper() -> None:
    assert set(VARIANTS) == {"no-diffusion", "text-only", "bilstm", "word-average"}
    assert not VARIANTS["no-diffusion"].text_diffusion
    assert not VARIANTS["text-only"].structure
    assert VARIANTS["bilstm"].encoder == "bilstm"


def test_the_default_is_the_recommended_recipe() -> None:
    assert Settings() == RECIPES["recommended"] != RECIPES["paper"] == VARIANTS["word-average"]


def test_missing_settings_have_their_defaults() -> None:
    some = {"dim": 64, "objective": {}, "hop_weights": [1.0, 0.5]}
    assert Settings.from_dict(some) == Settings(dim=64, hop_weights=(1.0, 0.5))


def test_a_half_has_no_width_before_dim_is_chosen() -> None:
    with pytest.raises(ConfigError, match="dim is not chosen yet"):
        _ = Settings().half
    assert Settings(dim=64).half == 64
    assert replace(PAPER, dim=64, structure=False).half == 32


@pytest.mark.parametrize("settings", [*VARIANTS.values(), *RECIPES.values()])
def test_settings_survive_json(settings: Settings) -> None:
    assert Settings.from_dict(json.loads(json.dumps(settings.to_dict()))) == settings


LATER = ("share_negatives", "round_edges", "decay", "softmax_weight")
"""Settings that the first stored models do not have."""


@pytest.mark.parametrize("name", RECIPES)
def test_stored_settings_are_those_that_were_stored(name: str) -> None:
    settings = replace(RECIPES[name], num_negatives=7)
    assert Settings.from_stored(settings.to_dict()) == settings


def test_settings_of_an_earlier_version_keep_its_objective_and_step_sizes() -> None:
    stored = {name: value for name, value in Settings().to_dict().items() if name not in LATER}
    found = Settings.from_stored(stored)
    assert not found.share_negatives
    assert not found.decay
    assert found.softmax_weight == 0
    assert found.to_dict().items() >= stored.items()
    paper = {name: value for name, value in PAPER.to_dict().items() if name not in LATER}
    assert Settings.from_stored(paper) == PAPER


@pytest.fixture
def _unchecked_types() -> Iterator[None]:
    """Disable the type checks of tests, which would fail before the checks of settings."""
    jaxtyping.config.update("jaxtyping_disable", "1")
    yield
    jaxtyping.config.update("jaxtyping_disable", "0")


@pytest.mark.usefixtures("_unchecked_types")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"encoder": "bert"},
            "encoder must be one of word-average, bilstm, spectral, features, not 'bert'",
        ),
        ({"activation": "relu"}, "activation must be one of tanh, none, not 'relu'"),
        ({"transition": "jump"}, "transition must be one of walk, symmetric, not 'jump'"),
        ({"loss": "hinge"}, "loss must be one of pointwise, ranking, not 'hinge'"),
        ({"loss": ["ranking"]}, r"loss must be one of pointwise, ranking, not \['ranking'\]"),
        ({"mixing": 1}, "mixing must be true or false, not 1"),
        ({"letters": "yes"}, "letters must be true or false or none, not 'yes'"),
        ({"dim": None, "structure": True}, "dim must be a number unless the encoder is frozen"),
        ({"dim": None, "encoder": "bilstm"}, "dim must be a number unless the encoder is frozen"),
        ({"text_diffusion": False, "mixing": False}, "encoder 'spectral' has no trainable param"),
        ({"structure_share": 1.0}, "share must be a number from 0 to below 1 or none, not 1.0"),
        ({"structure_share": NAN}, "share must be a number from 0 to below 1 or none, not nan"),
        ({"structure_share": 0.5, "unit_rows": False}, "structure_share must be 0 unless"),
        ({"structure_share": 0.5, "structure": True, "dim": 64}, "no learned structure half"),
        ({"degree_power": -0.1}, "degree_power must be a number from 0 to 4 or none, not -0.1"),
        ({"degree_power": 60.0}, "degree_power must be a number from 0 to 4 or none, not 60.0"),
        ({"degree_power": INF}, "degree_power must be a number from 0 to 4 or none, not inf"),
        ({"degree_power": 0.5, "unit_rows": False}, "degree_power must be 0 unless"),
        ({"sharpness": 0.0}, "sharpness must be a number above 0, not 0.0"),
        ({"noise_power": -1.0}, "noise_power must be a number of at least 0, not -1.0"),
        ({"dim": 7}, "dim must be a multiple of 2 with the encoder 'spectral', not 7"),
        ({"dim": 0}, "dim must be a whole number of at least 2 or none, not 0"),
        ({"dim": "x"}, "dim must be a whole number of at least 2 or none, not 'x'"),
        ({"encoder": "bilstm", "dim": 6}, "a multiple of 4 with the encoder 'bilstm', not 6"),
        ({"hop_weights": ()}, r"numbers of at least 0, one of them above 0, not \(\)"),
        ({"hop_weights": (1.0, -0.5)}, r"hop_weights must be numbers .*, not \(1.0, -0.5\)"),
        ({"hop_weights": (NAN,)}, "hop_weights must be numbers"),
        ({"hop_weights": (INF,)}, "hop_weights must be numbers"),
        ({"hop_weights": 1.0}, "hop_weights must be numbers"),
        ({"structure_hop_weights": (0.0, 0.0)}, "structure_hop_weights must be numbers"),
        ({"epochs": 0}, "epochs must be a whole number of at least 1, not 0"),
        ({"epochs": True}, "epochs must be a whole number of at least 1, not True"),
        ({"num_negatives": 0}, "num_negatives must be a whole number of at least 1, not 0"),
        ({"batch_size": -1}, "batch_size must be a whole number of at least 1 or none, not -1"),
        ({"folds": 2, "validation_fraction": 0.0}, "folds must be 1 unless"),
        ({"min_count": 0}, "min_count must be a whole number of at least 1, not 0"),
        ({"max_vocabulary": 0}, "max_vocabulary must be a whole number of at least 1 or none"),
        ({"learning_rate": 0.0}, "learning_rate must be a number above 0, not 0.0"),
        ({"learning_rate": NAN}, "learning_rate must be a number above 0, not nan"),
        ({"learning_rate": 10**400}, "learning_rate must be a number above 0, not 1000"),
        ({"word_learning_rate": 0.0}, "word_learning_rate must be a number above 0, not 0.0"),
        ({"validation_fraction": 1.0}, "must be a number from 0 to below 1, not 1.0"),
        ({"objective": (1.0,)}, "objective must be of the class ObjectiveWeights, not"),
        (
            {"objective": ObjectiveWeights(text_text=-1.0)},
            "objective.text_text must be a number of",
        ),
        ({"objective": NO_WEIGHTS}, "objective must have a weight above 0"),
        ({"batch_size": 9, "round_edges": 8}, "batch_size must be at most round_edges, 8, because"),
    ],
)
def test_invalid_settings_raise(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Settings(**change)


@pytest.mark.parametrize(
    ("names", "table"),
    [
        (Encoder, ENCODERS),
        (Transition, TRANSITIONS),
        (Protocol, PROTOCOLS),
        (Projection, TITLES),
    ],
)
def test_a_literal_lists_the_names_of_its_table(names: Any, table: Mapping[str, object]) -> None:
    assert get_args(names) == tuple(table)


def test_encoder_traits_agree_with_the_classes() -> None:
    frozen = {name for name, encoder in ENCODERS.items() if issubclass(encoder, FrozenEncoder)}
    assert {name for name, traits in ENCODER_TRAITS.items() if traits.is_frozen} == frozen


@pytest.mark.medium
def test_settings_do_not_import_torch() -> None:
    code = "import sys, dmte.settings, dmte.settings_file; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", WORD_SETTINGS)
@pytest.mark.parametrize("start", [*VARIANTS.values(), Settings(encoder="features")])
def test_word_settings_require_the_spectral_encoder(name: str, start: Settings) -> None:
    values: dict[str, Any] = {field.name: getattr(start, field.name) for field in fields(start)}
    for unset in (None, False):
        assert getattr(Settings(**values | {name: unset}), name) is unset
    message = f"{name} must be false or left out with the encoder {start.encoder!r}; only 'spec"
    with pytest.raises(ConfigError, match=message):
        Settings(**values | {name: True})


def test_an_unknown_setting_raises_with_its_name() -> None:
    with pytest.raises(ConfigError, match="unknown settings: depth"):
        Settings.from_dict({"depth": 3})
