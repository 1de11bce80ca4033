"""Skip-gram with negative sampling over walks (Mikolov et al. 2013), for DeepWalk and Node2Vec.

A vertex has a vector u and a context vector c. Every position of a walk, with vertex i, and every
other position at most a window away, with vertex j, add to the objective, which is maximized,

    log σ(u_i · c_j) + K E_{n ~ P_n} log σ(-u_i · c_n)        P_n(v) ∝ visits_v^{3/4}

Differences from word2vec:

- The positions of a walk share M negatives, each weighted K / M, so the expectation is the same.
  All products of a walk become two small matrix products, which is fast without compiled code.
- Gradients of many walks are summed and scaled by AdaGrad (Duchi et al. 2011); summed plain steps
  diverge.
- All distances within the window count alike, as in DeepWalk's Algorithm 2. Word2vec shrinks the
  window at random.

A vertex that no walk visits has the zero vector.
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
"""Fills a walk after its last vertex."""
UPDATES_PER_PASS = 32
"""Updates per pass, in which one walk starts at every vertex."""
CHUNK = 32  # Walks whose rows fit in the cache; 16 to 128 were alike on Cora.
EPSILON = 1e-8  # Avoids division by zero in AdaGrad.
FEW_ROWS = 0.25  # Use sparse row updates below this share of changed rows; no more memory.


class AdagradTable:
    """A table of vectors with its accumulated gradient and AdaGrad's sum of squares."""

    def __init__(self, values: Float[Tensor, "rows dim"]) -> None:
        self.values = values
        self._gradient = torch.zeros_like(values)
        self._squares = torch.zeros_like(values)
        self._is_touched = torch.zeros(len(values), dtype=torch.bool)

    def collect(
        self, rows: Int[Tensor, " some"], gradient: Float[Tensor, "some dim"], weight: float = 1.0
    ) -> None:
        """Add ``weight`` times the gradient of ``rows``; a row may occur more than once."""
        self._gradient.index_add_(0, rows, gradient, alpha=weight)
        self._is_touched.index_fill_(0, rows, value=True)

    def climb(self, rate: float) -> None:
        """Step along the accumulated gradient and reset it."""
        rows = self._is_touched.nonzero().squeeze(1)
        if len(rows) > FEW_ROWS * len(self.values):
            _climb(self.values, self._gradient, self._squares, rate)
            self._gradient.zero_()
        else:
            # Equal to the bit: a row without gradient does not change.
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
    """Draws vertices from P_n(v) ∝ count_v^{3/4}, never one of count zero."""

    def __init__(self, counts: Float[Tensor, " vertices"] | Int[Tensor, " vertices"]) -> None:
        # Without the vertices of count zero, which rounding could otherwise hit.
        self._drawable = counts.nonzero().squeeze(1)
        self._ends = (counts[self._drawable].to(torch.float64) ** NOISE_POWER).cumsum(0)

    def draw(self, num_draws: int, generator: torch.Generator) -> Int[Tensor, " draws"]:
        """Return ``num_draws`` vertices."""
        points = torch.rand(num_draws, generator=generator, dtype=torch.float64) * self._ends[-1]
        drawn = torch.searchsorted(self._ends, points, right=True)
        return self._drawable[drawn.clamp_(max=len(self._ends) - 1)]


class Gradients(NamedTuple):
    """Gradients of an objective by the vectors u, their contexts and the negatives."""

    inputs: Float[Tensor, "..."]
    contexts: Float[Tensor, "..."]
    negatives: Float[Tensor, "..."]


def pair_weights(
    walked: Bool[Tensor, "walks length"], window: int
) -> Float[Tensor, "walks length length"]:
    """Mark every two different positions of a walk within the window by one, others by zero.

    >>> pair_weights(torch.tensor([[True, True, True, False]]), window=1).int().tolist()
    [[[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]]
    """
    near = _near(walked.shape[1], window)
    if bool(walked.all()):
        return near.expand(len(walked), -1, -1)
    return near * (walked.unsqueeze(2) & walked.unsqueeze(1))


@cache
def _near(length: int, window: int) -> Float[Tensor, "length length"]:
    """Return the weights of a walk of full length, as nearly all are."""
    position = torch.arange(length)
    distance = (position.unsqueeze(1) - position).abs()
    return ((distance > 0) & (distance <= window)).float()


def walk_gradients(
    inputs: Float[Tensor, "walks length dim"],
    contexts: Float[Tensor, "walks length dim"],
    negatives: Float[Tensor, "walks draws dim"],
    weights: Float[Tensor, "walks length length"],
    num_negatives: int,
) -> Gradients:
    """Return the gradients of Σ_ij w_ij (log σ(u_i · c_j) + K/M Σ_n log σ(-u_i · c_n))."""
    attraction = torch.bmm(inputs, contexts.transpose(1, 2)).neg_().sigmoid_().mul_(weights)
    repulsion = torch.bmm(inputs, negatives.transpose(1, 2)).sigmoid_()
    share = -num_negatives / negatives.shape[1]
    repulsion.mul_(weights.sum(dim=2, keepdim=True).mul_(share))
    return Gradients(
        torch.bmm(attraction, contexts).baddbmm_(repulsion, negatives),
        torch.bmm(attraction.transpose(1, 2), inputs),
        torch.bmm(repulsion.transpose(1, 2), inputs),
    )


