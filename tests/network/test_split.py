"""Splits of the edges without leaks or losses, and draws of non-edges."""

import math
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from torch import Tensor

from dmte.errors import SplitError
from dmte.network import split as splits
from dmte.network.split import (
    EdgeSplit,
    check_no_leaks,
    draw_non_edges,
    draw_unlinked,
    pair_numbers,
    published_split,
    strict_split,
)
from dmte.network.textual_network import TextualNetwork
from peak import peak_on_top

NUM_VERTICES = 6
Edges = list[tuple[int, int]]
Pairs = set[tuple[int, int]]
Split = Callable[[TextualNetwork, float, torch.Generator], EdgeSplit]
SPLITS = [strict_split, published_split]
some_edges = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=25)
a_fraction = st.floats(0.05, 0.95)


def network_of(edges: Edges, *, directed: bool = False, size: int = NUM_VERTICES) -> TextualNetwork:
    """Network in which the n-th edge has the unique weight n + 1."""
    return TextualNetwork(
        ids=tuple(f"v{number}" for number in range(size)),
        texts=tuple(f"text {number}" for number in range(size)),
        edges=torch.tensor(edges, dtype=torch.int64).reshape(-1, 2),
        weights=torch.arange(len(edges), dtype=torch.float64) + 1,
        directed=directed,
        labels=(frozenset("x"),) * size,
    )


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def as_tuples(edges: Tensor) -> Edges:
    return [(source, target) for source, target in edges.tolist()]


def unordered(edges: Edges) -> Pairs:
    """Distinct pairs, smaller number first, without self-loops."""
    return {(min(edge), max(edge)) for edge in edges if edge[0] != edge[1]}


def ring(size: int) -> Edges:
    return [(vertex, (vertex + 1) % size) for vertex in range(size)]


@pytest.mark.parametrize("directed", [False, True])
@given(edges=some_edges, fraction=a_fraction)
@settings(max_examples=80, deadline=None, derandomize=True)
def test_a_strict_split_hides_pairs_without_leak_or_loss(
    directed: bool,  # noqa: FBT001
    edges: Edges,
    fraction: float,
) -> None:
    network, pairs = network_of(edges, directed=directed), unordered(edges)
    num_kept = round(len(pairs) * fraction)
    if not 0 < num_kept < len(pairs):
        with pytest.raises(SplitError, match=f"{len(pairs)} edges cannot be split"):
            strict_split(network, fraction, seeded())
        return
    split = strict_split(network, fraction, seeded())
    train, hidden = as_tuples(split.train.edges), as_tuples(split.hidden)
    assert unordered(train).isdisjoint(unordered(hidden))
    assert unordered(train) | unordered(hidden) == pairs
    assert len(unordered(train)) == num_kept
    expected = {edge for edge in edges if edge[0] != edge[1]} if directed else pairs
    assert sorted(train + hidden) == sorted(expected)


@pytest.mark.parametrize("directed", [False, True])
def test_a_strict_split_keeps_the_summed_weights(directed: bool) -> None:  # noqa: FBT001
    edges = [(0, 1), (1, 0), (0, 1), (2, 3), (3, 4), (4, 3), (5, 5), (0, 5)]
    network = network_of(edges, directed=directed)
    split = strict_split(network, 0.6, seeded())
    adjacency = network.adjacency().toarray()
    for (source, target), weight in zip(
        as_tuples(split.train.edges), split.train.edge_weights.tolist(), strict=True
    ):
        assert weight == adjacency[source, target]


@pytest.mark.parametrize("split", SPLITS)
def test_a_split_keeps_everything_but_the_edges(split: Split) -> None:
    network = network_of(ring(6), directed=True)
    train = split(network, 0.5, seeded()).train
    assert train.ids == network.ids
    assert train.texts == network.texts
    assert train.labels == network.labels
    assert train.directed
    assert as_tuples(network.edges) == ring(6)


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize(
    ("fraction", "num_kept"), [(0.15, 15), (0.55, 55), (0.95, 95), (0.001, 0), (0.999, 100)]
)
def test_the_share_that_is_kept_is_rounded(split: Split, fraction: float, num_kept: int) -> None:
    network = network_of(ring(100), size=100)
    if num_kept in (0, 100):
        with pytest.raises(SplitError, match="one side would be empty"):
            split(network, fraction, seeded())
        return
    found = split(network, fraction, seeded())
    assert len(found.train.edges) == num_kept
    assert len(found.hidden) == 100 - num_kept


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.1, 1.5, 55.0, math.nan, math.inf])
def test_a_fraction_out_of_range_raises(split: Split, fraction: float) -> None:
    with pytest.raises(SplitError, match=f"must be between 0 and 1, not {fraction}"):
        split(network_of(ring(6)), fraction, seeded())


