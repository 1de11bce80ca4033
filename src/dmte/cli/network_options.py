"""Options that name a network: a data set, a folder, a file, tables, or standard input.

``with_network`` adds the same argument and options to every verb that reads a network, and passes
their values as one ``NetworkSource``.
"""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from dmte.cli.field_docs import Field, fields_of, first_sentence
from dmte.cli.options import added_parameters, complete, keyword_parameters, with_parameters
from dmte.cli.terminal import console, visible_output
from dmte.errors import ConfigError, NoTextsWarning
from dmte.network.datasets import DATASETS
from dmte.network.formats.columns import GUESSED, Columns
from dmte.runtime.progress import report_to

if TYPE_CHECKING:
    from dmte.network import TextualNetwork

NETWORK_HELP = (
    "Name of a data set (concepts, cora, ...); folder of Markdown files, or with data.txt and "
    "graph.txt; file of vertices with their links (.csv, .tsv, .parquet, .jsonl, .json, .bib, "
    ".graphml, .edgelist; also .gz and .zst); or - for standard input."
)
VerticesOption = Annotated[
    Path | None, typer.Option(help="Table of vertices: CSV, TSV, Parquet, JSON, or -.")
]
EdgesOption = Annotated[
    Path | None, typer.Option(help="Table of edges: CSV, TSV, Parquet, JSON, or -.")
]
DirectedOption = Annotated[bool, typer.Option("--directed", help="Treat edges as directed.")]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="File format, as a file name would end: csv, bib.gz, ... Default for -: jsonl.",
    ),
]
FeaturesOption = Annotated[
    Path | None,
    typer.Option(help="Features instead of words: .npy, .npz, or a sentence encoder's folder."),
]

PATIENCE = 1.0  # Seconds of reading before the bar appears: some tens of megabytes of a table.
STEP = 0.01  # Least change of the bar, as a fraction of the whole.


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSource:
    """Arguments that name the network to read."""

    network: str | None = None
    vertices: Path | None = None
    edges: Path | None = None
    directed: bool = False
    format: str | None = None
    columns: Columns = GUESSED
    known: Sequence[str] = ()
    """Ids outside the network that edges may lead to."""

    def open(self, *, features: Path | None = None, quiet: bool = False) -> "TextualNetwork":
        """Read the network, and its features if given; texts may then be missing.

        A terminal shows a bar if reading takes long.

        Raises:
            ConfigError: Neither a network nor tables are given, or both are.
            NetworkError: The network cannot be read.
        """
        bar = reading_bar(console(stderr=True), quiet=quiet)
        with warnings.catch_warnings(), bar as show, report_to(show):
            if features is not None and not features.is_dir():  # A sentence encoder reads texts.
                warnings.simplefilter("ignore", NoTextsWarning)
            network = self._read()
        if features is None:
            return network
        from dmte.text.feature_files import read_features

        return read_features(features, network)

    def _read(self) -> "TextualNetwork":
        from dmte.network.formats.read import read_network, read_tables

        has_tables = self.vertices is not None or self.edges is not None
        options: dict[str, Any] = {
            name: getattr(self, name) for name in ("columns", "directed", "format", "known")
        }
        if self.network is not None and has_tables:
            raise ConfigError(
                f"a network ({self.network!r}) cannot be combined with --vertices or --edges"
            )
        if has_tables:
            return read_tables(self.vertices, self.edges, **options)
        if self.network is None:
            raise ConfigError(
                "name a network, for example concepts, or give --vertices and --edges"
            )
        return read_network(self.network, **options)


def with_network(
    command: Callable[..., None], *, metavar: str = "NETWORK", has_directed: bool = True
) -> Callable[..., None]:
    """Replace the ``source`` of a command by the argument and options that name a network.

    A model that the command also takes comes before the network.
    """
    columns = {f"{column.name}_column": column for column in fields_of(Columns)}
    place = Annotated[
        str | None,
        typer.Argument(
            metavar=metavar, autocompletion=complete(lambda: DATASETS), help=NETWORK_HELP
        ),
    ]
    tables = {"network": place, "vertices": VerticesOption, "edges": EdgesOption}
    directed = {"directed": DirectedOption} if has_directed else {}
    details = {"format": FormatOption} | {
        name: _column_option(column) for name, column in columns.items()
    }

    def run(**given: Any) -> None:
        named = Columns(**{column.name: given.pop(name) for name, column in columns.items()})
        values = {name: given.pop(name) for name in [*tables, *directed, "format"]}
        command(source=NetworkSource(columns=named, **values), **given)

    own = [parameter for parameter in keyword_parameters(command) if parameter.name != "source"]
    parameters = [
        *(parameter for parameter in own if parameter.name == "model"),
        *added_parameters(tables),
        *added_parameters(directed, default=False),
        *(parameter for parameter in own if parameter.name != "model"),
        *added_parameters(details),
    ]
    return with_parameters(run, command, parameters)


def _column_option(column: Field) -> Any:
    sentence = first_sentence(column.doc)
    help_line = f"Column of {sentence[0].lower()}{sentence[1:]}"
    return Annotated[str | None, typer.Option(f"--{column.name}-column", help=help_line)]


@contextmanager
def reading_bar(stderr: Console, *, quiet: bool) -> Iterator[Callable[[float], None]]:
    """Bar of the fraction read, if the console is a terminal and reading takes long."""
    columns = (TextColumn("reading"), BarColumn(), TaskProgressColumn())
    bar, shows = Progress(*columns, console=stderr, transient=True), ExitStack()
    task, began, shown = bar.add_task("", total=1.0), time.monotonic(), 0.0

    def show(share: float) -> None:
        nonlocal shown
        if abs(share - shown) < STEP or quiet or not stderr.is_terminal:
            return
        shown = share
        if time.monotonic() - began > PATIENCE:
            if not bar.live.is_started:  # Stopping a bar that never started leaves a blank line.
                shows.enter_context(bar)
                shows.enter_context(visible_output())
            bar.update(task, completed=share)

    with shows:
        yield show
