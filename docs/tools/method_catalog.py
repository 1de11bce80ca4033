"""``docs/methods.md``: every method, described by the docstrings of the code that implements it.

A section is a module: its docstring, and for every class in it the settings, each with its default
and the sentence under its field. Modules that several methods use are at the end.
``python docs/tools/method_catalog.py``, a part of ``make document``, writes the page.
"""

import ast
import inspect
import sys
from collections.abc import Iterator
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

from dmte.embedding.method import Method
from dmte.evaluation.methods import METHODS, settings_of

OPENING = """# The methods

`make document` writes this page from the docstrings of the code. The names are those that
`dmte evaluate --methods` takes. Every method gets the same training network and scores the same
pairs ([evaluation.md](evaluation.md)); the scores are in [reproduction.md](reproduction.md). In the
formulas, S holds the weights of the edges and d_v = Σ_j s_vj. P is S with rows that sum to one; a
vertex without edges has P[i, i] = 1.
"""

PAGE = Path(__file__).parents[1] / "methods.md"


def methods_page() -> str:
    """Return the whole page."""
    modules = {module_of(method): None for method in METHODS.values()}
    sections = [_section(module) for module in modules]
    return "\n".join([OPENING, *sections, *_shared_sections()])


def module_of(method: Method) -> ModuleType:
    """Return the module that implements a method."""
    return sys.modules[type(method).__module__]


def field_sentences(kind: type) -> dict[str, str]:
    """Return the docstring under every field of a class and of its bases."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("dmte."):
            found |= dict(_own_sentences(base))
    return found


def _own_sentences(kind: type) -> Iterator[tuple[str, str]]:
    (tree,) = ast.parse(dedent(inspect.getsource(kind))).body
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    for statement, after in pairwise(body):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            value = after.value if isinstance(after, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield statement.target.id, " ".join(value.value.split())


def _section(module: ModuleType) -> str:
    named = {name: method for name, method in METHODS.items() if module_of(method) is module}
    parts = [
        f"## {', '.join(named)}\n",
        f"{inspect.getdoc(module)}\n",
        _source(module.__name__),
    ]
    tables: dict[str, str] = {}
    for kind in {type(method): None for method in named.values()}:
        own = {name: method for name, method in named.items() if type(method) is kind}
        parts.append(_settings(own, tables))
    return "\n".join(parts)


def _shared_sections() -> list[str]:
    """Return a section for every baseline module that several methods use."""
    users: dict[str, list[str]] = {}
    own = {module_of(method).__name__ for method in METHODS.values()}
    for name, method in METHODS.items():
        used = {getattr(value, "__module__", "") for value in vars(module_of(method)).values()}
        for module in sorted(used - own):
            if str(module).startswith("dmte.baselines."):
                users.setdefault(module, []).append(name)
    return [
        f"## Used by {', '.join(names)}\n\n{inspect.getdoc(sys.modules[module])}\n\n"
        f"{_source(module)}"
        for module, names in users.items()
    ]


def _source(module: str) -> str:
    place = module.removeprefix("dmte.").replace(".", "/") + ".py"
    return f"Source: [{place}](../src/dmte/{place})\n"


def _settings(named: dict[str, Any], tables: dict[str, str]) -> str:
    """Return the settings of the methods of one class: the first's, and what the others change.

    ``tables`` maps the tables shown in this section to their method, so that none is repeated.
    """
    (first, method), *others = named.items()
    summary = (inspect.getdoc(type(method)) or "").partition("\n")[0]
    table = _table(settings_of(method))
    same = tables.setdefault(table, first)
    settings = table if same == first else f"Its settings are those of {same}.\n"
    lines = [f"**{first}**: {summary}\n", settings]
    for name, other in others:
        own, of_first = settings_of(other), settings_of(method)
        changed = [
            f"`{setting.name}` {_shown(getattr(own, setting.name))}"
            for setting in fields(own)
            if getattr(own, setting.name) != getattr(of_first, setting.name)
        ]
        lines.append(f"**{name}**: the same with {', '.join(changed)}.\n")
    return "\n".join(lines)


def _table(method: Any) -> str:
    if not fields(method):
        return "It has no settings.\n"
    sentences = field_sentences(type(method))
    lines = ["| setting | default | |", "| --- | --- | --- |"]
    for setting in fields(method):
        value = _shown(getattr(method, setting.name))
        sentence = sentences[setting.name].replace("|", "\\|")
        lines.append(f"| `{setting.name}` | {value} | {sentence} |")
    return "\n".join([*lines, ""])


def _shown(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (tuple, list)):
        return ", ".join(map(_shown, value))
    if hasattr(value, "__dataclass_fields__"):
        parts = ((setting.name, getattr(value, setting.name)) for setting in fields(value))  # type: ignore[arg-type]
        return ", ".join(f"{name} {_shown(inner)}" for name, inner in parts)
    return f"{value:g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    PAGE.write_text(methods_page(), "utf-8")
    print(PAGE)
