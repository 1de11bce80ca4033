"""The page of the methods says what the code says."""

from dataclasses import fields
from pathlib import Path

import pytest

from dmte.baselines import DeepWalk
from dmte.baselines.sentence import SentenceDiffused
from dmte.evaluation import METHODS
from dmte.evaluation.methods import settings_of
from method_catalog import field_sentences, methods_page, module_of

ROOT = Path(__file__).parents[2]


def test_the_committed_page_is_made_from_the_docstrings() -> None:
    page = (ROOT / "docs" / "methods.md").read_text("utf-8")
    assert page == methods_page(), "make document updates docs/methods.md"


@pytest.mark.parametrize("name", METHODS)
def test_every_setting_of_a_method_has_a_sentence(name: str) -> None:
    kind = type(settings_of(METHODS[name]))
    sentences = field_sentences(kind)
    assert [setting.name for setting in fields(kind) if not sentences.get(setting.name)] == []


@pytest.mark.parametrize("name", METHODS)
def test_every_method_says_what_lonely_vertices_get(name: str) -> None:
    words = (module_of(METHODS[name]).__doc__ or "").lower()
    phrases = ("without edges", "isolated", "no edge", "without any", "are not used")
    assert any(phrase in words for phrase in phrases)


def test_sentences_are_inherited_and_shared_modules_are_shown() -> None:
    assert {"folder", "hop_weights"} <= set(field_sentences(SentenceDiffused))
    assert field_sentences(DeepWalk)["walk_length"].startswith("Vertices per walk, t")
    assert "Skip-gram with negative sampling over walks" in methods_page()
