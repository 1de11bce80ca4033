"""The search: trials on tuning edges, then a comparison with the default on fresh splits."""

import hashlib
import math
import time
from collections.abc import Iterator
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

from dmte.errors import ConfigError, DmteError, TrainingError
from dmte.metrics import PairScores, auc_difference_error
from dmte.network import TextualNetwork
from dmte.runtime.seeding import generator_for
from dmte.settings import Settings
from dmte.training.run import TrainingRun
from dmte.training.validation import ValidationEdges, split_validation
from dmte.tuning.checks import TUNING_SHARE, check_limits, check_tunable
from dmte.tuning.journal import SearchJournal
from dmte.tuning.result import Check, Outcome, Trial
from dmte.tuning.sampler import import_optuna, is_hopeless, propose
from dmte.tuning.space import space_of

FRESH_SPLITS = 5
"""Splits on which the best trial is compared with the default."""


class _OutOfTime(Exception):  # noqa: N818 - not an error
    """A trial would exceed the time limit."""


class Search:
    """A search on one network, in memory and optionally in a journal.

    A ``with`` statement releases the journal at its end.

    >>> from dmte.network import read_network
    >>> search = Search(read_network("concepts"), seed=0)
    >>> search.spent_seconds, search.trials
    (0.0, [])
    """

    def __init__(
        self,
        network: TextualNetwork,
        seed: int,
        *,
        num_splits: int = 2,
        journal: Path | str | None = None,
    ) -> None:
        if num_splits < 1:
            raise ConfigError(f"splits must be at least 1, not {num_splits}")
        check_tunable(network)
        self.network, self.seed, self.num_splits = network, seed, num_splits
        self.space = space_of(network)
        self.trials: list[Trial] = []
        self.checks: list[Check] = []
        self._written: set[str] = set()  # SHA-256 of settings files
        self._lost_seconds = 0.0
        self._splits: dict[int, tuple[TextualNetwork, ValidationEdges]] = {}
        self._journal = SearchJournal(None if journal is None else Path(journal), self.header)
        self._journal.read(self._take)

    def __enter__(self) -> "Search":
        return self

    def __exit__(self, *_: object) -> None:
        self._journal.close()

    @property
    def journal(self) -> Path | None:
        """The path of the journal, if there is one."""
        return self._journal.path

    @cached_property
    def header(self) -> dict[str, Any]:
        """The identity of a search; a journal with another header cannot be resumed."""
        return {
            "tuning": 1,
            "network": self.network.fingerprint(),
            "seed": self.seed,
            "splits": self.num_splits,
            "space": {name: asdict(kind) for name, kind in self.space.ranges.items()},
            "recipes": {name: recipe.to_dict() for name, recipe in self.space.recipes.items()},
        }

    @property
    def spent_seconds(self) -> float:
        """Seconds of all trials and checks, including those of earlier runs."""
        trials = sum(trial.seconds for trial in self.trials)
        return trials + sum(check.seconds for check in self.checks) + self._lost_seconds

    @property
    def default(self) -> Trial:
        """The recommended recipe's trial."""
        return self.trials[0]

    @property
    def best(self) -> Trial:
        """The complete trial with the highest AUC, the earliest of equals."""
        return max((trial for trial in self.trials if trial.is_complete), key=lambda t: t.auc)

    def run(self, *, trials: int | None = None, seconds: float | None = None) -> Iterator[Trial]:
        """Yield trials until one of the limits is reached.

        ``seconds`` counts all runs and reserves the time of the fresh splits. The default always
        runs.

        Raises:
            ConfigError: There is no limit, or one is out of range.
            DmteError: The default cannot be trained.
            MissingExtraError: optuna is not installed.
        """
        check_limits(trials, seconds)
        import_optuna()  # Fails now rather than after some trials.
        self._journal.begin()
        while trials is None or len(self.trials) < trials:
            left = math.inf if seconds is None else seconds - self.spent_seconds - self._reserve()
            if self.trials and left <= 0:
                return
            trial = self._try(left if self.trials else math.inf)
            if trial is None:
                return
            self._journal.add("trial", trial.to_dict())
            self.trials.append(trial)
            yield trial

    def check(self) -> Iterator[Check]:
        """Yield comparisons of the best trial and the default on fresh splits, if they differ."""
        best = self.best
        if best.number == self.default.number:
            return
        done = {check.split for check in self.checks if check.trial == best.number}
        for split in range(self.num_splits, self.num_splits + FRESH_SPLITS):
            if split not in done:
                check = self._compare(best, split)
                self._journal.add("check", asdict(check))
                self.checks.append(check)
                yield check

    def outcome(self) -> Outcome:
        """Return the result so far.

        Raises:
            TrainingError: There are no trials.
        """
        if not self.trials:
            raise TrainingError("the search has no trials yet")
        best = self.best
        checks = [check for check in self.checks if check.trial == best.number]
        return Outcome(
            network=self.header["network"],
            seed=self.seed,
            num_trials=len(self.trials),
            num_splits=self.num_splits,
            default=self.default,
            best=best,
            checks=tuple(sorted(checks, key=lambda check: check.split)),
        )

    def note_written(self, content: bytes) -> None:
        """Record that this search wrote a file with this content, which may be replaced."""
        if not self.has_written(content):
            self._journal.add("written", _digest(content))
            self._written.add(_digest(content))

    def has_written(self, content: bytes) -> bool:
        """Return whether this search wrote a file with this content."""
        return _digest(content) in self._written

    def _reserve(self) -> float:
        """Estimate the seconds of the fresh splits."""
        if not self.trials:
            return 0.0
        return FRESH_SPLITS * (self.default.seconds_a_fit + self.best.seconds_a_fit)

    def _try(self, seconds: float) -> Trial | None:
        """Run the next trial; return ``None`` if it exceeds ``seconds``."""
        number, space = len(self.trials), self.space
        point = propose(self.trials, self.seed, space)
        # The first points are the recipes, whose λ may not be a power of one decay.
        is_recipe = number < len(space.recipes)
        settings = space.recipes[point["recipe"]] if is_recipe else space.settings_of(point)
        began, aucs, problem = time.perf_counter(), [], None
        try:
            for split in range(self.num_splits):
                aucs.append(self._scores(settings, split, began + seconds).auc())
                if len(aucs) < self.num_splits and is_hopeless(self.trials, aucs):
                    break
        except _OutOfTime:
            self._lost_seconds += (lost := time.perf_counter() - began)
            self._journal.add("lost", lost)
            return None
        except (DmteError, MemoryError, RuntimeError) as error:
            problem = _failure_reason(error, is_default=number == 0)
        seconds = time.perf_counter() - began
        is_complete = problem is None and len(aucs) == self.num_splits
        return Trial(number, point, settings, tuple(aucs), seconds, is_complete, problem)

    def _scores(self, settings: Settings, split: int, deadline: float = math.inf) -> PairScores:
        """Train and score the tuning edges and the non-edges of a split.

        Raises:
            _OutOfTime: The deadline has passed.
        """
        train, tuning = self._split(split)
        run = TrainingRun(train, settings, self._split_seed(split))
        for _ in run.epochs():
            if time.perf_counter() > deadline:
                raise _OutOfTime
        embedding = run.result().embedding
        return PairScores(embedding.score(tuning.edges), embedding.score(tuning.non_edges))

    def _split(self, split: int) -> tuple[TextualNetwork, ValidationEdges]:
        if split not in self._splits:
            train, tuning = split_validation(self.network, TUNING_SHARE, self._split_seed(split))
            if tuning is None:
                raise TrainingError("no edges were held out")
            self._splits[split] = train, tuning
        return self._splits[split]

    def _split_seed(self, split: int) -> int:
        return generator_for(self.seed, "tuning split", split).initial_seed()

    def _compare(self, best: Trial, split: int) -> Check:
        began = time.perf_counter()
        first = self._scores(best.settings, split)
        second = self._scores(self.default.settings, split)
        return Check(
            trial=best.number,
            split=split,
            best=first.auc(),
            default=second.auc(),
            error=auc_difference_error(first, second),
            seconds=time.perf_counter() - began,
        )

    def _take(self, kind: str, value: Any) -> None:
        """Restore an entry of the journal."""
        if kind == "trial":
            trial = Trial.from_dict(value)
            if trial.number != len(self.trials):
                raise ValueError("trials are missing or repeated")
            self.trials.append(trial)
        elif kind == "check":
            self.checks.append(Check(**value))
        elif kind == "written":
            self._written.add(value)
        elif kind == "lost":
            self._lost_seconds += value
        else:
            raise ValueError(kind)


