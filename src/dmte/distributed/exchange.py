"""Sums and exchanges of columns, with backward passes."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


@runtime_checkable
class ExchangingGroup(Protocol):
    """The operations that these functions use."""

    rank: int

    def own(self, width: int, /) -> slice:
        """Return the columns of this process."""

    def shares(self, num_items: int, /) -> list[slice]:
        """Return the columns, or other items, of every process."""

    def sum_detached(self, part: Tensor, /) -> Tensor:
        """Return Σ_p of the parts, without a backward pass."""

    def exchange(self, blocks: list[Tensor], shapes: list[tuple[int, int]], /) -> list[Tensor]:
        """Send a block to every process, and return the received blocks of these shapes."""


def sum_parts(part: Tensor, group: ExchangingGroup) -> Tensor:
    """Return Σ_p of the parts, which all processes use in the same way."""
    total: Tensor = _Sum.apply(part, group)  # type: ignore[no-untyped-call]
    return total


def reduce_scatter(part: Tensor, group: ExchangingGroup) -> Tensor:
    """Return the own columns of Σ_p of the parts."""
    own: Tensor = _ReduceScatter.apply(part, group)  # type: ignore[no-untyped-call]
    return own


def all_gather(own: Tensor, width: int, group: ExchangingGroup) -> Tensor:
    """Return the ``width`` columns of all processes."""
    whole: Tensor = _AllGather.apply(own, width, group)  # type: ignore[no-untyped-call]
    return whole


def gather_rows(own: Tensor, counts: Sequence[int], width: int, group: ExchangingGroup) -> Tensor:
    """Return all ``width`` columns of the own rows; ``own`` has the rows of all processes."""
    whole: Tensor = _GatherRows.apply(own, tuple(counts), width, group)  # type: ignore[no-untyped-call]
    return whole


def width_of(columns: slice) -> int:
    """Return the number of columns in a slice."""
    return int(columns.stop - columns.start)


class _Sum(torch.autograd.Function):
    """Σ_p x_p; in the backward pass ∂L/∂x_p = ∂L/∂Σ, since all processes have the same L."""

    @staticmethod
    def forward(ctx: Any, part: Tensor, group: ExchangingGroup) -> Tensor:  # noqa: ARG004
        return group.sum_detached(part)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:  # noqa: ARG004
        return gradient, None


class _GatherRows(torch.autograd.Function):
    """Columns of all rows for rows with all columns; the backward pass sends them back."""

    @staticmethod
    def forward(
        ctx: Any, own: Tensor, counts: tuple[int, ...], width: int, group: ExchangingGroup
    ) -> Tensor:
        ctx.group, ctx.counts, ctx.width = group, counts, width
        widths = [width_of(part) for part in group.shares(width)]
        shapes = [(counts[group.rank], each) for each in widths]
        return torch.cat(group.exchange(list(own.split(counts)), shapes), dim=1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        group, width = ctx.group, ctx.width
        blocks = [gradient[:, part] for part in group.shares(width)]
        shapes = [(count, width_of(group.own(width))) for count in ctx.counts]
        return torch.cat(group.exchange(blocks, shapes)), None, None, None


class _ReduceScatter(torch.autograd.Function):
    """The own columns of Σ_p X_p; in the backward pass the gradients of all columns."""

    @staticmethod
    def forward(ctx: Any, part: Tensor, group: ExchangingGroup) -> Tensor:
        ctx.group, ctx.width = group, part.shape[1]
        return _own_columns(group, part)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return _all_columns(ctx.group, gradient, ctx.width), None


class _AllGather(torch.autograd.Function):
    """All columns; in the backward pass the own columns of the sum of the gradients."""

    @staticmethod
    def forward(ctx: Any, own: Tensor, width: int, group: ExchangingGroup) -> Tensor:
        ctx.group = group
        return _all_columns(group, own, width)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return _own_columns(ctx.group, gradient), None, None


def _own_columns(group: ExchangingGroup, part: Tensor) -> Tensor:
    rows, width = part.shape
    blocks = [part[:, columns] for columns in group.shares(width)]
    shape = (rows, width_of(group.own(width)))
    received = group.exchange(blocks, [shape] * len(blocks))
    # A fixed order of the sum gives every run the same rounding.
    total = received[0].clone()
    for block in received[1:]:
        total += block
    return total


def _all_columns(group: ExchangingGroup, own: Tensor, width: int) -> Tensor:
    shapes = [(len(own), width_of(columns)) for columns in group.shares(width)]
    return torch.cat(group.exchange([own] * len(shapes), shapes), dim=1)
