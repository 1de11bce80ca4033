"""Memory of training, estimated from the sizes of its tables before any is allocated.

In bytes, with N vertices of which M are in training, E edges, W words, T words in all texts, G
character n-grams (if used) and tables of width d, it is the largest of

    the directions of the encoder    3 · 4 (W + G + N) d              spectral texts only
    a step                           4 (2H + 21) M d, and 16 bytes per parameter for Adam
    all vertices at once             4 (2H + 6) N d                   in validation

plus the stored tables. If negatives are drawn from a pool, so that a step scores A vertices, it
takes 4 ((H + 6) M + 9 A) d. Without a structure half there are 11 tables instead of 21, and without
an activation H instead of 2H. The numbers of tables are counted in the code and corrected by
measurements. ``tests/training/test_estimate.py`` requires them to be within a quarter of the memory
of a process, which varies by a tenth between runs.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from dmte.diffusion.hop_tables import BLOCK_NUMBERS
from dmte.diffusion.operators import ACTIVATIONS
from dmte.errors import TrainingError
from dmte.kernels.pair_scores import BLOCK, CHUNK
from dmte.network import TextualNetwork
from dmte.runtime.memory import available_bytes
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
MARGIN = 0.9
"""Fraction of the available memory that training may use."""


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
    # Rank zero computes the directions of all columns.
    parameters, kept = _tables(sizes, settings, width)
    setting_up = FLOAT_BYTES * (parameters + kept + _of_start(sizes, settings, width))
    parameters, kept = _tables(sizes, settings, share)
    stepping = FLOAT_BYTES * (4 * parameters + kept + _of_step(sizes, settings, share))
    drops_words = settings.word_dropout and (
        sizes.auto_word_weights or not settings.has_frozen_encoder
    )
    per_token, per_token_kept = 50, 60 if drops_words else 20
    per_entry = 70 if settings.hide_supervised else 40
    entries = per_entry * (2 * sizes.edges + sizes.members)
    of_ngrams = NGRAM_BYTES * (sizes.columns - sizes.words)
    return of_ngrams + max(
        setting_up + num_local * per_token * sizes.tokens,
        num_local * (stepping + per_token_kept * sizes.tokens + entries),
    )


def _tables(sizes: Sizes, settings: Settings, width: int) -> tuple[int, int]:
    """Return the numbers of parameters of all folds and of other stored values."""
    structure = sizes.members * width if settings.structure else 0
    small = settings.hops * width + (width * width if settings.mixing else 0)
    if not settings.has_frozen_encoder:
        return sizes.words * width + structure + small, 0
    if sizes.auto_word_weights:
        return sizes.folds * (structure + small + sizes.words), sizes.words * width
    return sizes.folds * (structure + small), sizes.words * width


def _of_start(sizes: Sizes, settings: Settings, width: int) -> int:
    """Return the number of values used to compute directions and to choose a width."""
    if not settings.has_frozen_encoder:
        return 0
    searching = 3 * (sizes.columns + sizes.vertices) * (width + NUM_SPARE_DIRECTIONS)
    choosing = 7 * sizes.vertices * width if settings.dim is None else 0
    return max(searching, choosing)


def _of_step(sizes: Sizes, settings: Settings, width: int) -> int:
    """Return the number of values used by a step, or by validation if that is more."""
    if settings.is_text_only:
        return max(_of_rounds(sizes, settings, width), 3 * sizes.vertices * width)
    halves = 2 if settings.structure else 1
    # For the backward pass, each hop stores P^h X and the output of an activation.
    of_hops = settings.hops * ACTIVATIONS[settings.activation].tables_per_hop
    directed = 2 * min(step_sizes(settings, sizes.edges).batch, sizes.edges)
    tables = (of_hops + (21 if settings.structure else 11)) * sizes.members * width
    scored = min(CHUNK, directed)
    gathered = scored * (2 + settings.num_negatives) * halves * width
    validating = (of_hops + 2 + 2 * halves) * sizes.vertices * width
    pairs = 3 * min(BLOCK, sizes.validation_edges) * halves * width
    states = ENCODERS[settings.encoder].step_numbers(sizes.vertices, sizes.tokens, width)
    return max(tables + gathered + states, validating + pairs)


def _of_rounds(sizes: Sizes, settings: Settings, width: int) -> int:
    """Return the number of values of hop tables and steps, if X is fixed."""
    steps, negatives = step_sizes(settings, sizes.edges), settings.num_negatives
    if not settings.share_negatives:
        negatives *= 2 * steps.batch
    num_steps = math.ceil(steps.round / steps.batch)
    rows = 2 * steps.round + negatives * num_steps
    rows = sizes.members if rows > MANY * sizes.members or sizes.auto_word_weights else rows
    pairs = 2 * (sizes.validation_edges + max(sizes.validation_edges, NUM_NON_EDGES))
    validation_rows = min(sizes.vertices, pairs if sizes.validation_edges else 0)
    scored = min(rows, 2 * steps.batch + negatives)
    numbers = sizes.members + settings.hops * (rows + validation_rows)
    numbers += (settings.hops + 9) * scored
    propagated = min(sizes.members * width, BLOCK_NUMBERS)
    if sizes.auto_word_weights:  # Gradients of the hop tables and of the weighted directions.
        numbers += 2 * settings.hops * sizes.members + 2 * sizes.words
    return numbers * width + 3 * propagated + 4 * scored * min(negatives, sizes.members)


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
        f"training needs about {_size(room.taken(sizes, settings))} of memory, but "
        f"{_size(available)} are free; {_what_would_fit(sizes, settings, room)}"
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
            needed = _size(room.taken(fewer, smaller))
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


def _size(count: int) -> str:
    """Format a number of bytes.

    >>> _size(1_240_000_000), _size(49_000_000), _size(1000)
    ('1.2 GB', '49 MB', '1 MB')
    """
    return f"{math.ceil(count / 1e6)} MB" if count < 0.1e9 else f"{count / 1e9:.1f} GB"
