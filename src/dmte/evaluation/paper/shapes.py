"""What results look like on disk, so that a damaged file is refused before anything is made of it.

A shape is a test of a value, names with a shape each, or ``Each`` for any number of one shape.
Only what a table or page is made from is looked at.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Union

from dmte.evaluation.paper.tables import PERCENTS
from dmte.evaluation.summary import CLASS_FIGURES, LINK_FIGURES

Shape = Union[Callable[[Any], bool], Mapping[str, "Shape"], "Each"]
_MISSING = object()


@dataclass(frozen=True, slots=True)
class Each:
    """A list, or an object whatever its names, that holds something, all of one shape."""

    shape: Shape


def misfit(value: Any, shape: Shape, place: str = "") -> str | None:
    """Return the place where a value that was read from JSON first differs from its shape, if any.

    >>> misfit({"auc": [0.9, None]}, {"auc": Each(is_share)})
    'auc.1'
    """
    if callable(shape):
        return None if shape(value) else place or "everything"
    parts = list(_parts(value, shape))
    if not parts:
        return place or "everything"
    found = (misfit(part, inner, f"{place}.{name}".strip(".")) for name, part, inner in parts)
    return next((one for one in found if one is not None), None)


def _parts(value: Any, shape: "Mapping[str, Shape] | Each") -> Iterator[tuple[str, Any, Shape]]:
    """Yield what a value is made of, each part with its shape; nothing where it is of another."""
    if isinstance(shape, Each):
        held = dict(enumerate(value)) if isinstance(value, list) else value
        if isinstance(held, dict):
            yield from ((str(name), part, shape.shape) for name, part in held.items())
    elif isinstance(value, dict):
        yield from ((name, value.get(name, _MISSING), inner) for name, inner in shape.items())


def is_number(value: Any) -> bool:
    """Return whether it is a number, which NaN is not."""
    return type(value) in (int, float) and math.isfinite(value)


def is_share(value: Any) -> bool:
    """Return whether it is between 0 and 1, as every score is."""
    return is_number(value) and 0 <= value <= 1


def _is_number_or_none(value: Any) -> bool:
    return value is None or is_number(value)


def _is_positive(value: Any) -> bool:
    return is_number(value) and value > 0


def _is_ratio(value: Any) -> bool:
    return value in [percent / 100 for percent in PERCENTS]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_settings(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("hop_weights", []), list)


def _are_label_scores(value: Any) -> bool:
    """Return whether these are scores by shares of the labelled vertices."""
    shape = Each(dict.fromkeys(CLASS_FIGURES, is_share))
    return misfit(value, shape) is None and all(map(_says_number, value))


def _says_number(name: str) -> bool:
    return name.replace(".", "", 1).isdecimal()


def _is_maker(value: Any) -> bool:
    """Return whether it says what made a fit, or that this is not recorded."""
    return value is None or misfit(value, _MAKER) is None


def _is_text_or_none(value: Any) -> bool:
    return value is None or _is_text(value)


_MAKER: Mapping[str, Shape] = {
    **dict.fromkeys(("dmte", "torch", "processor"), _is_text),
    "revision": _is_text_or_none,
}
_COST: Mapping[str, Shape] = {"fit_seconds": is_number, "peak_mb": _is_number_or_none}
_LEAKS: Mapping[str, Shape] = dict.fromkeys(("self_loops", "trained_on"), is_number)
_NEIGHBORS = Each({"text": _is_text, "rank": is_number, "linked": lambda value: value in (0, 1)})
_SUMMARY: Mapping[str, Shape] = {
    "mean": is_share,
    "std": _is_number_or_none,
    "values": Each(is_share),
}
_NETWORK: Mapping[str, Shape] = {"name": _is_text, "vertices": is_number}
_CASE: Mapping[str, Shape] = {"query": _is_text, "closest": _NEIGHBORS, "printed": _NEIGHBORS}

RESULTS: Mapping[str, Shape] = MappingProxyType(
    {
        "LinkCell": {
            "scores": Each(dict.fromkeys(LINK_FIGURES, is_share)),
            "hidden_edges": is_number,
            **_LEAKS,
            **_COST,
        },
        "ClassCell": {"scores": _are_label_scores, **_COST},
        "CaseCell": {**_CASE, **_COST},
    }
)
"""The result of a cell, by its kind."""

ROWS: Mapping[str, Shape] = MappingProxyType(
    {
        "LinkCell": {
            "method": _is_text,
            "settings": _are_settings,
            "protocol": _is_text,
            "train_fraction": _is_ratio,
            "score": _is_text,
            **dict.fromkeys(LINK_FIGURES, _SUMMARY),
            "peak_mb": _is_number_or_none,
            "hidden_edges": _is_positive,
            **_LEAKS,
        },
        "ClassCell": {
            "method": _is_text,
            "settings": _are_settings,
            "label_fraction": is_share,
            **dict.fromkeys(CLASS_FIGURES, _SUMMARY),
            "peak_mb": _is_number_or_none,
        },
        "CaseCell": _CASE,
    }
)
"""What a target makes of such results, a row of it."""

HEAD: Mapping[str, Shape] = MappingProxyType(
    {
        "title": _is_text,
        "network": _NETWORK,
        "versions": dict.fromkeys(("dmte", "torch", "python"), _is_text),
        "machine": dict.fromkeys(("system", "processor"), _is_text),
        "threads": is_number,
        "seeds": Each(is_number),
        "made": Each({"by": _is_maker, "cells": _is_positive}),
        "median_seconds": Each(is_number),
    }
)
"""What stands above the rows of a target."""
