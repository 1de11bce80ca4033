"""Build a network from data frames: pandas, polars, PyArrow and others that narwhals supports.

Errors count the rows of a frame from 0, as the frames do.
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
    """Build a network from a frame of vertices and a frame of edges; either may be ``None``.

    Ids may be strings or numbers: pandas' 7.0 is the vertex "7". An index is ignored. Edges may
    also lead to ``known`` ids, such as those of a model; these become vertices without texts.

    >>> import pandas as pd
    >>> papers = pd.DataFrame({"id": [7, 8], "abstract": ["on graphs", None]})
    >>> network = network_from_frames(papers, pd.DataFrame({"citing": [7.0], "cited": [8.0]}))
    >>> network.ids, network.texts, network.edges.tolist()
    (('7', '8'), ('on graphs', ''), [[0, 1]])

    Raises:
        NetworkError: An argument is not a data frame, or a row or column is wrong.
    """
    return network_from_tables(
        None if vertices is None else table_from_frame(vertices, "the vertices frame"),
        None if edges is None else table_from_frame(edges, "the edges frame"),
        columns=columns,
        directed=directed,
        known=known,
    )


def table_from_frame(frame: IntoDataFrame, name: str) -> Table:
    """Convert a frame to a table; ``name`` is its name in errors.

    Raises:
        NetworkError: The object is not an eager frame, or two of its columns share a name.
    """
    try:
        native = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise NetworkError(
            f"{name} is a {type(frame).__module__}.{type(frame).__name__}, which is not a data "
            "frame in memory; call collect() on a lazy frame, or convert the object to a pandas or "
            "polars frame"
        ) from None
    except nw.exceptions.DuplicateError as error:
        raise NetworkError(f"{name} has columns with equal names: {_one_line(error)}") from None
    names = {str(column): column for column in native.columns}
    return Table(
        name=name,
        columns=LazyColumns(names, lambda column: _cells(native.get_column(names[column]), name)),
        place=lambda row: f"row {row} of {name}",
    )


def _cells(series: nw.Series[Any], table: str) -> Sequence[object]:
    """Values of a column, with ``None`` for missing ones."""
    try:
        values, missing = series.to_list(), series.is_null().to_list()
    except (ValueError, ArithmeticError) as error:
        raise NetworkError(
            f"{table} has a column {series.name!r} that cannot be read ({_one_line(error)}); "
            "convert it to strings"
        ) from None
    return [None if gone else value for value, gone in zip(values, missing, strict=True)]


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
