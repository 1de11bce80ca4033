"""``dmte similar``: the vertices closest to a vertex or to a text (section 5.3).

Queries by vertex do not load torch, which takes longer than the search.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dmte.cli.options import CountOption, CsvOption, JsonOption, ModelArgument, QuietOption
from dmte.cli.output import (
    NEIGHBOR_COLUMNS,
    Described,
    check_one_format,
    describe_neighbors,
    print_csv,
    print_json,
    print_neighbors,
)
from dmte.errors import ConfigError, warn
from dmte.runtime.progress import Listener, report_to
from dmte.settings import Half

if TYPE_CHECKING:
    from dmte.search.vectors import Neighbor


def similar(
    model: ModelArgument,
    vertex: Annotated[str | None, typer.Option(help="Id of the query vertex.")] = None,
    text: Annotated[str | None, typer.Option(help="Query text, instead of a vertex.")] = None,
    half: Annotated[Half, typer.Option(help="Half of the vectors to compare.")] = "both",
    label: Annotated[str | None, typer.Option(help="Show only vertices with this label.")] = None,
    k: CountOption = 10,
    approximate: Annotated[
        bool,
        typer.Option(
            "--approximate",
            help="Search an index, which may miss some; the first search builds it.",
        ),
    ] = False,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
    quiet: QuietOption = False,
) -> None:
    """Find the vertices of a model most similar to a vertex or to a text."""
    check_one_format(as_json=as_json, as_csv=as_csv)
    if (vertex is None) == (text is None):
        raise ConfigError("give either --vertex ID or --text TEXT")
    if text is not None and half == "structure":
        raise ConfigError("--half structure cannot be combined with --text; a text has no links")
    if approximate and label is not None:
        raise ConfigError("--approximate cannot be combined with --label; drop --approximate")
    with report_to(_announce(model, quiet=quiet)):
        if vertex is not None:
            network, found = _like_vertex(model, vertex, half, label, k, approximate=approximate)
        else:
            network, found = _like_text(model, str(text), label, k, approximate=approximate)
    rows = describe_neighbors(network, vertex, found)
    if len(rows) < k:
        warn(f"there are only {len(rows):,} results, not {k:,}")
    if as_json:
        print_json({"vertex": vertex, "text": text, "half": half, "neighbors": rows})
    elif as_csv:
        print_csv(rows, NEIGHBOR_COLUMNS)
    else:
        query = text if vertex is None else network.texts[network.position(vertex)]
        print_neighbors(f"Query: {query}", rows)


def _announce(model: Path, *, quiet: bool) -> Listener:
    """A listener that reports the start of building an index, which may take minutes."""

    def hear(share: float) -> None:
        if share == 0 and not quiet:
            print(f"building an index of {model} for later searches", file=sys.stderr, flush=True)

    return hear


def _like_vertex(
    folder: Path, vertex: str, half: Half, label: str | None, k: int, *, approximate: bool
) -> "tuple[Described, list[Neighbor]]":
    from dmte.model.stored_model import StoredModel, with_label
    from dmte.search.vectors import SearchOptions

    stored = StoredModel.read(folder)
    among = None if label is None else with_label(stored.labels, label)
    search = SearchOptions(k, half, among, approximate)
    return stored, stored.vectors.most_similar([vertex], search)[0]


def _like_text(
    folder: Path, text: str, label: str | None, k: int, *, approximate: bool
) -> "tuple[Described, list[Neighbor]]":
    import torch

    from dmte.model.stored_model import with_label
    from dmte.model.trained_model import TrainedModel

    trained = TrainedModel.load(folder)
    network = trained.network
    among = None if label is None else torch.from_numpy(with_label(network.labels, label))
    found = trained.most_similar_to_text(text, k, among=among, approximate=approximate)
    return network, found
