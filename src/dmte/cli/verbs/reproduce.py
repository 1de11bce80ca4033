"""``dmte reproduce``: measure the tables and figures of the paper again."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from dmte.cli.options import QuietOption
from dmte.cli.output import complete
from dmte.cli.progress import DryRunOption, WorkersOption
from dmte.cli.verbs.evaluate import names
from dmte.errors import ConfigError
from dmte.runtime.experiment_files import experiment_files
from dmte.runtime.spelling import propose

REPORT = "report"
GROUPS = ("recipe", "all")
TARGETS = tuple(path.stem for path in experiment_files("targets"))
EVERYTHING = (*TARGETS, *GROUPS, REPORT)


def reproduce(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            autocompletion=complete(lambda: EVERYTHING),
            help=f"{', '.join(TARGETS)}; recipe: those that compare the recommended recipe; all; "
            "or report: write one page of the stored results.",
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="Folder of the results; finished fits in it are used.")
    ] = Path("reproduction"),
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Three ratios, two seeds, and nothing that takes long unless --methods names it.",
        ),
    ] = False,
    methods: Annotated[
        str | None, typer.Option(help="Measure only these methods; results of others are kept.")
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(help="Maximum number of seeds; 0 writes the tables without fitting."),
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="File of the report; by default beside the results.")
    ] = None,
    workers: WorkersOption = None,
    dry_run: DryRunOption = False,
    quiet: QuietOption = False,
) -> None:
    """Measure a table or figure of the paper again, beside what the paper prints.

    Finished fits are kept: the same command resumes after an interruption.
    """
    if target not in EVERYTHING:
        raise ConfigError(f"there is no target {target!r}; {propose(target, EVERYTHING)}")
    from dmte.cli.reproduce_job import choose_fits, measure, report

    if target == REPORT:
        fitting = {"--methods": methods, "--seeds": seeds, "--workers": workers}
        _refuse_unused(target, fitting | {"--quick": quick, "--dry-run": dry_run})
        report(out, page or out / "reproduction.md")
        return
    _refuse_unused(target, {"--page": page})
    wanted = choose_fits(target, None if methods is None else names(methods), seeds, quick=quick)
    measure(target, out, wanted, workers, dry_run=dry_run, quiet=quiet)


def _refuse_unused(target: str, options: Mapping[str, object]) -> None:
    """Check that no option is given that would change nothing.

    Raises:
        ConfigError: An option has no effect on this target.
    """
    given = [name for name, value in options.items() if value is not None and value is not False]
    if given:
        raise ConfigError(f"reproduce {target} does not take {' or '.join(given)}; leave it out")
