"""Mutual attention of CANE, with its gradient.

For two texts with a column per word, P and Q,

    F = tanh(Pᵀ A Q)           a = softmax of the means of F's rows, b = of its columns
    u_t(v) = P a               v_t(u) = Q b

Pairs of similar lengths are computed in blocks that fit in the cache.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

CELLS = 1 << 18
"""Numbers of F in a block: 1 MB, which fits in the cache."""
LENGTH_RATIO = 1.2  # Longest to shortest left text of a block.


class PairTexts(NamedTuple):
    """Text vectors of both vertices of some pairs, each towards the other."""

    left: Float[Tensor, "pairs dim"]
    right: Float[Tensor, "pairs dim"]


def mutual_attention(
    left: Float[Tensor, "pairs left_words dim"],
    projected: Float[Tensor, "pairs left_words dim"],
    right: Float[Tensor, "pairs right_words dim"],
    left_lengths: Int[Tensor, " pairs"],
    right_lengths: Int[Tensor, " pairs"],
) -> PairTexts:
    """Return P a and Q b of pairs with words P, projected words Aᵀ P and words Q.

    Padding is zero, and so is F there; means divide by the number of words.
    """
    correlation = torch.tanh(torch.bmm(projected, right.transpose(1, 2)))
    left_importance = correlation.sum(dim=2) / right_lengths.unsqueeze(1)
    right_importance = correlation.sum(dim=1) / left_lengths.unsqueeze(1)
    return PairTexts(
        _weighted_sum_of_words(left, left_importance, left_lengths),
        _weighted_sum_of_words(right, right_importance, right_lengths),
    )


def _weighted_sum_of_words(
    words: Float[Tensor, "pairs words dim"],
    importance: Float[Tensor, "pairs words"],
    lengths: Int[Tensor, " pairs"],
) -> Float[Tensor, "pairs dim"]:
    is_padding = torch.arange(words.shape[1]) >= lengths.unsqueeze(1)
    shares = importance.masked_fill(is_padding, -math.inf).softmax(dim=1)
    return torch.bmm(shares.unsqueeze(1), words).squeeze(1)


def blocks_of_pairs(
    left_lengths: Int[Tensor, " pairs"], right_lengths: Int[Tensor, " pairs"]
) -> Iterator[Int[Tensor, " block"]]:
    """Yield blocks of pairs with similar lengths; F padded has at most ``CELLS`` numbers."""
    kind = (left_lengths.double().log() / math.log(LENGTH_RATIO)).floor().long()
    order = (kind * (int(right_lengths.max()) + 1) + right_lengths).argsort(
        descending=True, stable=True
    )
    _, counts = kind[order].unique_consecutive(return_counts=True)
    for alike in order.split(counts.tolist()):
        most_left, start = int(left_lengths[alike].max()), 0
        while start < len(alike):
            size = max(1, CELLS // (most_left * int(right_lengths[alike[start]])))
            yield alike[start : start + size]
            start += size


def attend(
    words: Float[Tensor, "words dim"],
    projected: Float[Tensor, "words dim"],
    offsets: Int[Tensor, " texts_and_one"],
    pairs: Int[Tensor, "pairs 2"],
) -> PairTexts:
    """Return the text vectors of pairs of texts.

    ``words`` are the P of all texts, concatenated, and ``projected`` are Aᵀ P. The words of every
    text begin at its offset.
    """
    return PairTexts(*_Attend.apply(words, projected, offsets, pairs))  # type: ignore[no-untyped-call]


class _Block(NamedTuple):
    """A block for the backward pass: the positions of its words, and its own graph."""

    pairs: Int[Tensor, " block"]
    left_places: Int[Tensor, " left_places"]
    right_places: Int[Tensor, " right_places"]
    gathered: tuple[Tensor, ...]
    texts: PairTexts


class _Attend(torch.autograd.Function):
    """Text vectors of pairs, whose backward pass adds all blocks to one gradient.

    Autograd would allocate a gradient of the size of the whole table for every block.
    """

    @staticmethod
    def forward(
        ctx: Any,
        words: Float[Tensor, "words dim"],
        projected: Float[Tensor, "words dim"],
        offsets: Int[Tensor, " texts_and_one"],
        pairs: Int[Tensor, "pairs 2"],
    ) -> tuple[Float[Tensor, "pairs dim"], Float[Tensor, "pairs dim"]]:
        needs_gradient = any(ctx.needs_input_grad)
        # A last row of zeros is the padding; an empty text is one word of padding.
        words, projected = (pad(table.detach(), (0, 0, 0, 1)) for table in (words, projected))
        lengths = offsets.diff().clamp(min=1)
        left, right = words.new_empty(2, len(pairs), words.shape[1]).unbind()
        ctx.shape, ctx.blocks = words.shape, []
        for block in blocks_of_pairs(lengths[pairs[:, 0]], lengths[pairs[:, 1]]):
            sides = pairs[block].unbind(1)
            places = [_places(offsets, side) for side in sides]
            gathered = tuple(
                table.index_select(0, at.flatten()).view(*at.shape, -1)
                for table, at in ((words, places[0]), (projected, places[0]), (words, places[1]))
            )
            with torch.set_grad_enabled(needs_gradient):
                for table in gathered:
                    table.requires_grad_(needs_gradient)
                texts = mutual_attention(*gathered, *(lengths[side] for side in sides))
            left[block], right[block] = (side.detach() for side in texts)
            if needs_gradient:
                left_places, right_places = (at.flatten() for at in places)
                ctx.blocks.append(_Block(block, left_places, right_places, gathered, texts))
        return left, right

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, left: Float[Tensor, "pairs dim"], right: Float[Tensor, "pairs dim"]
    ) -> tuple[Tensor, Tensor, None, None]:
        words, projected = left.new_zeros(2, *ctx.shape).unbind()
        while ctx.blocks:  # Frees each block after use.
            block = ctx.blocks.pop()
            gradients = torch.autograd.grad(
                block.texts, block.gathered, (left[block.pairs], right[block.pairs])
            )
            by_left, by_projected, by_right = (gradient.flatten(0, 1) for gradient in gradients)
            words.index_add_(0, block.left_places, by_left)
            words.index_add_(0, block.right_places, by_right)
            projected.index_add_(0, block.left_places, by_projected)
        return words[:-1], projected[:-1], None, None


def _places(
    offsets: Int[Tensor, " texts_and_one"], texts: Int[Tensor, " block"]
) -> Int[Tensor, "block positions"]:
    """Return the positions of the words of some texts, padded with the number of all words."""
    starts, ends = offsets[texts].unsqueeze(1), offsets[texts + 1].unsqueeze(1)
    places = starts + torch.arange(max(1, int((ends - starts).max())))
    return torch.where(places < ends, places, int(offsets[-1]))
