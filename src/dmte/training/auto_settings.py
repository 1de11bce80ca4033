"""Values of settings that are None.

Before training, ``resolve`` chooses ``dim``, ``folds``, ``letters``, ``word_weights``,
``word_dropout`` and ``softmax_weight`` from the network, its texts and the number of validation
edges. ``structure_share`` and ``degree_power`` are chosen after training, by validation scores, if
the plan leaves them at None.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, NamedTuple

import torch

from dmte.distributed.group import ProcessGroup
from dmte.metrics import NOISE, PairScores, auc_difference_error
from dmte.model.assemble import combine_scores, scale_scores
from dmte.network import TextualNetwork
from dmte.settings import Favor, Settings
from dmte.text import (
    EncoderInput,
    FrozenEncoder,
    TokenizedTexts,
    Vocabulary,
    encoder_input,
    tokenized,
)
from dmte.text.subwords import are_short
from dmte.training.edges import repeats_edges
from dmte.training.frozen_start import Split, frozen_start
from dmte.training.validation import (
    CRITERIA,
    ValidationScores,
    num_validation_edges,
    split_validation,
)

MIN_VALIDATION_EDGES = 8
"""Number of validation edges below which diffused texts are kept untrained."""

ENOUGH_VALIDATION_EDGES = 1000
"""Number of validation edges above which one training suffices."""

NUM_FOLDS = 3
"""Number of trainings with fewer validation edges."""


class Regularization(NamedTuple):
    """Settings that help if training sees edges several times.

    With 10⁵ drawn vertices and 5 · 10⁵ edges, of which training sees a third, the AUC is 90.6
    without them and 89.5 with them, and average precision and MRR are higher without them too.
    """

    word_dropout: float = 0.5
    softmax_weight: float = 0.3


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


def resolve(
    settings: Settings,
    network: TextualNetwork,
    seed: int,
    group: ProcessGroup,
    dtype: torch.dtype = torch.float32,
) -> Plan:
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
        split_validation(
            network, fraction if learns else 0.0, seed, number, ranked=settings.favor != "auc"
        )
        for number in range(num_folds(settings, num_edges) if learns else 1)
    ]
    vocabulary, words = tokenized(
        network.texts, min_count=settings.min_count, max_size=settings.max_vocabulary
    )
    settings = replace(
        regularized(settings, len(splits[0][0].edges)),
        letters=auto_letters(settings, words),
        word_weights=learns and auto_word_weights(settings, num_edges),
        structure_share=None if auto_structure_share(settings) else settings.structure_share or 0.0,
        degree_power=None if auto_degree_power(settings) else settings.degree_power or 0.0,
    )
    texts, start = encoder_input(settings.encoder, words, network.features), None
    if settings.has_frozen_encoder:
        start = frozen_start(settings, splits, texts, seed, group, dtype)
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


def regularized(settings: Settings, num_edges: int) -> Settings:
    """Return the settings with the word dropout and the softmax for this number of edges."""
    repeats = repeats_edges(settings, num_edges)
    chosen = Regularization() if repeats else Regularization(0.0, 0.0)
    dropout, weight = settings.word_dropout, settings.softmax_weight
    return replace(
        settings,
        word_dropout=chosen.word_dropout if dropout is None else dropout,
        softmax_weight=chosen.softmax_weight if weight is None else weight,
    )


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


def choose_assembly(settings: Settings, scores: Sequence[ValidationScores]) -> Settings:
    """Return the settings with a structure share and a degree power, given those of every fold."""
    share, power = settings.structure_share, settings.degree_power
    if share is None:
        halves = [(one.text, one.walks) for one in scores if one.walks is not None]
        share = choose_structure_share(halves) if halves else 0.0
    if power is None:
        combined = [(_combined(one, share), one.lengths) for one in scores]
        power = choose_degree_power(combined, settings.favor)
    chosen = replace(settings, structure_share=share, degree_power=power)
    return chosen.with_half(settings.half)


def _combined(scores: ValidationScores, share: float) -> PairScores:
    """Combine text and walk scores of the validation pairs."""
    return scores.text if scores.walks is None else combine_scores(scores.text, scores.walks, share)


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
    mean = fmean(mixed.auc() - text.auc() for mixed, text in pairs)
    return _Gain(mean, math.hypot(*errors) / len(pairs))


POWERS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8)
"""Candidates for a. Larger ones raise the AUC of sparse networks a little, but then hubs score
highest, linked or not, and average precision falls."""

MIN_POWER_EDGES = 12
"""Minimum number of validation edges to choose a. With 10, the choice cost 14 synthetic networks of
80 vertices 0.1 AUC on average and 1.6 at worst; with 12 to 15 real networks gained 1 to 2."""


def choose_degree_power(
    scores: Sequence[tuple[PairScores, PairScores]], favor: Favor = "auc"
) -> float:
    """Return the smallest a with the best validation result, or 0 with too few validation edges.

    ``scores`` holds for every fold the scores of the validation pairs with vectors of length 1, and
    the products of their lengths for a = 1.
    """
    if not scores or min(len(unit.edges) for unit, _ in scores) < MIN_POWER_EDGES:
        return 0.0
    criterion = CRITERIA[favor]
    found = {
        power: fmean(criterion(scale_scores(*one, power)) for one in scores) for power in POWERS
    }
    return max(POWERS, key=lambda power: found[power])
