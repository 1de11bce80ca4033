"""Imports inside the package point backwards only, so that it can be read from top to bottom."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "dmte"

LAYERS = [
    # the network
    "errors",
    "choices",
    "extras",
    "notebook",
    "progress",
    "packing",
    "locks",
    "storage",
    "names",
    "spreadsheets",
    "network.textual_network",
    "network.columns",
    "network.cells",
    "network.tables",
    "network.frames",
    "network.content",
    "network.packed",
    "network.json_files",
    "network.bibtex",
    "network.table_files",
    "network.graphml",
    "network.datasets",
    "network.download",
    "network.front_matter",
    "network.markdown",
    "network.notes",
    "network.writing",
    "network.folders",
    "network.files",
    "network.conversion",
    "network.split",
    "network.synthetic",
    "network",
    # its texts
    "randomness",
    "sparse",
    "mapping",
    "team",
    "rows",
    "words",
    "text.vocabulary",
    "text.encoder",
    "text.word_average",
    "text.recurrence",
    "text.bilstm",
    "text.letters",
    "text.tfidf",
    "text.fixed",
    "text.features",
    "text.spectral",
    "text.word_weights",
    "text.gru",
    "text",
    "review",
    # diffusion and embedding
    "diffusion",
    "ranking",
    "walk_half",
    "lengths",
    "allocator",
    "memory",
    "maker",
    "cost",
    "nearest",
    "approximate",
    "named_vectors",
    "stored",
    "search",
    "conversions",
    "embedding",
    "model",
    # the objective and its training
    "adam",
    "sampling",
    "scores",
    "objective",
    "config",
    "settings_file",
    "supervision",
    "unseen",
    "history",
    "trained",
    "width",
    "entries",
    "fold",
    "training",
    "checkpoint",
    "launcher",
    "estimate",
    "method",
    "estimator",
    # what it is compared with, and how
    "baselines.random_vectors",
    "baselines.adamic_adar",
    "baselines.tfidf",
    "baselines.lsa",
    "baselines.fastrp",
    "baselines.sentence",
    "baselines.skipgram",
    "baselines.doc2vec",
    "baselines.walks",
    "baselines.line",
    "baselines.tadw",
    "baselines.tridnr",
    "baselines.cene",
    "baselines.cane_attention",
    "baselines.cane_model",
    "baselines.cane",
    "baselines.released",
    "baselines",
    "evaluation.link_prediction",
    "evaluation.classification",
    "evaluation.methods",
    "evaluation.measuring",
    "evaluation.cells",
    "evaluation.case_study",
    "evaluation.plan",
    "evaluation.experiments",
    "evaluation.shapes",
    "evaluation.journal",
    "evaluation.runner",
    "evaluation.report",
    "evaluation.reproduction",
    "evaluation.results_file",
    "evaluation.coverage",
    "evaluation.lookup",
    "evaluation.verdict",
    "evaluation.aims",
    "evaluation.disagreements",
    "evaluation.authors_program",
    "evaluation.differences",
    "evaluation.document",
    "evaluation.catalog",
    "evaluation",
    # better settings for one network
    "tuning.space",
    "tuning.outcome",
    "tuning.proposal",
    "tuning.refusal",
    "tuning.search",
    "tuning",
    # use
    "suggestions",
    "features",
    "connections",
    "explanation",
    "labelling",
    "export",
    "plots",
    "naming",
    "maps",
    "curves",
    "__init__",
    "reference",
    "cli.line",
    "cli.flags",
    "cli.output",
    "cli.settings",
    "cli.networks",
    "cli.neighbors",
    "cli.training",
    "cli.train",
    "cli.tune",
    "cli.info",
    "cli.similar",
    "cli.suggest",
    "cli.explain",
    "cli.classify",
    "cli.export",
    "cli.embed",
    "cli.demo",
    "cli.fits",
    "cli.evaluate",
    "cli.reproducing",
    "cli.reproduce",
    "cli.plot",
    "cli.datasets",
    "cli",
    "__main__",
    "pages",
]
"""Every module in the order of the paper; one may import those above it, never those below.

