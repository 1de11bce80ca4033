"""DMTE and every baseline, by the name the command line uses."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from dmte.baselines import BASELINES
from dmte.config import RECIPES, VARIANTS, Settings
from dmte.embedding import Method, why_not
from dmte.errors import ConfigError
from dmte.method import DmteMethod
from dmte.names import propose

METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "dmte": DmteMethod.of(RECIPES["recommended"]),
        "dmte-paper": DmteMethod.of(VARIANTS["word-average"]),
        "dmte-paper-no-diffusion": DmteMethod.of(VARIANTS["no-diffusion"]),
        "dmte-paper-text-only": DmteMethod.of(VARIANTS["text-only"]),
        "dmte-paper-bilstm": DmteMethod.of(VARIANTS["bilstm"]),
        **BASELINES,
    }
)
"""DMTE in its four versions and every baseline."""

ALL = "all"
"""Stands for every method that can run here."""
LINKS_ONLY = frozenset({"adamic-adar"})
"""Methods that score pairs and have no vectors to classify by."""
FROM_FEATURES: Mapping[str, Any] = MappingProxyType({"encoder": "features"})
"""What changes about a version of DMTE where vertices come with features: it reads these."""


def find_method(name: str) -> Method:
    """Return the method called ``name``.

    Raises:
        ConfigError: There is none; names that come close are proposed.
    """
    if name in METHODS:
        return METHODS[name]
    raise ConfigError(f"there is no method {name!r}; {propose(name, METHODS)}")


def reads_features(name: str) -> bool:
    """Return whether the method is a version of DMTE, which takes features in place of texts."""
    return isinstance(find_method(name), Settings)


def why_no_features(name: str) -> str | None:
    """Return why a version of DMTE cannot take features in place of texts, or none if it can.

    Other methods go on reading texts, and have no reason either.
    """
    method = find_method(name)
    if not isinstance(method, Settings):
        return None
    if method.encoder == VARIANTS["bilstm"].encoder:
        return "features are read by the encoder 'features' and by no other, and this is a Bi-LSTM"
    try:
        replace(method, **FROM_FEATURES)
    except ConfigError as problem:
        return str(problem)
    return None


def choose_methods(
    names: Sequence[str], *, with_vectors: bool = False, from_features: bool = False
) -> list[str]:
    """Return the names, ``all`` standing for every method that can run here.

    Raises:
        ConfigError: There is no name, or one is no method's, or that method has no vectors although
            it needs them, or cannot read the features there are.
    """
    if not names:
        raise ConfigError(f"give at least one method: {ALL}, or some of {', '.join(METHODS)}")
    chosen = []
    for name in names:
        if name == ALL:
            reasons = left_out([ALL], from_features=from_features)
            chosen += [known for known in METHODS if known not in reasons]
            continue
        why = why_no_features(name) if from_features else None
        if why is not None:
            raise ConfigError(f"{name} cannot learn from features: {why}")
        find_method(name)
        if with_vectors and name in LINKS_ONLY:
            raise ConfigError(f"{name} scores pairs and has no vectors to classify vertices by")
        chosen.append(name)
    return [name for name in dict.fromkeys(chosen) if not (with_vectors and name in LINKS_ONLY)]


def left_out(names: Sequence[str], *, from_features: bool = False) -> dict[str, str]:
    """Return the methods that ``all`` among the names does not stand for, and why not."""
    if ALL not in names:
        return {}
    reasons = {
        name: why_not(method) or (why_no_features(name) if from_features else None)
        for name, method in METHODS.items()
    }
    return {name: reason for name, reason in reasons.items() if reason is not None}
