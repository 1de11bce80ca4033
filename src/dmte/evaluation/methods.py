"""DMTE and every baseline, by the name the command line uses."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

from dmte.baselines import BASELINES
from dmte.embedding.method import Method, NeedsMore, unavailable_reason
from dmte.errors import ConfigError
from dmte.recipes import FROM_FEATURES, RECIPES, VARIANTS
from dmte.runtime.spelling import propose
from dmte.training.method import DmteMethod

METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "dmte": DmteMethod(RECIPES["recommended"]),
        "dmte-paper": DmteMethod(VARIANTS["word-average"]),
        "dmte-paper-no-diffusion": DmteMethod(VARIANTS["no-diffusion"]),
        "dmte-paper-text-only": DmteMethod(VARIANTS["text-only"]),
        "dmte-paper-bilstm": DmteMethod(VARIANTS["bilstm"]),
        **BASELINES,
    }
)
"""DMTE in its four versions and every baseline."""

ALL = "all"
"""The name of all methods that can run here."""
Task = Literal["links", "classes"]
LINKS_ONLY: Mapping[str, str] = MappingProxyType(
    {"adamic-adar": "scores pairs and has no vectors to classify vertices by"}
)
"""Methods that cannot classify, with the reason."""
CLASSES_ONLY: Mapping[str, str] = MappingProxyType(
    {
        "tridnr-labels": "learns from the labels of training vertices, and link prediction has "
        "none; use tridnr"
    }
)
"""Methods that cannot predict links, with the reason."""
NOT_FOR: Mapping[Task, Mapping[str, str]] = MappingProxyType(
    {"links": CLASSES_ONLY, "classes": LINKS_ONLY}
)
"""Methods that do not suit a task, with the reason."""


def find_method(name: str) -> Method:
    """Return the method called ``name``.

    Raises:
        ConfigError: No method has this name; the message proposes similar ones.
    """
    if name in METHODS:
        return METHODS[name]
    raise ConfigError(f"there is no method {name!r}; {propose(name, METHODS)}")


def settings_of(method: Method) -> Any:
    """Return the dataclass whose fields are the method's settings."""
    return method.settings if isinstance(method, DmteMethod) else method


def configure(method: Method, changes: Mapping[str, Any]) -> Method:
    """Return the method with other settings.

    Raises:
        ConfigError: The method has no settings, or a value is out of range.
    """
    settings = settings_of(method)
    if not is_dataclass(settings) or isinstance(settings, type):
        raise ConfigError(f"{type(method).__name__} has no settings")
    changed: Any = replace(settings, **changes)
    return DmteMethod(changed) if isinstance(method, DmteMethod) else changed


def describe_settings(method: Method) -> dict[str, Any]:
    """Return all settings as plain values, with the method's dependency if it has one."""
    settings = settings_of(method)
    has_fields = is_dataclass(settings) and not isinstance(settings, type)
    described = asdict(settings) if has_fields else {}
    return described | ({"needs": method.dependency_id()} if isinstance(method, NeedsMore) else {})


def reads_features(name: str) -> bool:
    """Whether the method is a version of DMTE, which can read features in place of texts."""
    return isinstance(find_method(name), DmteMethod)


def settings_for_features(name: str) -> dict[str, Any]:
    """Return the settings to read features; empty for methods that always read texts."""
    return dict(FROM_FEATURES) if reads_features(name) else {}


def why_no_features(name: str) -> str | None:
    """Return why a version of DMTE cannot read features; ``None`` if it can, or is not DMTE."""
    method = find_method(name)
    if not isinstance(method, DmteMethod):
        return None
    if method.settings.encoder_traits.reads_order:
        encoder = FROM_FEATURES["encoder"]
        return f"only the encoder {encoder!r} reads features, and this is a Bi-LSTM"
    try:
        configure(method, FROM_FEATURES)
    except ConfigError as problem:
        return str(problem)
    return None


def choose_methods(
    names: Sequence[str], *, task: Task | None = None, from_features: bool = False
) -> list[str]:
    """Return the names, with ``all`` replaced by every method that can run here and suits the task.

    Raises:
        ConfigError: There is no name, or a method does not exist, does not suit the task, or cannot
            read features.
    """
    if not names:
        raise ConfigError(f"give at least one method: {ALL}, or some of {', '.join(METHODS)}")
    chosen = []
    for name in names:
        if name == ALL:
            reasons = left_out([ALL], task=task, from_features=from_features)
            chosen += [known for known in METHODS if known not in reasons]
            continue
        why = why_no_features(name) if from_features else None
        if why is not None:
            raise ConfigError(f"{name} cannot learn from features: {why}")
        find_method(name)
        if task is not None and name in NOT_FOR[task]:
            raise ConfigError(f"{name} {NOT_FOR[task][name]}")
        chosen.append(name)
    return list(dict.fromkeys(chosen))


def left_out(
    names: Sequence[str], *, task: Task | None = None, from_features: bool = False
) -> dict[str, str]:
    """Return the methods that ``all`` among the names leaves out, with the reasons."""
    if ALL not in names:
        return {}
    others = {} if task is None else {name: f"it {why}" for name, why in NOT_FOR[task].items()}
    reasons = {
        name: others.get(name)
        or unavailable_reason(method)
        or (why_no_features(name) if from_features else None)
        for name, method in METHODS.items()
    }
    return {name: reason for name, reason in reasons.items() if reason is not None}
