"""Models that every release stored load with the code of today, to the same answers."""

import json
import re
import runpy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import dmte
from dmte.search import index_cache
from dmte.storage import folder as storage
from dmte.storage import manifest
from dmte.storage.regular_file import open_regular

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


def test_an_index_that_a_release_stored_with_its_model_is_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("usearch")
    folder = RELEASED / "0.1.0" / "recommended"
    assert (folder / "index-both" / "manifest.json").exists()
    expected = json.loads(folder.with_suffix(".json").read_text("utf-8"))["similar"]
    opened: list[Path] = []

    @contextmanager
    def logged(path: Path) -> Iterator[Any]:
        opened.append(path)
        with open_regular(path) as found:
            yield found

    for module in (storage, manifest, index_cache):
        monkeypatch.setattr(module, "open_regular", logged)
    found = dmte.Embedding.load(folder).most_similar(MADE["VERTEX"], 5, approximate=True)
    assert [one.id for one in found] == [name for name, _ in expected]
    assert not [path for path in opened if "index-both" in path.parts]
    assert [path for path in opened if path.parent == folder]


def test_every_release_has_its_models() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    releases = re.findall(r"^## (\d[\d.]*)", changes, re.MULTILINE)
    assert releases
    for release in releases:
        found = {path.stem for path in (RELEASED / release).glob("*.json")}
        assert found >= {"recommended", "paper"}, f"run tests/data/released/make.py of {release}"