A package's name without more is its ``__init__``, which stands below the modules it gathers.
``dmte``'s own is exempt: it gathers everything but the command line.
"""


def modules() -> dict[str, Path]:
    """Return the file of every module by its name without ``dmte.``; dmte's is ``__init__``."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


MODULES = modules()


def import_statements(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield every import that runs: at the top or inside a function, but not for types only."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield node
    children = list(ast.iter_child_nodes(node))
    if (
        isinstance(node, ast.If)
        and ast.unparse(node.test).removeprefix("typing.") == "TYPE_CHECKING"
    ):
        children = [*node.orelse]
    for child in children:
        yield from import_statements(child)


def named_in(statement: ast.Import | ast.ImportFrom, package: str, known: set[str]) -> list[str]:
    """Return the full names of the modules that are imported, ours and others."""
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    base = statement.module or ""
    if statement.level:
        above = package.split(".")
        base = ".".join([*above[: len(above) - statement.level + 1], base]).strip(".")
    # "from dmte.text import vocabulary" is an import of the module dmte.text.vocabulary.
    inside = [f"{base}.{alias.name}" for alias in statement.names]
    return [name if name.removeprefix("dmte.") in known else base for name in inside]


def imported_by(source: str, package: str, known: set[str]) -> set[str]:
    """Return which modules of ``dmte`` this source, which lies in ``package``, imports."""
    names = {
        name
        for statement in import_statements(ast.parse(source))
        for name in named_in(statement, package, known)
    }
    ours = {name for name in names if name.split(".")[0] == "dmte"}
    return {"__init__" if name == "dmte" else name.removeprefix("dmte.") for name in ours}


def package_of(module: str) -> str:
    """Return the package the module's file lies in, where its relative imports begin."""
    folder = MODULES[module].parent.relative_to(SOURCE.parent)
    return ".".join(folder.parts)


@pytest.mark.parametrize("module", [module for module in MODULES if module != "__init__"])
def test_imports_point_backwards_only(module: str) -> None:
    assert module in LAYERS, (
        f"dmte.{module} is new: put it into LAYERS in tests/test_layers.py, below everything it "
        "imports and at its place in the order of the paper"
    )
    imported = imported_by(MODULES[module].read_text("utf-8"), package_of(module), set(MODULES))
    above = LAYERS[: LAYERS.index(module)]
    forwards = sorted(f"dmte.{name}" for name in imported - set(above))
    assert not forwards, (
        f"dmte.{module} imports {', '.join(forwards)}, which does not stand above it in LAYERS"
    )


def test_no_module_stands_twice_in_the_order() -> None:
    assert len(LAYERS) == len(set(LAYERS))


def test_a_package_stands_below_its_modules() -> None:
    for module in LAYERS:
        package = module.rpartition(".")[0]
        assert not package or LAYERS.index(package) > LAYERS.index(module)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("import dmte.errors", {"errors"}),
        ("import dmte.errors as e, torch", {"errors"}),
        ("import dmte", {"__init__"}),
        ("from dmte import Settings", {"__init__"}),
        ("from dmte import errors", {"errors"}),
        ("from dmte.errors import DmteError", {"errors"}),
        ("from dmte.text import ENCODERS, vocabulary", {"text", "text.vocabulary"}),
        ("from dmte.text.vocabulary import tokenize", {"text.vocabulary"}),
        ("from . import vocabulary", {"text.vocabulary"}),
        ("from .vocabulary import tokenize", {"text.vocabulary"}),
        ("from ..errors import DmteError", {"errors"}),
        ("from .. import errors, Settings", {"__init__", "errors"}),
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
    known = {"__init__", "errors", "text", "text.vocabulary"}
    assert imported_by(statement, "dmte.text", known) == expected
