"""What a fit takes, said before it is done: memory by counting, time by trying a little of it.

A method whose work grows with the network step by step tries one step. One that does everything at
once tries two networks like the one asked about but smaller, and goes on along a straight line.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter

import torch

from dmte.network.textual_network import TextualNetwork

FLOAT_BYTES, DOUBLE_BYTES = 4, 8
SAMPLE = 2048
"""Vertices of the larger of the two networks that are tried."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one fit takes on this machine."""

    memory_bytes: int
    """At its peak, on top of what Python, torch and the network take themselves."""
    seconds: float
    kept_seconds: float = 0.0
    """Of these, what another fit on the same texts in the same process would not need again."""
    epoch_seconds: float = 0.0
    """Of these, what one epoch takes, where there are epochs."""


def fastest_seconds(run: Callable[[], object], times: int = 2) -> float:
    """Return how long the fastest of some runs took; the first also warms the allocator."""
    taken = []
    for _ in range(times):
        started = perf_counter()
        run()
        taken.append(perf_counter() - started)
    return min(taken)


def seconds_by_size(fit: Callable[[TextualNetwork], object], network: TextualNetwork) -> float:
    """Return how long ``fit`` takes, when that is a fixed time and a time per vertex."""
    if network.num_vertices <= SAMPLE:
        return fastest_seconds(lambda: fit(network))
    sizes = (SAMPLE // 4, SAMPLE)
    few, many = (fastest_seconds(partial(fit, smaller_network(network, size))) for size in sizes)
    per_vertex = max(many - few, 0.0) / (sizes[1] - sizes[0])
    return many + per_vertex * (network.num_vertices - sizes[1])


def smaller_network(network: TextualNetwork, num_vertices: int) -> TextualNetwork:
    """Return a network of ``num_vertices`` with texts and edges of this one, as many a vertex."""
    step = network.num_vertices / num_vertices
    chosen = [int(number * step) for number in range(num_vertices)]
    num_edges = int(len(network.edges) / step)
    kept = torch.linspace(0, max(len(network.edges) - 1, 0), num_edges).long()
    return TextualNetwork(
        ids=[network.ids[vertex] for vertex in chosen],
        texts=[network.texts[vertex] for vertex in chosen],
        edges=network.edges[kept] % num_vertices,
        weights=None if network.weights is None else network.weights[kept],
        directed=network.directed,
    )
