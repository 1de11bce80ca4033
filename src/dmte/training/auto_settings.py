"""Values of settings that are None.

Before training, ``resolve`` chooses ``dim``, ``folds``, ``letters`` and ``word_weights`` from the
network, its texts and the number of validation edges. ``structure_share`` and ``degree_power`` are
chosen after training, by validation scores, if the plan leaves them at None.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, NamedTuple, TypeAlias

import torch
from torch.nn.functional import normalize

from dmte.diffusion.hop_tables import hop_tables
from dmte.distributed.group import ProcessGroup
from dmte.errors import ConfigError, TrainingError
from dmte.kernels.pair_scores import dot_products
from dmte.metrics import NOISE, PairScores, auc, auc_difference_error
from dmte.model.assemble import combine_scores, scale_scores
from dmte.model.build import build_model
from dmte.network import TextualNetwork
from dmte.settings import Settings
from dmte.text import (
    ENCODERS,
    EncoderInput,
    FeatureRows,
    FrozenEncoder,
    TokenizedTexts,
    Vocabulary,
    encoder_input,
    tokenized,
)
from dmte.text.subwords import are_short
from dmte.training.validation import ValidationEdges, num_validation_edges, split_validation

Split: TypeAlias = tuple[TextualNetwork, ValidationEdges | None]

MIN_VALIDATION_EDGES = 8
"""Number of validation edges below which diffused texts are kept untrained."""

ENOUGH_VALIDATION_EDGES = 1000
"""Number of validation edges above which one training suffices."""

NUM_FOLDS = 3
"""Number of trainings with fewer validation edges."""


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The resolved settings and the data of a training run."""

    settings: Settings
    """Only ``structure_share`` and ``degree_power`` may still be None."""
    splits: Sequence[Split]
    """The training network and the validation edges of every fold."""
    vocabulary: Vocabulary
    texts: EncoderInput
    """The encoder's input for every vertex."""
    start: FrozenEncoder[Any, Any] | None
    """The own columns of a frozen encoder; None for a learned one."""
    learns: bool
    """Whether there are enough validation edges to train on frozen texts."""


def resolve(settings: Settings, network: TextualNetwork, seed: int, group: ProcessGroup) -> Plan:
    """Return the plan of a training run; all processes of a group must call it.

    Raises:
        TrainingError: No text has a word, or all features are zero.
        ConfigError: The encoder reads features, and the network has none.
    """
    fraction = settings.validation_fraction
    num_edges = num_validation_edges(network, fraction)
    # With too few validation edges, keep the diffused texts untrained.
    learns = not settings.is_text_only or fraction == 0 or num_edges >= MIN_VALIDATION_EDGES
    splits = [
        split_validation(network, fraction if learns else 0.0, seed, number)
        for number in range(num_folds(settings, num_edges) if learns else 1)
    ]
    vocabulary, words = tokenized(
        network.texts, min_count=settings.min_count, max_size=settings.max_vocabulary
    )
    settings = replace(
        settings,
        letters=auto_letters(settings, words),
        word_weights=learns and auto_word_weights(settings, num_edges),
        structure_share=None if auto_structure_share(settings) else settings.structure_share or 0.0,
        degree_power=None if auto_degree_power(settings) else settings.degree_power or 0.0,
    )
    texts, start = encoder_input(settings.encoder, words, network.features), None
    if settings.has_frozen_encoder:
        start = divided_start(settings, splits, texts, seed, group)
        settings = settings.with_half(start.dim) if settings.is_text_only else settings
    return Plan(settings, splits, vocabulary, texts, start, learns)


def auto_letters(settings: Settings, texts: TokenizedTexts) -> bool:
    """Return whether character n-grams are added to words."""
    if not settings.encoder_traits.has_word_settings:
        return False
    return are_short(texts) if settings.letters is None else settings.letters


def auto_word_weights(settings: Settings, num_edges: int) -> bool:
    """Return whether word weights are learned with this number of validation edges."""
    if not settings.encoder_traits.has_word_settings:
        return False
    return _are_few(num_edges) if settings.word_weights is None else settings.word_weights


def auto_structure_share(settings: Settings) -> bool:
    """Return whether validation scores choose the share of a structure half."""
    return (
        settings.structure_share is None
        and settings.dim is None
        and settings.supports_structure_share
    )


def auto_degree_power(settings: Settings) -> bool:
    """Return whether validation scores choose the degree power."""
    return settings.degree_power is None and settings.supports_structure_share


def num_folds(settings: Settings, num_edges: int) -> int:
    """Return the number of trainings with this number of validation edges."""
    if settings.folds is not None:
        return settings.folds
    return NUM_FOLDS if settings.is_text_only and _are_few(num_edges) else 1


def _are_few(num_edges: int) -> bool:
    return 0 < num_edges < ENOUGH_VALIDATION_EDGES


SHARES = (0.2, 0.5, 0.8)
"""Candidates for β, besides 0."""

LEAST_GAIN = 0.0025
"""Minimum gain of AUC for a structure half, which doubles the number of columns. On eight networks
with informative texts the gain was at most 0.001."""


