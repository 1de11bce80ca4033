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


CONSTANTS = {"PAPER", "RECIPES", "VARIANTS", "DATASETS"}
"""Names that no docstring can show, since Python gives constants none: Dmte.of takes the first
three, and read_network the names of the last."""


@pytest.mark.parametrize("name", [name for name in public_names() if name not in CONSTANTS])
def test_everything_public_has_an_example_that_runs(name: str) -> None:
    """A method has one of its own, or its class shows it."""
    definition, path = find_definition(PACKAGE / "__init__.pyi", name)
    shown = examples_in(words_of(definition, path))
    assert shown
    if isinstance(definition, ast.ClassDef):
        methods = [node for node in definition.body if isinstance(node, ast.FunctionDef)]
        assert not [
            method.name
            for method in methods
            if not method.name.startswith("_")
            and f".{method.name}" not in shown
            and f".{method.name}" not in examples_in(ast.get_docstring(method) or "")
        ]


def test_what_has_no_example_is_a_constant() -> None:
    for name in CONSTANTS:
        definition, _ = find_definition(PACKAGE / "__init__.pyi", name)
        assert isinstance(definition, ast.Assign | ast.AnnAssign)


def examples_in(words: str) -> str:
    return "\n".join(line for line in words.splitlines() if line.startswith((">>> ", "... ")))


@pytest.mark.parametrize(
    "shown",
    [
        "`explain(trained: TrainedModel, a: str, b: str) -> Explanation`",
        "`TrainingRun(network: TextualNetwork, settings: Settings, seed: int, *, group: ",
        "- `num_vertices -> int`: N, the number of vertices.",
        "| `objective` | `ObjectiveWeights` | `ObjectiveWeights()` | Weights α",
        "### PAPER\n\nThe paper's word-average version.",
        "Source: [network/frames.py](../src/dmte/network/formats/frames.py)",
    ],
)
def test_the_page_shows_how_a_name_is_used(shown: str, page: str) -> None:
    assert shown in page
