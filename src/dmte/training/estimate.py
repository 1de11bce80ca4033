"""Memory of a training, counted from the sizes of its tables before any of them is made.

In bytes, with N vertices of which M take part in training, E edges, W words, T words in all texts,
G character n-grams if these are read, and tables of width d, it is the largest of

    the search for directions    3 · 4 (W + G + N) d                  spectral texts only
    a step                       4 (2H + 21) M d and Adam's tables, 16 for every parameter; where
                                 negatives are drawn among few, 4 ((H + 6) M + 9 A) d with A of
                                 the vertices asked about
    all vertices at once         4 (2H + 6) N d                       when they are looked at

on top of what is kept; without a structure half there are 11 tables instead of 21, without an
activation H instead of 2H. The numbers of tables were counted in the code and set right by
measuring; ``tests/test_estimate.py`` holds them to a quarter of what a process really takes, which
by itself differs by a tenth from run to run.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from dmte.diffusion.operators import ACTIVATIONS
from dmte.errors import TrainingError
from dmte.kernels.pair_scores import CHUNK
from dmte.network import TextualNetwork
from dmte.runtime.memory import available_bytes
from dmte.settings import Settings
from dmte.text import ENCODERS, tokenized
from dmte.text.tfidf import NUM_SPARE_DIRECTIONS
from dmte.training.auto_settings import WIDTHS, auto_letters, auto_word_weights, num_folds
from dmte.training.edges import MAX_UNLINKED
from dmte.training.fold import MAX_NEGATIVE_POOL, samples_all_vertices
from dmte.training.validation import num_validation_edges

FLOAT_BYTES = 4
SCORED_AT_ONCE = 1 << 16
"""Pairs of a look whose rows are held together."""
NARROWER = (512, 256, 128, 64, 32)
FEWER_WORDS = (200_000, 100_000, 50_000, 20_000)
"""What is proposed where a network does not fit."""
GROUPS_A_WORD = 1.7
"""How many groups of letters there are, for every word: 1.66 in DBLP's titles."""
GROUP_BYTES = 600
"""What telling the groups of letters apart leaves behind, for each of them."""
MARGIN = 0.9
"""Of the memory that is available, what may be planned for."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """The numbers that memory depends on."""

    vertices: int
    members: int
    """Vertices that take part in training."""
    edges: int
    words: int
    """Of the vocabulary, or features a vertex."""
    columns: int
    """Words, and their groups of letters where these are read: what directions are sought among."""
    tokens: int
    """Words of all texts."""
    folds: int
    auto_word_weights: bool
    """Whether weights of words are learned, so that every step makes X anew."""
    judging: int
    """Edges held back, at most."""

    @classmethod
    def of(cls, network: TextualNetwork, settings: Settings) -> "Sizes":
        """Return the sizes of a network; its texts are read, and nothing else is made."""
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
        """Return sizes that are not exceeded, without reading the texts: a word has two letters."""
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
        judging = num_validation_edges(network, settings.validation_fraction)
        return cls(
            vertices=network.num_vertices,
            members=linked + (unlinked if samples_all_vertices(settings) else 0),
            edges=len(network.edges),
            words=words,
            columns=int(words * (1 + GROUPS_A_WORD)) if by_letters else words,
            tokens=tokens,
            folds=num_folds(settings, judging),
            auto_word_weights=auto_word_weights(settings, judging),
            judging=judging,
        )


def memory_bytes(
    sizes: Sizes, settings: Settings, *, processes: int = 1, num_local: int = 1
) -> int:
    """Return the peak of memory, on top of what Python, torch and the network take themselves.

    Of several processes, that of the ``num_local`` on one host together. A width that is left open
    counts as the widest.
    """
    width = settings.half if settings.dim is not None else max(WIDTHS)
    share = math.ceil(width / processes)
    # The first process searches the directions of all columns.
    parameters, kept = _tables(sizes, settings, width)
    setting_up = FLOAT_BYTES * (parameters + kept + _of_start(sizes, settings, width))
    parameters, kept = _tables(sizes, settings, share)
    stepping = FLOAT_BYTES * (4 * parameters + kept + _of_step(sizes, settings, share))
    thins_bags = settings.word_dropout and (
        sizes.auto_word_weights or not settings.has_frozen_encoder
    )
    per_token, per_token_kept = 50, 60 if thins_bags else 20
    per_entry = 70 if settings.hide_supervised else 40
    entries = per_entry * (2 * sizes.edges + sizes.members)
    of_groups = GROUP_BYTES * (sizes.columns - sizes.words)
    return of_groups + max(
        setting_up + num_local * per_token * sizes.tokens,
        num_local * (stepping + per_token_kept * sizes.tokens + entries),
    )


def _tables(sizes: Sizes, settings: Settings, width: int) -> tuple[int, int]:
    """Return how many numbers are learned, of all folds, and how many stay as they are."""
    structure = sizes.members * width if settings.structure else 0
    small = settings.hops * width + (width * width if settings.mixing else 0)
    if not settings.has_frozen_encoder:
        return sizes.words * width + structure + small, 0
    if sizes.auto_word_weights:
        return sizes.folds * (structure + small + sizes.words), sizes.words * width
    rows = sizes.words + sizes.vertices + sizes.folds * sizes.members
    return sizes.folds * (structure + small), rows * width


def _of_start(sizes: Sizes, settings: Settings, width: int) -> int:
    """Return the numbers that the search for directions, and the choice of a width, work on."""
    if not settings.has_frozen_encoder:
        return 0
    searching = 3 * (sizes.columns + sizes.vertices) * (width + NUM_SPARE_DIRECTIONS)
    choosing = 7 * sizes.vertices * width if settings.dim is None else 0
    return max(searching, choosing)


def _of_step(sizes: Sizes, settings: Settings, width: int) -> int:
    """Return the numbers held by a step, or, where that is more, by a look at all vertices."""
    halves = 2 if settings.structure else 1
    # Of every hop P^h X is kept for the way back, and what an activation makes of it.
    of_hops = settings.hops * ACTIVATIONS[settings.activation].tables_per_hop
    directed = 2 * min(settings.edges_per_step(sizes.edges), sizes.edges)
    tables = (of_hops + (21 if settings.structure else 11)) * sizes.members * width
    if samples_all_vertices(settings) and sizes.members > MAX_NEGATIVE_POOL:
        # Only what is asked about goes on from the diffusion; picking it out takes room too.
        asked = min(sizes.members, directed + MAX_NEGATIVE_POOL)
        tables = ((of_hops + 6) * sizes.members + 9 * asked) * width
    scored = min(CHUNK, directed)
    gathered = scored * (2 + settings.num_negatives) * halves * width
    looking = (of_hops + 2 + 2 * halves) * sizes.vertices * width
    pairs = 3 * min(SCORED_AT_ONCE, sizes.judging) * halves * width
    if sizes.auto_word_weights:  # V weighed and its gradient, X before and after it is scaled.
        tables += (2 * sizes.words + sizes.members) * width
        looking += (sizes.words + 2 * sizes.vertices) * width
    states = ENCODERS[settings.encoder].step_numbers(sizes.vertices, sizes.tokens, width)
    return max(tables + gathered + states, looking + pairs)


def refuse_too_large(
    network: TextualNetwork, settings: Settings, *, processes: int = 1, num_local: int = 1
) -> None:
    """Find out before anything is made that there is not enough memory to train.

    Raises:
        TrainingError: There is not; names the settings that would do.
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
        f"training takes about {_size(room.taken(sizes, settings))} of memory, and "
        f"{_size(available)} are free; {_what_would_fit(sizes, settings, room)}"
    )


