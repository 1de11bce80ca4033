"""Models that every release stored load with the code of today, to the same answers."""

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
RELEASED = ROOT / "tests" / "data" / "released"
MADE = runpy.run_path(str(RELEASED / "make.py"))
MODELS = sorted(RELEASED.glob("*/*.json"))


def assert_close(found: Any, expected: Any, place: str) -> None:
    """Compare values of JSON: numbers within 10⁻⁶, everything else exactly."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), place
        for key, value in expected.items():
            assert_close(found[key], value, f"{place}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), place
        for at, value in enumerate(expected):
            assert_close(found[at], value, f"{place}.{at}")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, abs=1e-6), place
    else:
        assert found == expected, place


@pytest.mark.parametrize("stored", MODELS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_model_of_a_release_gives_the_same_answers(stored: Path) -> None:
    found = json.loads(json.dumps(MADE["answers"](stored.with_suffix(""))))
    assert_close(found, json.loads(stored.read_text("utf-8")), stored.stem)


def test_every_release_has_its_models() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    releases = re.findall(r"^## (\d[\d.]*)", changes, re.MULTILINE)
    assert releases
    for release in releases:
        found = {path.stem for path in (RELEASED / release).glob("*.json")}
        assert found >= {"recommended", "paper"}, f"run tests/data/released/make.py of {release}"