def small_vectors(num_rows: int, dim: int, generator: torch.Generator) -> Float[Tensor, "rows dim"]:
    """Draw vectors uniform in ±1/2d, the start of word2vec and LINE."""
    return (torch.rand(num_rows, dim, generator=generator) - 0.5) / dim


@dataclass(frozen=True, slots=True, kw_only=True)
class SkipGram:
    """The settings of skip-gram; DeepWalk and Node2Vec document their sources."""

    dim: int
    window: int
    num_negatives: int
    learning_rate: float

    def __post_init__(self) -> None:
        require_positive(self, "dim", "window", "num_negatives", "learning_rate")

    def fit(
        self,
        passes: Iterable[Int[Tensor, "walks length"]],
        num_passes: int,
        num_vertices: int,
        seed: int,
    ) -> Float[Tensor, "vertices dim"]:
        """Learn the vectors u, reading every pass once.

        The noise counts the visits of the first pass, so no pass has to be kept.
        """
        vectors = torch.zeros(num_vertices, self.dim)
        for number, walks in enumerate(passes):
            if number == 0:
                visits = count_visits(walks, num_vertices)
                start = small_vectors(
                    num_vertices, self.dim, generator_for(seed, "skip-gram start")
                )
                vectors = start * (visits > 0).unsqueeze(1)
                inputs = AdagradTable(vectors)
                reader = WalkReader(self, inputs, visits)
            generator = generator_for(seed, "skip-gram negatives", number)
            batches = split_pass(walks)
            for step, batch in enumerate(batches):
                reader.collect(batch, generator)
                rate = self.learning_rate * (1 - (number + step / len(batches)) / num_passes)
                inputs.climb(rate)
                reader.climb(rate)
        return vectors


def split_pass(rows: Tensor) -> Sequence[Tensor]:
    """Split the rows of a pass into batches, one per update."""
    batches: Sequence[Tensor] = rows.split(max(1, -(-len(rows) // UPDATES_PER_PASS)))
    return batches


def count_visits(walks: Int[Tensor, "walks length"], num_vertices: int) -> Int[Tensor, " vertices"]:
    """Count the occurrences of each vertex in the walks."""
    return torch.bincount(walks[walks != ENDED], minlength=num_vertices)


class WalkReader:
    """Context vectors and noise of walks; ``inputs``, the vectors u, learn to predict them."""

    def __init__(
        self, settings: SkipGram, inputs: AdagradTable, visits: Int[Tensor, " vertices"]
    ) -> None:
        keep_freed_memory()
        self.settings = settings
        self._inputs = inputs
        self._noise = Noise(visits)
        self._contexts = AdagradTable(torch.zeros(len(visits), settings.dim))

    def collect(
        self, walks: Int[Tensor, "walks length"], generator: torch.Generator, weight: float = 1.0
    ) -> None:
        """Add the gradients of ``walks``, times ``weight``."""
        for chunk in walks.split(CHUNK) if len(walks) else ():
            self._collect_chunk(chunk, generator, weight)

    def climb(self, rate: float) -> None:
        """Update the context vectors, but not u."""
        self._contexts.climb(rate)

    def _collect_chunk(
        self, walks: Int[Tensor, "walks length"], generator: torch.Generator, weight: float
    ) -> None:
        weights = pair_weights(walks != ENDED, self.settings.window)
        # After the end of a walk any row will do, since its weight is zero.
        visited = walks.clamp(min=0).flatten()
        # As many as the walk has positions; half and a quarter did worse, in one trial each.
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


def linked_vertices(network: TextualNetwork) -> Int[Tensor, " linked"]:
    """Return the vertices with an edge, ascending; only these get a vector."""
    linked: Tensor = torch.from_numpy(np.unique(network.edges.numpy()).astype(np.int64))
    return linked


def require_positive(method: object, *names: str) -> None:
    """Check that settings of a method are above zero.

    Raises:
        ConfigError: A setting is zero, negative or not a number.
    """
    for name in names:
        value = getattr(method, name)
        if not value > 0:
            raise ConfigError(f"{name} must be above 0, not {value}")


def require_even(dim: int) -> None:
    """Check that a vector has two halves.

    Raises:
        ConfigError: The width is odd or below 2.
    """
    if dim < 2 or dim % 2:
        raise ConfigError(f"dim must be even and at least 2, for two halves, not {dim}")
