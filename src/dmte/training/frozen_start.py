"""The start of training with a frozen encoder: its directions, and their number.

Validation scores choose the number of directions. They are computed before training, a few columns
at a time, for the pairs of validation edges only:

    s_ij = v_i · v_j / (|v_i| |v_j|)        v = rows of Σ_h λ_h P^h X

Dot products and lengths are sums over columns. A process adds those of its own columns.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from itertools import pairwise
from typing import Any, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dmte.diffusion.operators import ACTIVATIONS
from dmte.diffusion.transition import transition_matrix
from dmte.distributed.group import ProcessGroup
from dmte.errors import ConfigError, TrainingError
from dmte.kernels.row_norms import SMALLEST_LENGTH
from dmte.kernels.sparse import SparseMatrix
from dmte.network import TextualNetwork
from dmte.runtime.seeding import generator_for
from dmte.settings import Settings
from dmte.text import ENCODERS, EncoderInput, FeatureRows, FrozenEncoder
from dmte.training.edges import repeats_edges
from dmte.training.validation import CRITERIA, ValidationEdges

Split: TypeAlias = tuple[TextualNetwork, ValidationEdges | None]

WIDTHS = (64, 128, 256, 512)
"""Widths to choose from."""

WIDTHS_OF_MANY_EDGES = WIDTHS[2:]
"""Widths if there are more edges than training looks at. Validation before training cannot see what
it gains from more columns: with 10⁵ drawn vertices, 0.2 AUC lost before becomes 0.1 gained after
(256 directions against 128), and 0.4 on another drawn network."""

DEFAULT_WIDTH = 128
"""The width without validation edges."""

BLOCK_VALUES = 1 << 24
"""Numbers of a temporary table (64 MB in single precision)."""

MIN_BLOCK_WIDTH = 16
"""Columns to multiply at a time at least; fewer are slow."""


def frozen_start(
    settings: Settings,
    splits: Sequence[Split],
    texts: EncoderInput,
    seed: int,
    group: ProcessGroup,
    dtype: torch.dtype = torch.float32,
) -> FrozenEncoder[Any, Any]:
    """Return the encoder with its own directions; validation edges choose ``dim`` if it is None.

    All processes of a group must call it.

    Raises:
        TrainingError: No text has a word, or all features are zero.
    """
    widths = _widths(settings, texts, splits) if settings.dim is None else (settings.half,)
    widest = ENCODERS[settings.encoder](texts.vocabulary_size, max(widths), torch.Generator())
    if not isinstance(widest, FrozenEncoder):
        raise ConfigError(f"the encoder {settings.encoder!r} is not frozen")
    widest.to(dtype).start(texts, seed, letters=settings.letters, columns=group)
    if not group.any(found=bool(widest.directions.any())):
        raise TrainingError(_nothing_to_read(texts))
    if len(widths) == 1:
        return widest
    folds = [_Fold(train, pairs, settings, dtype) for train, pairs in splits if pairs is not None]
    if not folds:
        return widest.narrowed(min(DEFAULT_WIDTH, widest.dim))
    values = _validation_results(settings, widths, widest, texts, folds, seed)
    # max returns the first, smallest width among equals.
    return widest.narrowed(max(widths, key=lambda width: values[width]))


class _Fold:
    """The graph of a fold, and the validation pairs to score."""

    def __init__(
        self,
        train: TextualNetwork,
        pairs: ValidationEdges,
        settings: Settings,
        dtype: torch.dtype,
    ) -> None:
        self.transition = transition_matrix(train.adjacency(), dtype, settings.transition)
        self.validation, self.is_unit = pairs, settings.unit_rows
        self.criterion = CRITERIA[settings.favor]
        self.vertices, self.pairs = pairs.pairs().unique(return_inverse=True)
        candidates = pairs.candidates
        self.ends, self.others = (
            torch.searchsorted(self.vertices, some)
            for some in (candidates.ends, candidates.vertices)
        )
        self.sizes = (len(self.pairs), len(self.vertices), len(self.ends) * len(self.others))

    def products(self, vectors: Float[Tensor, "vertices some"]) -> Float[Tensor, " products"]:
        """Return v_i · v_j of every pair, |v_i|² of every vertex, and v_i · v_r of candidates."""
        rows = vectors[self.vertices]
        pairs = rows[self.pairs[:, 0]] * rows[self.pairs[:, 1]]
        candidates = rows[self.ends] @ rows[self.others].T
        return torch.cat([pairs.sum(dim=1), rows.square().sum(dim=1), candidates.flatten()])

    def value(self, products: Float[Tensor, " products"]) -> float:
        """Return the validation result, by cosines if rows have length 1."""
        scores, squares, others = products.split(self.sizes)
        others = others.view(len(self.ends), len(self.others))
        if self.is_unit:
            lengths = squares.sqrt().clamp(min=SMALLEST_LENGTH)
            scores = scores / lengths[self.pairs].prod(dim=1)
            others = others / lengths[self.ends].unsqueeze(1) / lengths[self.others]
        return self.criterion(self.validation.scores(scores, others))


@torch.no_grad()
def _validation_results(
    settings: Settings,
    widths: Sequence[int],
    encoder: FrozenEncoder[Any, Any],
    texts: EncoderInput,
    folds: Sequence[_Fold],
    seed: int,
) -> dict[int, float]:
    """Return the sum over the folds of the validation result before training, for every width."""
    columns, product = encoder.columns, encoder.product_with(texts)
    lengths = columns.sum(_squares(widths, encoder, product, len(texts))).sqrt_()
    lengths.clamp_(min=SMALLEST_LENGTH)
    values = {}
    for width, length in zip(widths, lengths, strict=True):
        convolution = _convolution_of(settings, width, seed)
        sums = [lengths.new_zeros(sum(fold.sizes)) for fold in folds]
        for places, own in _blocks(encoder, len(texts), width):
            features = product(encoder.directions[:, own]) / length.unsqueeze(1)
            for fold, total in zip(folds, sums, strict=True):
                total += fold.products(convolution(places, fold.transition, features))
        values[width] = sum(
            fold.value(columns.sum(total)) for fold, total in zip(folds, sums, strict=True)
        )
    return values


def _squares(
    widths: Sequence[int],
    encoder: FrozenEncoder[Any, Any],
    product: Callable[[Tensor], Tensor],
    num_texts: int,
) -> Float[Tensor, "widths texts"]:
    """Return the squared lengths of the rows of B V for every width, over the own columns."""
    squares = encoder.directions.new_zeros(len(widths), num_texts)
    bounds = (0, *widths)
    for number, (first, last) in enumerate(pairwise(bounds)):
        for _, own in _blocks(encoder, num_texts, last, first):
            squares[number] += product(encoder.directions[:, own]).square_().sum(dim=1)
    return squares.cumsum(dim=0)


def _blocks(
    encoder: FrozenEncoder[Any, Any], num_texts: int, last: int, first: int = 0
) -> Iterator[tuple[slice, slice]]:
    """Divide the own columns from ``first`` to ``last``: their numbers, and places in V."""
    own = encoder.columns.own(encoder.dim)
    size = max(MIN_BLOCK_WIDTH, BLOCK_VALUES // max(1, num_texts))
    first, last = max(first, own.start), min(last, own.stop)
    for start in range(first, last, size):
        stop = min(start + size, last)
        yield slice(start, stop), slice(start - own.start, stop - own.start)


def _convolution_of(
    settings: Settings, width: int, seed: int
) -> Callable[[slice, SparseMatrix, Tensor], Tensor]:
    """Return the initial diffusion of some of ``width`` columns."""
    kind = ACTIVATIONS[settings.activation]
    whole = kind(width, settings.hop_weights, generator_for(seed, "parameters"))

    def convolve(columns: slice, transition: SparseMatrix, features: Tensor) -> Tensor:
        if not settings.text_diffusion:
            return features
        part = deepcopy(whole)
        part.filters = nn.Parameter(whole.filters.detach()[:, columns].to(features.dtype))
        found: Tensor = part(transition, features)
        return found

    return convolve


def _nothing_to_read(texts: EncoderInput) -> str:
    """Return the error message if all directions are zero."""
    if isinstance(texts, FeatureRows):
        return (
            "all features of all vertices are zero, and the encoder 'features' uses only them; "
            "give other features, or leave out --features to use the texts"
        )
    return (
        "no text has a word, and the encoder 'spectral' uses only words; the paper's recipe "
        "('dmte train --recipe paper', the method dmte-paper) learns from links alone"
    )


def _widths(settings: Settings, texts: EncoderInput, splits: Sequence[Split]) -> tuple[int, ...]:
    """Return the widths to try: with features, up to the first that is as large as their number."""
    if not isinstance(texts, FeatureRows):
        repeats = repeats_edges(settings, len(splits[0][0].edges))
        return WIDTHS if repeats else WIDTHS_OF_MANY_EDGES
    needed = [width for width in WIDTHS if width < texts.vocabulary_size]
    return WIDTHS[: len(needed) + 1]
