"""Settings as options: one per field of ``Settings``, its first sentence as help."""

from collections.abc import Callable, Mapping
from dataclasses import astuple, replace
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer

from dmte.cli.field_docs import Field, fields_of, first_sentence
from dmte.cli.options import added_parameters, keyword_parameters, with_parameters
from dmte.errors import ConfigError
from dmte.recipes import FROM_FEATURES, RECIPES, VARIANTS
from dmte.settings import PARTS, WORD_SETTINGS, ObjectiveWeights, Settings


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the ``**settings`` of a command by one option per setting."""
    options = {setting.name: _option(setting) for setting in fields_of(Settings)}
    parameters = [*keyword_parameters(command), *added_parameters(options)]
    return with_parameters(command, command, parameters)


def settings_from(
    recipe: str | None,
    variant: str | None,
    file: Path | None,
    options: Mapping[str, Any],
    *,
    has_features: bool = False,
) -> Settings:
    """A recipe or variant, changed by a file and then by options.

    Features replace the encoder of the recipe.

    Raises:
        ConfigError: The recipe or variant is unknown, a value is out of range, or an encoder or a
            setting for words is combined with features.
    """
    from dmte.settings_file import change_settings

    start = _start(recipe, variant)
    if has_features:
        start = replace(start, **FROM_FEATURES)
        _check_no_words(options)
    given = {name: value for name, value in options.items() if value is not None}
    for name in ("hop_weights", "structure_hop_weights"):
        if name in given:
            given[name] = _numbers(name, given[name])
    if "objective" in given:
        weights = _numbers("objective", given["objective"])
        if len(weights) != len(PARTS):
            raise ConfigError(f"objective takes {len(PARTS)} numbers, for {', '.join(PARTS)}")
        given["objective"] = ObjectiveWeights(**dict(zip(PARTS, weights, strict=True)))
    settings = replace(start, **given) if file is None else change_settings(start, file, given)
    if has_features:
        _check_no_encoder(settings, variant, None if "encoder" in given else file)
    return settings


def _start(recipe: str | None, variant: str | None) -> Settings:
    if variant is not None and recipe not in (None, "paper"):
        raise ConfigError(
            f"--variant needs the recipe paper and cannot be combined with {recipe!r}"
        )
    chosen = recipe or ("recommended" if variant is None else "paper")
    if chosen not in RECIPES:
        raise ConfigError(f"recipe must be one of {', '.join(RECIPES)}, not {chosen!r}")
    if variant is not None and variant not in VARIANTS:
        raise ConfigError(f"variant must be one of {', '.join(VARIANTS)}, not {variant!r}")
    return RECIPES[chosen] if variant is None else VARIANTS[variant]


def _check_no_words(options: Mapping[str, Any]) -> None:
    for name in WORD_SETTINGS:
        if options.get(name):
            raise ConfigError(
                f"{_flag(name)} is for words and cannot be combined with --features; drop one"
            )


def _check_no_encoder(settings: Settings, variant: str | None, file: Path | None) -> None:
    if settings.encoder_traits.reads_words:
        place = "--encoder" if file is None else f"{file}, which sets the encoder"
        named = f"{place} {settings.encoder}"
    elif variant is not None and VARIANTS[variant].encoder_traits.reads_order:
        named = f"--variant {variant}"
    else:
        return
    raise unread_features(named)


def unread_features(named: str) -> ConfigError:
    """Error for features combined with something that does not read them."""
    encoder = FROM_FEATURES["encoder"]
    return ConfigError(
        f"--features need the encoder {encoder!r} and cannot be combined with {named}; drop one"
    )


def _numbers(name: str, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(number) for number in text.split(","))
    except ValueError as problem:
        raise ConfigError(
            f"{name} must be numbers separated by commas, such as 1,0.3,0.1, not {text!r}"
        ) from problem


def _option(setting: Field) -> Any:
    """Annotation of an option, whose default None keeps the value of the recipe."""
    kind, flag = _option_type(setting.type), _flag(setting.name)
    names = [f"{flag}/--no-{flag[2:]}"] if kind is bool else [flag]
    description = f"{first_sentence(setting.doc)} [{_shown(setting.default)}]"
    return Annotated[kind | None, typer.Option(*names, help=description, show_default=False)]


def _option_type(hint: Any) -> Any:
    """Type to parse an option as; several numbers are text with commas."""
    members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    plain = (one for one in members if one in (bool, int, float) or get_origin(one) is Literal)
    return next(plain, str)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _shown(default: object) -> str:
    """A default as help shows it."""
    if default is None:
        return "None"
    if isinstance(default, bool):
        return "yes" if default else "no"
    if isinstance(default, ObjectiveWeights):
        default = astuple(default)
    if isinstance(default, tuple):
        return ",".join(f"{number:g}" for number in default)
    return str(default)
