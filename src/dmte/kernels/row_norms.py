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

from dmte.distributed.columns import ALL_COLUMNS, Columns

SMALLEST_LENGTH = 1e-12
"""The divisor of shorter rows, as in torch's ``normalize``."""


def unit_rows(
    rows: Float[Tensor, "rows own"], columns: Columns = ALL_COLUMNS
) -> Float[Tensor, "rows own"]:
    """Return rows divided by their lengths; rows of zeros do not change.

    >>> unit_rows(torch.tensor([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    return divided_rows(rows, SMALLEST_LENGTH, columns)


@torch.no_grad()
def unit_rows_(
    rows: Float[Tensor, "rows own"], columns: Columns = ALL_COLUMNS
) -> Float[Tensor, "rows own"]:
    """Divide rows by their lengths in place, without autograd."""
    squares = torch.linalg.vector_norm(rows, dim=1, keepdim=True).square_()
    return rows.div_(columns.sum(squares).sqrt_().clamp_(min=SMALLEST_LENGTH))


def divided_rows(
    rows: Float[Tensor, "rows own"], shortest: float, columns: Columns = ALL_COLUMNS
) -> Float[Tensor, "rows own"]:
    """Return rows divided by their lengths, or by ``shortest`` if that is more."""
    divided: Tensor = _DividedRows.apply(rows, shortest, columns)  # type: ignore[no-untyped-call]
    return divided


class _DividedRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, shortest: float, columns: Columns) -> Tensor:
        squares = torch.linalg.vector_norm(rows, dim=1, keepdim=True).square_()
        lengths = columns.sum(squares).sqrt_()
        divided = rows / lengths.clamp(min=shortest)
        ctx.columns, ctx.shortest = columns, shortest
        ctx.save_for_backward(divided, lengths)
        return divided

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        divided, lengths = ctx.saved_tensors
        to_rows = gradient * divided
        along = ctx.columns.sum(to_rows.sum(dim=1, keepdim=True))
        along.masked_fill_(lengths <= ctx.shortest, 0.0)
        torch.addcmul(gradient, divided, along, value=-1.0, out=to_rows)
        return to_rows.div_(lengths.clamp(min=ctx.shortest)), None, None
