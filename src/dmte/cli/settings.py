"""Settings as options: every field of ``Settings`` is one, with its own first sentence as help."""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from inspect import Parameter
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from dmte.config import RECIPES, VARIANTS, Settings
from dmte.errors import ConfigError
from dmte.objective import PARTS, ObjectiveWeights
from dmte.settings_file import change_settings

_SCALARS = (bool, int, float)


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give ``command``, which takes ``**settings``, an option for every setting."""
    signature = inspect.signature(command)
    own = [p for p in signature.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
    helps, kinds, defaults = first_sentences(Settings), get_type_hints(Settings), Settings()
    options = [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=None,
            annotation=_option(name, kinds[name], f"{helps[name]} [{_shown(defaults, name)}]"),
        )
        for name in (setting.name for setting in fields(Settings))
    ]
    own = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in own]
    command.__signature__ = signature.replace(parameters=own + options)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in own + options} | {"return": None}
    return command


def settings_from(
    recipe: str | None, variant: str | None, file: Path | None, options: Mapping[str, Any]
) -> Settings:
    """Return a recipe, or a version of the paper, with a file and the given options put in.

    Raises:
        ConfigError: There is no such recipe or version, or the file or an option makes no sense.
    """
    if variant is not None and recipe not in (None, "paper"):
        raise ConfigError(f"--variant is a version of the paper's recipe, not of {recipe!r}")
    chosen = recipe or ("recommended" if variant is None else "paper")
    if chosen not in RECIPES:
        raise ConfigError(f"recipe must be one of {', '.join(RECIPES)}, not {chosen!r}")
    if variant is not None and variant not in VARIANTS:
        raise ConfigError(f"variant must be one of {', '.join(VARIANTS)}, not {variant!r}")
    start = RECIPES[chosen] if variant is None else VARIANTS[variant]
    given = {name: value for name, value in options.items() if value is not None}
    for name in ("hop_weights", "structure_hop_weights"):
        if name in given:
            given[name] = _numbers(name, given[name])
    if "objective" in given:
        alpha = _numbers("objective", given["objective"])
        if len(alpha) != len(PARTS):
            raise ConfigError(f"objective takes {len(PARTS)} numbers, one each for {PARTS}")
        given["objective"] = ObjectiveWeights(**dict(zip(PARTS, alpha, strict=True)))
    return replace(start, **given) if file is None else change_settings(start, file, given)


def _numbers(name: str, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(number) for number in text.split(","))
    except ValueError as problem:
        raise ConfigError(
            f"{name} takes numbers with commas between them, as in 1,0.3,0.1, not {text!r}"
        ) from problem


def _option(name: str, kind: Any, description: str) -> Any:
    """Return the annotation of one option; None, its default, means as the recipe has it."""
    flag = f"--{name.replace('_', '-')}"
    # Of ``int | None`` the int; what is no plain number is written as text with commas.
    plain = next((inner for inner in get_args(kind) if inner in _SCALARS), kind)
    chosen = plain if plain in _SCALARS and get_origin(kind) is not tuple else str
    names = [f"{flag}/--no-{flag[2:]}"] if chosen is bool else [flag]
    option = typer.Option(*names, help=description, show_default=False)
    return Annotated[chosen | None, option]


def _shown(settings: Settings, name: str) -> str:
    """Return a default the way the user would write it."""
    value = getattr(settings, name)
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, ObjectiveWeights):
        value = tuple(getattr(value, part) for part in PARTS)
    return ",".join(f"{number:g}" for number in value) if isinstance(value, tuple) else str(value)


def first_sentences(settings: type) -> dict[str, str]:
    """Return the first sentence of the docstring of every field, read from the source."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(settings)))
    body = next(node for node in tree.body if isinstance(node, ast.ClassDef)).body
    return {
        ast.unparse(setting.target): _first_sentence(ast.literal_eval(note.value))
        for setting, note in pairwise(body)
        if isinstance(setting, ast.AnnAssign) and isinstance(note, ast.Expr)
    }


def _first_sentence(text: str) -> str:
    """Return ``text`` up to the first full stop that a new sentence follows."""
    return re.split(r"(?<=\.) (?=[A-Z])", " ".join(text.split()))[0]
