"""``dmte classify``: labels for vertices without one."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from dmte.cli.options import CsvOption, ForceOption, JsonOption, ModelArgument, SeedOption
from dmte.cli.output import (
    cell,
    check_one_format,
    column,
    csv_text,
    grid,
    print_csv,
    print_json,
    print_parts,
    shorten,
    terminal_width,
)
from dmte.errors import ConfigError

if TYPE_CHECKING:
    from dmte.inference.classify import Labelling
    from dmte.network import TextualNetwork

COLUMNS = ("id", "label", "confidence")


def classify(
    model: ModelArgument,
    labels: Annotated[
        Path | None,
        typer.Option(
            help="Table of ids and labels, instead of the model's: CSV, TSV, Parquet, JSON, or -."
        ),
    ] = None,
    id_column: Annotated[str | None, typer.Option(help="Column of the ids in --labels.")] = None,
    label_column: Annotated[str | None, typer.Option(help="Column of the labels.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="File for all predictions: .csv or .json.")
    ] = None,
    force: ForceOption = False,
    k: Annotated[int, typer.Option("-k", help="Number of predictions to show, surest first.")] = 20,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Predict labels for the vertices of a model that have none, with confidences.

    A linear SVM learns from the labelled vertices; cross-validation estimates its accuracy.
    """
    check_one_format(as_json=as_json, as_csv=as_csv)
    _check(k, out, labels, id_column or label_column)
    from dmte.inference.classify import label_vertices
    from dmte.model.trained_model import TrainedModel
    from dmte.network import Columns, read_labels

    trained = TrainedModel.load(model)
    network = trained.network
    given = network.labels or (frozenset(),) * network.num_vertices
    if labels is not None:
        given = read_labels(labels, network.ids, columns=Columns(id=id_column, label=label_column))
    elif not any(given):
        raise ConfigError(
            f"{model} has no labels; give some with --labels FILE, a table of ids and labels"
        )
    found = label_vertices(trained.embedding, given, seed)
    if out is not None:
        _write(out, found, replace=force)
    if as_json:
        print_json(_as_json(found))
    elif as_csv:
        print_csv(_rows(found), COLUMNS)
    else:
        _print_table(found, network, k, out)


def _check(k: int, out: Path | None, labels: Path | None, column: str | None) -> None:
    if k < 1:
        raise ConfigError(f"k must be at least 1, not {k}")
    if out is not None and out.suffix.lower() not in (".csv", ".json"):
        raise ConfigError(f"{out} must end in .csv or .json")
    if labels is None and column is not None:
        raise ConfigError(f"the column {column!r} belongs to a file; give it with --labels FILE")


def _rows(found: "Labelling") -> list[dict[str, Any]]:
    return [
        {
            "id": one.id,
            "label": one.labels,
            "confidence": [round(value, 4) for value in one.confidences],
        }
        for one in found.predictions
    ]


def _as_json(found: "Labelling") -> dict[str, Any]:
    return {
        "labelled": found.num_labelled,
        "unlabelled": len(found.predictions),
        "multi_label": found.is_multi_label,
        "labels": dict(found.counts),
        "estimate": {
            "folds": found.num_folds,
            "macro_f1": round(found.scores.macro_f1, 4),
            "micro_f1": round(found.scores.micro_f1, 4),
            "commonest_micro_f1": round(found.commonest, 4),
            "precision": round(found.precision, 4),
            "mean_confidence": round(found.mean_confidence, 4),
        },
        "predictions": [
            {
                "id": row["id"],
                "labels": [
                    {"label": label, "confidence": confidence}
                    for label, confidence in zip(row["label"], row["confidence"], strict=True)
                ],
            }
            for row in _rows(found)
        ],
    }


def _write(out: Path, found: "Labelling", *, replace: bool) -> None:
    from dmte.storage.atomic_file import new_file

    is_json = out.suffix.lower() == ".json"
    text = json.dumps(_as_json(found), indent=2) if is_json else csv_text(_rows(found), COLUMNS)
    with new_file(out, replace=replace) as file:
        file.write(text.encode())


def _print_table(found: "Labelling", network: "TextualNetwork", k: int, out: Path | None) -> None:
    scores = found.scores
    kind = "labels, several per vertex" if found.is_multi_label else "labels"
    print(
        f"{found.num_labelled:,} vertices labelled with {len(found.counts)} {kind}, "
        f"{len(found.predictions):,} without"
    )
    print(
        f"cross-validation, {found.num_folds} folds: Macro-F1 {100 * scores.macro_f1:.1f}, "
        f"Micro-F1 {100 * scores.micro_f1:.1f} (one label for all: {100 * found.commonest:.1f})\n"
    )
    if not found.predictions:
        print("every vertex already has a label")
        return
    print_parts(_table(found, network, k))
    left = len(found.predictions) - k
    if left > 0 and out is None:
        print(f"     and {left:,} more; use --out FILE, --csv or --json to get all")
    if out is not None:
        print(out)


def _table(found: "Labelling", network: "TextualNetwork", k: int) -> Table:
    """A row per vertex, the surest first: its id, labels with confidence, some text."""
    third = terminal_width() // 3
    columns = (column(), column(style="bold", most=third), column(style="cyan"), column())
    rows = []
    surest = sorted(found.predictions, key=lambda one: -one.confidences[0])[:k]
    for rank, one in enumerate(surest, start=1):
        labels = ", ".join(
            f"{label} {int(100 * value)} %"  # Rounded down, so that 99.6 % is not shown as 100 %.
            for label, value in zip(one.labels, one.confidences, strict=True)
        )
        text = network.texts[network.position(one.id)]
        said = Text(f"  {shorten(labels, third)}")
        rows.append((Text(f"{rank:>3}. "), cell(one.id), said, Text("  ").append(cell(text))))
    return grid(columns, rows)
