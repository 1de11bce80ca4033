"""How two vertices hang together in the graph: common neighbors, and routes between them.

Texts travel against the walker: that of vertex k is mixed into those of i and j if walkers from
both can come to k. A route is such a pair of walks, i → … → k ← … ← j, and its strength is the
product of the probabilities P along both. In an undirected network it is a path from i to j. Of the
walks from i to k in h steps the likeliest is found step by step:

    best_h(k) = max_m best_{h-1}(m) P[m, k]        best_0(i) = 1
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int

from dmte.network import TextualNetwork

MEETINGS = 50  # Vertices tried per pair of lengths; a hub's many others are all weaker.


class Route(NamedTuple):
    """A walk from each of two vertices to where they meet."""

    vertices: tuple[int, ...]
    """From the one to the other, as positions."""
    meeting: int
    """Where in ``vertices`` the walks meet."""
    strength: float


def common_neighbors(network: TextualNetwork, i: int, j: int) -> list[int]:
    """Return the vertices that share an edge, in either direction, with both ``i`` and ``j``.

    >>> import torch
    >>> edges = torch.tensor([[0, 1], [1, 2], [0, 2]])
    >>> network = TextualNetwork(ids=("a", "b", "c"), texts=("", "", ""), edges=edges)
    >>> common_neighbors(network, 0, 2)
    [1]
    """
    first, second = (_touching(network, vertex) for vertex in (i, j))
    return sorted((first & second) - {i, j})


def linked(network: TextualNetwork, i: int, j: int) -> bool:
    """Return whether an edge joins the two, in either direction."""
    return j in _touching(network, i)


def _touching(network: TextualNetwork, vertex: int) -> set[int]:
    touching = network.edges[(network.edges == vertex).any(dim=1)]
    return set(touching.flatten().tolist())


def strongest_routes(transition: sp.csr_array, i: int, j: int, steps: int) -> list[Route]:
    """Return routes from ``i`` to ``j`` of at most ``steps`` steps on either side, best first.

    For every vertex where they may meet it is the likeliest. They have at most ``steps`` + 1
    steps in all, or as many as the shortest if that is longer, and pass a vertex once.
    ``transition`` is P.
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
    """The likeliest walks from one vertex to every other, by their number of steps."""

    strengths: list[Float[np.ndarray, " vertices"]]
    """Of the likeliest walk of h steps to a vertex; 0 if there is none."""
    previous: list[Int[np.ndarray, " vertices"]]
    """The last vertex before, on that walk."""

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
        """Return the vertices of the likeliest walk of that many steps, in order."""
        walk = [vertex]
        for step in range(steps, 0, -1):
            walk.append(int(self.previous[step][walk[-1]]))
        return walk[::-1]


def _meet(one: _Walks, other: _Walks, forth: int, back: int) -> list[Route]:
    """Return the strongest routes of ``forth`` steps from the one and ``back`` from the other."""
    strengths = one.strengths[forth] * other.strengths[back]
    order = np.argsort(-strengths, kind="stable")[:MEETINGS]
    routes = []
    for vertex in order[strengths[order] > 0].tolist():
        vertices = (*one.to(vertex, forth), *other.to(vertex, back)[-2::-1])
        if len(set(vertices)) == len(vertices):
            routes.append(Route(vertices, forth, float(strengths[vertex])))
    return routes
