"""The API reference says what the code says, and the code says something everywhere."""

import ast
from pathlib import Path

import pytest

import dmte
from dmte.reference import (
    PACKAGE,
    api_page,
    described,
    find_definition,
    public_names,
    words_of,
)

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def page() -> str:
    return api_page()


def test_the_committed_page_is_made_from_the_docstrings(page: str) -> None:
    committed = (ROOT / "docs" / "api.md").read_text("utf-8")
    assert committed == page, "make document writes docs/api.md anew"


def test_every_public_name_is_on_the_page(page: str) -> None:
    assert sorted(public_names()) == sorted(dmte.__all__)
    assert all(f"### {name}\n" in page for name in public_names())


@pytest.mark.parametrize("name", public_names())
def test_everything_public_says_what_it_is(name: str) -> None:
    definition, path = find_definition(PACKAGE / "__init__.pyi", name)
    assert words_of(definition, path)
    if isinstance(definition, ast.ClassDef):
        methods = {node.name for node in definition.body if isinstance(node, ast.FunctionDef)}
        silent = [member for member, words in described(definition).items() if not words]
        assert not methods & set(silent)


@pytest.mark.parametrize(
    "shown",
    [
        "`explain(trained: TrainedModel, a: str, b: str) -> Explanation`",
        "`TrainingRun(network: TextualNetwork, settings: Settings, seed: int, *, team: Team",
        "- `num_vertices -> int`: N, the number of vertices.",
        "| `objective` | `ObjectiveWeights` | `ObjectiveWeights()` | The weights α",
        "### PAPER\n\nThe paper's word-average version.",
        "Source: [network/frames.py](../src/dmte/network/frames.py)",
    ],
)
def test_the_page_shows_how_a_name_is_used(shown: str, page: str) -> None:
    assert shown in page
