"""Connections between two vertices: common neighbors, and the strongest routes.

Diffusion mixes the text of vertex k into the vectors of i and j if walks from both reach k. A route
is such a pair of walks, i → … → k ← … ← j. Its strength is the product of the probabilities in P
along both walks. In an undirected network, a route is a path from i to j. The most probable walk
from i to k in h steps follows from a recurrence:

    best_h(k) = max_m best_{h-1}(m) P[m, k]        best_0(i) = 1
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int

from dmte.network import TextualNetwork

MAX_MEETINGS = 50  # Meeting vertices tried per pair of lengths, the strongest ones.


class Route(NamedTuple):
    """Two walks, from two vertices to the vertex where they meet."""

    vertices: tuple[int, ...]
    """Positions of the vertices, from one end to the other."""
    meeting: int
    """Index in ``vertices`` of the meeting vertex."""
    strength: float


def common_neighbors(network: TextualNetwork, i: int, j: int) -> list[int]:
    """Return the vertices with an edge, in either direction, to both ``i`` and ``j``.

    >>> import torch
    >>> edges = torch.tensor([[0, 1], [1, 2], [0, 2]])
    >>> network = TextualNetwork(ids=("a", "b", "c"), texts=("", "", ""), edges=edges)
    >>> common_neighbors(network, 0, 2)
    [1]
    """
    first, second = (_with_neighbors(network, vertex) for vertex in (i, j))
    return sorted((first & second) - {i, j})


def linked(network: TextualNetwork, i: int, j: int) -> bool:
    """Return whether an edge joins ``i`` and ``j``, in either direction."""
    return j in _with_neighbors(network, i)


def _with_neighbors(network: TextualNetwork, vertex: int) -> set[int]:
    touching = network.edges[(network.edges == vertex).any(dim=1)]
    return set(touching.flatten().tolist())


def strongest_routes(transition: sp.csr_array, i: int, j: int, steps: int) -> list[Route]:
    """Return the strongest routes from ``i`` to ``j``, best first; ``transition`` is P.

    Each walk has at most ``steps`` steps. A route has at most ``steps`` + 1 steps in total, or the
    length of the shortest route if that is longer, and contains no vertex twice. For each meeting
    vertex and pair of lengths, only the most probable walks are considered.
    """
    one, other = (_Walks.of(transition, start, steps) for start in (i, j))
    found: dict[tuple[int, ...], Route] = {}
    for total in range(1, 2 * steps + 1):
        if found and total > steps + 1:
            break
        for forth in range(max(0, total - steps), min(total, steps) + 1):
            for route in _meet(one, other, forth, total - forth):
                known = found.get(route.vertices)
                if known is None or route.strength > known.strength:
                    found[route.vertices] = route
    return sorted(found.values(), key=lambda route: (-route.strength, route.vertices))


class _Walks(NamedTuple):
    """The most probable walks from one vertex to all others, by number of steps."""

    strengths: list[Float[np.ndarray, " vertices"]]
    """Probability of the best walk of h steps to each vertex; 0 if there is none."""
    previous: list[Int[np.ndarray, " vertices"]]
    """The previous vertex on that walk."""

    @classmethod
    def of(cls, transition: sp.csr_array, start: int, steps: int) -> "_Walks":
        num_vertices = transition.shape[0]
        strengths, previous = [np.zeros(num_vertices)], [np.full(num_vertices, -1)]
        strengths[0][start] = 1.0
        for _ in range(steps):
            sources = np.flatnonzero(strengths[-1])
            onward = transition[sources].tocoo()
            values = strengths[-1][sources[onward.row]] * onward.data
            best, before = np.zeros(num_vertices), np.full(num_vertices, -1)
            np.maximum.at(best, onward.col, values)
            wins = values == best[onward.col]
            before[onward.col[wins]] = sources[onward.row[wins]]
            strengths.append(best)
            previous.append(before)
        return cls(strengths, previous)

    def to(self, vertex: int, steps: int) -> list[int]:
        """Return the vertices of the best walk with ``steps`` steps, in order."""
        walk = [vertex]
        for step in range(steps, 0, -1):
            walk.append(int(self.previous[step][walk[-1]]))
        return walk[::-1]


def _meet(one: _Walks, other: _Walks, forth: int, back: int) -> list[Route]:
    """Combine walks of ``forth`` steps from ``one`` with walks of ``back`` steps from ``other``."""
    strengths = one.strengths[forth] * other.strengths[back]
    order = np.argsort(-strengths, kind="stable")[:MAX_MEETINGS]
    routes = []
    for vertex in order[strengths[order] > 0].tolist():
        vertices = (*one.to(vertex, forth), *other.to(vertex, back)[-2::-1])
        if len(set(vertices)) == len(vertices):
            routes.append(Route(vertices, forth, float(strengths[vertex])))
    return routes
