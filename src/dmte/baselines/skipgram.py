"""Skip-gram with negative sampling over walks (Mikolov et al. 2013), for DeepWalk and Node2Vec.

A vertex has a vector u and a context vector c. Every position of a walk, with vertex i, and every
other position at most a window away, with vertex j, add to the objective, which is maximized,

    log σ(u_i · c_j) + K E_{n ~ P_n} log σ(-u_i · c_n)        P_n(v) ∝ visits_v^{3/4}

All products within one walk are two small matrix products, which is what makes this fast without
compiled code. For that, the positions of a walk share their negatives: M are drawn per walk and
each counts K / M per pair, so the expectation is the same. The second difference from word2vec
is the optimizer: updates of many walks are added up and scaled by AdaGrad (Duchi et al. 2011),
because plain steps added up diverge. The third is that word2vec shrinks the window at random, so
that what is near counts more; here every distance counts alike, as in DeepWalk's Algorithm 2. A
vertex no walk visits keeps the vector zero.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dmte.errors import ConfigError
from dmte.network import TextualNetwork
from dmte.runtime.memory import keep_freed_memory
from dmte.runtime.seeding import generator_for
from dmte.training.negative_sampling import NOISE_POWER

ENDED = -1
"""Stands in a walk after its last vertex."""
UPDATES_PER_PASS = 32
"""Updates while every vertex starts one walk, whatever the size of the network."""
CHUNK = 32  # Walks whose rows stay in the cache together; 16 to 128 were alike on Cora.
EPSILON = 1e-8  # Keeps AdaGrad from dividing by zero.
FEW_ROWS = 0.25  # Of a table, up to which a step picks out its rows, in no more memory.


class AdagradTable:
    """A table of vectors, the gradient collected for it, and AdaGrad's sum of squares."""

    def __init__(self, values: Float[Tensor, "rows dim"]) -> None:
        self.values = values
        self._gradient = torch.zeros_like(values)
        self._squares = torch.zeros_like(values)
        self._is_touched = torch.zeros(len(values), dtype=torch.bool)

    def collect(
        self, rows: Int[Tensor, " some"], gradient: Float[Tensor, "some dim"], weight: float = 1.0
    ) -> None:
        """Add ``weight`` times to the gradient of ``rows``, which may name a row more than once."""
        self._gradient.index_add_(0, rows, gradient, alpha=weight)
        self._is_touched.index_fill_(0, rows, value=True)

    def climb(self, rate: float) -> None:
        """Step along the collected gradient, and forget it."""
        rows = self._is_touched.nonzero().squeeze(1)
        if len(rows) > FEW_ROWS * len(self.values):
            _climb(self.values, self._gradient, self._squares, rate)
            self._gradient.zero_()
        else:
            # The same to the bit: a row without gradient would stay as it is.
            tables = (self.values, self._gradient, self._squares)
            values, gradient, squares = (table.index_select(0, rows) for table in tables)
            _climb(values, gradient, squares, rate)
            self.values.index_copy_(0, rows, values)
            self._squares.index_copy_(0, rows, squares)
            self._gradient.index_fill_(0, rows, 0.0)
        self._is_touched.zero_()


def _climb(
    values: Float[Tensor, "rows dim"],
    gradient: Float[Tensor, "rows dim"],
    squares: Float[Tensor, "rows dim"],
    rate: float,
) -> None:
    squares.addcmul_(gradient, gradient)
    values.addcdiv_(gradient, squares.sqrt().add_(EPSILON), value=rate)


class Noise:
    """Draws vertices from P_n(v) ∝ count_v^{3/4}; one of count zero is never drawn."""

    def __init__(self, counts: Float[Tensor, " vertices"] | Int[Tensor, " vertices"]) -> None:
        # Only what can be drawn stands on the line, so that rounding cannot hit anything else.
        self._drawable = counts.nonzero().squeeze(1)
        self._ends = (counts[self._drawable].to(torch.float64) ** NOISE_POWER).cumsum(0)

    def draw(self, num_draws: int, generator: torch.Generator) -> Int[Tensor, " draws"]:
        """Return ``num_draws`` vertices."""
        points = torch.rand(num_draws, generator=generator, dtype=torch.float64) * self._ends[-1]
        drawn = torch.searchsorted(self._ends, points, right=True)
        return self._drawable[drawn.clamp_(max=len(self._ends) - 1)]


