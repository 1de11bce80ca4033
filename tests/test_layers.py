"""Imports inside the package point backwards only, so that it can be read from top to bottom."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "dmte"

ORDER = [
    "errors",
    "constraints",
    "settings",
    "recipes",
    "runtime",
    "storage",
    "settings_file",
    "network",
    "distributed",
    "kernels",
    "text",
    "search",
    "embedding",
    "diffusion",
    "metrics",
    "model",
    "training",
    "estimator",
    "baselines",
    "evaluation",
    "tuning",
    "inference",
    "plotting",
    "explorer",
    "cli",
]
"""Folders and single modules of the package, lowest first; each imports from those before it."""

MODULES = sorted(path.relative_to(SOURCE) for path in SOURCE.rglob("*.py"))


def top_level(module: Path) -> str:
    """Return the folder of a module, or the module itself if it is in none."""
    return module.parts[0].removesuffix(".py")


def import_statements(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Return every import below a node, except those for type checkers only."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            is_negated = isinstance(child.test, ast.UnaryOp)
            for statement in child.body if is_negated else child.orelse:
                yield from import_statements(ast.Module([statement], []))
        else:
            yield from import_statements(child)


def imported_by(source: str) -> set[str]:
    """Return the folders and single modules of ``dmte`` that this source imports."""
    found = set()
    for statement in import_statements(ast.parse(source)):
        if isinstance(statement, ast.Import):
            names = [alias.name for alias in statement.names]
        else:
            assert not statement.level, "relative imports are not used"
            base = statement.module or ""
            names = (
                [f"dmte.{alias.name}" for alias in statement.names] if base == "dmte" else [base]
            )
        found |= {name.split(".")[1] for name in names if name.startswith("dmte.")}
        found |= {"__init__" for name in names if name == "dmte"}
    return found


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_imports_point_backwards_only(module: Path) -> None:
    own = top_level(module)
    if own in ("__init__", "__main__"):
        return
    assert own in ORDER, f"{own} is a new folder: put it into ORDER, above everything it imports"
    allowed = {*ORDER[: ORDER.index(own) + 1]}
    forwards = sorted(imported_by((SOURCE / module).read_text("utf-8")) - allowed)
    assert not forwards, f"{module} imports {', '.join(forwards)}, which comes after {own}"


def test_at_most_eight_modules_are_in_no_folder() -> None:
    alone = [path for path in MODULES if len(path.parts) == 1 and not path.name.startswith("__")]
    assert len(alone) <= 8


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("import dmte.errors", {"errors"}),
        ("import dmte.errors as e, torch", {"errors"}),
        ("import dmte", {"__init__"}),
        ("from dmte import settings", {"settings"}),
        ("from dmte.errors import DmteError", {"errors"}),
        ("from dmte.text.vocabulary import tokenize", {"text"}),
        ("def f():\n    from dmte.errors import DmteError", {"errors"}),
        (
            "try:\n    import dmte.errors\nexcept ImportError:\n    import dmte.text",
            {"errors", "text"},
        ),
        ("if TYPE_CHECKING:\n    import dmte.errors", set()),
        ("if typing.TYPE_CHECKING:\n    import dmte.errors\nelse:\n    import dmte.text", {"text"}),
        ("if not TYPE_CHECKING:\n    import dmte.errors", {"errors"}),
        ("import torch, dmtex.errors\nfrom torch.text import errors", set()),
        ('"""import dmte.errors"""\nimport_dmte = "errors"', set()),
    ],
)
def test_every_kind_of_import_is_understood(statement: str, expected: set[str]) -> None:
    assert imported_by(statement) == expected
