"""``dmte tune`` and ``dmte train --settings``, run as processes on a small network."""

import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from dmte.cli import main
from dmte.cli.verbs.tune import Show, summary
from dmte.network import TextualNetwork, write_folder
from dmte.network.synthetic import PlantedTopics
from dmte.settings import Settings
from dmte.tuning import Check, Outcome, Trial, search
from dmte.tuning.space import MAY_BE_OPEN
from run_pages import Command, parse_page

pytest.importorskip("optuna", reason="tuning needs the extra dmte[tune]")
jsonschema = pytest.importorskip("jsonschema", reason="the schemas are checked with jsonschema")

Answer = tuple[int | str | None, str, str]
Run = Callable[..., subprocess.CompletedProcess[str]]
DOCS = Path(__file__).parents[3] / "docs"
SCHEMA, PAGE = DOCS / "schemas" / "tune.json", DOCS / "verbs" / "tune.md"
SMALL = ("tune", "net", "--splits", "1", "--trials", "1")


@pytest.fixture(scope="module", autouse=True)
def net(cli_folder: Path) -> None:
    """A network that trains in a second, in the folder ``net``."""
    network = PlantedTopics(num_vertices=80).draw(torch.Generator().manual_seed(5))
    numbered = replace(network, ids=tuple(map(str, range(80))), labels=None)
    write_folder(numbered, cli_folder / "net")


@pytest.fixture(scope="module")
def tuned(dmte: Run) -> subprocess.CompletedProcess[str]:
    """A search of one trial, the default, into ``found.toml``."""
    done = dmte(*SMALL, "--out", "found.toml", "--json")
    assert done.returncode == 0, done.stderr
    return done


def test_the_json_outcome_matches_its_schema(tuned: subprocess.CompletedProcess[str]) -> None:
    outcome = json.loads(tuned.stdout)
    jsonschema.validate(outcome, json.loads(SCHEMA.read_text()))
    assert (outcome["trials"], outcome["kept"], outcome["fresh"]) == (1, "default", None)
    assert tuned.stderr.startswith("trial   0  AUC ")
    assert tuned.stderr.count("\n") == 1


