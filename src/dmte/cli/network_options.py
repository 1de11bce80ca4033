"""Where a network comes from on the command line: a name, a folder, a file, tables, a pipe.

Every verb that reads a network takes the same argument and options: ``with_network`` gives them to
it, and hands over what the user said as one ``NetworkSource``.
"""

import inspect
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from dmte.cli.field_docs import Field, fields_of, first_sentence
from dmte.cli.output import JsonOption as JsonOption
from dmte.cli.output import complete
from dmte.errors import ConfigError, NoTextsWarning
from dmte.network.datasets import DATASETS
from dmte.network.formats.columns import GUESSED, Columns
from dmte.runtime.progress import report_to

if TYPE_CHECKING:
    from dmte.network import TextualNetwork

NETWORK_HELP = (
    "A data set's name (concepts, cora, ...), a folder of Markdown files or with data.txt "
    "and graph.txt, a file of vertices with their links (.csv, .tsv, .parquet, .jsonl, .json, "
    ".bib, .graphml, .edgelist; .gz and .zst too), or - for standard input."
)
VerticesOption = Annotated[
    Path | None, typer.Option(help="A table of vertices: CSV, TSV, Parquet or JSON; or -.")
]
EdgesOption = Annotated[
    Path | None, typer.Option(help="A table of edges: CSV, TSV, Parquet or JSON; or -.")
]
DirectedOption = Annotated[bool, typer.Option("--directed", help="Edges lead one way only.")]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format", help="What the file's name would end in, as csv or bib.gz; for - jsonl."
    ),
]
FeaturesOption = Annotated[
    Path | None,
    typer.Option(help="Features in place of words: .npy or .npz, or a sentence encoder's folder."),
]

PATIENCE = 1.0  # seconds of reading before a bar is shown: some tens of megabytes of a table
STEP = 0.01  # of the whole, between two changes of the bar


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSource:
    """What the user said of the network to read."""

    network: str | None = None
    vertices: Path | None = None
    edges: Path | None = None
    directed: bool = False
    format: str | None = None
    columns: Columns = GUESSED
    known: Sequence[str] = ()
    """Ids outside the network that edges may lead to."""

    def open(self, *, features: Path | None = None, quiet: bool = False) -> "TextualNetwork":
        """Return the network, with a bar on a terminal if reading takes long.

        Features of its vertices are read as well where they are named; texts may then be missing.

        Raises:
            ConfigError: None was named, or two were.
            NetworkError: It cannot be read.
        """
        bar = reading_bar(Console(stderr=True), quiet=quiet)
        with warnings.catch_warnings(), bar as show, report_to(show):
            if features is not None and not features.is_dir():  # A model's folder reads texts.
                warnings.simplefilter("ignore", NoTextsWarning)
            network = open_network(
                self.network,
                self.vertices,
                self.edges,
                directed=self.directed,
                columns=self.columns,
                format=self.format,
                known=self.known,
            )
        if features is None:
            return network
        from dmte.text.feature_files import read_features

        return read_features(features, network)


def open_network(
    name: str | None,
    vertices: Path | None,
    edges: Path | None,
    *,
    directed: bool,
    columns: Columns = GUESSED,
    format: str | None = None,  # noqa: A002
    known: Sequence[str] = (),
) -> "TextualNetwork":
    """Return the network the user named, by its place or by its tables.

    Raises:
        ConfigError: None was named, or two were.
        NetworkError: It cannot be read.
    """
    from dmte.network.formats.read import read_network, read_tables

    has_tables = vertices is not None or edges is not None
    if name is not None and has_tables:
        raise ConfigError(f"give a network ({name!r}) or tables (--vertices, --edges), not both")
    if has_tables:
        return read_tables(
            vertices, edges, columns=columns, directed=directed, format=format, known=known
        )
    if name is None:
        raise ConfigError("name a network, for example concepts, or give --vertices and --edges")
    return read_network(name, columns=columns, directed=directed, format=format, known=known)


def with_network(
    command: Callable[..., None], *, metavar: str = "NETWORK", asks_directed: bool = True
) -> Callable[..., None]:
    """Give ``command``, which takes a ``source``, what says where that network comes from.

    A model that it takes as well stands in front of the network.
    """
    named = fields_of(Columns)
    roles = [column.name for column in named]
    place = Annotated[
        str | None,
        typer.Argument(
            metavar=metavar, autocompletion=complete(lambda: DATASETS), help=NETWORK_HELP
        ),
    ]
    where = {"network": place, "vertices": VerticesOption, "edges": EdgesOption}
    how = {"format": FormatOption} | {
        f"{column.name}_column": _column_option(column) for column in named
    }
    directed = Parameter(
        "directed", Parameter.KEYWORD_ONLY, default=False, annotation=DirectedOption
    )

    def run(**given: Any) -> None:
        columns = Columns(**{role: given.pop(f"{role}_column") for role in roles})
        names = [*where, "format", *(["directed"] if asks_directed else [])]
        said = {name: given.pop(name) for name in names}
        command(source=NetworkSource(columns=columns, **said), **given)

    own = [
        parameter.replace(kind=Parameter.KEYWORD_ONLY)
        for parameter in inspect.signature(command).parameters.values()
        if parameter.name != "source"
    ]
    parameters = [
        *(parameter for parameter in own if parameter.name == "model"),
        *_parameters(where),
        *([directed] if asks_directed else []),
        *(parameter for parameter in own if parameter.name != "model"),
        *_parameters(how),
    ]
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": None}
    return run


def _parameters(options: Mapping[str, Any]) -> Iterator[Parameter]:
    for name, option in options.items():
        yield Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=option)


def _column_option(column: Field) -> Any:
    """Return the annotation of the option that names the column of this role."""
    sentence = first_sentence(column.doc)
    help_line = f"The column of {sentence[0].lower()}{sentence[1:]}"
    return Annotated[str | None, typer.Option(f"--{column.name}-column", help=help_line)]


@contextmanager
def reading_bar(console: Console, *, quiet: bool) -> Iterator[Callable[[float], None]]:
    """Show how far reading is, if the console is a terminal and reading takes long."""
    columns = (TextColumn("reading"), BarColumn(), TaskProgressColumn())
    bar = Progress(*columns, console=console, transient=True)
    task, began, shown = bar.add_task("", total=1.0), time.monotonic(), 0.0

    def show(share: float) -> None:
        nonlocal shown
        if abs(share - shown) < STEP or quiet or not console.is_terminal:
            return
        shown = share
        if time.monotonic() - began > PATIENCE:
            bar.start()
            bar.update(task, completed=share)

    try:
        yield show
    finally:
        if bar.live.is_started:  # One that never started would leave a blank line.
            bar.stop()
