"""``dmte tune``: a network in, a file of settings for it out."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from dmte.cli.network_options import FeaturesOption, JsonOption, NetworkSource, with_network
from dmte.cli.options import QuietOption
from dmte.cli.output import print_json
from dmte.errors import ConfigError, Interrupted, StorageError

if TYPE_CHECKING:
    from dmte.network import TextualNetwork
    from dmte.tuning import Check, Outcome, Search, Trial

DEFAULT_MINUTES = 10.0


@with_network
def tune(
    source: NetworkSource,
    out: Annotated[
        Path | None, typer.Option(help="The file of settings to write, as settings.toml.")
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            help=f"How long it may take, earlier sittings included; {DEFAULT_MINUTES:g} if neither "
            "this nor --trials is said. Trial 0, the default, runs to its end in any case."
        ),
    ] = None,
    trials: Annotated[
        int | None, typer.Option(help="How many settings to try, those of earlier sittings too.")
    ] = None,
    splits: Annotated[
        int, typer.Option(help="On how many splits of the links a trial is judged.")
    ] = 2,
    features: FeaturesOption = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same trials.")] = 0,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Search settings under which links held back from NETWORK are predicted best.

    Writes a file that dmte train --settings takes. The trials are kept beside it: after an
    interruption the same command goes on. Ctrl-C ends the search, and the best so far is taken.
    """
    if out is None:
        raise ConfigError("say where the settings go with --out settings.toml")
    if out.suffix != ".toml":
        raise ConfigError(f"a file of settings ends in .toml, not as {out} does")
    if minutes is None and trials is None:
        minutes = DEFAULT_MINUTES
    seconds = None if minutes is None else 60 * minutes
    from dmte.settings_file import settings_text
    from dmte.tuning import Search

    network = source.open(features=features, quiet=quiet)
    name = f"{source.network or 'tables'}{'' if features is None else f' with {features}'}"
    with Search(network, seed, num_splits=splits, journal=journal_of(out)) as search:
        refuse_foreign(out, search)
        outcome = run(search, trials, seconds, quiet=quiet)
        write(out, settings_text(outcome.settings, notes(outcome, network, name)), search)
    if as_json:
        about = {
            "vertices": network.num_vertices,
            "edges": len(network.edges),
            "directed": network.directed,
            "fingerprint": outcome.network,
        }
        files = {"file": str(out), "journal": str(journal_of(out))}
        print_json(files | outcome.to_dict() | {"network": about})
        return
    print("\n".join(summary(outcome, network)))
    more = "" if features is None else f"--features {features} "
    print(
        f"settings in {out}; use them with: dmte train NETWORK {more}--settings {out} --out MODEL"
    )


def run(search: "Search", trials: int | None, seconds: float | None, *, quiet: bool) -> "Outcome":
    """Make the trials and the check, show them, and return what was found."""
    show = Show(search, seconds, quiet=quiet)
    show.resumed()
    with show.ended_by_ctrl_c():
        for trial in search.run(trials=trials, seconds=seconds):
            show.trial(trial)
    with show.cut_by_ctrl_c():
        for check in search.check():
            show.check(check)
    return search.outcome()


def journal_of(out: Path) -> Path:
    """Return where the trials of a search are kept."""
    return out.with_name(f"{out.name}.trials.jsonl")


def refuse_foreign(out: Path, search: "Search") -> None:
    """Refuse to replace a file that this search has not written, before the search begins.

    Raises:
        StorageError: There is one, or the place cannot be a file.
    """
    if out.is_dir():
        raise StorageError(f"{out} is a folder; give the name of a file")
    if out.exists() and not search.has_written(out.read_bytes()):
        raise StorageError(
            f"{out} exists already and is not, or no longer, what this search wrote; "
            "give another place"
        )


def write(out: Path, content: str, search: "Search") -> None:
    """Put the settings in their place, and remember that they are ours."""
    from dmte.storage.atomic_file import new_file

    data = content.encode()
    search.note_written(data)
    with new_file(out, replace=True) as file:
        file.write(data)