@dataclass(frozen=True, slots=True)
class _Room:
    """What the processes of a group may take on this host."""

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
            return f"{options} would do with {needed}; --force tries it all the same"
    return "no narrower vectors would fit either; --force tries it all the same"


def _smaller(sizes: Sizes, settings: Settings) -> Iterator[tuple[Settings, int, str]]:
    """Yield settings that take less, those that change least first, and how to ask for them."""
    dims = [dim for dim in NARROWER if dim < (settings.dim or max(WIDTHS) + 1)]
    fewer = [count for count in FEWER_WORDS if count < sizes.words]
    if not settings.encoder_traits.reads_words:
        fewer = []
    for words in fewer[:2]:  # Rare words say least.
        yield settings, words, f"--max-vocabulary {words}"
    for dim in dims:
        yield settings.with_dim(dim), sizes.words, f"--dim {dim}"
    for dim in dims:
        for words in fewer:
            options = f"--dim {dim} --max-vocabulary {words}"
            yield settings.with_dim(dim), words, options


def _size(count: int) -> str:
    """Return bytes as they are said.

    >>> _size(1_240_000_000), _size(49_000_000), _size(1000)
    ('1.2 GB', '49 MB', '1 MB')
    """
    return f"{math.ceil(count / 1e6)} MB" if count < 0.1e9 else f"{count / 1e9:.1f} GB"