def choose_structure_share(scores: Sequence[tuple[PairScores, PairScores]]) -> float:
    """Return the β with the best validation AUC, or 0 if the gain is not significant.

    ``scores`` holds the text and walk scores of the validation pairs of every fold.
    """
    gains = {share: _gain(scores, share) for share in SHARES}
    clear = [share for share in SHARES if gains[share].is_clear]
    return max(clear, key=lambda share: gains[share].mean, default=0.0)


class _Gain(NamedTuple):
    mean: float
    error: float

    @property
    def is_clear(self) -> bool:
        return self.mean >= max(LEAST_GAIN, NOISE * self.error)


def _gain(scores: Sequence[tuple[PairScores, PairScores]], share: float) -> _Gain:
    """Return the mean gain of AUC over texts alone."""
    pairs = [(combine_scores(text, walks, share), text) for text, walks in scores]
    errors = [auc_difference_error(mixed, text) for mixed, text in pairs]
    mean = fmean(auc(*mixed) - auc(*text) for mixed, text in pairs)
    return _Gain(mean, math.hypot(*errors) / len(pairs))


POWERS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8)
"""Candidates for a. Larger ones raise the AUC of sparse networks a little, but then hubs score
highest, linked or not, and average precision falls."""

MIN_POWER_EDGES = 12
"""Minimum number of validation edges to choose a. With 10, the choice cost 14 synthetic networks of
80 vertices 0.1 AUC on average and 1.6 at worst; with 12 to 15 real networks gained 1 to 2."""


def choose_degree_power(scores: Sequence[tuple[PairScores, PairScores]]) -> float:
    """Return the smallest a with the best validation AUC, or 0 with too few validation edges.

    ``scores`` holds for every fold the scores of the validation pairs with vectors of length 1, and
    the products of their lengths for a = 1.
    """
    if not scores or min(len(unit.edges) for unit, _ in scores) < MIN_POWER_EDGES:
        return 0.0
    found = {power: fmean(auc(*scale_scores(*one, power)) for one in scores) for power in POWERS}
    return max(POWERS, key=lambda power: found[power])


WIDTHS = (64, 128, 256, 512)
"""Widths to choose from."""

DEFAULT_WIDTH = 128
"""The width without validation edges."""


def spectral_start(
    settings: Settings,
    splits: Sequence[Split],
    texts: EncoderInput,
    seed: int,
) -> FrozenEncoder[Any, Any]:
    """Return the encoder with its directions; validation AUC chooses ``dim`` if it is None.

    Raises:
        TrainingError: No text has a word, or all features are zero.
    """
    widths = _widths(texts) if settings.dim is None else (settings.half,)
    kind = ENCODERS[settings.encoder]
    widest = kind(texts.vocabulary_size, max(widths), torch.Generator())
    if not isinstance(widest, FrozenEncoder):
        raise ConfigError(f"the encoder {settings.encoder!r} is not frozen")
    widest.start(texts, seed, letters=settings.letters)
    if not bool(widest.directions.any()):
        raise TrainingError(_nothing_to_read(texts))
    if len(widths) == 1:
        return widest
    folds = [(train, validation) for train, validation in splits if validation is not None]
    if not folds:
        return widest.narrowed(min(DEFAULT_WIDTH, widest.dim))
    projected = widest.project(texts)
    found = dict.fromkeys(widths, 0.0)
    for width in widths:
        model = build_model(settings.with_half(width), 0, 0, seed)
        narrow = normalize(projected[:, :width])
        for train, pairs in folds:
            transition = model.transition_of(train.adjacency())
            with torch.no_grad():
                text = model.combine(hop_tables(transition.rows, narrow, model.num_hops))
                scores = dot_products(model.mix(text), pairs.pairs())
            found[width] += auc(scores[: len(pairs.edges)], scores[len(pairs.edges) :])
    # max returns the first, smallest width among equals.
    return widest.narrowed(max(found, key=lambda width: found[width]))


def divided_start(
    settings: Settings,
    splits: Sequence[Split],
    texts: EncoderInput,
    seed: int,
    group: ProcessGroup,
) -> FrozenEncoder[Any, Any]:
    """Return the own columns of the encoder, which rank zero computes and scatters.

    Other processors could compute other signs or choose another width.

    Raises:
        TrainingError: No text has a word, or all features are zero.
    """
    found = group.run_on_rank_zero(lambda: spectral_start(settings, splits, texts, seed))
    if group.size == 1 and found is not None:
        return found
    width = int(group.broadcast_string("" if found is None else str(found.dim)))
    own: FrozenEncoder[Any, Any] = ENCODERS[settings.encoder](  # type: ignore[assignment]
        texts.vocabulary_size, width, torch.Generator()
    )
    axes = own.divide(group)
    for name, table in list(own.named_buffers()):
        whole = None if found is None else found.get_buffer(name)
        if name in axes:
            own.register_buffer(name, group.scatter(whole, len(table), width, table.dtype))
        else:
            own.register_buffer(name, group.broadcast(table if whole is None else whole))
    return own


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


def _widths(texts: EncoderInput) -> tuple[int, ...]:
    """Return the widths to try: with features, up to the first that is as large as their number."""
    if not isinstance(texts, FeatureRows):
        return WIDTHS
    needed = [width for width in WIDTHS if width < texts.vocabulary_size]
    return WIDTHS[: len(needed) + 1]
