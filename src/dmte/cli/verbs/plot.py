"""``dmte plot``: a map of a model, its training curves, or results by training fraction."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dmte.cli.options import (
    ForceOption,
    JsonOption,
    QuietOption,
    SeedOption,
    complete,
    names_in,
)
from dmte.cli.output import print_json
from dmte.cli.progress import spinner
from dmte.errors import ConfigError
from dmte.settings import Half, Projection

if TYPE_CHECKING:
    from dmte.plotting.map import Map


def _metrics() -> Iterable[str]:
    from dmte.metrics import CLASS_METRICS, LINK_METRICS

    return [*LINK_METRICS, *CLASS_METRICS]


def plot(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL|RESULTS",
            help="Model folder, or JSON file of 'dmte evaluate --json' or 'dmte reproduce'.",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Picture to write: .png, .svg, .pdf. Required.")
    ] = None,
    what: Annotated[
        Literal["map", "training"],
        typer.Option(help="Picture of a model: a map, or its training curves."),
    ] = "map",
    by: Annotated[Projection, typer.Option(help="Projection of the vectors to a map.")] = "tsne",
    half: Annotated[Half, typer.Option(help="Half of the vectors to map.")] = "both",
    names: Annotated[
        int | None,
        typer.Option(
            help="Vertices to name on a map, best linked first. Default: 30 without labels or of "
            "at most 200 vertices, else 0."
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            help="Maximum number of vertices on a map, drawn at random if there are more. "
            "Default: 5,000 for tsne and 50,000 for umap."
        ),
    ] = None,
    seed: SeedOption = 0,
    methods: Annotated[
        str | None, typer.Option(help="Methods to draw, separated by commas. Default: all.")
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option(
            help="Metric of results to draw, for example auc or mrr. Default: the first.",
            autocompletion=complete(_metrics),
        ),
    ] = None,
    force: ForceOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Draw a map of a model, its training curves, or results by training fraction."""
    if out is None:
        raise ConfigError("--out FILE is required: the picture to write, such as map.png")
    _check_picture(out, force=force)
    from dmte.plotting.curves import draw_results, read_result_file
    from dmte.plotting.map import Map

    if source.is_file():
        chosen = names_in(methods or "")
        draw_results(read_result_file(source), out, measure=measure, methods=chosen, replace=force)
        facts: dict[str, Any] = {"what": "results"}
    elif not source.exists() and source.suffix == ".json":
        raise ConfigError(f"{source} does not exist; give a model folder or a result file")
    else:
        facts = {"what": what} | _draw_model(
            source,
            out,
            what,
            Map(by=by, seed=seed, half=half, names=names, limit=limit),
            force=force,
            quiet=quiet,
        )
    if as_json:
        print_json({"picture": str(out)} | facts)
    else:
        print(out)


def _check_picture(out: Path, *, force: bool) -> None:
    """Check that the picture can be written, before a map is computed.

    Raises:
        ConfigError: The file exists and may not be replaced.
        StorageError: The suffix is not that of a picture.
    """
    from dmte.plotting.figure import check_file_type

    check_file_type(out)
    if out.exists() and not force:
        raise ConfigError(f"{out} exists already; choose another file, or replace it with --force")


def _draw_model(
    folder: Path, out: Path, what: str, map_: "Map", *, force: bool, quiet: bool
) -> dict[str, Any]:
    """Draw a model; return facts about the picture."""
    from dmte.model.trained_model import TrainedModel
    from dmte.plotting.curves import draw_training

    trained = TrainedModel.load(folder)
    if what == "training":
        draw_training(trained.history, out, replace=force)
        return {"epochs": trained.history[-1].epoch if trained.history else 0}
    with spinner("computing the map", quiet=quiet):
        drawn = map_.draw(trained.network, trained.embedding, out, replace=force)
    return {"by": map_.by, "vertices": len(trained.embedding), "shown": drawn.num_vertices} | {
        "labels": drawn.labels,
        "other_labels": drawn.others,
        "names": drawn.names,
    }
