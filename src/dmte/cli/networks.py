"""Where a network comes from on the command line: a name, a folder, or tables."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dmte.errors import ConfigError

if TYPE_CHECKING:
    from dmte.network import TextualNetwork

NetworkArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="NETWORK",
        help="A data set's name (concepts, cora, ...), a folder with data.txt and graph.txt, or a "
        "file of vertices with their links.",
    ),
]
VerticesOption = Annotated[
    Path | None, typer.Option(help="A table of vertices: CSV, TSV, Parquet or JSON Lines.")
]
EdgesOption = Annotated[
    Path | None, typer.Option(help="A table of edges: CSV, TSV, Parquet or JSON Lines.")
]
DirectedOption = Annotated[bool, typer.Option("--directed", help="Edges lead one way only.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def open_network(
    name: str | None, vertices: Path | None, edges: Path | None, *, directed: bool
) -> "TextualNetwork":
    """Return the network the user named, by its place or by its tables.

    Raises:
        ConfigError: None was named, or two were.
        NetworkError: It cannot be read.
    """
    from dmte.network.files import read_network, read_tables

    has_tables = vertices is not None or edges is not None
    if name is not None and has_tables:
        raise ConfigError(f"give a network ({name!r}) or tables (--vertices, --edges), not both")
    if has_tables:
        return read_tables(vertices, edges, directed=directed)
    if name is None:
        raise ConfigError("name a network, for example concepts, or give --vertices and --edges")
    return read_network(name, directed=directed)
