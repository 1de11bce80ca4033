"""Training (section 4.4): Adam on batches of edges.

The loop is a generator of reports: the caller prints, saves and stops. The paper trains once. The
recommended recipe, on networks with few edges, trains three times from the same start, each time
holding other edges back, and takes the mean of what was learned: when to stop is told by few edges,
and three such tellings are steadier than one. A resumed run ends in the same bits.

A group of processes makes the same steps together, each with some of the columns. What is
held back, the order of edges, the negatives and when to stop are the same for all of them.
"""

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Any, NamedTuple

import torch
from torch.nn.functional import normalize

from dmte.distributed.group import ProcessGroup
from dmte.errors import ConfigError, TrainingError
from dmte.metrics import NOISE, PairScores, auc, auc_difference_error
from dmte.model.assemble import combine_scores, scale_scores
from dmte.model.build import build_model, embed_network
from dmte.network import TextualNetwork
from dmte.settings import Settings
from dmte.text import ENCODERS, EncoderInput, FeatureRows, FrozenEncoder, TokenizedTexts
from dmte.text.subwords import are_short
from dmte.training.validation import ValidationEdges

MIN_VALIDATION_EDGES = 8
"""Edges by which to tell whether learning from diffused texts helps."""

ENOUGH_VALIDATION_EDGES = 1000
"""Edges by which one training tells when to stop about as well as three."""

NUM_FOLDS = 3
"""Trainings where there are fewer."""


def auto_letters(settings: Settings, texts: TokenizedTexts) -> bool:
    """Return whether groups of letters are read beside words, which only spectral texts have."""
    if not settings.encoder_traits.has_word_settings:
        return False
    return are_short(texts) if settings.letters is None else settings.letters


def auto_word_weights(settings: Settings, held_back: int) -> bool:
    """Return whether weights of words are learned, when so many edges can be held back."""
    if not settings.encoder_traits.has_word_settings:
        return False
    return _are_few(held_back) if settings.word_weights is None else settings.word_weights


def auto_structure_share(settings: Settings) -> bool:
    """Return whether held-back edges choose what share of a score links alone have."""
    return (
        settings.structure_share is None
        and settings.dim is None
        and settings.supports_structure_share
    )


def auto_degree_power(settings: Settings) -> bool:
    """Return whether held-back edges choose how long the vectors of linked vertices are."""
    return settings.degree_power is None and settings.supports_structure_share


def num_folds(settings: Settings, held_back: int) -> int:
    """Return how often to train, when so many edges can be held back."""
    if settings.folds is not None:
        return settings.folds
    return NUM_FOLDS if settings.is_text_only and _are_few(held_back) else 1


def _are_few(held_back: int) -> bool:
    return 0 < held_back < ENOUGH_VALIDATION_EDGES


SHARES = (0.2, 0.5, 0.8)
"""What β is chosen from, beside 0."""

LEAST_GAIN = 0.0025
"""AUC that links alone must add; less is not worth twice the columns. Where texts say something it
was 0.001 at most, on eight networks."""


def choose_structure_share(judged: Sequence[tuple[PairScores, PairScores]]) -> float:
    """Return the β that tells held-back edges best, or 0 where that is no clear gain.

    Every training of a network holds other edges back, and has judged them by text and by walks.
    """
    gains = {share: _gain(judged, share) for share in SHARES}
    clear = [share for share in SHARES if gains[share].is_clear]
    return max(clear, key=lambda share: gains[share].mean, default=0.0)


class _Gain(NamedTuple):
    mean: float
    error: float

    @property
    def is_clear(self) -> bool:
        return self.mean >= max(LEAST_GAIN, NOISE * self.error)


def _gain(judged: Sequence[tuple[PairScores, PairScores]], share: float) -> _Gain:
    """Return how much better held-back edges are told with a share than by texts alone."""
    pairs = [(combine_scores(text, walks, share), text) for text, walks in judged]
    errors = [auc_difference_error(mixed, text) for mixed, text in pairs]
    mean = fmean(auc(*mixed) - auc(*text) for mixed, text in pairs)
    return _Gain(mean, math.hypot(*errors) / len(pairs))


