"""``dmte reproduce``: the tables and figures of the paper, measured again."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from dmte.cli.options import QuietOption
from dmte.cli.output import complete
from dmte.cli.progress import DryRunOption, WorkersOption
from dmte.cli.verbs.evaluate import names
from dmte.errors import ConfigError
from dmte.runtime.spelling import propose

REPORT = "report"
GROUPS = ("recipe", "all")
TARGETS = (
    *("cora-links", "zhihu-links", "hepth-links", "hops", "dblp-classes", "dblp-links"),
    *("cora-classes", "case-study", "training-edges", "released", "sensitivity"),
)
"""What ``evaluation.reproduction`` has under these names, which help shows without loading it."""
EVERYTHING = (*TARGETS, *GROUPS, REPORT)


def reproduce(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            autocompletion=complete(lambda: EVERYTHING),
            help=f"{', '.join(TARGETS)}; recipe, which judges the recommended recipe; all; or "
            "report, which writes one page of what is there.",
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="Where results are kept, and taken up again from.")
    ] = Path("reproduction"),
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Three ratios, two seeds, and nothing that takes long unless --methods names it.",
        ),
    ] = False,
    methods: Annotated[
        str | None, typer.Option(help="Measure these only; results of others are kept.")
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(help="At most so many seeds; 0 writes the tables from what is there."),
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="Where the report goes; by default beside the results.")
    ] = None,
    workers: WorkersOption = None,
    dry_run: DryRunOption = False,
    quiet: QuietOption = False,
) -> None:
    """Measure a table or figure of the paper again, beside what the paper prints.

    Finished fits are kept: the same command goes on after an interruption.
    """
    if target not in EVERYTHING:
        raise ConfigError(f"there is no target {target!r}; {propose(target, EVERYTHING)}")
    from dmte.cli.reproduce_job import chooser, measure, report

    if target == REPORT:
        fitting = {"--methods": methods, "--seeds": seeds, "--workers": workers}
        _refuse_unused(target, fitting | {"--quick": quick, "--dry-run": dry_run})
        report(out, page or out / "reproduction.md")
        return
    _refuse_unused(target, {"--page": page})
    is_wanted = chooser(target, None if methods is None else names(methods), seeds, quick=quick)
    measure(target, out, is_wanted, workers, dry_run=dry_run, quiet=quiet)


def _refuse_unused(target: str, options: Mapping[str, object]) -> None:
    """Refuse options that would change nothing.

    Raises:
        ConfigError: One was given.
    """
    given = [name for name, value in options.items() if value is not None and value is not False]
    if given:
        raise ConfigError(f"reproduce {target} does not take {' or '.join(given)}; leave it out")
