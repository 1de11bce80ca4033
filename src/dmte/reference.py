"""``docs/api.md``: every public name with its signature and its docstring's first words.

The public names are those of ``__init__.pyi``. All is read from the source and nothing imported, so
that the page does not depend on what decorators or the checks of the tests make of a signature.
"""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import UnionType

PACKAGE = Path(__file__).parent

OPENING = """# The API

Made by `make document` from the docstrings of the code; edit those. These are the names of `dmte`
itself: what else there is in its modules may change without notice. The docstrings have the rest,
such as what is raised; every error is a `dmte.DmteError`. Examples run as tests.
"""

Constant = ast.AnnAssign | ast.Assign
Definition = ast.ClassDef | ast.FunctionDef | Constant


def api_page() -> str:
    """Return the whole page: functions, classes, then constants, each in alphabetical order."""
    found = {name: find_definition(PACKAGE / "__init__.pyi", name) for name in public_names()}
    kinds: dict[str, type | UnionType] = {
        "Functions": ast.FunctionDef,
        "Classes": ast.ClassDef,
        "Constants": Constant,
    }
    parts = [OPENING]
    for title, kind in kinds.items():
        parts.append(f"## {title}\n")
        parts += [
            _section(name, node, path)
            for name, (node, path) in sorted(found.items(), key=lambda item: item[0].lower())
            if isinstance(node, kind)
        ]
    return "\n".join(parts)


def public_names() -> list[str]:
    """Return the names that ``dmte`` offers."""
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text("utf-8"))
    imports = (node for node in tree.body if isinstance(node, ast.ImportFrom))
    return [alias.name for node in imports for alias in node.names]


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


def described(kind: ast.ClassDef) -> dict[str, str]:
    """Return what every public method, property and field of a class says of itself."""
    members = {node.name: ast.get_docstring(node) or "" for node in _methods(kind)}
    return members | {ast.unparse(node.target): text for node, text in _fields(kind)}


def words_of(definition: Definition, path: Path) -> str:
    """Return the docstring of a definition, which for a constant stands under it."""
    if not isinstance(definition, Constant):
        return ast.get_docstring(definition) or ""
    body = ast.parse(path.read_text("utf-8")).body
    for node, after in pairwise(body):
        if isinstance(node, Constant) and _name_of(node) == _name_of(definition):
            return _string(after)
    return ""


def _name_of(constant: Constant) -> str:
    target = constant.target if isinstance(constant, ast.AnnAssign) else constant.targets[0]
    return ast.unparse(target)


def _file_of(node: ast.ImportFrom, path: Path) -> Path:
    """Return the file that an import of ours names; relative ones stand in stubs of packages."""
    start = path.parent if node.level else PACKAGE
    place = start.joinpath(*(node.module or "").removeprefix("dmte").strip(".").split("."))
    files = [place / "__init__.pyi", place / "__init__.py", place.with_suffix(".py")]
    return next(file for file in files if file.is_file())


def _section(name: str, definition: Definition, path: Path) -> str:
    place = path.relative_to(PACKAGE).as_posix()
    words = words_of(definition, path)
    parts = [
        f"### {name}\n",
        *(f"`{line}`\n" for line in _calls(definition)),
        f"{_first_paragraph(words)}\nSource: [{place}](../src/dmte/{place})\n",
    ]
    if isinstance(definition, ast.ClassDef):
        parts += _members(definition)
    return "\n".join([*parts, *_example(words)])


def _calls(definition: Definition) -> Iterator[str]:
    """Yield how a function or a class is called; of a class with fields these say it."""
    if isinstance(definition, ast.FunctionDef):
        yield _signature(definition)
    elif isinstance(definition, ast.ClassDef):
        for node in definition.body:
            if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                yield _signature(node, definition.name).removesuffix(" -> None")


def _members(kind: ast.ClassDef) -> Iterator[str]:
    """Yield a table of the fields, and a list of methods and properties."""
    rows = [
        f"| `{ast.unparse(node.target)}` | {_code(ast.unparse(node.annotation))} | "
        f"{_code(_default(node))} | {_cell(_markdown(text))} |"
        for node, text in _fields(kind)
    ]
    if rows:
        yield "\n".join(["| field | type | default | |", "| --- | --- | --- | --- |", *rows, ""])
    items = [
        f"- `{_signature(node)}`: {' '.join(_first_paragraph(ast.get_docstring(node)).split())}"
        for node in _methods(kind)
    ]
    if items:
        yield "\n".join([*items, ""])


def _fields(kind: ast.ClassDef) -> Iterator[tuple[ast.AnnAssign, str]]:
    """Yield the public fields with the docstring under each, if there is one."""
    for node, after in pairwise([*kind.body, ast.Pass()]):
        if isinstance(node, ast.AnnAssign) and not ast.unparse(node.target).startswith("_"):
            yield node, _string(after)


def _methods(kind: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    for node in kind.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node


def _signature(function: ast.FunctionDef, name: str | None = None) -> str:
    """Return a function as it is called; a property as it is read."""
    name = name or function.name
    decorators = {ast.unparse(decorator) for decorator in function.decorator_list}
    returned = f" -> {_plain(function.returns)}" if function.returns else ""
    if decorators & {"property", "cached_property"}:
        return f"{name}{returned}"
    arguments = ast.unparse(function.args)
    return f"{name}({re.sub(r'^(self|cls)(, )?', '', arguments)}){returned}"


def _plain(annotation: ast.expr) -> str:
    """Return an annotation without the quotes of a name that is defined later."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value
    return ast.unparse(annotation)


def _default(node: ast.AnnAssign) -> str:
    """Return a default as it is written; what a factory makes is called."""
    value = node.value
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "field":
        factories = (word.value for word in value.keywords if word.arg == "default_factory")
        return "".join(f"{ast.unparse(factory)}()" for factory in factories)
    return "" if value is None else ast.unparse(value)


def _first_paragraph(words: str | None) -> str:
    return _markdown((words or "").partition("\n\n")[0]) + "\n"


def _example(words: str) -> list[str]:
    """Return the example of a docstring as a block, if it has one."""
    lines = [part for part in words.split("\n\n") if part.startswith(">>>")]
    return ["```pycon\n" + "\n".join(lines) + "\n```\n"] if lines else []


def _string(node: ast.stmt) -> str:
    value = node.value if isinstance(node, ast.Expr) else None
    is_text = isinstance(value, ast.Constant) and isinstance(value.value, str)
    return " ".join(str(value.value).split()) if is_text else ""  # type: ignore[union-attr]


def _markdown(words: str) -> str:
    return words.replace("``", "`")


def _code(text: str) -> str:
    return f"`{_cell(text)}`" if text else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
