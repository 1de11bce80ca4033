"""The search: its splits, its journal, and resuming."""

import json
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from dmte.errors import ConfigError, MissingExtraError, StorageError, TrainingError
from dmte.metrics import PairScores
from dmte.network import TextualNetwork
from dmte.settings import Settings
from dmte.storage.stored_json import read_checked
from dmte.training.run import TrainingRun
from dmte.tuning import Search, Trial, search, tune
from dmte.tuning.journal import SearchJournal
from dmte.tuning.result import Check, Outcome
from dmte.tuning.sampler import is_hopeless
from dmte.tuning.space import SPACE

pytest.importorskip("optuna", reason="tuning needs the extra dmte[tune]")
UNTIL_OPTUNA = len(SPACE.first_points())


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trainings that take no time, and whose scores are a function of settings and split."""

    def scores(self: Search, settings: Settings, split: int, deadline: float = 0) -> PairScores:  # noqa: ARG001
        salt = zlib.crc32(f"{settings} {split}".encode())
        noise = torch.Generator().manual_seed(salt)
        draws = torch.randn(2, 200, generator=noise)
        return PairScores(draws[0] + 2 + settings.hops / 20, draws[1])

    monkeypatch.setattr(Search, "_scores", scores)


def what_was_found(trials: list[Trial]) -> list[Any]:
    return [(t.number, dict(t.point), t.settings, t.aucs, t.is_complete) for t in trials]


@pytest.mark.usefixtures("quick")
def test_a_search_killed_at_any_byte_resumes_exactly(
    planted: TextualNetwork, tmp_path: Path
) -> None:
    whole = Search(planted, seed=3, journal=tmp_path / "whole.jsonl")
    list(whole.run(trials=UNTIL_OPTUNA + 3))
    list(whole.check())
    assert any(not trial.is_complete for trial in whole.trials)
    content = (tmp_path / "whole.jsonl").read_bytes()
    for share in (0.01, 0.3, 0.77, 0.97):
        part = tmp_path / "part.jsonl"
        part.write_bytes(content[: int(share * len(content))])
        with Search(planted, seed=3, journal=part) as again:
            list(again.run(trials=UNTIL_OPTUNA + 3))
            list(again.check())
        assert what_was_found(again.trials) == what_was_found(whole.trials)
        assert again.outcome().settings == whole.outcome().settings
        assert len(Search(planted, seed=3, journal=part).trials) == len(whole.trials)


@pytest.mark.usefixtures("quick")
def test_every_trial_on_features_reads_them(planted: TextualNetwork) -> None:
    with_features = planted.with_features(torch.ones(planted.num_vertices, 3))
    trials = list(Search(with_features, seed=3).run(trials=UNTIL_OPTUNA + 2))
    assert {trial.settings.encoder for trial in trials} == {"features"}
    assert len({str(trial.settings) for trial in trials}) == len(trials)  # None repeats another.


@pytest.mark.usefixtures("quick")
def test_a_finished_search_makes_no_more_trials(planted: TextualNetwork, tmp_path: Path) -> None:
    for _ in range(2):
        with Search(planted, seed=0, journal=tmp_path / "a.jsonl") as found:
            list(found.run(trials=4))
            list(found.check())
    assert list(found.run(trials=4)) == []
    assert list(found.check()) == []
    assert len((tmp_path / "a.jsonl").read_text().splitlines()) == 5 + len(found.checks)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("other", "message"),
    [
        (lambda n, j: Search(n.with_edges(n.edges[1:]), 0, journal=j), "another network"),
        (lambda n, j: Search(n, 1, journal=j), "another seed"),
        (lambda n, j: Search(n, 0, num_splits=3, journal=j), "other splits"),
    ],
)
def test_the_journal_of_another_search_raises(
    other: Callable[..., Search], message: str, planted: TextualNetwork, tmp_path: Path
) -> None:
    journal = tmp_path / "a.jsonl"
    list(Search(planted, seed=0, journal=journal).run(trials=1))
    before = journal.read_bytes()
    with pytest.raises(StorageError, match=message):
        other(planted, journal)
    assert journal.read_bytes() == before


@pytest.mark.usefixtures("quick")
def test_a_journal_of_another_space_or_with_a_damaged_line_raises(
    planted: TextualNetwork, tmp_path: Path
) -> None:
    journal = tmp_path / "a.jsonl"
    list(Search(planted, seed=0, journal=journal).run(trials=3))
    header, first, *others = journal.read_text().splitlines()
    space, _ = read_checked(header.encode())
    space["space"]["hops"]["high"] = 9
    for damaged, message in [
        ([json.dumps(space), first], "other space"),
        ([header, "{}", *others], "line 2: not a tuning record"),
        ([header, *others], "line 2: not a tuning record"),  # A trial is missing.
        (["junk", first], "line 1: not a tuning record"),
    ]:
        journal.write_text("\n".join(damaged) + "\n")
        with pytest.raises(StorageError, match=message):
            Search(planted, seed=0, journal=journal)


@pytest.mark.medium
@pytest.mark.usefixtures("quick")
def test_a_flipped_bit_of_a_journal_is_reported_with_its_line(
    planted: TextualNetwork, tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    with Search(planted, seed=0, journal=path) as search:
        list(search.run(trials=3))
        list(search.check())
        header = search.header
    whole = path.read_bytes()
    header_end = whole.index(b"\n")
    begin = whole.index(b"\n", header_end + 1) - 50  # The end of a line and the next one.
    positions = {*range(header_end + 1, len(whole), 397), *range(begin, begin + 100)}
    for bit in (8 * at + one for at in [*positions, len(whole) - 1] for one in range(8)):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        line = whole.count(b"\n", 0, bit // 8) + 1
        with pytest.raises(StorageError, match=rf"a\.jsonl, line {line}: "):
            SearchJournal(path, header).read(lambda *_: None)


@pytest.mark.usefixtures("quick")
def test_one_search_at_a_time_locks_a_journal(planted: TextualNetwork, tmp_path: Path) -> None:
    journal = tmp_path / "a.jsonl"
    early = Search(planted, seed=0, journal=journal)
    assert not journal.exists()  # Who only looks leaves nothing behind.
    with Search(planted, seed=0, journal=journal) as first:
        list(first.run(trials=2))
        before = journal.read_bytes()
        with pytest.raises(StorageError, match=r"another run adds to .*a\.jsonl"):
            Search(planted, seed=0, journal=journal)
        with pytest.raises(StorageError, match="another run"):
            list(early.run(trials=2))
    with pytest.raises(StorageError, match="another search has begun"):
        list(early.run(trials=2))
    assert journal.read_bytes() == before
    list(Search(planted, seed=0, journal=journal).run(trials=3))  # It is let go of as it is left,
    assert len(Search(planted, seed=0, journal=journal).trials) == 3  # and as it is forgotten.


@pytest.mark.medium
def test_tuning_edges_are_never_trained_on(
    planted: TextualNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither by training nor by early stopping, nor do fresh splits repeat those of trials."""
    trained_on = []

    class Spy(TrainingRun):
        def __init__(self, network: TextualNetwork, settings: Settings, seed: int) -> None:
            super().__init__(network, settings, seed)
            trained_on.append(network)

    monkeypatch.setattr(search, "TrainingRun", Spy)
    made = Search(planted, seed=0)
    scores = [made._scores(Settings(dim=16, epochs=1), split) for split in (0, 0, 2)]
    assert all(torch.equal(one, other) for one, other in zip(scores[0], scores[1], strict=True))

    def pairs(edges: Tensor) -> set[frozenset[int]]:
        return {frozenset(pair) for pair in edges.tolist()}

    everything = pairs(planted.edges)
    for split, network in zip((0, 0, 2), trained_on, strict=True):
        tuning = made._split(split)[1]
        assert pairs(tuning.edges).isdisjoint(pairs(network.edges))
        assert pairs(tuning.edges) | pairs(network.edges) == everything
        assert pairs(tuning.non_edges).isdisjoint(everything)
    assert pairs(made._split(0)[1].edges) != pairs(made._split(2)[1].edges)


