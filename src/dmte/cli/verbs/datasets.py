"""``dmte datasets``: list, download and locate data sets."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn
from rich.text import Text

from dmte.cli.options import JsonOption, QuietOption, complete, verb_group, with_flags
from dmte.cli.output import column, grid, print_json, print_parts
from dmte.cli.progress import bar_on_stderr, description_column
from dmte.cli.terminal import write_exactly
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

datasets = verb_group("List, download and locate data sets.")
_DATASET = typer.Argument(
    metavar="NAME", help="Data set, as in 'list'.", autocompletion=complete(lambda: DATASETS)
)


@datasets.command("list")
@with_flags
def list_datasets(as_json: JsonOption = False) -> None:
    """List the data sets, their sizes, and whether they are on this machine."""
    rows = [_describe(dataset) for dataset in DATASETS.values()]
    if as_json:
        print_json({"folder": str(data_folder()), "datasets": rows})
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
    print_parts(grid(heads, shown, heads=True))
    print(f"\nfolder  {data_folder()}")


@datasets.command("download")
@with_flags
def download_datasets(names: Annotated[list[str], _DATASET], quiet: QuietOption = False) -> None:
    """Download data sets; files that already exist are kept."""
    for dataset in [get_dataset(name) for name in names]:
        if not dataset.bundled:
            _download(dataset, quiet=quiet)
        print(f"{dataset.name} is in {find_dataset(dataset.name)}")


@datasets.command("path")
@with_flags
def show_path(name: Annotated[str, _DATASET]) -> None:
    """Print the folder of a data set."""
    write_exactly(f"{find_dataset(name)}\n")


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
    """Whether a data set is on this machine, in a few words."""
    if row["bundled"]:
        return "comes with dmte"
    if row["missing"] == row["files"]:
        return "no"
    problems = [
        f"{' '.join(row[kind])} {words}"
        for words, kind in (("missing", "missing"), ("not as published", "different"))
        if row[kind]
    ]
    return ", ".join(["yes" if row["complete"] else "incomplete", *problems])


def _download(dataset: Dataset, *, quiet: bool) -> None:
    try:
        with _progress(dataset.name, quiet=quiet) as report:
            download(dataset, data_folder(), report=report)
    except KeyboardInterrupt as problem:
        raise Interrupted(
            f"interrupted; 'dmte datasets download {dataset.name}' resumes the download"
        ) from problem


@contextmanager
def _progress(name: str, *, quiet: bool) -> Iterator[Report]:
    """A bar per file on stderr; yields the function that updates them."""
    columns = (
        description_column(),
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
