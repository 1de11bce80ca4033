"""The search itself: trials on held-back edges, kept in a journal, and the check on fresh ones.

The journal is a file of JSON lines that only grows: what the search is of, then a line per trial
and per comparison, on disk before the next begins. A kill leaves at most half a line at its end.
One search at a time has it; another is refused before it reads a line.
optuna's own journal is not used: half a line at its end breaks it, a killed process leaves it
locked, a damaged line is not named, and reading needs optuna, which is optional.
"""

import hashlib
import json
import math
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

from jaxtyping import Float
from torch import Tensor

from dmte.errors import ConfigError, DmteError, StorageError, TrainingError
from dmte.metrics import auc, auc_difference_error
from dmte.network import TextualNetwork
from dmte.runtime.seeding import generator_for
from dmte.settings import Settings
from dmte.storage.journal import append_line, read_lines, sole_writer
from dmte.training.run import TrainingRun
from dmte.training.validation import ValidationEdges, split_validation
from dmte.tuning.checks import JUDGING_SHARE, refuse_untunable
from dmte.tuning.result import Check, Outcome, Trial
from dmte.tuning.sampler import import_optuna, is_hopeless, propose
from dmte.tuning.space import space_of

FRESH_SPLITS = 5
"""Splits on which the best is compared with the default once more."""


class _OutOfTime(Exception):  # noqa: N818 - nothing went wrong
    """A trial takes longer than there is time for."""


