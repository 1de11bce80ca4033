"""``dmte datasets``: which networks there are by name, where they lie, and how they get there."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, no_type_check

import typer
from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from dmte.cli.network_options import JsonOption
from dmte.cli.options import QuietOption, with_flags
from dmte.cli.output import column, complete, grid, rendered
from dmte.cli.progress import bar_on_stderr
from dmte.errors import Interrupted
from dmte.network.datasets import (
    DATASETS,
    Dataset,
    check_dataset,
    data_folder,
    find_dataset,
    get_dataset,
)
from dmte.network.download import Arrival, Report, download

datasets = typer.Typer(
    help="List the networks known by name, fetch them, and say where they are.",
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
)


@datasets.callback()
@no_type_check  # typer asks for its own Context and hands over that of click
def _show_help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


@datasets.command("list")
@with_flags
def list_datasets(as_json: JsonOption = False) -> None:
    """Show every data set, how large it is, and whether it is on this machine."""
    rows = [_describe(dataset) for dataset in DATASETS.values()]
    if as_json:
        json.dump({"folder": str(data_folder()), "datasets": rows}, sys.stdout, indent=2)
        print()
        return
    heads = [column("name", style="bold"), column("  vertices", right=True)]
    heads += [column("   edges", right=True), column("  here"), column("  description")]
    shown = [
        [
            Text(row["name"]),
            *(Text(f"  {row[size]:,}") for size in ("vertices", "edges")),
            *(Text(f"  {word}") for word in (_state(row), row["description"])),
        ]
        for row in rows
    ]
    print(rendered(grid(heads, shown, heads=True)))
    print(f"\nfolder  {data_folder()}")


@datasets.command("download")
@with_flags
def download_datasets(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME",
            help="Data sets, as 'list' names them.",
            autocompletion=complete(lambda: DATASETS),
        ),
    ],
    quiet: QuietOption = False,
) -> None:
    """Fetch data sets into the folder of data sets; what is there already is not fetched again."""
    for dataset in [get_dataset(name) for name in names]:
        if not dataset.bundled:
            _download(dataset, quiet=quiet)
        print(f"{dataset.name} is in {find_dataset(dataset.name)}")


@datasets.command("path")
@with_flags
def show_path(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="A data set, as 'list' names it.",
            autocompletion=complete(lambda: DATASETS),
        ),
    ],
) -> None:
    """Print the folder that holds a data set."""
    print(find_dataset(name))


def _describe(dataset: Dataset) -> dict[str, Any]:
    origin, found = dataset.origin, check_dataset(dataset, data_folder())
    return {
        "name": dataset.name,
        "description": dataset.description,
        "vertices": dataset.num_vertices,
        "edges": dataset.num_edges,
        "bundled": dataset.bundled,
        "origin": None if origin is None else f"{origin.repository}/{origin.folder}",
        "folder": str(find_dataset(dataset.name) if dataset.bundled else found.folder),
        "files": [file.name for file in dataset.files],
        "missing": list(found.missing),
        "different": list(found.different),
        "complete": not found.missing,
    }


def _state(row: dict[str, Any]) -> str:
    """Return how much of a data set is here, in a few words."""
    if row["bundled"]:
        return "comes with dmte"
    if row["missing"] == row["files"]:
        return "no"
    problems = [
        f"{word} {' '.join(row[kind])}"
        for word, kind in (("without", "missing"), ("with another", "different"))
        if row[kind]
    ]
    return ", ".join(["yes" if row["complete"] else "in part", *problems])


def _download(dataset: Dataset, *, quiet: bool) -> None:
    try:
        with _progress(dataset.name, quiet=quiet) as report:
            download(dataset, data_folder(), report=report)
    except KeyboardInterrupt as problem:
        raise Interrupted(
            f"interrupted; 'dmte datasets download {dataset.name}' goes on from what has arrived"
        ) from problem


@contextmanager
def _progress(name: str, *, quiet: bool) -> Iterator[Report]:
    """Show a bar per file on stderr, if that is a terminal; yield what feeds them."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
    )
    with bar_on_stderr(*columns, quiet=quiet) as bar:
        tasks: dict[str, Any] = {}

        def report(arrival: Arrival) -> None:
            if arrival.file not in tasks:
                tasks[arrival.file] = bar.add_task(f"{name}/{arrival.file}")
            bar.update(tasks[arrival.file], completed=arrival.num_bytes, total=arrival.total_bytes)

        yield report
