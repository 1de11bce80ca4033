"""``dmte similar``: the vertices closest to one vertex, or to a text (section 5.3).

For a vertex torch is not loaded, which takes longer than everything else.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dmte.cli.options import QuietOption
from dmte.cli.output import (
    NEIGHBOR_COLUMNS,
    CsvOption,
    Described,
    JsonOption,
    check_one_format,
    describe_neighbors,
    neighbor_table,
    print_csv,
    print_json,
)
from dmte.errors import ConfigError, warn
from dmte.runtime.progress import Listener, report_to
from dmte.settings import Half

if TYPE_CHECKING:
    from dmte.search.vectors import Neighbor

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
    approximate: Annotated[
        bool,
        typer.Option(
            "--approximate",
            help="Ask an index, which may miss some; the first time builds it in the model folder.",
        ),
    ] = False,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show the vertices most similar to a vertex, or to a text, of a model."""
    check_one_format(as_json=as_json, as_csv=as_csv)
    if (vertex is None) == (text is None):
        raise ConfigError("give either --vertex ID or --text TEXT")
    if text is not None and half == "structure":
        raise ConfigError("a text has no links, so there is no structure half to compare it by")
    if approximate and label is not None:
        raise ConfigError("--approximate knows no labels; leave it out, a search by label is exact")
    with report_to(_announce(model, quiet=quiet)):
        if vertex is not None:
            network, found = _like_vertex(model, vertex, half, label, k, approximate=approximate)
        else:
            network, found = _like_text(model, str(text), label, k, approximate=approximate)
    rows = describe_neighbors(network, vertex, found)
    if len(rows) < k:
        warn(f"there are only {len(rows):,} to show, not {k:,}")
    if as_json:
        print_json({"vertex": vertex, "text": text, "half": half, "neighbors": rows})
    elif as_csv:
        print_csv(rows, NEIGHBOR_COLUMNS)
    else:
        query = text if vertex is None else network.texts[network.position(vertex)]
        print(neighbor_table(f"Query: {query}", rows))


def _announce(model: Path, *, quiet: bool) -> Listener:
    """Return a listener that says when an index begins to be built: it may take minutes."""

    def hear(share: float) -> None:
        if share == 0 and not quiet:
            what = f"building an index of {model}, which later questions will use"
            print(what, file=sys.stderr, flush=True)

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