class WalkGradients(NamedTuple):
    """How the objective of some walks grows with the vectors of their positions and negatives."""

    inputs: Float[Tensor, "walks length dim"]
    contexts: Float[Tensor, "walks length dim"]
    negatives: Float[Tensor, "walks draws dim"]


def pair_weights(
    walked: Bool[Tensor, "walks length"], window: int
) -> Float[Tensor, "walks length length"]:
    """Return a one for every two different positions of a walk within the window, else zero.

    >>> pair_weights(torch.tensor([[True, True, True, False]]), window=1).int().tolist()
    [[[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]]
    """
    near = _near(walked.shape[1], window)
    if bool(walked.all()):
        return near.expand(len(walked), -1, -1)
    return near * (walked.unsqueeze(2) & walked.unsqueeze(1))


@cache
def _near(length: int, window: int) -> Float[Tensor, "length length"]:
    """Return the weights of a walk that does not end; kept, as nearly all walks are alike."""
    position = torch.arange(length)
    distance = (position.unsqueeze(1) - position).abs()
    return ((distance > 0) & (distance <= window)).float()


def walk_gradients(
    inputs: Float[Tensor, "walks length dim"],
    contexts: Float[Tensor, "walks length dim"],
    negatives: Float[Tensor, "walks draws dim"],
    weights: Float[Tensor, "walks length length"],
    num_negatives: int,
) -> WalkGradients:
    """Return the gradients of Σ_ij w_ij (log σ(u_i · c_j) + K/M Σ_n log σ(-u_i · c_n))."""
    attraction = torch.bmm(inputs, contexts.transpose(1, 2)).neg_().sigmoid_().mul_(weights)
    repulsion = torch.bmm(inputs, negatives.transpose(1, 2)).sigmoid_()
    share = -num_negatives / negatives.shape[1]
    repulsion.mul_(weights.sum(dim=2, keepdim=True).mul_(share))
    return WalkGradients(
        torch.bmm(attraction, contexts).baddbmm_(repulsion, negatives),
        torch.bmm(attraction.transpose(1, 2), inputs),
        torch.bmm(repulsion.transpose(1, 2), inputs),
    )


def small_vectors(num_rows: int, dim: int, generator: torch.Generator) -> Float[Tensor, "rows dim"]:
    """Return vectors uniform in ±1/2d, where word2vec and LINE start."""
    return (torch.rand(num_rows, dim, generator=generator) - 0.5) / dim


@dataclass(frozen=True, slots=True, kw_only=True)
class SkipGram:
    """The settings of skip-gram; see DeepWalk and Node2Vec for where they come from."""

    dim: int
    window: int
    num_negatives: int
    learning_rate: float

    def __post_init__(self) -> None:
        for name in ("dim", "window", "num_negatives", "learning_rate"):
            require_positive(name, getattr(self, name))

    def fit(
        self,
        passes: Iterable[Int[Tensor, "walks length"]],
        num_passes: int,
        num_vertices: int,
        seed: int,
    ) -> Float[Tensor, "vertices dim"]:
        """Return the vectors u after learning from every pass once.

        The noise is made from the visits of the first pass, so no pass is kept.
        """
        trainer: SkipGramTrainer | None = None
        for number, walks in enumerate(passes):
            if trainer is None:
                trainer = SkipGramTrainer(self, walks, num_vertices, seed)
            generator = generator_for(seed, "skip-gram negatives", number)
            batches = split_pass(walks)
            for step, batch in enumerate(batches):
                trainer.collect(batch, generator)
                trainer.climb((number + step / len(batches)) / num_passes)
        if trainer is None:
            return torch.zeros(num_vertices, self.dim)
        return trainer.vectors()


