"""The public names: each is on the API page, has a docstring, and shows an example that runs."""

import ast
import inspect
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import dmte

ROOT = Path(__file__).parents[1]
CONSTANTS = {
    "PAPER": "recipes.py",
    "RECIPES": "recipes.py",
    "VARIANTS": "recipes.py",
    "DATASETS": "network/datasets.py",
}
"""Names that cannot have a docstring or an example of their own, with the file of each."""
NAMES = re.findall(
    r"^from .* import \w+ as (\w+)$",
    (ROOT / "src" / "dmte" / "__init__.pyi").read_text("utf-8"),
    flags=re.MULTILINE,
)
"""The names that type checkers see."""
DEFINED = [name for name in NAMES if name not in CONSTANTS]


def public_members(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the methods and properties that a class defines itself."""
    for name, member in vars(kind).items():
        function = getattr(member, "__func__", getattr(member, "fget", member))
        function = getattr(function, "func", function)  # cached_property
        if not name.startswith("_") and inspect.isfunction(function):
            yield name, function


def examples_in(docstring: str | None) -> str:
    lines = (docstring or "").splitlines()
    return "\n".join(line for line in lines if line.lstrip().startswith((">>> ", "... ")))


def test_the_page_has_every_public_name_once() -> None:
    page = (ROOT / "docs" / "api.md").read_text("utf-8")
    listed = re.findall(r"^::: dmte\.(\w+)$", page, flags=re.MULTILINE)
    assert sorted(listed) == sorted(NAMES) == sorted(dmte.__all__)


@pytest.mark.parametrize("name", DEFINED)
def test_everything_public_has_a_docstring(name: str) -> None:
    value = getattr(dmte, name)
    assert inspect.getdoc(value)
    if inspect.isclass(value):
        assert [member for member, made in public_members(value) if not inspect.getdoc(made)] == []


@pytest.mark.parametrize("name", CONSTANTS)
def test_a_public_constant_has_a_docstring(name: str) -> None:
    source = (ROOT / "src" / "dmte" / CONSTANTS[name]).read_text("utf-8")
    found = [
        after
        for node, after in pairwise(ast.parse(source).body)
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and name in ast.unparse(node).partition("=")[0]
    ]
    assert [isinstance(after, ast.Expr) for after in found] == [True]


@pytest.mark.parametrize("name", DEFINED)
def test_everything_public_has_an_example_that_runs(name: str) -> None:
    """A method has one of its own, or the example of its class uses it."""
    value = getattr(dmte, name)
    shown = examples_in(inspect.getdoc(value))
    assert shown
    if inspect.isclass(value):
        methods = [
            (member, made)
            for member, made in public_members(value)
            if not isinstance(inspect.getattr_static(value, member), property)
            and not hasattr(inspect.getattr_static(value, member), "attrname")
        ]
        assert [
            member
            for member, made in methods
            if f".{member}" not in shown and f".{member}" not in examples_in(made.__doc__)
        ] == []