class Show:
    """How far a search is, on stderr: a line per trial, and a spinner in a terminal."""

    def __init__(self, search: "Search", seconds: float | None, *, quiet: bool) -> None:
        self._search, self._seconds, self._quiet = search, seconds, quiet
        console = Console(stderr=True)
        self._status = console.status("") if console.is_terminal and not quiet else None

    def resumed(self) -> None:
        """Say what there is already."""
        if self._search.trials:
            self._line(f"going on after trial {self._search.trials[-1].number}")

    def trial(self, trial: "Trial") -> None:
        """Show a trial and the best so far."""
        best = self._search.best
        self._line(
            f"trial {trial.number:>3}  {_fate(trial)}  best {100 * best.auc:.1f} "
            f"(trial {best.number}){self._left()}"
        )

    def check(self, check: "Check") -> None:
        """Show how the best compares on a fresh split."""
        self._line(f"fresh split  best {100 * check.best:.1f}  default {100 * check.default:.1f}")

    @contextmanager
    def ended_by_ctrl_c(self) -> Iterator[None]:
        """End the search where the user says so, if anything has been found."""
        try:
            with self._spinning("searching"):
                yield
        except KeyboardInterrupt as problem:
            if not self._search.trials:
                raise Interrupted("interrupted before anything was tried") from problem
            self._line("search ended; Ctrl-C once more leaves out the check on fresh splits")

    @contextmanager
    def cut_by_ctrl_c(self) -> Iterator[None]:
        """Say what is left where the user does not wait for the check."""
        try:
            with self._spinning("checking the best on fresh splits"):
                yield
        except KeyboardInterrupt as problem:
            raise Interrupted(
                f"interrupted before the best was checked; {self._search.journal} keeps "
                f"{_count(len(self._search.trials))}, and the same command goes on"
            ) from problem

    @contextmanager
    def _spinning(self, words: str) -> Iterator[None]:
        if self._status is None:
            yield
            return
        self._status.update(words)
        with self._status:
            yield

    def _left(self) -> str:
        if self._seconds is None:
            return ""
        left = max(0, round(self._seconds - self._search.spent_seconds))
        return f"  {timedelta(seconds=left)} left"

    def _line(self, words: str) -> None:
        if not self._quiet:
            print(words, file=sys.stderr)


def _fate(trial: "Trial") -> str:
    if trial.problem is not None:
        return "failed  "
    return f"AUC {100 * trial.auc:4.1f}" + ("" if trial.is_complete else ", given up")


def _count(trials: int) -> str:
    from dmte.runtime.formatting import plural

    return f"{trials} {plural(trials, 'trial')}"


def summary(outcome: "Outcome", network: "TextualNetwork") -> list[str]:
    """Return what was found, for people."""
    default, best = outcome.default, outcome.best
    lines = [
        f"{network!r}, {_count(outcome.num_trials)}, seed {outcome.seed}",
        f"default  AUC {100 * default.auc:.1f} on held-back links, "
        f"{default.seconds_a_fit:.1f} s a training",
    ]
    if outcome.num_trials == 1:
        more = "a search needs more --minutes or --trials"
        return [*lines, f"nothing else was tried, and the default is kept; {more}"]
    if best is default:
        return [*lines, "no trial was better than the default, which is kept"]
    fresh = outcome.to_dict()["fresh"]
    return [
        *lines,
        f"best     AUC {100 * best.auc:.1f} (trial {best.number}), {best.seconds_a_fit:.1f} s a "
        "training; too high by some, since it was chosen by it",
        f"fresh    AUC {100 * fresh['best']:.1f} for the best, {100 * fresh['default']:.1f} for "
        f"the default, on {fresh['splits']} splits that no trial saw",
        f"gain     {100 * outcome.gain:+.2f} with a standard error of {100 * outcome.error:.2f}: "
        + _verdict(outcome),
    ]


def _verdict(outcome: "Outcome") -> str:
    if outcome.is_better:
        return "better, the best is taken"
    return f"{'worse' if outcome.is_worse else 'not to be told apart'}, the default is kept"


def notes(outcome: "Outcome", network: "TextualNetwork", name: str) -> list[str]:
    """Return how the settings were found, for the head of their file."""
    what = "The best of a search" if outcome.is_better else "The recommended recipe, kept"
    return [
        f"{what} by dmte tune on {_printable(name)}, {outcome.network[:12]}:",
        *summary(outcome, network),
    ]


def _printable(name: Any) -> str:
    """Return the name as one line that a comment can hold."""
    return "".join(letter if letter.isprintable() else "?" for letter in str(name))