def split_pass(of_a_pass: Tensor) -> Sequence[Tensor]:
    """Return the rows between one update and the next."""
    batches: Sequence[Tensor] = of_a_pass.split(max(1, -(-len(of_a_pass) // UPDATES_PER_PASS)))
    return batches


def count_visits(walks: Int[Tensor, "walks length"], num_vertices: int) -> Int[Tensor, " vertices"]:
    """Return how often each vertex stands in the walks."""
    return torch.bincount(walks[walks != ENDED], minlength=num_vertices)


class WalkReader:
    """The context vectors and the noise of walks, which the vectors u learn to predict."""

    def __init__(
        self, settings: SkipGram, inputs: AdagradTable, visits: Int[Tensor, " vertices"]
    ) -> None:
        keep_freed_memory()
        self.settings = settings
        self._inputs = inputs
        self._noise = Noise(visits)
        self._contexts = AdagradTable(torch.zeros(len(visits), settings.dim))

    def collect(
        self,
        walks: Int[Tensor, "walks length"],
        generator: torch.Generator,
        weight: float = 1.0,
    ) -> None:
        """Add up the gradients of ``walks``, whose objective counts ``weight``."""
        for chunk in walks.split(CHUNK) if len(walks) else ():
            self._collect_chunk(chunk, generator, weight)

    def climb(self, rate: float) -> None:
        """Update the context vectors; u is its owner's to update."""
        self._contexts.climb(rate)

    def _collect_chunk(
        self, walks: Int[Tensor, "walks length"], generator: torch.Generator, weight: float
    ) -> None:
        weights = pair_weights(walks != ENDED, self.settings.window)
        # Any row will do where a walk has ended: it counts nothing.
        visited = walks.clamp(min=0).flatten()
        # As many per walk as it is long; in one trial each, half and a quarter did worse.
        drawn = self._noise.draw(walks.numel(), generator)
        shape = (*walks.shape, self.settings.dim)
        gradients = walk_gradients(
            self._inputs.values.index_select(0, visited).view(shape),
            self._contexts.values.index_select(0, visited).view(shape),
            self._contexts.values.index_select(0, drawn).view(shape),
            weights,
            self.settings.num_negatives,
        )
        self._inputs.collect(visited, gradients.inputs.flatten(0, 1), weight)
        self._contexts.collect(visited, gradients.contexts.flatten(0, 1), weight)
        self._contexts.collect(drawn, gradients.negatives.flatten(0, 1), weight)


class SkipGramTrainer:
    """The vectors u and what reads the walks, while they are learned."""

    def __init__(
        self,
        settings: SkipGram,
        walks: Int[Tensor, "walks length"],
        num_vertices: int,
        seed: int,
    ) -> None:
        visits = count_visits(walks, num_vertices)
        start = small_vectors(num_vertices, settings.dim, generator_for(seed, "skip-gram start"))
        self._inputs = AdagradTable(start * (visits > 0).unsqueeze(1))
        self._reader = WalkReader(settings, self._inputs, visits)

    def vectors(self) -> Float[Tensor, "vertices dim"]:
        """Return u of every vertex."""
        return self._inputs.values

    def collect(self, walks: Int[Tensor, "walks length"], generator: torch.Generator) -> None:
        """Add up the gradients of ``walks``."""
        self._reader.collect(walks, generator)

    def climb(self, progress: float) -> None:
        """Update both tables; the step size falls to zero linearly, as word2vec's."""
        rate = self._reader.settings.learning_rate * (1 - progress)
        self._inputs.climb(rate)
        self._reader.climb(rate)


def linked_vertices(network: TextualNetwork) -> Int[Tensor, " linked"]:
    """Return the vertices that an edge leads to or from, ascending: those that get a vector."""
    linked: Tensor = torch.from_numpy(np.unique(network.edges.numpy()).astype(np.int64))
    return linked


def require_positive(name: str, value: int | float) -> None:
    """Refuse a setting that is not above zero.

    Raises:
        ConfigError: It is not.
    """
    if not value > 0:
        raise ConfigError(f"{name} must be above 0, not {value}")
