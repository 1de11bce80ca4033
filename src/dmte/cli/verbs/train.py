"""``dmte train``: learn a model and store it."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dmte.cli.network_options import FeaturesOption, JsonOption, NetworkSource, with_network
from dmte.cli.options import QuietOption
from dmte.cli.output import complete
from dmte.cli.settings_options import settings_from, with_settings
from dmte.errors import ConfigError
from dmte.recipes import RECIPES, VARIANTS


@with_network
@with_settings
def train(
    source: NetworkSource,
    out: Annotated[Path | None, typer.Option(help="The model folder to write.")] = None,
    recipe: Annotated[
        str | None,
        typer.Option(
            help=f"Settings to start from: {' or '.join(RECIPES)}; by default the first.",
            autocompletion=complete(lambda: RECIPES),
        ),
    ] = None,
    variant: Annotated[
        str | None,
        typer.Option(
            help=f"A version of the paper's recipe: {', '.join(VARIANTS)}.",
            autocompletion=complete(lambda: VARIANTS),
        ),
    ] = None,
    settings_file: Annotated[
        Path | None,
        typer.Option(
            "--settings",
            metavar="FILE",
            help="Settings in TOML or JSON, as dmte tune writes them; options override them.",
        ),
    ] = None,
    features: FeaturesOption = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same vectors.")] = 0,
    checkpoint_every: Annotated[
        int | None,
        typer.Option(
            help="Epochs between two checkpoints; 0 for none. By default one is written after the "
            "first epoch, then as often as costs 5 % of the time."
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume from the checkpoint of an interrupted run.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Train even if memory seems too small.")
    ] = False,
    threads: Annotated[
        int | None,
        typer.Option(help="Threads of each process; by default all."),
    ] = None,
    processes: Annotated[
        int | None, typer.Option(help="Number of processes on this host that share the work.")
    ] = None,
    restarts: Annotated[
        int, typer.Option(help="Maximum number of restarts after a process died.")
    ] = 10,
    timeout: Annotated[
        float, typer.Option(help="Seconds that a process waits for the others in a step.")
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
    order = TrainJob(
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
    run_train(order, ParallelOptions(threads, processes, restarts, timeout))
