"""Data frames to a network: pandas, polars, PyArrow and whatever else narwhals takes.

The rows of a frame are counted from 0, as the frames themselves count them.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import narwhals as nw

from dmte.errors import NetworkError
from dmte.network.formats.build import network_from_tables
from dmte.network.formats.columns import GUESSED, Columns
from dmte.network.formats.table import LazyColumns, Table
from dmte.network.textual_network import TextualNetwork

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame
else:
    IntoDataFrame = Any  # narwhals' protocol cannot be checked at run time.


def network_from_frames(
    vertices: IntoDataFrame | None,
    edges: IntoDataFrame | None = None,
    *,
    columns: Columns = GUESSED,
    directed: bool = False,
    known: Sequence[str] = (),
) -> TextualNetwork:
    """Return the network of a frame of vertices and a frame of edges; either may be None.

    Ids may be strings or numbers: pandas' 7.0 is the vertex "7". An index is not looked at. Edges
    may also lead to ``known`` ids, such as those of a model; these become vertices without texts.

    >>> import pandas as pd
    >>> papers = pd.DataFrame({"id": [7, 8], "abstract": ["on graphs", None]})
    >>> network = network_from_frames(papers, pd.DataFrame({"citing": [7.0], "cited": [8.0]}))
    >>> network.ids, network.texts, network.edges.tolist()
    (('7', '8'), ('on graphs', ''), [[0, 1]])

    Raises:
        NetworkError: A frame is not one, or its rows do not make a network.
    """
    return network_from_tables(
        None if vertices is None else table_from_frame(vertices, "the vertices frame"),
        None if edges is None else table_from_frame(edges, "the edges frame"),
        columns=columns,
        directed=directed,
        known=known,
    )


def table_from_frame(frame: IntoDataFrame, name: str) -> Table:
    """Return a frame as the table that errors call ``name``.

    Raises:
        NetworkError: It is no eager frame, or two of its columns share a name.
    """
    try:
        native = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise NetworkError(
            f"{name} is a {type(frame).__module__}.{type(frame).__name__}, which is not a data "
            "frame in memory; collect() a lazy one, and turn anything else into a pandas or polars "
            "frame"
        ) from None
    except nw.exceptions.DuplicateError as error:
        raise NetworkError(f"{name} has two columns of one name: {_one_line(error)}") from None
    names = {str(column): column for column in native.columns}
    return Table(
        name=name,
        columns=LazyColumns(names, lambda column: _cells(native.get_column(names[column]), name)),
        place=lambda row: f"row {row} of {name}",
    )


def _cells(series: nw.Series[Any], table: str) -> Sequence[object]:
    """Return the values of a column with None for whatever the frame calls missing."""
    try:
        values, missing = series.to_list(), series.is_null().to_list()
    except (ValueError, ArithmeticError) as error:
        raise NetworkError(
            f"{table} has a column {series.name!r} that cannot be read ({_one_line(error)}); "
            "make it strings"
        ) from None
    return [None if gone else value for value, gone in zip(values, missing, strict=True)]


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