POWERS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8)
"""What a is chosen from. Above, sparse networks gain a little AUC more, and the pairs that score
highest become those of hubs, linked or not: average precision falls."""

MIN_JUDGING = 12
"""Held-back edges by which to choose; with 10 the choice cost 14 drawn networks of 80 vertices 0.1
on average and 1.6 at worst, with 12 to 15 it gained real ones 1 to 2."""


def choose_degree_power(judged: Sequence[tuple[PairScores, PairScores]]) -> float:
    """Return the a that tells held-back edges best; of equally good ones the smallest, of few 0.

    Every training of a network holds other edges back: what these pairs score at length 1, and the
    products of their lengths for a = 1.
    """
    if not judged or min(len(unit.edges) for unit, _ in judged) < MIN_JUDGING:
        return 0.0
    found = {power: fmean(auc(*scale_scores(*one, power)) for one in judged) for power in POWERS}
    return max(POWERS, key=lambda power: found[power])


WIDTHS = (64, 128, 256, 512)
"""Widths to choose from."""

UNTRIED_WIDTH = 128
"""The width where there are too few edges to hold some back."""


def spectral_start(
    settings: Settings,
    splits: Sequence[tuple[TextualNetwork, ValidationEdges | None]],
    texts: EncoderInput,
    seed: int,
) -> FrozenEncoder[Any]:
    """Return the encoder with its directions found, as wide as the settings or the edges say.

    Raises:
        TrainingError: There are no words.
    """
    widths = _widths(texts) if settings.dim is None else (settings.half,)
    kind = ENCODERS[settings.encoder]
    widest = kind(texts.vocabulary_size, max(widths), torch.Generator())
    if not isinstance(widest, FrozenEncoder):
        raise ConfigError(f"the texts of the encoder {settings.encoder!r} are learned, not fixed")
    widest.start(texts, seed, letters=settings.letters)
    if not bool(widest.directions.any()):
        raise TrainingError(_nothing_to_read(texts))
    if len(widths) == 1:
        return widest
    judged = [(train, held_back) for train, held_back in splits if held_back is not None]
    if not judged:
        return widest.narrowed(min(UNTRIED_WIDTH, widest.dim))
    none_linked = torch.empty(0, dtype=torch.int64)
    projected = widest.project(texts)
    found = dict.fromkeys(widths, 0.0)
    for width in widths:
        model = build_model(settings.with_half(width), 0, 0, seed)
        narrow = normalize(projected[:, :width])
        for train, held_back in judged:
            vectors = embed_network(model, train, narrow, none_linked)
            found[width] += auc(vectors.score(held_back.edges), vectors.score(held_back.non_edges))
    # Of equally good widths the smallest, which is the first.
    return widest.narrowed(max(found, key=lambda width: found[width]))


def divided_start(
    settings: Settings,
    splits: Sequence[tuple[TextualNetwork, ValidationEdges | None]],
    texts: EncoderInput,
    seed: int,
    group: ProcessGroup,
) -> FrozenEncoder[Any]:
    """Return the own columns of the encoder that the first process of a group has found.

    Others do not look for themselves: another processor may find another sign or another width.

    Raises:
        TrainingError: There are no words.
    """
    found = group.run_on_rank_zero(lambda: spectral_start(settings, splits, texts, seed))
    if group.size == 1 and found is not None:
        return found
    width = int(group.broadcast_string("" if found is None else str(found.dim)))
    own: FrozenEncoder[Any] = ENCODERS[settings.encoder](  # type: ignore[assignment]
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
    """Return what to say where no direction is other than zero, whichever verb was asked."""
    if isinstance(texts, FeatureRows):
        return (
            "all features of all vertices are zero, and the encoder 'features' reads nothing else; "
            "give others, or leave them out to read the texts"
        )
    return (
        "no text has a word, and the encoder 'spectral' reads nothing else; the paper's recipe "
        "('dmte train --recipe paper', the method dmte-paper) learns from links alone"
    )


def _widths(texts: EncoderInput) -> tuple[int, ...]:
    """Return the widths to try: of given features up to the first that holds all of them."""
    if not isinstance(texts, FeatureRows):
        return WIDTHS
    needed = [width for width in WIDTHS if width < texts.vocabulary_size]
    return WIDTHS[: len(needed) + 1]
