"""``dmte similar``: the vertices closest to one vertex, or to a text (section 5.3)."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from dmte.cli.neighbors import describe, table
from dmte.cli.networks import JsonOption
from dmte.errors import ConfigError
from dmte.trained import TrainedModel


def similar(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")],
    vertex: Annotated[str | None, typer.Option(help="The id of a vertex.")] = None,
    text: Annotated[str | None, typer.Option(help="Any text.")] = None,
    k: Annotated[int, typer.Option("-k", help="How many to show.")] = 10,
    as_json: JsonOption = False,
) -> None:
    """Show the vertices most similar to a vertex, or to a text, of a model."""
    if (vertex is None) == (text is None):
        raise ConfigError("give either --vertex ID or --text TEXT")
    trained = TrainedModel.load(model)
    if vertex is not None:
        neighbors = trained.embedding.most_similar(vertex, k)
    else:
        neighbors = trained.most_similar_to_text(str(text), k)
    rows = describe(trained.network, vertex, neighbors)
    if as_json:
        json.dump({"vertex": vertex, "text": text, "neighbors": rows}, sys.stdout, indent=2)
        print()
        return
    heading = text if vertex is None else trained.network.texts[trained.network.position(vertex)]
    print(table(f"Query: {heading}", rows))