@pytest.mark.parametrize("split", SPLITS)
def test_a_network_without_edges_cannot_be_split(split: Split) -> None:
    with pytest.raises(SplitError, match="0 edges cannot be split"):
        split(network_of([]), 0.5, seeded())


@pytest.mark.parametrize("split", SPLITS)
def test_the_same_generator_gives_the_same_split(split: Split) -> None:
    network = network_of(ring(100), size=100)
    first, again, other = (split(network, 0.5, seeded(seed)) for seed in (0, 0, 1))
    assert torch.equal(first.hidden, again.hidden)
    assert torch.equal(first.train.edges, again.train.edges)
    assert not torch.equal(first.hidden, other.hidden)


@pytest.mark.parametrize("split", SPLITS)
def test_every_edge_is_hidden_as_often_as_any_other(split: Split) -> None:
    network = network_of(ring(6))
    counts = dict.fromkeys(unordered(ring(6)), 0)
    for seed in range(120):
        for pair in unordered(as_tuples(split(network, 2 / 3, seeded(seed)).hidden)):
            counts[pair] += 1
    assert sum(counts.values()) == 240
    assert all(20 < count < 60 for count in counts.values())


@pytest.mark.parametrize("directed", [False, True])
@given(edges=some_edges, fraction=a_fraction)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_a_published_split_deals_out_the_edges_as_they_were_given(
    directed: bool,  # noqa: FBT001
    edges: Edges,
    fraction: float,
) -> None:
    num_kept = round(len(edges) * fraction)
    if not 0 < num_kept < len(edges):
        return
    split = published_split(network_of(edges, directed=directed), fraction, seeded())
    train, hidden = as_tuples(split.train.edges), as_tuples(split.hidden)
    assert len(train) == num_kept
    # Weights identify the training edges; all other edges are hidden.
    places = [int(weight) - 1 for weight in split.train.edge_weights.tolist()]
    assert train == [edges[place] for place in places]
    assert hidden == [edge for place, edge in enumerate(edges) if place not in places]
    assert places == sorted(places)


def split_of(train: Edges, hidden: Edges, *, directed: bool = False) -> EdgeSplit:
    return EdgeSplit(
        network_of(train, directed=directed),
        torch.tensor(hidden, dtype=torch.int64).reshape(-1, 2),
    )


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("leak", [(2, 3), (3, 2)], ids=["same direction", "reverse direction"])
def test_a_hidden_edge_that_is_trained_on_raises_by_name(
    leak: tuple[int, int],
    directed: bool,  # noqa: FBT001
) -> None:
    split = split_of([(0, 1), (2, 3)], [(4, 5), leak], directed=directed)
    with pytest.raises(SplitError, match=f"from 'v{leak[0]}' to 'v{leak[1]}'"):
        check_no_leaks(split)


def test_leaks_are_counted() -> None:
    split = split_of([(0, 1), (2, 3), (4, 5)], [(1, 0), (0, 5), (3, 2)])
    with pytest.raises(SplitError, match=r"^2 hidden edges .* from 'v1' to 'v0'"):
        check_no_leaks(split)


def test_a_hidden_self_loop_that_is_trained_on_raises() -> None:
    with pytest.raises(SplitError, match="from 'v2' to 'v2'"):
        check_no_leaks(split_of([(2, 2)], [(2, 2)]))


def test_edges_that_share_a_vertex_or_cross_are_not_leaks() -> None:
    check_no_leaks(split_of([(0, 1), (1, 2), (0, 5)], [(0, 2), (1, 5), (2, 2)]))
    check_no_leaks(split_of([], [(0, 1)]))
    check_no_leaks(split_of([(0, 1)], []))


def test_a_published_split_of_an_edge_given_twice_raises_when_it_leaks() -> None:
    with pytest.raises(SplitError, match="1 hidden edges are also training edges"):
        check_no_leaks(published_split(network_of([(0, 1), (1, 0)]), 0.5, seeded()))


@pytest.mark.slow
def test_pairs_of_a_large_network_stay_distinct_for_all_integer_types() -> None:
    """In 32 bits 32768 × 131072 is 0, which makes these two pairs one."""
    size = 131_072
    network = network_of([(0, 40_000)], size=size)
    narrow = network.with_edges(network.edges.int())
    check_no_leaks(EdgeSplit(narrow, torch.tensor([[32_768, 40_000]], dtype=torch.int32)))


