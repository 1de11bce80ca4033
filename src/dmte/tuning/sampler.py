"""Proposals of trials: the recipes, points close to the default, then optuna's.

Every trial has a new sampler, seeded by the search's seed and the number of the trial. So a
proposal depends only on these and the trials before it.
"""

import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dmte.errors import MissingExtraError
from dmte.runtime.seeding import generator_for
from dmte.tuning.result import Trial
from dmte.tuning.space import Choice, Range, Space, Whole

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

FEWEST_TO_PRUNE = 5
"""Fewest earlier trials with which a trial below their median is pruned."""


def propose(trials: Sequence[Trial], seed: int, space: Space) -> dict[str, Any]:
    """Return the point to try after these trials.

    Raises:
        MissingExtraError: optuna is needed and not installed.
    """
    number, known = len(trials), space.first_points()
    if number < len(known):
        return known[number]
    optuna = import_optuna()
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        sampler = optuna.samplers.TPESampler(
            seed=generator_for(seed, "proposal", number).initial_seed()
        )
        study = optuna.create_study(direction="maximize", sampler=sampler)
        kinds = {name: _distribution(kind) for name, kind in space.ranges.items()}
        study.add_trials([_frozen(trial, kinds) for trial in trials])
        return dict(study.ask(kinds).params)
    finally:
        optuna.logging.set_verbosity(level)


def is_hopeless(trials: Sequence[Trial], aucs: Sequence[float]) -> bool:
    """Whether a trial is below the median of the earlier ones on as many splits."""
    others = [statistics.fmean(trial.aucs[: len(aucs)]) for trial in trials if trial.aucs]
    return len(others) >= FEWEST_TO_PRUNE and statistics.fmean(aucs) < statistics.median(others)


def _frozen(trial: Trial, kinds: Mapping[str, "BaseDistribution"]) -> Any:
    """Convert a trial to optuna's."""
    optuna = import_optuna()
    states = optuna.trial.TrialState
    cut = states.PRUNED if trial.aucs and trial.problem is None else states.FAIL
    return optuna.trial.create_trial(
        state=states.COMPLETE if trial.is_complete else cut,
        value=trial.auc if trial.is_complete else None,
        params=dict(trial.point),
        distributions=dict(kinds),
        intermediate_values=dict(enumerate(trial.aucs)),
    )


def _distribution(kind: Range) -> "BaseDistribution":
    distributions = import_optuna().distributions
    found: BaseDistribution
    if isinstance(kind, Choice):
        found = distributions.CategoricalDistribution(kind.options)
    elif isinstance(kind, Whole):
        found = distributions.IntDistribution(kind.low, kind.high, log=kind.log)
    else:
        found = distributions.FloatDistribution(kind.low, kind.high, log=kind.log)
    return found


def import_optuna() -> Any:
    """Import optuna, which is optional.

    Raises:
        MissingExtraError: optuna is not installed.
    """
    try:
        import optuna
    except ImportError as problem:
        raise MissingExtraError(
            "tuning needs optuna, which is not installed; pip install 'dmte[tune]'"
        ) from problem
    return optuna
