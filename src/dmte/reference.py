"""The fields of a class and their docstrings, read from the source without importing it.

The command line makes options of them; importing the classes would load torch.
"""

import ast
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parent

Constant = ast.AnnAssign | ast.Assign
Definition = ast.ClassDef | ast.FunctionDef | Constant


def find_definition(path: Path, name: str) -> tuple[Definition, Path]:
    """Return where a name is defined that this file defines or imports.

    Raises:
        LookupError: It does neither.
    """
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom) and name in {alias.name for alias in node.names}:
            return find_definition(_file_of(node, path), name)
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            return node, path
        if isinstance(node, Constant) and _name_of(node) == name:
            return node, path
    raise LookupError(f"{path.name} neither defines nor imports {name}")


class Field(NamedTuple):
    """A field of a class as its source has it."""

    name: str
    kind: str
    default: str
    """How the default is written; what a factory makes is called."""
    words: str
    """The docstring under it."""


def fields_of(path: Path, name: str) -> list[Field]:
    """Return the fields of a class that a file defines or imports, which nothing has to load.

    >>> fields_of(PACKAGE / "settings.py", "Settings")[0][:3]
    ('encoder', 'str', "'spectral'")

    Raises:
        LookupError: The file has no such name.
        TypeError: It is no class.
    """
    kind, _ = find_definition(path, name)
    if not isinstance(kind, ast.ClassDef):
        raise TypeError(f"{name} is no class")
    return [
        Field(ast.unparse(node.target), ast.unparse(node.annotation), _default(node), words)
        for node, words in _fields(kind)
    ]


def _name_of(constant: Constant) -> str:
    target = constant.target if isinstance(constant, ast.AnnAssign) else constant.targets[0]
    return ast.unparse(target)


def _file_of(node: ast.ImportFrom, path: Path) -> Path:
    """Return the file that an import of ours names; relative ones stand in stubs of packages."""
    start = path.parent if node.level else PACKAGE
    place = start.joinpath(*(node.module or "").removeprefix("dmte").strip(".").split("."))
    files = [place / "__init__.pyi", place / "__init__.py", place.with_suffix(".py")]
    return next(file for file in files if file.is_file())


def _fields(kind: ast.ClassDef) -> Iterator[tuple[ast.AnnAssign, str]]:
    """Yield the public fields with the docstring under each, if there is one."""
    for node, after in pairwise([*kind.body, ast.Pass()]):
        if isinstance(node, ast.AnnAssign) and not ast.unparse(node.target).startswith("_"):
            yield node, _string(after)


def _default(node: ast.AnnAssign) -> str:
    """Return a default as it is written; what a factory makes is called."""
    value = node.value
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "field":
        factories = (word.value for word in value.keywords if word.arg == "default_factory")
        return "".join(f"{ast.unparse(factory)}()" for factory in factories)
    return "" if value is None else ast.unparse(value)


def _string(node: ast.stmt) -> str:
    value = node.value if isinstance(node, ast.Expr) else None
    is_text = isinstance(value, ast.Constant) and isinstance(value.value, str)
    return " ".join(str(value.value).split()) if is_text else ""  # type: ignore[union-attr]