def trial(number: int, *aucs: float, settings: Settings | None = None) -> Trial:
    return Trial(number, {}, settings or Settings(), aucs, 1.0, is_complete=True)


def outcome(*differences: float, error: float = 0.001) -> Outcome:
    default, best = trial(0, 0.9), trial(1, 0.95, settings=Settings(dim=64))
    checks = [
        Check(1, split, 0.9 + difference, 0.9, error, 1.0)
        for split, difference in enumerate(differences)
    ]
    return Outcome("", 0, 2, 1, default, best, tuple(checks))


@pytest.mark.parametrize(
    "found",
    [
        outcome(0.02, -0.03, 0.02),  # splits disagree
        outcome(0.02, 0.03, 0.02, error=0.05),  # too few tuning edges
        outcome(-0.02, -0.02, -0.02),
        outcome(0.0, 0.0, 0.0, error=0.0),
        outcome(),
    ],
)
def test_the_default_is_kept_if_fresh_splits_show_noise(found: Outcome) -> None:
    assert not found.is_better
    assert found.settings == found.default.settings


def test_the_best_is_kept_if_fresh_splits_agree() -> None:
    found = outcome(0.02, 0.03, 0.02)
    assert found.is_better
    assert found.settings == found.best.settings


@pytest.mark.parametrize(
    ("found", "is_worse"),
    [
        (outcome(-0.2, -0.21, -0.2), True),
        (outcome(-0.4, 0.01, -0.2), False),  # splits disagree
        (outcome(-0.2, -0.21, -0.2, error=0.2), False),  # too few tuning edges
        (outcome(0.0, 0.0, error=0.0), False),
        (outcome(0.2, 0.21, 0.2), False),
        (outcome(), False),
    ],
)
def test_a_loss_is_significant_like_a_gain(found: Outcome, *, is_worse: bool) -> None:
    assert found.is_worse == is_worse


