"""``dmte suggest``: missing links, the best first."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from dmte.cli.options import CountOption, CsvOption, JsonOption, ModelArgument
from dmte.cli.output import (
    cell,
    check_one_format,
    column,
    grid,
    print_csv,
    print_json,
    print_parts,
    terminal_width,
)
from dmte.errors import warn

if TYPE_CHECKING:
    from dmte.inference.suggest import Suggestion
    from dmte.model.trained_model import TrainedModel

COLUMNS = ("source", "target", "score")


def suggest(
    model: ModelArgument,
    vertex: Annotated[
        str | None, typer.Option(help="Id of a vertex to link. Default: all vertices.")
    ] = None,
    k: CountOption = 10,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Suggest links between vertices that are not linked yet, the best first."""
    check_one_format(as_json=as_json, as_csv=as_csv)
    from dmte.inference.suggest import suggest_links
    from dmte.model.trained_model import TrainedModel

    trained = TrainedModel.load(model)
    found = suggest_links(trained.embedding, trained.network, k, vertex)
    if len(found) < k:
        warn(f"there are only {len(found):,} results, not {k:,}")
    rows = [one._asdict() | {"score": round(one.score, 4)} for one in found]
    if as_json:
        print_json({"vertex": vertex, "suggestions": rows})
    elif as_csv:
        print_csv(rows, COLUMNS)
    else:
        _print_table(found, trained)


def _print_table(found: "list[Suggestion]", trained: "TrainedModel") -> None:
    """Print a row per pair: its score, both ids, and as much of the second text as fits."""
    if not found:
        print("every pair is already linked")
        return
    network = trained.network
    columns = (column(style="cyan"), column(style="bold", most=terminal_width() // 2), column())
    rows = [
        (
            Text(f"{rank:>3}. {one.score:6.3f}  "),
            cell(f"{one.source} — {one.target}"),
            Text("  ").append(cell(network.texts[network.position(one.target)])),
        )
        for rank, one in enumerate(found, start=1)
    ]
    print_parts(grid(columns, rows))
