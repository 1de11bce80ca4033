"""Row normalisation, also of rows whose columns are divided over several processes.

    y = x / n with n = max(|x|, s), and backwards, with g = ∂L/∂y,

    ∂L/∂x = (g - (g · y) y) / n if |x| > s, otherwise g / s

Both passes exchange one number per row between processes, |x|² or g · y. The backward pass of
autograd would write seven tables of the size of x instead of one.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from dmte.distributed.group import SINGLE_PROCESS, ProcessGroup

SMALLEST_LENGTH = 1e-12
"""The divisor of shorter rows, as in torch's ``normalize``."""


def unit_rows(
    rows: Float[Tensor, "rows own"], group: ProcessGroup = SINGLE_PROCESS
) -> Float[Tensor, "rows own"]:
    """Return rows divided by their lengths; rows of zeros do not change.

    >>> unit_rows(torch.tensor([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    return divided_rows(rows, SMALLEST_LENGTH, group)


def divided_rows(
    rows: Float[Tensor, "rows own"], shortest: float, group: ProcessGroup = SINGLE_PROCESS
) -> Float[Tensor, "rows own"]:
    """Return rows divided by their lengths, or by ``shortest`` if that is more."""
    divided: Tensor = _DividedRows.apply(rows, shortest, group)  # type: ignore[no-untyped-call]
    return divided


class _DividedRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, shortest: float, group: ProcessGroup) -> Tensor:
        squares = torch.linalg.vector_norm(rows, dim=1, keepdim=True).square_()
        lengths = group.sum_detached(squares).sqrt_()
        divided = rows / lengths.clamp(min=shortest)
        ctx.group, ctx.shortest = group, shortest
        ctx.save_for_backward(divided, lengths)
        return divided

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        divided, lengths = ctx.saved_tensors
        to_rows = gradient * divided
        along = ctx.group.sum_detached(to_rows.sum(dim=1, keepdim=True))
        along.masked_fill_(lengths <= ctx.shortest, 0.0)
        torch.addcmul(gradient, divided, along, value=-1.0, out=to_rows)
        return to_rows.div_(lengths.clamp(min=ctx.shortest)), None, None
