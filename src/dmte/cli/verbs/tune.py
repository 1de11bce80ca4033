"""``dmte tune``: search for settings of a network and write them to a file."""

import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dmte.cli.network_options import FeaturesOption, NetworkSource, with_network
from dmte.cli.options import JsonOption, QuietOption, SeedOption
from dmte.cli.output import network_facts, print_json
from dmte.cli.progress import spinner
from dmte.errors import ConfigError, Interrupted, StorageError

if TYPE_CHECKING:
    from dmte.network import TextualNetwork
    from dmte.tuning import Check, Outcome, Search, Trial

DEFAULT_MINUTES = 10.0


@with_network
def tune(
    source: NetworkSource,
    out: Annotated[
        Path | None, typer.Option(help="File for the settings, such as settings.toml. Required.")
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            help="Time limit, including earlier runs of the search. Trial 0, the default "
            f"settings, always completes. Default: {DEFAULT_MINUTES:g}, or none with --trials."
        ),
    ] = None,
    trials: Annotated[
        int | None, typer.Option(help="Number of trials, including those of earlier runs.")
    ] = None,
    splits: Annotated[
        int, typer.Option(help="Number of splits of the links that score a trial.")
    ] = 2,
    features: FeaturesOption = None,
    seed: SeedOption = 0,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Search for settings that best predict validation links of NETWORK.

    Writes a file for dmte train --settings. The trials are kept beside it, and the same command
    resumes an interrupted search. Ctrl-C ends the search and keeps the best settings so far.
    """
    if out is None:
        raise ConfigError(
            "--out FILE is required: the settings to write, such as --out settings.toml"
        )
    if out.suffix != ".toml":
        raise ConfigError(f"--out must end in .toml, not {out}")
    if minutes is None and trials is None:
        minutes = DEFAULT_MINUTES
    seconds = None if minutes is None else 60 * minutes
    from dmte.settings_file import settings_text
    from dmte.tuning import Search

    network = source.open(features=features, quiet=quiet)
    name = f"{source.network or 'tables'}{'' if features is None else f' with {features}'}"
    with Search(network, seed, num_splits=splits, journal=journal_of(out)) as search:
        check_replaceable(out, search)
        outcome = run(search, trials, seconds, quiet=quiet)
        write(out, settings_text(outcome.settings, notes(outcome, network, name)), search)
    if as_json:
        files = {"file": str(out), "journal": str(journal_of(out))}
        print_json(files | outcome.to_dict() | {"network": network_facts(network)})
        return
    print("\n".join(summary(outcome, network)))
    more = "" if features is None else f"--features {features} "
    print(
        f"settings in {out}; use them with: dmte train NETWORK {more}--settings {out} --out MODEL"
    )


def run(search: "Search", trials: int | None, seconds: float | None, *, quiet: bool) -> "Outcome":
    """Run the trials and the check, and show them."""
    show = Show(search, seconds, quiet=quiet)
    if search.trials:
        show.line(f"resuming after trial {search.trials[-1].number}")
    try:
        with spinner("searching", quiet=quiet):
            for trial in search.run(trials=trials, seconds=seconds):
                show.trial(trial)
    except KeyboardInterrupt as problem:
        if not search.trials:
            raise Interrupted("interrupted before the first trial ended") from problem
        show.line("search ended; press Ctrl-C again to skip the check on fresh splits")
    try:
        with spinner("checking the best trial on fresh splits", quiet=quiet):
            for check in search.check():
                show.check(check)
    except KeyboardInterrupt as problem:
        raise Interrupted(
            f"interrupted before the check; {search.journal} keeps "
            f"{_count(len(search.trials))}, and the same command resumes"
        ) from problem
    return search.outcome()


def journal_of(out: Path) -> Path:
    """File of the trials of a search."""
    return out.with_name(f"{out.name}.trials.jsonl")


def check_replaceable(out: Path, search: "Search") -> None:
    """Check, before the search begins, that the file is new or was written by this search.

    Raises:
        StorageError: The file has other content, or is a folder.
    """
    if out.is_dir():
        raise StorageError(f"{out} is a folder; give a file")
    if out.exists() and not search.has_written(out.read_bytes()):
        raise StorageError(
            f"{out} exists already and was not written by this search, or was changed "
            "since; choose another file"
        )


def write(out: Path, content: str, search: "Search") -> None:
    """Write the settings and record them as written by this search."""
    from dmte.storage.atomic_file import new_file

    data = content.encode()
    search.note_written(data)
    with new_file(out, replace=True) as file:
        file.write(data)


class Show:
    """Progress of a search on stderr, a line per trial."""

    def __init__(self, search: "Search", seconds: float | None, *, quiet: bool) -> None:
        self._search, self._seconds, self._quiet = search, seconds, quiet

    def trial(self, trial: "Trial") -> None:
        """Show a trial and the best so far."""
        best = self._search.best
        self.line(
            f"trial {trial.number:>3}  {_fate(trial)}  best {100 * best.auc:.1f} "
            f"(trial {best.number}){self._left()}"
        )

    def check(self, check: "Check") -> None:
        """Show how the best trial compares on a fresh split."""
        self.line(f"fresh split  best {100 * check.best:.1f}  default {100 * check.default:.1f}")

    def _left(self) -> str:
        if self._seconds is None:
            return ""
        left = max(0, round(self._seconds - self._search.spent_seconds))
        return f"  {timedelta(seconds=left)} left"

    def line(self, message: str) -> None:
        """Print a line, unless ``--quiet`` is given."""
        if not self._quiet:
            print(message, file=sys.stderr)


def _fate(trial: "Trial") -> str:
    if trial.problem is not None:
        return "failed  "
    return f"AUC {100 * trial.auc:4.1f}" + ("" if trial.is_complete else ", stopped early")


def _count(trials: int) -> str:
    from dmte.runtime.formatting import plural

    return f"{trials} {plural(trials, 'trial')}"


def summary(outcome: "Outcome", network: "TextualNetwork") -> list[str]:
    """The outcome in a few lines."""
    default, best = outcome.default, outcome.best
    lines = [
        f"{network!r}, {_count(outcome.num_trials)}, seed {outcome.seed}",
        f"default  AUC {100 * default.auc:.1f} on validation links, "
        f"{default.seconds_a_fit:.1f} s per training",
    ]
    if outcome.num_trials == 1:
        more = "a search needs more --minutes or --trials"
        return [*lines, f"there was no other trial, so the default is kept; {more}"]
    if best is default:
        return [*lines, "no trial was better than the default, so the default is kept"]
    fresh = outcome.to_dict()["fresh"]
    return [
        *lines,
        f"best     AUC {100 * best.auc:.1f} (trial {best.number}), {best.seconds_a_fit:.1f} s per "
        "training; optimistic, because the trial was chosen by it",
        f"fresh    AUC {100 * fresh['best']:.1f} for the best, {100 * fresh['default']:.1f} for "
        f"the default, on {fresh['splits']} splits that no trial used",
        f"gain     {100 * outcome.gain:+.2f} with a standard error of {100 * outcome.error:.2f}: "
        + _verdict(outcome),
    ]


def _verdict(outcome: "Outcome") -> str:
    if outcome.is_better:
        return "better, so the best is kept"
    return f"{'worse' if outcome.is_worse else 'not significant'}, so the default is kept"


def notes(outcome: "Outcome", network: "TextualNetwork", name: str) -> list[str]:
    """The outcome as comments at the head of the file."""
    what = "The best of a search" if outcome.is_better else "The recommended recipe, kept"
    printable = "".join(letter if letter.isprintable() else "?" for letter in name)
    return [
        f"{what} by dmte tune on {printable}, {outcome.network[:12]}:",
        *summary(outcome, network),
    ]
