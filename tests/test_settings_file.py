"""Settings files change settings, and invalid ones raise."""

import json
from pathlib import Path

import pytest

from dmte.errors import ConfigError
from dmte.recipes import PAPER, VARIANTS
from dmte.settings import ObjectiveWeights, Settings
from dmte.settings_file import change_settings, read_settings, settings_text


@pytest.mark.parametrize(
    "settings",
    [
        Settings(),
        *VARIANTS.values(),
        Settings(dim=64, structure_hop_weights=(1.0, 1e-05), max_vocabulary=7),
    ],
)
@pytest.mark.parametrize("kind", ["toml", "json"])
def test_settings_survive_a_file(settings: Settings, kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"settings.{kind}"
    toml = settings_text(settings, ["found by eye", "", 'a "note" \\ of ours'])
    path.write_text(toml if kind == "toml" else json.dumps(settings.to_dict()))
    # The start must not show through, whatever it is.
    for start in (Settings(), PAPER):
        assert read_settings(path, start) == settings


def test_a_file_changes_settings_and_options_override_it(tmp_path: Path) -> None:
    path = tmp_path / "some.toml"
    path.write_text("structure = true\nepochs = 7\nlearning_rate = 1\n[objective]\ntext_text = 2\n")
    # The structure half needs a width, which only the option sets.
    found = change_settings(Settings(), path, {"dim": 32, "epochs": 3})
    assert found == Settings(
        structure=True,
        dim=32,
        epochs=3,
        learning_rate=1.0,
        objective=ObjectiveWeights(text_text=2.0),
    )


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.toml", "learning-rate = 0.1", "not a setting; did you mean 'learning_rate'"),
        ("a.toml", "zzzz = 1", "'zzzz' is not a setting$"),
        ("a.toml", 'dim = "wide"', "dim must be a whole number of at least 2 or none, not 'wide'"),
        ("a.toml", "epochs = true", "epochs must be a whole number of at least 1, not True"),
        ("a.toml", "epochs = 1.5", "epochs must be a whole number of at least 1, not 1.5"),
        ("a.toml", 'epochs = "none"', "epochs must be a whole number of at least 1, not 'none'"),
        ("a.toml", "mixing = 1", "mixing must be true or false, not 1"),
        ("a.toml", "encoder = 3", "encoder must be one of word-average, .*, not 3"),
        ("a.toml", "hop_weights = 1", "hop_weights must be numbers of at least 0"),
        ("a.toml", 'hop_weights = [1, "x"]', r"hop_weights must be numbers .*, not \[1, 'x'\]"),
        ("a.toml", "objective = [1, 1, 1, 1]", "objective must be a table with text_text"),
        (
            "a.toml",
            "[objective]\ntext_txt = 1",
            "objective: 'text_txt' is not a setting; did you mean 'text_text'",
        ),
        (
            "a.toml",
            "learning_rate = 1" + "0" * 400,
            "learning_rate must be a number above 0, not 1000",
        ),
        (
            "a.toml",
            'structure_share = "none"\ndegree_power = 9',
            "degree_power must be a number from",
        ),
        ("a.toml", "dim = 7", r"dim must be .* \(with the settings of .*a.toml\)"),
        ("a.toml", "learning_rate = nan", "learning_rate must be a number above 0, not nan"),
        ("a.toml", "dim 7", "a.toml is not TOML"),
        ("a.json", "{", "a.json is not JSON"),
        ("a.json", "[" * 100_000, "a.json is not JSON"),
        ("a.json", "[1]", "must hold names with values"),
        ("a.yaml", "dim: 7", "must end in .toml or .json"),
        ("a.toml", "\x00", "a.toml is not TOML"),
    ],
)
def test_invalid_settings_raise_with_the_name_of_the_file(
    name: str, content: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(ConfigError, match=message) as caught:
        read_settings(path)
    assert name in str(caught.value)
    assert len(str(caught.value)) < 400


def test_an_unreadable_file_raises(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.toml cannot be read: No such file"):
        read_settings(tmp_path / "gone.toml")
    (tmp_path / "utf16.toml").write_bytes("dim = 64".encode("utf-16"))
    with pytest.raises(ConfigError, match=r"utf16\.toml is not TOML"):
        read_settings(tmp_path / "utf16.toml")