class Search:
    """A search on one network: its trials so far, in memory and in a journal if one is named.

    Where the network has features, every trial learns from those instead of the texts. The journal
    is the search's own until a ``with`` that it is used in ends, or nothing refers to it any more.

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
        self.network, self.seed, self.num_splits = network, seed, num_splits
        self.space = space_of(network)
        self.journal = None if journal is None else Path(journal)
        self.trials: list[Trial] = []
        self.checks: list[Check] = []
        self._written: set[str] = set()  # the SHA-256 of files of settings
        self._lost_seconds = 0.0
        self._has_begun = False
        self._held = ExitStack()  # the journal, against other searches
        self._splits: dict[int, tuple[TextualNetwork, ValidationEdges]] = {}
        refuse_untunable(network)
        self._open()

    def __enter__(self) -> "Search":
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    @cached_property
    def header(self) -> dict[str, Any]:
        """What a search is of: only a journal of the same can be gone on with."""
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
        """How long all trials and checks took, those of earlier sittings included."""
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
        """Make trials until there are so many, or until time is up; yield each when it is done.

        Time is that of all sittings, and what the fresh splits will take is left over. The default
        is always judged.

        Raises:
            ConfigError: There is no limit, or none that makes sense.
            DmteError: The default cannot be trained.
            MissingExtraError: optuna is not installed.
        """
        _check_limits(trials, seconds)
        import_optuna()  # Better missed now than after some trials.
        self._begin()
        while trials is None or len(self.trials) < trials:
            left = math.inf if seconds is None else seconds - self.spent_seconds - self._reserve()
            if self.trials and left <= 0:
                return
            trial = self._try(left if self.trials else math.inf)
            if trial is None:
                return
            self._keep("trial", trial.to_dict())
            self.trials.append(trial)
            yield trial

    def check(self) -> Iterator[Check]:
        """Train the best and the default on fresh splits, if they differ; yield each comparison."""
        best = self.best
        if best.number == self.default.number:
            return
        done = {check.split for check in self.checks if check.trial == best.number}
        for split in range(self.num_splits, self.num_splits + FRESH_SPLITS):
            if split not in done:
                check = self._compare(best, split)
                self._keep("check", asdict(check))
                self.checks.append(check)
                yield check

    def outcome(self) -> Outcome:
        """Return what has been found so far.

        Raises:
            TrainingError: Not even the default has been judged.
        """
        if not self.trials:
            raise TrainingError("nothing has been tried yet")
        best = self.best
        checks = sorted(
            (check for check in self.checks if check.trial == best.number), key=lambda c: c.split
        )
        return Outcome(
            network=self.header["network"],
            seed=self.seed,
            num_trials=len(self.trials),
            num_splits=self.num_splits,
            default=self.default,
            best=best,
            checks=tuple(checks),
        )

    def note_written(self, content: bytes) -> None:
        """Remember that a file with this content is ours, so that it may be replaced."""
        if not self.has_written(content):
            self._keep("written", _digest(content))
            self._written.add(_digest(content))

    def has_written(self, content: bytes) -> bool:
        """Return whether a file with this content is ours."""
        return _digest(content) in self._written

    def _reserve(self) -> float:
        """Return how long the fresh splits will take."""
        if not self.trials:
            return 0.0
        return FRESH_SPLITS * (self.default.seconds_a_fit + self.best.seconds_a_fit)

    def _try(self, seconds: float) -> Trial | None:
        """Return the next trial, or none if it takes too long."""
        number, space = len(self.trials), self.space
        point = propose(self.trials, self.seed, space)
        # The first points are the recipes, whose λ need not decay evenly.
        is_recipe = number < len(space.recipes)
        settings = space.recipes[point["recipe"]] if is_recipe else space.settings_of(point)
        began, aucs, problem = time.perf_counter(), [], None
        try:
            for split in range(self.num_splits):
                aucs.append(auc(*self._scores(settings, split, began + seconds)))
                if len(aucs) < self.num_splits and is_hopeless(self.trials, aucs):
                    break
        except _OutOfTime:
            self._lose(time.perf_counter() - began)
            return None
        except (DmteError, MemoryError, RuntimeError) as error:
            problem = _why_it_failed(error, is_default=number == 0)
        seconds = time.perf_counter() - began
        is_complete = problem is None and len(aucs) == self.num_splits
        return Trial(number, point, settings, tuple(aucs), seconds, is_complete, problem)

    def _scores(
        self, settings: Settings, split: int, deadline: float = math.inf
    ) -> tuple[Float[Tensor, " positive"], Float[Tensor, " negative"]]:
        """Return the scores of the judging edges and of pairs that are none.

        Raises:
            _OutOfTime: The deadline passed before that.
        """
        train, judging = self._split(split)
        run = TrainingRun(train, settings, self._split_seed(split))
        for _ in run.epochs():
            if time.perf_counter() > deadline:
                raise _OutOfTime
        embedding = run.result().embedding
        return embedding.score(judging.edges), embedding.score(judging.non_edges)

    def _split(self, split: int) -> tuple[TextualNetwork, ValidationEdges]:
        if split not in self._splits:
            train, judging = split_validation(self.network, JUDGING_SHARE, self._split_seed(split))
            if judging is None:
                raise TrainingError("no edges were held back")
            self._splits[split] = train, judging
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
            best=auc(*first),
            default=auc(*second),
            error=auc_difference_error(first, second),
            seconds=time.perf_counter() - began,
        )

    def _lose(self, seconds: float) -> None:
        self._keep("lost", seconds)
        self._lost_seconds += seconds

    def _begin(self) -> None:
        if self.journal is not None and not self._has_begun:
            self._held.close()
            self._held.enter_context(sole_writer(self.journal))
            if self.journal.stat().st_size:  # It was not there when we looked.
                self._held.close()
                raise StorageError(
                    f"another search has begun {self.journal}; the same command goes on with it"
                )
            append_line(self.journal, self.header)
            self._has_begun = True

    def _keep(self, kind: str, value: Any) -> None:
        if self.journal is not None:
            append_line(self.journal, {kind: value})

    def _open(self) -> None:
        """Take over what the journal holds, and the journal; one that is not there is not made.

        Raises:
            StorageError: Another search has it, it is of another search, or it is damaged.
        """
        if self.journal is not None and self.journal.exists():
            self._held.enter_context(sole_writer(self.journal))
        try:
            self._read()
        except StorageError:
            self._held.close()
            raise

    def _read(self) -> None:
        lines = [] if self.journal is None else read_lines(self.journal)
        self._has_begun = bool(lines)
        for number, line in enumerate(lines):
            try:
                entry = json.loads(line)
                if number == 0:
                    self._refuse_another(entry)
                else:
                    self._take(entry)
            except (ValueError, TypeError, KeyError, AttributeError, ConfigError) as problem:
                raise StorageError(
                    f"{self.journal}, line {number + 1} is none of a search; "
                    "delete the file to search anew"
                ) from problem

    def _refuse_another(self, header: Mapping[str, Any]) -> None:
        own = json.loads(json.dumps(self.header))  # JSON has no tuples.
        if "tuning" not in header:
            raise ValueError("no header")
        names = {"network": "another network", "seed": "another seed"}
        for name, value in own.items():
            if header.get(name) != value:
                what = names.get(name, f"other {name}")
                raise StorageError(
                    f"{self.journal} holds a search with {what}; say another place, or delete "
                    "the file to search anew"
                )

    def _take(self, entry: Mapping[str, Any]) -> None:
        ((kind, value),) = entry.items()
        if kind == "trial":
            trial = Trial.from_dict(value)
            if trial.number != len(self.trials):
                raise ValueError("two searches wrote here at once")
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
    """Search settings for ``network`` until there are so many trials, or until time is up.

    Where it has features, they are settings to learn from those instead of the texts.

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


def _check_limits(trials: int | None, seconds: float | None) -> None:
    if trials is None and seconds is None:
        raise ConfigError("say how many trials to make or how many minutes to take")
    if trials is not None and trials < 1:
        raise ConfigError(f"trials must be at least 1, not {trials}")
    if seconds is not None and not 0 < seconds < math.inf:
        raise ConfigError(f"minutes must be above 0, not {seconds / 60:g}")


def _why_it_failed(error: Exception, *, is_default: bool) -> str:
    """Return why a trial failed; what is our own mistake, or the default's, is raised again."""
    wants_memory = isinstance(error, MemoryError) or "allocate memory" in str(error)
    if is_default or not (isinstance(error, DmteError) or wants_memory):
        raise error
    return "out of memory" if wants_memory else str(error)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