@given(edges=some_edges)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_all_free_pairs_can_be_drawn(edges: Edges) -> None:
    free = set(combinations(range(NUM_VERTICES), 2)) - unordered(edges)
    drawn = as_tuples(draw_non_edges(network_of(edges), len(free), seeded()))
    assert len(drawn) == len(free)
    assert set(drawn) == free


@pytest.mark.parametrize("directed", [False, True])
@given(edges=some_edges, share=st.floats(0, 1))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_non_edges_are_distinct_pairs_without_an_edge(
    directed: bool,  # noqa: FBT001
    edges: Edges,
    share: float,
) -> None:
    free = set(combinations(range(NUM_VERTICES), 2)) - unordered(edges)
    count = int(share * len(free))
    drawn = as_tuples(draw_non_edges(network_of(edges, directed=directed), count, seeded()))
    assert len(drawn) == count
    assert len(unordered(drawn)) == count
    assert unordered(drawn) <= free


@pytest.mark.parametrize(
    ("edges", "free"),
    [([], 15), ([(0, 1), (1, 0), (2, 2)], 14), (list(combinations(range(6), 2)), 0)],
    ids=["no edges", "an edge twice and a self-loop", "complete"],
)
def test_more_pairs_than_are_free_raise(edges: Edges, free: int) -> None:
    network = network_of(edges)
    assert len(draw_non_edges(network, free, seeded())) == free
    with pytest.raises(SplitError, match=f"only {free} unlinked pairs, but {free + 1}"):
        draw_non_edges(network, free + 1, seeded())


def test_a_single_vertex_has_no_pairs() -> None:
    assert draw_non_edges(network_of([], size=1), 0, seeded()).shape == (0, 2)
    with pytest.raises(SplitError, match="only 0"):
        draw_non_edges(network_of([], size=1), 1, seeded())


def test_non_edges_are_drawn_uniformly() -> None:
    edges, rounds, count = [(0, 1), (2, 5), (4, 3)], 250, 4
    free = sorted(set(combinations(range(NUM_VERTICES), 2)) - unordered(edges))
    generator = seeded(1)
    network = network_of(edges)
    drawn = [
        pair for _ in range(rounds) for pair in as_tuples(draw_non_edges(network, count, generator))
    ]
    counts = np.array([drawn.count(pair) for pair in free])
    assert counts.sum() == rounds * count
    assert chisquare(counts).pvalue > 1e-3


def test_the_same_generator_gives_the_same_non_edges() -> None:
    network = network_of(ring(100), size=100)
    first, again, other = (draw_non_edges(network, 50, seeded(seed)) for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_neither_splitting_nor_drawing_touches_the_global_generator() -> None:
    before = torch.random.get_rng_state()
    network = network_of(ring(6))
    strict_split(network, 0.5, seeded())
    published_split(network, 0.5, seeded())
    draw_non_edges(network, 3, seeded())
    assert torch.equal(torch.random.get_rng_state(), before)


def drawn_at_once(
    network: TextualNetwork, edges: Tensor, count: int, generator: torch.Generator
) -> Tensor:
    """Draw all candidates, then all that clash again, until none does."""
    linked = pair_numbers(network.edges, network.num_vertices)
    others = torch.randint(network.num_vertices, (len(edges), count), generator=generator)
    sources = edges[:, :1].expand_as(others)
    while True:
        numbers = pair_numbers(torch.stack([sources, others], 2).flatten(0, 1), NUM_VERTICES)
        clash = torch.isin(numbers, linked).view_as(others) | (others == sources)
        if not bool(clash.any()):
            return others
        others[clash] = torch.randint(NUM_VERTICES, (int(clash.sum()),), generator=generator)


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
def test_candidates_do_not_depend_on_the_size_of_blocks(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(splits, "BLOCK", block)
    network = network_of([(0, 1), (0, 2), (3, 0), (4, 5), (5, 5), (1, 2)])
    for edges in (network.edges[:4], network.edges[:0]):
        same, others = draw_unlinked(network, edges, 9, seeded())
        assert same.equal(edges)
        assert others.equal(drawn_at_once(network, edges, 9, seeded()))
    loops = network_of([])
    _, others = draw_unlinked(loops, torch.tensor([[0, 1]]), 20, seeded())
    assert 0 not in others


@pytest.mark.medium
def test_candidates_of_many_edges_take_little_memory() -> None:
    """They take 160 MB; in one block, comparing them with the edges would take a gigabyte more."""
    size, count = 20_000, 200_000
    edges = torch.randint(size, (count, 2), generator=seeded())
    network = TextualNetwork(ids=tuple(map(str, range(size))), texts=[""] * size, edges=edges)
    assert peak_on_top(lambda: draw_unlinked(network, edges, 100, seeded())) < 450
