"""Settings as options: every field of ``Settings`` is one, with its own first sentence as help."""

import ast
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dmte.errors import ConfigError
from dmte.reference import PACKAGE, Field, fields_of

if TYPE_CHECKING:
    from dmte.settings import Settings

CONFIG = PACKAGE / "settings.py"
FEATURES = "features"
"""The encoder that reads features."""
_SCALARS = {"bool": bool, "int": int, "float": float}


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give ``command``, which takes ``**settings``, an option for every setting.

    They are read from the source: to show help, torch need not be loaded.
    """
    signature = inspect.signature(command)
    own = [p for p in signature.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
    options = [
        Parameter(setting.name, Parameter.KEYWORD_ONLY, default=None, annotation=_option(setting))
        for setting in fields_of(CONFIG, "Settings")
    ]
    own = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in own]
    command.__signature__ = signature.replace(parameters=own + options)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in own + options} | {"return": None}
    return command


def settings_from(
    recipe: str | None,
    variant: str | None,
    file: Path | None,
    options: Mapping[str, Any],
    *,
    has_features: bool = False,
) -> "Settings":
    """Return a recipe, or a version of the paper, with a file and the given options put in.

    Where texts come as features, the encoder that reads them takes the place of the recipe's; but
    another one that the user names is refused, and so is what only words have.

    Raises:
        ConfigError: There is no such recipe or version, or the file or an option makes no sense.
    """
    from dmte.settings import PARTS, ObjectiveWeights
    from dmte.settings_file import change_settings

    start = _start(recipe, variant)
    if has_features:
        start = replace(start, encoder=FEATURES)
        _refuse_words(options)
    given = {name: value for name, value in options.items() if value is not None}
    for name in ("hop_weights", "structure_hop_weights"):
        if name in given:
            given[name] = _numbers(name, given[name])
    if "objective" in given:
        alpha = _numbers("objective", given["objective"])
        if len(alpha) != len(PARTS):
            raise ConfigError(f"objective takes {len(PARTS)} numbers, one each for {PARTS}")
        given["objective"] = ObjectiveWeights(**dict(zip(PARTS, alpha, strict=True)))
    settings = replace(start, **given) if file is None else change_settings(start, file, given)
    if has_features:
        _refuse_encoder(settings, variant, None if "encoder" in given else file)
    return settings


def _start(recipe: str | None, variant: str | None) -> "Settings":
    """Return a recipe, or a version of the paper."""
    from dmte.settings import RECIPES, VARIANTS

    if variant is not None and recipe not in (None, "paper"):
        raise ConfigError(f"--variant is a version of the paper's recipe, not of {recipe!r}")
    chosen = recipe or ("recommended" if variant is None else "paper")
    if chosen not in RECIPES:
        raise ConfigError(f"recipe must be one of {', '.join(RECIPES)}, not {chosen!r}")
    if variant is not None and variant not in VARIANTS:
        raise ConfigError(f"variant must be one of {', '.join(VARIANTS)}, not {variant!r}")
    return RECIPES[chosen] if variant is None else VARIANTS[variant]


def _refuse_words(options: Mapping[str, Any]) -> None:
    """Refuse an option beside features that only words have a use for."""
    from dmte.settings import SPECTRAL_ONLY

    for name in SPECTRAL_ONLY:
        if options.get(name):
            raise ConfigError(
                f"{_flag(name)} is for words, and --features stand in their place; "
                "leave one of the two out"
            )


def _refuse_encoder(settings: "Settings", variant: str | None, file: Path | None) -> None:
    """Refuse an encoder that the user named beside features, which it does not read."""
    if settings.encoder != FEATURES:
        place = "--encoder" if file is None else f"{file}, which asks for the encoder"
        named = f"{place} {settings.encoder}"
    elif variant == "bilstm":
        named = f"--variant {variant}"
    else:
        return
    raise unread_features(named)


def unread_features(named: str) -> ConfigError:
    """Return what to say of features beside something that does not read them."""
    return ConfigError(
        f"--features are read by the encoder {FEATURES!r} and by no other, so they do not go with "
        f"{named}; leave one of the two out"
    )


def _numbers(name: str, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(number) for number in text.split(","))
    except ValueError as problem:
        raise ConfigError(
            f"{name} takes numbers with commas between them, as in 1,0.3,0.1, not {text!r}"
        ) from problem


def _option(setting: Field) -> Any:
    """Return the annotation of one option; None, its default, means as the recipe has it."""
    flag = _flag(setting.name)
    # Of ``int | None`` the int; what is no plain number is written as text with commas.
    chosen = next((_SCALARS[kind] for kind in setting.kind.split(" | ") if kind in _SCALARS), str)
    names = [f"{flag}/--no-{flag[2:]}"] if chosen is bool else [flag]
    description = f"{first_sentence(setting.words)} [{_shown(setting.default)}]"
    return Annotated[chosen | None, typer.Option(*names, help=description, show_default=False)]


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _shown(default: str) -> str:
    """Return a default the way the user would write it."""
    if default.endswith("()"):
        inner = fields_of(CONFIG, default.removesuffix("()"))
        value: Any = tuple(ast.literal_eval(weight.default) for weight in inner)
    else:
        value = ast.literal_eval(default)
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(f"{number:g}" for number in value) if isinstance(value, tuple) else str(value)


def first_sentence(text: str) -> str:
    """Return ``text`` up to the first full stop that a new sentence follows."""
    return re.split(r"(?<=\.) (?=[A-Z])", text)[0]
