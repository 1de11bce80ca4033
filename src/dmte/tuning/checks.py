"""Requirements for tuning: links, pairs without a link, and words or features."""

import math

from dmte.errors import ConfigError, TrainingError
from dmte.network import TextualNetwork
from dmte.text.tokenize import tokenize
from dmte.training.edges import num_linked_pairs, num_pairs

TUNING_SHARE = 0.2
"""Share of the edges held out to score trials."""
MIN_TUNING_EDGES = 20
"""Fewest tuning edges, and fewest non-edges, that can show a difference."""


def check_tunable(network: TextualNetwork) -> None:
    """Check that a search on ``network`` can compare settings.

    Raises:
        TrainingError: There are too few links or non-edges, or the default has no input.
    """
    _check_pairs(network)
    _check_input(network)


def _check_pairs(network: TextualNetwork) -> None:
    linked = num_linked_pairs(network)
    held_out, unlinked = int(TUNING_SHARE * linked), num_pairs(network.num_vertices) - linked
    if held_out < MIN_TUNING_EDGES:
        raise TrainingError(
            f"too few links to tune on: {held_out} of {linked} would be held out, and tuning needs "
            f"at least {MIN_TUNING_EDGES}; use the default settings"
        )
    if unlinked < MIN_TUNING_EDGES:
        raise TrainingError(
            f"too few pairs of vertices without a link to tune on: {unlinked}, and tuning needs at "
            f"least {MIN_TUNING_EDGES}; use the default settings"
        )


def _check_input(network: TextualNetwork) -> None:
    """Check that the default can learn, since every trial is compared with it."""
    if network.features is None:
        missing, found = "text has a word", any(map(tokenize, network.texts))
    else:
        missing, found = "feature is other than zero", bool(network.features.any())
    if not found:
        raise TrainingError(
            f"no {missing}, which the default recipe needs, and a search starts from the default; "
            "the paper's recipe learns from links alone: dmte train --recipe paper"
        )


def check_limits(trials: int | None, seconds: float | None) -> None:
    """Check the limits of a search.

    Raises:
        ConfigError: There is no limit, or one is out of range.
    """
    if trials is None and seconds is None:
        raise ConfigError("tuning needs a limit: how many trials, or how many minutes")
    if trials is not None and trials < 1:
        raise ConfigError(f"trials must be at least 1, not {trials}")
    if seconds is not None and not 0 < seconds < math.inf:
        raise ConfigError(f"minutes must be above 0, not {seconds / 60:g}")
