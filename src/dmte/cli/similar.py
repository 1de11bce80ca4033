"""``dmte similar``: the vertices closest to one vertex, or to a text (section 5.3)."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dmte.choices import Half
from dmte.cli.neighbors import COLUMNS, describe, table
from dmte.cli.networks import JsonOption
from dmte.cli.output import CsvOption, print_csv, print_json, refuse_both
from dmte.errors import ConfigError, warn

if TYPE_CHECKING:
    from jaxtyping import Bool
    from torch import Tensor

    from dmte.network import TextualNetwork

ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")]
CountOption = Annotated[int, typer.Option("-k", help="How many to show.")]


def similar(
    model: ModelArgument,
    vertex: Annotated[str | None, typer.Option(help="The id of a vertex.")] = None,
    text: Annotated[str | None, typer.Option(help="Any text.")] = None,
    half: Annotated[Half, typer.Option(help="What to compare, for a vertex.")] = "both",
    label: Annotated[
        str | None, typer.Option(help="Show only vertices that carry this label.")
    ] = None,
    k: CountOption = 10,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Show the vertices most similar to a vertex, or to a text, of a model."""
    refuse_both(as_json=as_json, as_csv=as_csv)
    if (vertex is None) == (text is None):
        raise ConfigError("give either --vertex ID or --text TEXT")
    if text is not None and half == "structure":
        raise ConfigError("a text has no links, so there is no structure half to compare it by")
    from dmte.trained import TrainedModel

    trained = TrainedModel.load(model)
    among = None if label is None else _with_label(trained.network, label)
    if vertex is not None:
        neighbors = trained.embedding.most_similar(vertex, k, half=half, among=among)
    else:
        neighbors = trained.most_similar_to_text(str(text), k, among=among)
    rows = describe(trained.network, vertex, neighbors)
    if len(rows) < k:
        warn(f"there are only {len(rows):,} to show, not {k:,}")
    if as_json:
        print_json({"vertex": vertex, "text": text, "half": half, "neighbors": rows})
    elif as_csv:
        print_csv(rows, COLUMNS)
    else:
        position = None if vertex is None else trained.network.position(vertex)
        print(
            table(f"Query: {text if position is None else trained.network.texts[position]}", rows)
        )


def _with_label(network: "TextualNetwork", label: str) -> "Bool[Tensor, ' vertices']":
    """Return which vertices carry a label.

    Raises:
        ConfigError: None does; the labels there are are named.
    """
    import torch

    if label not in network.classes:
        known = ", ".join(network.classes[:20]) or "none"
        raise ConfigError(f"no vertex carries the label {label!r}; the labels are {known}")
    return torch.tensor([label in classes for classes in network.labels or ()])