@pytest.fixture
def answer(
    cli_folder: Path,
    tuned: subprocess.CompletedProcess[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., Answer]:
    """The command line in this process, after ``tuned``: a process takes seconds to start."""
    assert tuned.returncode == 0
    monkeypatch.chdir(cli_folder)

    def run(*arguments: str) -> Answer:
        with pytest.raises(SystemExit) as stopped:
            main(list(arguments))
        return stopped.value.code, *capsys.readouterr()

    return run


def test_training_reads_tuned_settings(
    answer: Callable[..., Answer], cli_folder: Path, tuned: subprocess.CompletedProcess[str]
) -> None:
    text = (cli_folder / "found.toml").read_text()
    assert text.startswith("# ")
    assert "net, " in text
    train = ("train", "net", "--out", "model", "--settings", "found.toml", "--json", "--quiet")
    code, out, error = answer(*train, "--epochs", "2", "--dim", "32")
    assert code == 0, error
    trained = json.loads(out)["settings"]
    left_open = (*MAY_BE_OPEN, "structure_share", "degree_power")
    chosen = {name: trained[name] for name in left_open}
    assert trained == json.loads(tuned.stdout)["settings"] | {"epochs": 2, "dim": 32} | chosen
    # Left open by tuning, and chosen from the texts, the edges and the width.
    assert all(isinstance(value, bool | float) for value in chosen.values())


@pytest.mark.slow
def test_training_reads_settings_tuned_on_features(
    answer: Callable[..., Answer], dmte: Run, cli_folder: Path
) -> None:
    rows = torch.randn(80, 6, generator=torch.Generator().manual_seed(0))
    np.save(cli_folder / "rows.npy", rows.numpy())
    features = ("--features", "rows.npy")
    done = dmte(*SMALL, *features, "--out", "rows.toml")
    assert done.returncode == 0, done.stderr
    assert "dmte train NETWORK --features rows.npy --settings rows.toml" in done.stdout
    train = ("train", "net", "--out", "rows", "--settings", "rows.toml", "--json", "--epochs", "1")
    code, out, error = answer(*train, *features)
    assert code == 0, error
    assert json.loads(out)["settings"]["encoder"] == "features"
    code, out, error = answer(*train)
    assert (code, out) == (2, "")
    assert "give them with --features" in error
    code, _, error = answer(*SMALL, "--out", "rows.toml")
    assert code == 2
    assert "another network" in error


def test_the_same_command_repeats_the_outcome(
    answer: Callable[..., Answer], tuned: subprocess.CompletedProcess[str]
) -> None:
    again = answer(*SMALL, "--out", "found.toml", "--json", "--quiet")
    assert again == (0, tuned.stdout, "")


def test_a_search_with_more_trials_resumes(
    answer: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = search.Search._scores

    def soon(self: search.Search, settings: Settings, *rest: Any) -> Any:
        return scores(self, replace(settings, epochs=2), *rest)

    monkeypatch.setattr(search.Search, "_scores", soon)
    monkeypatch.setattr(search, "FRESH_SPLITS", 2)
    code, out, error = answer(*SMALL, "--out", "found.toml", "--trials", "2", "--json")
    assert code == 0
    outcome = json.loads(out)
    jsonschema.validate(outcome, json.loads(SCHEMA.read_text()))
    assert outcome["search"]["best"]["auc"] >= outcome["search"]["default"]["auc"]
    assert error.startswith("resuming after trial 0\ntrial   1 ")
    code, out, error = answer(*SMALL, "--out", "found.toml", "--trials", "2", "--quiet")
    assert (code, error) == (0, "")
    assert out.splitlines()[-1].startswith("settings in found.toml; ")
    assert "\x1b" not in out


def test_a_search_of_the_default_alone_does_not_call_it_the_best(
    answer: Callable[..., Answer], cli_folder: Path
) -> None:
    short = ("tune", "net", "--splits", "1", "--minutes", "1e-9")
    code, out, error = answer(*short, "--out", "1.toml")
    assert code == 0, error
    assert ", 1 trial, seed 0\n" in out
    assert "there was no other trial, so the default is kept; a search needs more --minutes" in out
    assert "better" not in out + (cli_folder / "1.toml").read_text()


@pytest.mark.parametrize(
    ("difference", "error", "words"),
    [
        (0.02, 0.001, "+2.00 with a standard error of 0.10: better, so the best is kept"),
        (
            -0.02,
            0.001,
            "-2.00 with a standard error of 0.10: worse, so the default is kept",
        ),
        (-0.18, 0.13, "error of 13.00: not significant, so the default is kept"),
        (0.18, 0.13, "error of 13.00: not significant, so the default is kept"),
    ],
)
def test_the_verdict_follows_from_gain_and_error(
    difference: float, error: float, words: str, planted: TextualNetwork
) -> None:
    assert summary(outcome(difference, error), planted)[-1].endswith(words)


def test_the_lines_on_the_page_have_the_form_of_those_printed(
    planted: TextualNetwork, capsys: pytest.CaptureFixture[str]
) -> None:
    """The example takes minutes, so its words are compared, and its figures are not."""
    parts = parse_page(PAGE.read_text("utf-8"))
    command = next(part for part in parts if isinstance(part, Command))
    found = outcome(0.001, 0.01)
    made: Any = SimpleNamespace(best=found.best, spent_seconds=1.0)
    show = Show(made, 60.0, quiet=False)
    for trial in (found.best, replace(found.best, is_complete=False)):
        show.trial(trial)
    show.check(found.checks[0])
    printed = [*capsys.readouterr().err.splitlines(), *summary(found, planted)]
    forms = {form(line) for line in [*printed, "..."]}
    *shown, last = command.shown.splitlines()
    assert [line for line in shown if form(line) not in forms] == []
    assert last.startswith("settings in settings.toml; use them with: ")


def form(line: str) -> str:
    return re.sub(r" *[+-]?\d[\d.,:]*", " 0", line)


def outcome(difference: float, error: float) -> Outcome:
    default = Trial(0, {}, Settings(), (0.7,), 1.0, is_complete=True)
    best = replace(default, number=1, aucs=(0.8,))
    check = Check(1, 1, 0.7 + difference, 0.7, error, 1.0)
    return Outcome("", 0, 2, 1, default, best, (check,))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*SMALL, "--out", "mine.toml"), "mine.toml exists already"),
        ((*SMALL, "--out", "mine.json"), "must end in .toml"),
        ((*SMALL, "--out", "net/x.toml/x.toml", "--trials", "0"), "trials must be at least 1"),
        (SMALL, "--out settings.toml"),
        ((*SMALL, "--out", "found.toml", "--seed", "1"), "holds a search with another seed"),
        (("tune", "concepts", "--out", "found.toml"), "another network"),
        (("train", "net", "--out", "x", "--settings", "gone.toml"), "gone.toml cannot be read"),
    ],
)
def test_a_mistake_is_one_line_and_changes_no_file(
    answer: Callable[..., Answer], cli_folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    precious = cli_folder / "mine.toml"
    precious.write_text("dim = 64\n")
    code, out, error = answer(*arguments)
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert message in error
    assert precious.read_text() == "dim = 64\n"


@contextmanager
def long_search(folder: Path, out: str) -> Iterator[subprocess.Popen[str]]:
    """A search in its own process, after its first trial."""
    process = subprocess.Popen(
        [sys.executable, "-m", "dmte", *SMALL, "--trials", "1000", "--out", out],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    with process:
        try:
            assert process.stderr is not None
            assert process.stderr.readline().startswith("trial   0")
            yield process
        finally:
            process.kill()


@pytest.mark.slow
def test_ctrl_c_ends_the_search_and_writes_the_best_so_far(cli_folder: Path) -> None:
    with long_search(cli_folder, "cut.toml") as process:
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    assert "search ended" in error
    assert "settings in cut.toml" in out
    assert tomllib.loads((cli_folder / "cut.toml").read_text())["epochs"] >= 1


@pytest.mark.slow
def test_a_second_search_fails_until_the_first_ends_even_by_a_kill(
    cli_folder: Path, answer: Callable[..., Answer]
) -> None:
    with long_search(cli_folder, "one.toml"):
        code, out, error = answer(*SMALL, "--out", "one.toml")
        assert (code, out, error.count("\n")) == (2, "", 1)
        assert "another run adds to one.toml.trials.jsonl" in error
    code, _, error = answer(*SMALL, "--out", "one.toml")
    assert code == 0, error
    assert error.startswith("resuming after trial ")
