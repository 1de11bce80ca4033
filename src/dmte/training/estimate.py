"""Memory of training, estimated from the sizes of its tables before any is allocated.

In bytes, with N vertices of which M are in training, E edges, W words, T words in all texts, G
character n-grams (if used) and tables of width d, the recommended recipe takes the largest of

    the search for directions    4 d 2W or 4 d (2N + W), whichever is searched, and 48 T + 600 G
    validation                   K + 4 d (N + H V)           V of the vertices are in its pairs
    a round                      K + 4 d (M + H (V + R) + (H + 9) A)    R are in its edges, A in
    the end                      K + 4 d (2N + W)                       those of a step

where K = 4 W d + 32 T + 100 (2E + M) is stored all the time. If X is learned, or with a structure
half, it is the largest of

    the directions of the encoder    4 d 3 (W + G + N)       spectral texts only
    a step                           4 d (2H + 21) M, and 16 bytes per parameter for Adam
    all vertices at once             4 d (2H + 6) N          in validation

plus the parameters. Without a structure half there are 11 tables instead of 21, and without an
activation H instead of 2H. The numbers of tables are counted in the code and corrected by
measurements. ``tests/training/test_estimate.py`` requires them to be within a quarter of the memory
of a process, which varies by a tenth between runs.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from dmte.diffusion.hop_tables import BLOCK_NUMBERS
from dmte.diffusion.operators import ACTIVATIONS
from dmte.errors import TrainingError
from dmte.kernels.pair_scores import BLOCK_NUMBERS as PAIR_NUMBERS
from dmte.kernels.pair_scores import CHUNK
from dmte.network import TextualNetwork
from dmte.runtime.formatting import readable_bytes
from dmte.runtime.memory import MARGIN, available_bytes
from dmte.settings import Settings
from dmte.text import ENCODERS, tokenized
from dmte.text.directions import NUM_SPARE_DIRECTIONS
from dmte.training.auto_settings import auto_letters, auto_word_weights, num_folds
from dmte.training.edges import MAX_UNLINKED, step_sizes
from dmte.training.fold import samples_all_vertices
from dmte.training.frozen_start import WIDTHS
from dmte.training.rounds import MANY
from dmte.training.validation import NUM_NON_EDGES, num_validation_edges

FLOAT_BYTES = 4
NARROWER = (512, 256, 128, 64, 32)
FEWER_WORDS = (200_000, 100_000, 50_000, 20_000)
"""Widths and vocabulary sizes to suggest if a network does not fit."""
NGRAMS_PER_WORD = 1.7
"""Distinct character n-grams per word; 1.66 in DBLP's titles."""
NGRAM_BYTES = 600
"""Bytes that counting leaves behind per character n-gram."""
BYTES_PER_TOKEN = 48
"""Bytes per word of the texts while directions are computed, most of them for B."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """The numbers that memory depends on."""

    vertices: int
    members: int
    """Vertices in training."""
    edges: int
    words: int
    """Words in the vocabulary, or features per vertex."""
    columns: int
    """Words, and character n-grams if they are used: columns of the decomposed matrix."""
    tokens: int
    """Words in all texts."""
    folds: int
    auto_word_weights: bool
    """Whether word weights are learned, so that every step computes X again."""
    validation_edges: int
    """Maximum number of validation edges."""

    @classmethod
    def of(cls, network: TextualNetwork, settings: Settings) -> "Sizes":
        """Return the sizes of a network, after reading its texts."""
        if not settings.encoder_traits.reads_words:
            features = 0 if network.features is None else network.features.shape[1]
            return cls._with(network, settings, features, 0, by_letters=False)
        vocabulary, texts = tokenized(
            network.texts, min_count=settings.min_count, max_size=settings.max_vocabulary
        )
        by_letters = auto_letters(settings, texts)
        return cls._with(
            network, settings, len(vocabulary), len(texts.tokens), by_letters=by_letters
        )

    @classmethod
    def at_most(cls, network: TextualNetwork, settings: Settings) -> "Sizes":
        """Return upper bounds of the sizes without reading the texts: two characters per word."""
        tokens = sum(map(len, network.texts)) // 2 + network.num_vertices
        words = min(tokens, settings.max_vocabulary or tokens)
        if network.features is not None:
            words = max(words, network.features.shape[1])
        return cls._with(network, settings, words, tokens, by_letters=settings.letters is not False)

    @classmethod
    def _with(
        cls,
        network: TextualNetwork,
        settings: Settings,
        words: int,
        tokens: int,
        *,
        by_letters: bool,
    ) -> "Sizes":
        linked = len(network.edges.unique())
        unlinked = min(network.num_vertices - linked, linked, MAX_UNLINKED)
        validation_edges = num_validation_edges(network, settings.validation_fraction)
        return cls(
            vertices=network.num_vertices,
            members=linked + (unlinked if samples_all_vertices(settings) else 0),
            edges=len(network.edges),
            words=words,
            columns=int(words * (1 + NGRAMS_PER_WORD)) if by_letters else words,
            tokens=tokens,
            folds=num_folds(settings, validation_edges),
            auto_word_weights=auto_word_weights(settings, validation_edges),
            validation_edges=validation_edges,
        )


def memory_bytes(
    sizes: Sizes, settings: Settings, *, processes: int = 1, num_local: int = 1
) -> int:
    """Return the peak memory of training, besides Python, torch and the network.

    With several processes, it is the sum over the ``num_local`` on one host. If ``dim`` is None,
    the largest width counts.
    """
    width = settings.half if settings.dim is not None else max(WIDTHS)
    share = math.ceil(width / processes)
    peak = _of_rounds if settings.is_text_only else _of_propagation
    return num_local * max(
        _of_start(sizes, settings, share) + BYTES_PER_TOKEN * sizes.tokens,
        peak(sizes, settings, share),
    )


def _of_start(sizes: Sizes, settings: Settings, width: int) -> int:
    """Return the bytes of the search for directions."""
    if not settings.has_frozen_encoder:
        return 0
    searches_texts = sizes.vertices < sizes.words
    rows = sizes.words + (2 * sizes.vertices if searches_texts else sizes.words)
    tables = FLOAT_BYTES * rows * (width + NUM_SPARE_DIRECTIONS)
    if not settings.encoder_traits.reads_words:  # In double precision.
        return 2 * (tables + 2 * FLOAT_BYTES * sizes.vertices * sizes.words)
    return tables + NGRAM_BYTES * (sizes.columns - sizes.words)


def _of_rounds(sizes: Sizes, settings: Settings, width: int) -> int:
    """Return the bytes of validation, of a round or of the end, if X is fixed."""
    steps, negatives = step_sizes(settings, sizes.edges), settings.num_negatives
    if not settings.share_negatives:
        negatives *= 2 * steps.batch
    drawn = 2 * steps.round + negatives * math.ceil(steps.round / steps.batch)
    rows = _distinct(drawn, sizes.members)
    rows = sizes.members if rows > MANY * sizes.members or sizes.auto_word_weights else rows
    pairs = 2 * (sizes.validation_edges + max(sizes.validation_edges, NUM_NON_EDGES))
    of_pairs = _distinct(pairs, sizes.vertices) if sizes.validation_edges else 0
    scored = _distinct(2 * steps.batch + negatives, sizes.members)
    of_round = sizes.members + settings.hops * rows + (settings.hops + 9) * scored
    if sizes.auto_word_weights:  # Gradients of the hop tables and of the weighted directions.
        of_round += settings.hops * sizes.members + 2 * sizes.words
    of_round = max(of_round, sizes.vertices) + settings.hops * of_pairs
    at_end = 2 * sizes.vertices + sizes.words
    blocks = 3 * min(sizes.vertices * width, BLOCK_NUMBERS)
    scores = 16 * steps.batch * settings.num_negatives  # Of both directions, and their gradients.
    side_by_side = min(sizes.folds, torch.get_num_threads())
    kept = FLOAT_BYTES * sizes.words * width + 32 * sizes.tokens
    kept += sizes.folds * 100 * (2 * sizes.edges + sizes.members)
    at_once = side_by_side * (width * of_round + blocks + scores)
    return kept + FLOAT_BYTES * max(at_once, width * at_end + blocks)


def _distinct(drawn: int, among: int) -> int:
    """Return the expected number of distinct items of a uniform draw.

    >>> _distinct(1000, 1000), _distinct(10, 1_000_000)
    (633, 10)
    """
    return math.ceil(-among * math.expm1(-drawn / among)) if among else 0


def _of_propagation(sizes: Sizes, settings: Settings, width: int) -> int:
    """Return the bytes of a step that propagates the whole graph."""
    parameters, stored = _tables(sizes, settings, width)
    numbers = 4 * parameters + stored + _of_step(sizes, settings, width)
    per_token = 60 if settings.word_dropout and not settings.has_frozen_encoder else 20
    per_entry = 70 if settings.hide_supervised else 40
    entries = per_entry * (2 * sizes.edges + sizes.members)
    return FLOAT_BYTES * numbers + per_token * sizes.tokens + entries


def _tables(sizes: Sizes, settings: Settings, width: int) -> tuple[int, int]:
    """Return the numbers of parameters of all folds and of other stored values."""
    structure = sizes.members * width if settings.structure else 0
    small = settings.hops * width + (width * width if settings.mixing else 0)
    if not settings.has_frozen_encoder:
        return sizes.words * width + structure + small, 0
    return structure + small, sizes.words * width


def _of_step(sizes: Sizes, settings: Settings, width: int) -> int:
    """Return the number of values used by a step, or by validation if that is more."""
    halves = 2 if settings.structure else 1
    # For the backward pass, each hop stores P^h X and the output of an activation.
    of_hops = settings.hops * ACTIVATIONS[settings.activation].tables_per_hop
    directed = 2 * min(step_sizes(settings, sizes.edges).batch, sizes.edges)
    tables = (of_hops + (21 if settings.structure else 11)) * sizes.members * width
    scored = min(CHUNK, directed)
    gathered = scored * (2 + settings.num_negatives) * halves * width
    validating = (of_hops + 2 + 2 * halves) * sizes.vertices * width
    pairs = 2 * min(PAIR_NUMBERS, sizes.validation_edges * halves * width)
    states = ENCODERS[settings.encoder].step_numbers(sizes.vertices, sizes.tokens, width)
    return max(tables + gathered + states, validating + pairs)


def check_memory(
    network: TextualNetwork, settings: Settings, *, processes: int = 1, num_local: int = 1
) -> None:
    """Check that there is enough memory to train.

    Raises:
        TrainingError: There is not; the message suggests smaller settings.
    """
    available = available_bytes()
    if available is None:
        return
    room = _Room(MARGIN * available, processes, num_local)
    if room.holds(Sizes.at_most(network, settings), settings):
        return
    sizes = Sizes.of(network, settings)
    if room.holds(sizes, settings):
        return
    raise TrainingError(
        f"training needs about {readable_bytes(room.taken(sizes, settings))} of memory, but "
        f"{readable_bytes(available)} are free; {_what_would_fit(sizes, settings, room)}"
    )


@dataclass(frozen=True, slots=True)
class _Room:
    """Memory for the processes of a group on this host."""

    most_bytes: float
    processes: int
    num_local: int

    def taken(self, sizes: Sizes, settings: Settings) -> int:
        return memory_bytes(sizes, settings, processes=self.processes, num_local=self.num_local)

    def holds(self, sizes: Sizes, settings: Settings) -> bool:
        return self.taken(sizes, settings) <= self.most_bytes


def _what_would_fit(sizes: Sizes, settings: Settings, room: _Room) -> str:
    for smaller, words, options in _smaller(sizes, settings):
        fewer = replace(sizes, words=words)
        if room.holds(fewer, smaller):
            needed = readable_bytes(room.taken(fewer, smaller))
            return f"{options} would need {needed}; --force trains without this check"
    return "narrower vectors would not fit either; --force trains without this check"


def _smaller(sizes: Sizes, settings: Settings) -> Iterator[tuple[Settings, int, str]]:
    """Yield smaller settings, numbers of words and their options, smallest changes first."""
    dims = [dim for dim in NARROWER if dim < (settings.dim or max(WIDTHS) + 1)]
    reads_words = settings.encoder_traits.reads_words
    fewer = [count for count in FEWER_WORDS if reads_words and count < sizes.words]
    for words in fewer[:2]:  # Rare words matter least.
        yield settings, words, f"--max-vocabulary {words}"
    for dim in dims:
        yield replace(settings, dim=dim), sizes.words, f"--dim {dim}"
    for dim in dims:
        for words in fewer:
            options = f"--dim {dim} --max-vocabulary {words}"
            yield replace(settings, dim=dim), words, options
