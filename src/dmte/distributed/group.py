"""A group of processes, each of which holds some of the columns of every table.

With word averages a column of V_t, V_s and U_s depends on the same column of the parameters. So
each process propagates its own columns over the whole graph without communication. These sums need
all columns:

    scores             v_i · v_j = Σ_p (v_i · v_j over the columns of p)      a number per pair
    lengths of rows    |v_i|²    = Σ_p (|v_i|² over the columns of p)         a number per row

A square map V M needs whole rows. Before it, processes exchange columns for rows (``gather``): each
gets all columns of the rows of its share of a batch, and computes the loss of that share.

If all processes use a sum in the same way, as in the loss, the backward pass needs no
communication: ∂L/∂(part of p) = ∂L/∂(sum). If each uses it for its own columns, the gradients are
parts and must be summed as well.

``SINGLE_PROCESS`` is the group of one process; ``gloo.GlooGroup`` is that of several.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dmte.distributed.columns import AllColumns, Columns
from dmte.errors import ConfigError, DmteError, LostProcessError

Result = TypeVar("Result")


@runtime_checkable
class ProcessGroup(Columns, Protocol):
    """The collective operations; all processes of a group call them in the same order."""

    rank: int
    size: int

    @property
    def is_rank_zero(self) -> bool:
        """Whether this process writes files and prints."""

    def sum_detached(self, part: Tensor, /) -> Tensor:
        """Return Σ_p of the parts, without a backward pass."""

    def add_gradients(self, parameters: Iterable[nn.Parameter], /) -> None:
        """Sum the gradients of parameters that every process has."""

    # ── Between rank zero and the others ──

    def collect(self, own: Tensor, width: int, axis: int = 1, /) -> Tensor | None:
        """Return all ``width`` columns, or rows, on rank zero, and None on the others."""

    def scatter(
        self, whole: Tensor | None, rows: int, width: int, dtype: torch.dtype, /
    ) -> Float[Tensor, "rows own"]:
        """Return the own columns of a table that rank zero has."""

    def broadcast_string(self, text: str, /) -> str:
        """Return the text of rank zero."""

    def run_on_rank_zero(self, act: Callable[[], Result], /) -> Result | None:
        """Return the result of ``act`` on rank zero, and None on the others, which wait.

        Raises:
            DmteError: ``act`` failed; raised on every process.
        """

    # ── Agreement ──

    def any(self, *, found: bool) -> bool:
        """Return whether ``found`` is true on any process."""

    def share_on_host(self, tables: Result, /) -> Result:
        """Return the same tables, stored once for all processes of a host.

        Raises:
            StorageError: There is no room for the file that holds them.
        """

    def require_same(self, facts: Mapping[str, object], /) -> None:
        """Check that all processes have the same facts.

        Raises:
            ConfigError: A fact differs from that of rank zero.
        """

    def first_error(self, problem: DmteError | None, /) -> tuple[int, DmteError] | None:
        """Return the lowest rank with an error, and a copy of the error."""


def column_slice(width: int, rank: int, size: int) -> slice:
    """Return the columns that a process holds of a table with ``width`` columns.

    >>> [column_slice(8, rank, size=3) for rank in range(3)]
    [slice(0, 2, None), slice(2, 5, None), slice(5, 8, None)]
    """
    return slice(width * rank // size, width * (rank + 1) // size)


class SingleProcess(AllColumns):
    """The group of one process: it holds every column, so nothing is exchanged."""

    rank, size, is_rank_zero = 0, 1, True

    sum_detached = AllColumns.sum

    def add_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Leave the gradients as they are."""

    def collect(self, own: Tensor, _width: int, _axis: int = 1) -> Tensor | None:
        """Return the table."""
        return own

    def scatter(self, whole: Tensor | None, _rows: int, _width: int, _dtype: torch.dtype) -> Tensor:
        """Return the table."""
        if whole is None:
            raise ConfigError("scatter needs a table on rank zero")
        return whole

    def broadcast_string(self, text: str) -> str:
        """Return the text."""
        return text

    def run_on_rank_zero(self, act: Callable[[], Result]) -> Result | None:
        """Return the result of ``act``."""
        return act()

    def any(self, *, found: bool) -> bool:
        """Return ``found``."""
        return found

    def share_on_host(self, tables: Result) -> Result:
        """Return the tables."""
        return tables

    def require_same(self, facts: Mapping[str, object]) -> None:
        """Accept the facts."""

    def first_error(self, problem: DmteError | None) -> tuple[int, DmteError] | None:
        """Return the error, if there is one."""
        return None if problem is None else (0, problem)


SINGLE_PROCESS: ProcessGroup = SingleProcess()
"""One process that holds everything."""


def run_on_all(group: ProcessGroup, act: Callable[[], Result]) -> Result:
    """Return the result of ``act``, which every process runs, once all have succeeded.

    Raises:
        DmteError: ``act`` failed on a process; raised on every process.
    """
    try:
        result, problem = act(), None
    except LostProcessError:
        raise
    except DmteError as error:
        problem = error
    found = group.first_error(problem)
    if problem is not None and found is not None and found[0] == group.rank:
        raise problem
    if found is not None:
        rank, other = found
        words, is_system_failure = f"process {rank}: {other}", other.is_system_failure
        raise ConfigError(words, is_system_failure=is_system_failure)
    return result