def test_chance_alone_seldom_beats_the_default() -> None:
    draws = torch.randn(400, 5, generator=torch.Generator().manual_seed(0)).mul(0.01)
    wins = sum(outcome(*row, error=0.01).is_better for row in draws.tolist())
    assert wins / len(draws) < 0.03


@pytest.mark.usefixtures("quick")
def test_time_ends_a_search_but_not_before_the_default(planted: TextualNetwork) -> None:
    made = Search(planted, seed=0)
    assert len(list(made.run(seconds=1e-9))) == 1
    assert made.outcome().settings == Settings()


class Clock:
    """Tells the time that a test says."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now


def test_time_for_the_fresh_splits_is_reserved(
    planted: TextualNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A training takes a second: five trials of two splits, then five splits for two settings."""
    clock = Clock()

    def scores(self: Search, settings: Settings, *_: Any) -> PairScores:  # noqa: ARG001
        clock.now += 1.0
        return PairScores(torch.full((4,), float(settings != Settings())), torch.zeros(4))

    monkeypatch.setattr(search, "time", clock)
    monkeypatch.setattr(Search, "_scores", scores)
    made = Search(planted, seed=0, num_splits=2)
    assert len(list(made.run(seconds=20.0))) == 5
    assert len(list(made.check())) == 5
    assert made.spent_seconds == clock.now == 20


@pytest.mark.slow
def test_a_trial_that_takes_too_long_is_dropped_and_its_time_counts(
    planted: TextualNetwork, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Search, "_reserve", lambda self: 0.0)  # noqa: ARG005
    with Search(planted, seed=0, num_splits=1, journal=tmp_path / "a.jsonl") as made:
        first = next(made.run(trials=1))
        assert list(made.run(seconds=first.seconds + 0.01)) == []  # The paper's takes longer.
    again = Search(planted, seed=0, num_splits=1, journal=tmp_path / "a.jsonl")
    assert again.spent_seconds == made.spent_seconds > first.seconds + 0.01


def test_a_failed_trial_is_recorded_but_a_failed_default_raises(
    planted: TextualNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Search, settings: Settings, *_: Any) -> PairScores:  # noqa: ARG001
        if settings == Settings():
            return PairScores(torch.ones(4), torch.zeros(4))
        raise TrainingError("the loss was no longer a finite number")

    monkeypatch.setattr(Search, "_scores", fail)
    made = Search(planted, seed=0)
    trials = list(made.run(trials=UNTIL_OPTUNA + 2))
    assert [trial.problem is None for trial in trials] == [True] + [False] * (len(trials) - 1)
    assert made.outcome().settings == Settings()

    def fail_always(self: Search, settings: Settings, *_: Any) -> PairScores:  # noqa: ARG001
        raise TrainingError("the loss was no longer a finite number")

    monkeypatch.setattr(Search, "_scores", fail_always)
    with pytest.raises(TrainingError, match="no longer a finite number"):
        list(Search(planted, seed=0).run(trials=1))


def test_a_trial_below_the_median_is_hopeless() -> None:
    done = [trial(number, 0.5, 0.9) for number in range(3)]
    assert not is_hopeless(done, [0.1])  # too few to tell
    done += [trial(number, 0.9) for number in (3, 4)]
    assert not is_hopeless(done, [0.5])
    assert is_hopeless(done, [0.49])


@pytest.mark.parametrize(
    ("limits", "message"),
    [({}, "how many"), ({"trials": 0}, "trials must"), ({"minutes": -1.0}, "minutes must")],
)
def test_invalid_limits_raise(
    limits: dict[str, Any], message: str, planted: TextualNetwork
) -> None:
    with pytest.raises(ConfigError, match=message):
        tune(planted, **limits)


def test_an_untunable_network_raises_before_a_journal_exists(
    planted: TextualNetwork, tmp_path: Path
) -> None:
    with pytest.raises(TrainingError, match="too few links to tune on"):
        Search(planted.with_edges(planted.edges[:40]), seed=0, journal=tmp_path / "a.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_optuna_raises_with_the_extra_to_install(
    planted: TextualNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'dmte\[tune\]'"):
        tune(planted, trials=1)