def tune(
    network: TextualNetwork,
    seed: int = 0,
    *,
    trials: int | None = None,
    minutes: float | None = None,
    journal: Path | str | None = None,
) -> Outcome:
    """Search settings for ``network`` until one of the limits is reached.

    If it has features, trials learn from those instead of the texts.

    >>> import torch
    >>> from dmte.network.synthetic import PlantedTopics
    >>> network = PlantedTopics(num_vertices=80).draw(torch.Generator().manual_seed(0))
    >>> outcome = tune(network, trials=1)  # rather minutes=10
    >>> outcome.num_trials, outcome.is_better  # The first trial is the recommended recipe.
    (1, False)

    Raises:
        DmteError: The default cannot be trained, or optuna is not installed.
    """
    with Search(network, seed, journal=journal) as search:
        for _ in search.run(trials=trials, seconds=None if minutes is None else 60 * minutes):
            pass
        for _ in search.check():
            pass
        return search.outcome()


def _failure_reason(error: Exception, *, is_default: bool) -> str:
    """Return why a trial failed; raise unexpected errors and those of the default."""
    is_memory = isinstance(error, MemoryError) or "allocate memory" in str(error)
    if is_default or not (isinstance(error, DmteError) or is_memory):
        raise error
    return "out of memory" if is_memory else str(error)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
