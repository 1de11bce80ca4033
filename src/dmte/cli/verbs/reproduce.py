"""``dmte reproduce``: the tables and figures of the paper, measured again."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from dmte.cli.options import QuietOption, complete, names_in
from dmte.cli.progress import DryRunOption, WorkersOption
from dmte.errors import ConfigError
from dmte.runtime.experiment_files import target_groups
from dmte.runtime.spelling import propose

REPORT = "report"
GROUPS = target_groups()
EVERYTHING = (*GROUPS["all"], *GROUPS, REPORT)


def reproduce(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            autocompletion=complete(lambda: EVERYTHING),
            help=f"{', '.join(GROUPS['all'])}; recipe: those that compare the recommended recipe; "
            "all; or report: write a page of the stored results.",
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="Folder of the results; its finished fits are reused.")
    ] = Path("reproduction"),
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Use three ratios and two seeds; skip slow methods unless --methods names them.",
        ),
    ] = False,
    methods: Annotated[
        str | None,
        typer.Option(help="Methods to measure, separated by commas. Default: all."),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(help="Maximum number of seeds; 0 only writes the tables."),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(help="File of the report. Default: OUT/reproduction.md."),
    ] = None,
    workers: WorkersOption = None,
    dry_run: DryRunOption = False,
    quiet: QuietOption = False,
) -> None:
    """Measure a table or figure of the paper again, next to the printed figures.

    Finished fits are kept; the same command resumes an interrupted run.
    """
    if target not in EVERYTHING:
        raise ConfigError(f"there is no target {target!r}; {propose(target, EVERYTHING)}")
    from dmte.cli.reproduce_job import choose_fits, measure, report

    if target == REPORT:
        fitting = {"--methods": methods, "--seeds": seeds, "--workers": workers}
        _check_unused(target, fitting | {"--quick": quick, "--dry-run": dry_run})
        report(out, page or out / "reproduction.md")
        return
    _check_unused(target, {"--page": page})
    wanted = choose_fits(target, None if methods is None else names_in(methods), seeds, quick=quick)
    measure(target, out, wanted, workers, dry_run=dry_run, quiet=quiet)


def _check_unused(target: str, options: Mapping[str, object]) -> None:
    """Check that options without effect on the target are not given."""
    given = [name for name, value in options.items() if value is not None and value is not False]
    if given:
        raise ConfigError(f"reproduce {target} does not take {' or '.join(given)}; leave it out")
