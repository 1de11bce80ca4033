"""Settings: the recommended ones by default, checked once, the same in JSON."""

import ast
import inspect
import json
from dataclasses import fields, replace
from typing import Any

import pytest

from dmte import settings as config
from dmte.errors import ConfigError
from dmte.settings import PAPER, RECIPES, SPECTRAL_ONLY, VARIANTS, ObjectiveWeights, Settings


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
    """Results are told apart by what differs from the paper's settings."""
    (paper,) = (
        statement.value
        for statement in ast.parse(inspect.getsource(config)).body
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "PAPER"
    )
    assert isinstance(paper, ast.Call)
    written = {keyword.arg for keyword in paper.keywords}
    assert {"mixing_learning_rate", "word_learning_rate", "sharpness", "word_weights"} <= written


def test_there_are_the_four_versions_of_the_paper() -> None:
    assert set(VARIANTS) == {"no-diffusion", "text-only", "bilstm", "word-average"}
    assert not VARIANTS["no-diffusion"].text_diffusion
    assert not VARIANTS["text-only"].structure
    assert VARIANTS["bilstm"].encoder == "bilstm"


def test_the_default_is_the_recommended_recipe() -> None:
    assert Settings() == RECIPES["recommended"] != RECIPES["paper"] == VARIANTS["word-average"]


def test_settings_written_before_a_setting_was_there_are_the_papers() -> None:
    older = {"dim": 64, "objective": {}, "hop_weights": [1.0, 0.5]}
    assert Settings.from_dict(older) == replace(PAPER, dim=64, hop_weights=(1.0, 0.5))


def test_a_width_that_is_left_open_is_not_guessed() -> None:
    with pytest.raises(ConfigError, match="dim is not chosen yet"):
        _ = Settings().half
    assert Settings(dim=64).half == 64
    assert replace(PAPER, dim=64, structure=False).half == 32


@pytest.mark.parametrize("settings", [*VARIANTS.values(), *RECIPES.values()])
def test_settings_survive_json(settings: Settings) -> None:
    assert Settings.from_dict(json.loads(json.dumps(settings.to_dict()))) == settings


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"encoder": "bert"},
            "encoder must be one of word-average, bilstm, spectral, features, not 'bert'",
        ),
        ({"activation": "relu"}, "activation must be one of tanh, none, not 'relu'"),
        ({"loss": "hinge"}, "loss must be one of pointwise, ranking, not 'hinge'"),
        ({"dim": None, "structure": True}, "dim can be left open only with fixed texts"),
        ({"dim": None, "encoder": "bilstm"}, "dim can be left open only with fixed texts"),
        ({"text_diffusion": False, "mixing": False}, "nothing is learned of fixed texts"),
        ({"structure_share": 1.0}, "structure_share must be from 0 to below 1, not 1.0"),
        ({"structure_share": float("nan")}, "structure_share must be from 0 to below 1, not nan"),
        ({"structure_share": 0.5, "unit_rows": False}, "structure_share must be 0 unless"),
        ({"structure_share": 0.5, "structure": True, "dim": 64}, "no learned structure half"),
        ({"degree_power": -0.1}, "degree_power must be a number from 0 to 4 or none, not -0.1"),
        ({"degree_power": 60.0}, "degree_power must be a number from 0 to 4 or none, not 60.0"),
        ({"degree_power": float("inf")}, "degree_power must be a number from 0 to 4 or none"),
        ({"degree_power": 0.5, "unit_rows": False}, "degree_power must be 0 unless"),
        ({"sharpness": 0.0}, "sharpness must be above 0"),
        ({"noise_power": -1.0}, "noise_power must be at least 0"),
        ({"dim": 7}, "dim must be a positive multiple of 2 .* not 7"),
        ({"dim": 0}, "dim must be a positive multiple of 2 .* not 0"),
        ({"encoder": "bilstm", "dim": 6}, "multiple of 4 with the bilstm encoder, not 6"),
        ({"hop_weights": ()}, "hop_weights must be numbers"),
        ({"hop_weights": (1.0, -0.5)}, r"hop_weights must be .*\(1.0, -0.5\)"),
        ({"hop_weights": (float("nan"),)}, "hop_weights must be"),
        ({"structure_hop_weights": (0.0, 0.0)}, "structure_hop_weights must be"),
        ({"epochs": 0}, "epochs must be a whole number of at least 1, not 0"),
        ({"num_negatives": 0}, "num_negatives must be a whole number"),
        ({"batch_size": -1}, "batch_size must be a whole number of at least 1, not -1"),
        ({"min_count": 0}, "min_count must be a whole number of at least 1, not 0"),
        ({"max_vocabulary": 0}, "max_vocabulary must be a whole number of at least 1"),
        ({"hop_weights": (float("inf"),)}, "hop_weights must be"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0"),
        ({"learning_rate": float("nan")}, "learning_rate must be above 0"),
        ({"word_learning_rate": 0.0}, "word_learning_rate must be above 0, not 0.0"),
        ({"word_learning_rate": float("nan")}, "word_learning_rate must be above 0"),
        ({"validation_fraction": 1.0}, "validation_fraction must be from 0 to below 1, not 1.0"),
        ({"objective": ObjectiveWeights(text_text=-1.0)}, "objective must be at least 0"),
    ],
)
def test_senseless_settings_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Settings(**change)


@pytest.mark.parametrize("name", SPECTRAL_ONLY)
@pytest.mark.parametrize("start", [*VARIANTS.values(), Settings(encoder="features")])
def test_what_only_spectral_texts_have_is_refused_of_others(name: str, start: Settings) -> None:
    values: dict[str, Any] = {field.name: getattr(start, field.name) for field in fields(start)}
    for unasked in (None, False):
        assert getattr(Settings(**values | {name: unasked}), name) is unasked
    message = f"{name} must be false or left out with the encoder {start.encoder!r}; only 'spec"
    with pytest.raises(ConfigError, match=message):
        Settings(**values | {name: True})


def test_settings_stored_with_what_changed_nothing_are_read_without_it() -> None:
    stored = PAPER.to_dict() | {"letters": True, "word_weights": True}
    assert Settings.from_dict(stored) == PAPER
    spectral = Settings(letters=True, word_weights=True)
    assert Settings.from_dict(spectral.to_dict()) == spectral


def test_an_unknown_setting_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="unknown settings: depth"):
        Settings.from_dict({"depth": 3})
