"""Splits of the edges into training edges and hidden edges to predict (section 5.1).

strict      drops self-loops and merges (i, j) with (j, i) before the split, so that no hidden edge
            is a training edge in either direction
published   splits the edges as given, with duplicates and self-loops, as in the published results
            of CANE and DMTE
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from dmte.errors import SplitError
from dmte.network.textual_network import TextualNetwork

BLOCK = 1 << 20
"""Drawn pairs that are compared with the edges at a time, which takes about 100 MB."""


@dataclass(frozen=True, slots=True, eq=False)
class EdgeSplit:
    """A training network and the edges that are hidden from it."""

    train: TextualNetwork
    hidden: Int[Tensor, "hidden 2"]


def strict_split(
    network: TextualNetwork, train_fraction: float, generator: torch.Generator
) -> EdgeSplit:
    """Keep a fraction of the edges and hide the rest, without leaks.

    Raises:
        SplitError: One of the two sides would be empty.
    """
    edges, weights = network.distinct_edges()
    proper = edges[:, 0] != edges[:, 1]
    edges, weights = edges[proper], weights[proper]
    # In a directed network, (i, j) and (j, i) are one pair and stay on the same side.
    pairs = pair_numbers(edges, network.num_vertices).unique(return_inverse=True)[1]
    chosen, _ = _shuffled(int(pairs.max()) + 1 if len(pairs) else 0, train_fraction, generator)
    kept = torch.isin(pairs, chosen)
    split = EdgeSplit(network.with_edges(edges[kept], weights[kept]), edges[~kept])
    check_no_leaks(split)
    return split


def published_split(
    network: TextualNetwork, train_fraction: float, generator: torch.Generator
) -> EdgeSplit:
    """Keep a fraction of the edges, as they were given, and hide the rest.

    Raises:
        SplitError: One of the two sides would be empty.
    """
    kept, hidden = _shuffled(len(network.edges), train_fraction, generator)
    train = network.with_edges(network.edges[kept], network.edge_weights[kept])
    return EdgeSplit(train, network.edges[hidden])


def check_no_leaks(split: EdgeSplit) -> None:
    """Check that no hidden edge is a training edge in either direction.

    Raises:
        SplitError: A hidden edge is also a training edge.
    """
    leaks = _are_trained_on(split.train, split.hidden)
    if bool(leaks.any()):
        ends = [split.train.ids[end] for end in split.hidden[leaks][0].tolist()]
        raise SplitError(
            f"{int(leaks.sum())} hidden edges are also training edges, the first from "
            f"{ends[0]!r} to {ends[1]!r}; use strict_split"
        )


@dataclass(frozen=True, slots=True)
class Leaks:
    """Numbers of hidden edges that can be inferred from the training edges."""

    self_loops: int
    """Self-loops; a vertex is always closest to itself."""
    trained_on: int
    """Edges that also occur among the training edges, often reversed."""


def count_leaks(train: TextualNetwork, hidden: Int[Tensor, "hidden 2"]) -> Leaks:
    """Count hidden edges that are self-loops, and others that are also training edges."""
    is_loop = hidden[:, 0] == hidden[:, 1]
    leaks = _are_trained_on(train, hidden) & ~is_loop
    return Leaks(self_loops=int(is_loop.sum()), trained_on=int(leaks.sum()))


def draw_non_edges(
    network: TextualNetwork, count: int, generator: torch.Generator
) -> Int[Tensor, "count 2"]:
    """Draw ``count`` distinct pairs of vertices uniformly from the pairs without an edge.

    Raises:
        SplitError: Fewer than ``count`` such pairs exist.
    """
    num_vertices = network.num_vertices
    proper = network.edges[network.edges[:, 0] != network.edges[:, 1]]
    edges = pair_numbers(proper, num_vertices).unique()
    num_pairs = num_vertices * (num_vertices - 1) // 2
    free = num_pairs - len(edges)
    if count > free:
        raise SplitError(f"there are only {free} unlinked pairs, but {count} are needed")
    # One round usually suffices, even if few pairs are free.
    round_size = 2 * count * num_pairs // max(free, 1) + 16
    drawn = torch.empty(0, dtype=torch.int64)
    while len(drawn) < count:
        pairs = torch.randint(num_vertices, (round_size, 2), generator=generator)
        numbers = pair_numbers(pairs[pairs[:, 0] != pairs[:, 1]], num_vertices)
        drawn = _first_occurrences(torch.cat([drawn, numbers[~torch.isin(numbers, edges)]]))
    drawn = drawn[:count]
    return torch.stack([drawn // num_vertices, drawn % num_vertices], dim=1)


def draw_unlinked(
    network: TextualNetwork, edges: Int[Tensor, "edges 2"], count: int, generator: torch.Generator
) -> tuple[Int[Tensor, "edges 2"], Int[Tensor, "edges count"]]:
    """Draw for each edge (i, j) ``count`` vertices r without an edge between i and r.

    An edge is reversed if its first end is linked to every vertex; the edges are returned too.

    Raises:
        SplitError: Both ends of an edge are linked to every vertex.
    """
    num_vertices = network.num_vertices
    linked = pair_numbers(network.edges, num_vertices).unique()
    proper = linked[linked // num_vertices != linked % num_vertices]
    ends = torch.cat([proper // num_vertices, proper % num_vertices])
    is_full = torch.bincount(ends, minlength=num_vertices) == num_vertices - 1
    if bool(is_full[edges].all(dim=1).any()):
        raise SplitError(
            "both ends of an edge are linked to every vertex; it cannot be ranked among non-edges"
        )
    edges = torch.where(is_full[edges[:, :1]], edges.flip(1), edges)
    others = torch.randint(num_vertices, (len(edges), count), generator=generator)
    drawn, sources = others.view(-1), edges[:, 0]

    def clashes(places: Int[Tensor, " some"]) -> Int[Tensor, " clashing"]:
        pairs = torch.stack([sources[places // count], drawn[places]], dim=1)
        is_loop = pairs[:, 0] == pairs[:, 1]
        return places[_occur_in(linked, pair_numbers(pairs, num_vertices)) | is_loop]

    found = torch.cat([clashes(places) for places in torch.arange(drawn.numel()).split(BLOCK)])
    while len(found):
        drawn[found] = torch.randint(num_vertices, (len(found),), generator=generator)
        found = clashes(found)
    return edges, others


def _occur_in(
    ordered: Int[Tensor, " distinct"], numbers: Int[Tensor, " numbers"]
) -> Bool[Tensor, " numbers"]:
    """Return which numbers are among distinct ascending ones, without sorting the numbers."""
    if len(ordered) == 0:
        return torch.zeros(len(numbers), dtype=torch.bool)
    places = torch.searchsorted(ordered, numbers).clamp_(max=len(ordered) - 1)
    return ordered[places] == numbers


def _are_trained_on(
    train: TextualNetwork, hidden: Int[Tensor, "hidden 2"]
) -> Bool[Tensor, " hidden"]:
    """Mask of the hidden edges that are also training edges, in either direction."""
    num_vertices = train.num_vertices
    return torch.isin(pair_numbers(hidden, num_vertices), pair_numbers(train.edges, num_vertices))


def pair_numbers(pairs: Int[Tensor, "pairs 2"], num_vertices: int) -> Int[Tensor, " pairs"]:
    """Unique number of each unordered pair."""
    ends: Tensor = pairs.long().sort(dim=1).values
    return ends[:, 0] * num_vertices + ends[:, 1]


def _first_occurrences(numbers: Int[Tensor, " numbers"]) -> Int[Tensor, " distinct"]:
    distinct, which = numbers.unique(return_inverse=True)
    first = torch.full((len(distinct),), len(numbers))
    first.scatter_reduce_(0, which, torch.arange(len(numbers)), "amin")
    return numbers[first.sort().values]


def _shuffled(
    count: int, train_fraction: float, generator: torch.Generator
) -> tuple[Int[Tensor, " kept"], Int[Tensor, " hidden"]]:
    if not 0 < train_fraction < 1:
        raise SplitError(f"train_fraction must be between 0 and 1, not {train_fraction}")
    num_kept = round(count * train_fraction)
    if not 0 < num_kept < count:
        raise SplitError(
            f"{count} edges cannot be split with a training fraction of {train_fraction:g}: "
            "one side would be empty"
        )
    order = torch.randperm(count, generator=generator)
    return order[:num_kept].sort().values, order[num_kept:].sort().values
