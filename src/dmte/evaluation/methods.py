"""DMTE and every baseline, by the name the command line uses."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType

from dmte.baselines import BASELINES
from dmte.config import RECIPES, VARIANTS
from dmte.embedding import Method, why_not
from dmte.errors import ConfigError
from dmte.method import DmteMethod

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


def find_method(name: str) -> Method:
    """Return the method called ``name``.

    Raises:
        ConfigError: There is none; names that come close are proposed.
    """
    if name in METHODS:
        return METHODS[name]
    close = get_close_matches(name, METHODS, n=2)
    hint = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(METHODS)}"
    raise ConfigError(f"there is no method {name!r}; {hint}")


def choose_methods(names: Sequence[str], *, with_vectors: bool = False) -> list[str]:
    """Return the names, ``all`` standing for every method that can run here.

    Raises:
        ConfigError: A name is no method's, or that method has no vectors although it needs them.
    """
    chosen = []
    for name in names:
        if name == ALL:
            chosen += [known for known in METHODS if why_not(METHODS[known]) is None]
            continue
        find_method(name)
        if with_vectors and name in LINKS_ONLY:
            raise ConfigError(f"{name} scores pairs and has no vectors to classify vertices by")
        chosen.append(name)
    return [name for name in dict.fromkeys(chosen) if not (with_vectors and name in LINKS_ONLY)]


def left_out(names: Sequence[str]) -> dict[str, str]:
    """Return the methods that ``all`` among the names does not stand for, and why not."""
    if ALL not in names:
        return {}
    reasons = {name: why_not(method) for name, method in METHODS.items()}
    return {name: reason for name, reason in reasons.items() if reason is not None}
