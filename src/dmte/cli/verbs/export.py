"""``dmte export``: the vectors of a model in a file for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from dmte.cli.options import ForceOption, ModelArgument, complete
from dmte.embedding.export_formats import PROJECTOR, SUFFIXES
from dmte.errors import ConfigError

FORMATS = (*SUFFIXES.values(), PROJECTOR)


def export(
    model: ModelArgument,
    out: Annotated[
        Path | None, typer.Option(help=f"File to write; for {PROJECTOR}, a folder. Required.")
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--format",
            autocompletion=complete(lambda: FORMATS),
            help=f"{', '.join(SUFFIXES.values())}, or {PROJECTOR} (TensorBoard). "
            "Default: by the suffix of the file.",
        ),
    ] = None,
    force: ForceOption = False,
) -> None:
    """Write the vectors of a model, with their ids, to a file."""
    from dmte.embedding.embedding import Embedding
    from dmte.embedding.export import export_projector, export_vectors
    from dmte.model.trained_model import TrainedModel

    if out is None:
        raise ConfigError("--out FILE is required: the file for the vectors")
    chosen = kind or SUFFIXES.get(out.suffix.lower())
    if chosen is None:
        raise ConfigError(f"{out} does not end in {', '.join(SUFFIXES)}; give --format")
    if chosen != PROJECTOR:
        print(export_vectors(Embedding.load(model), out, chosen, replace=force))
        return
    trained = TrainedModel.load(model)
    columns = {"text": trained.network.texts}
    if trained.network.labels is not None:
        columns["label"] = [" ".join(sorted(classes)) for classes in trained.network.labels]
    for path in export_projector(trained.embedding, out, columns, replace=force):
        print(path)
