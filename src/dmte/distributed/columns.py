"""The columns of tables that this process holds, as seen by the mathematics.

A model, its encoder and its kernels use columns only through this interface, and know neither ranks
nor the number of processes. ``group.ProcessGroup`` adds what training exchanges beyond that.
``ALL_COLUMNS`` belongs to a process that holds everything.
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor


@runtime_checkable
class Columns(Protocol):
    """The own columns, and exchanges with the processes that hold the others."""

    def own(self, width: int, /) -> slice:
        """Return the own columns of a table with ``width`` columns."""

    def sum(self, part: Tensor, /) -> Tensor:
        """Return the sum of the parts over all columns, which all processes use in the same way."""

    def shares(self, num_items: int, /) -> list[slice]:
        """Divide items, such as rows, over the processes; ``own`` returns the own ones."""

    def gather(
        self, own: Float[Tensor, "rows own"], counts: Sequence[int], width: int, /
    ) -> Float[Tensor, "some width"]:
        """Return all ``width`` columns of the own share of the rows.

        ``own`` has the own columns of the rows of all shares, of which there are ``counts``.
        """

    def all_gather(
        self, own: Float[Tensor, "rows own"], width: int, /
    ) -> Float[Tensor, "rows width"]:
        """Return all ``width`` columns of all rows."""

    def reduce_scatter(self, part: Float[Tensor, "rows width"], /) -> Float[Tensor, "rows own"]:
        """Return the own columns of the sum of the parts of all processes."""

    def broadcast(self, table: Tensor, /) -> Tensor:
        """Return the table of the first process, so that all have the same bits."""


class AllColumns:
    """The columns of a process that holds everything: nothing is exchanged."""

    def own(self, width: int) -> slice:
        """Return all columns."""
        return slice(0, width)

    def _same(self, part: Tensor) -> Tensor:
        return part

    sum = reduce_scatter = broadcast = _same

    def shares(self, num_items: int) -> list[slice]:
        """Return one share."""
        return [slice(0, num_items)]

    def gather(self, own: Tensor, _counts: Sequence[int], _width: int) -> Tensor:
        """Return the rows."""
        return own

    def all_gather(self, own: Tensor, _width: int) -> Tensor:
        """Return the table."""
        return own


ALL_COLUMNS: Columns = AllColumns()
"""One process holds everything."""
