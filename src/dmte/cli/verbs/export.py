"""``dmte export``: the vectors of a model in a file that other programs read."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dmte.cli.output import complete
from dmte.cli.verbs.similar import ModelArgument
from dmte.errors import ConfigError

if TYPE_CHECKING:
    from dmte.model.trained_model import TrainedModel

PROJECTOR = "projector"
SUFFIXES = {".parquet": "parquet", ".npz": "npz", ".csv": "csv", ".txt": "word2vec"}
KINDS = (*SUFFIXES.values(), PROJECTOR)


def export(
    model: ModelArgument,
    out: Annotated[
        Path | None, typer.Option(help=f"The file to write; for {PROJECTOR}, a folder.")
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--format",
            autocompletion=complete(lambda: KINDS),
            help=f"{', '.join(SUFFIXES.values())} or {PROJECTOR} (TensorBoard); by default as "
            "the file ends.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
) -> None:
    """Write the vectors of a model, with their ids, to a file."""
    from dmte.embedding.embedding import Embedding
    from dmte.embedding.export import FORMATS, export_vectors
    from dmte.model.trained_model import TrainedModel

    if out is None:
        raise ConfigError("say where the vectors go with --out FILE")
    chosen = kind or format_of(out)
    if chosen is None:
        raise ConfigError(f"say with --format which of {', '.join(FORMATS)} {out} is to be")
    if chosen == PROJECTOR:
        for path in _export_projector(TrainedModel.load(model), out, replace=force):
            print(path)
        return
    print(export_vectors(Embedding.load(model), out, chosen, replace=force))


def format_of(path: Path) -> str | None:
    """Return the format that a file's name says, if it says one."""
    return SUFFIXES.get(path.suffix.lower())


def _export_projector(trained: "TrainedModel", folder: Path, *, replace: bool) -> tuple[Path, Path]:
    from dmte.embedding.export import export_projector

    network = trained.network
    columns = {"text": network.texts}
    if network.labels is not None:
        columns["label"] = [" ".join(sorted(classes)) for classes in network.labels]
    return export_projector(trained.embedding, folder, columns, replace=replace)
