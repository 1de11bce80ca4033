"""``dmte train``: train a model and store it."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dmte.cli.network_options import FeaturesOption, NetworkSource, with_network
from dmte.cli.options import JsonOption, QuietOption, SeedOption, complete
from dmte.cli.settings_options import settings_from, with_settings
from dmte.errors import ConfigError
from dmte.recipes import RECIPES, VARIANTS


@with_network
@with_settings
def train(
    source: NetworkSource,
    out: Annotated[Path | None, typer.Option(help="Model folder to write. Required.")] = None,
    recipe: Annotated[
        str | None,
        typer.Option(
            help=f"Settings to start from: {' or '.join(RECIPES)}. Default: {next(iter(RECIPES))}.",
            autocompletion=complete(lambda: RECIPES),
        ),
    ] = None,
    variant: Annotated[
        str | None,
        typer.Option(
            help=f"Variant of the paper's recipe: {', '.join(VARIANTS)}.",
            autocompletion=complete(lambda: VARIANTS),
        ),
    ] = None,
    settings_file: Annotated[
        Path | None,
        typer.Option(
            "--settings",
            metavar="FILE",
            help="Settings in TOML or JSON, for example of dmte tune; options override them.",
        ),
    ] = None,
    features: FeaturesOption = None,
    seed: SeedOption = 0,
    checkpoint_every: Annotated[
        int | None,
        typer.Option(
            help="Epochs between checkpoints; 0 for none. Default: after the first epoch, then "
            "as often as costs 5 % of the time."
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Resume from the checkpoint of an interrupted run; settings must be the same, "
            "except --epochs with --no-decay.",
        ),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Train even if memory seems insufficient.")
    ] = False,
    threads: Annotated[
        int | None, typer.Option(help="Threads of each process. Default: all.")
    ] = None,
    processes: Annotated[
        int | None, typer.Option(help="Processes on this host that share the work. Default: 1.")
    ] = None,
    restarts: Annotated[
        int, typer.Option(help="Maximum number of restarts after a process dies.")
    ] = 10,
    timeout: Annotated[
        float, typer.Option(help="Seconds a process waits for the others in a step.")
    ] = 300.0,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
    **settings: Any,
) -> None:
    """Learn one vector per vertex of NETWORK and store the model in a folder."""
    from dmte.cli.train_job import ParallelOptions, TrainJob, run_train

    if out is None:
        raise ConfigError("--out FOLDER is required: the folder for the model")
    chosen = settings_from(
        recipe, variant, settings_file, settings, has_features=features is not None
    )
    job = TrainJob(
        source=source,
        features=features,
        settings=chosen,
        seed=seed,
        out=out,
        checkpoint_every=checkpoint_every,
        resume=resume,
        force=force,
        quiet=quiet,
        as_json=as_json,
    )
    run_train(job, ParallelOptions(threads, processes, restarts, timeout))
