"""Training edges: renumbered, in both directions, and split from validation edges."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dmte.network import TextualNetwork
from dmte.recipes import PAPER
from dmte.settings import Settings
from dmte.training.edges import (
    MAX_EPOCH_EDGES,
    SupervisedEdges,
    even_parts,
    repeats_edges,
    sample_unlinked,
)
from dmte.training.validation import split_validation


def network_of(edges: list[list[int]], *, directed: bool = False) -> TextualNetwork:
    return TextualNetwork(
        ids=tuple("abcdefg"),
        texts=("",) * 7,
        edges=torch.tensor(edges),
        weights=torch.arange(1.0, len(edges) + 1),
        directed=directed,
    )


def test_members_are_the_vertices_with_edges() -> None:
    edges = SupervisedEdges.of(network_of([[1, 4], [4, 6]]))
    assert edges.members.tolist() == [1, 4, 6]
    assert edges.edges.tolist() == [[0, 1], [1, 2]]


def test_members_may_include_vertices_without_edges() -> None:
    edges = SupervisedEdges.of(network_of([[1, 4], [4, 6]]), torch.tensor([5, 0]))
    assert edges.members.tolist() == [0, 1, 4, 5, 6]
    assert edges.edges.tolist() == [[1, 2], [2, 4]]
    assert edges.are_linked().tolist() == [False, True, True, False, True]
    assert edges.out_degrees().tolist() == [0, 1, 3, 0, 2]


def test_no_more_unlinked_vertices_are_sampled_than_linked_ones() -> None:
    for pairs, drawn_from, count in (
        ([[1, 4]], {0, 2, 3, 5, 6}, 2),
        ([[0, 1], [2, 3]], {4, 5, 6}, 3),
    ):
        drawn = sample_unlinked(network_of(pairs), seed=0).tolist()
        assert len(set(drawn)) == count
        assert set(drawn) <= drawn_from


def test_at_most_5000_unlinked_vertices_are_sampled() -> None:
    pairs = torch.arange(5200).reshape(-1, 2)
    network = TextualNetwork(ids=tuple(map(str, range(10_400))), texts=("",) * 10_400, edges=pairs)
    drawn = sample_unlinked(network, seed=0)
    assert len(drawn.unique()) == 5000
    assert int(drawn.min()) >= 5200


def test_undirected_edges_count_both_ways_and_self_loops_once() -> None:
    batch = SupervisedEdges.of(network_of([[0, 1], [2, 2]])).directed(torch.tensor([0, 1]))
    pairs = zip(batch.source.tolist(), batch.target.tolist(), batch.weights.tolist(), strict=True)
    assert sorted(pairs) == [(0, 1, 1.0), (1, 0, 1.0), (2, 2, 2.0)]


@pytest.mark.parametrize("directed", [False, True])
def test_paired_edges_are_the_directed_ones_side_by_side(*, directed: bool) -> None:
    edges = SupervisedEdges.of(network_of([[0, 1], [2, 2], [3, 2]], directed=directed))
    first, second = edges.directed(torch.arange(3)), edges.paired(torch.arange(3))
    pairs, paired = (
        list(zip(some.source.tolist(), some.target.tolist(), some.weights.tolist(), strict=True))
        for some in (first, second)
    )
    assert sorted(pairs) == sorted(paired)
    if not directed:
        assert [sorted(pair[:2]) for pair in paired] == [[0, 1], [0, 1], [2, 2], [2, 3], [2, 3]]


def test_directed_edges_count_one_way() -> None:
    edges = SupervisedEdges.of(network_of([[1, 0], [0, 1]], directed=True))
    batch = edges.directed(torch.tensor([1]))
    assert (batch.source.tolist(), batch.target.tolist()) == ([1], [0])


def test_out_degrees_are_the_row_sums_of_s() -> None:
    for directed in (False, True):
        network = network_of([[0, 1], [1, 0], [1, 2], [3, 3]], directed=directed)
        edges = SupervisedEdges.of(network)
        sums = torch.from_numpy(network.adjacency().sum(axis=1))
        torch.testing.assert_close(edges.out_degrees(), sums[edges.members])


@given(number=st.integers(1, 400), size=st.integers(1, 120))
def test_even_parts_have_all_numbers_once_and_nearly_equal_lengths(number: int, size: int) -> None:
    numbers = torch.randperm(number, generator=torch.Generator().manual_seed(number))
    parts = even_parts(numbers, size)
    assert torch.equal(torch.cat(parts), numbers)
    lengths = [len(part) for part in parts]
    assert max(lengths) <= size
    assert max(lengths) - min(lengths) <= 1
    assert size * (len(parts) - 1) < number  # Fewer parts would be too long.


@pytest.mark.parametrize("epochs", [1, 2, 8])
def test_edges_are_repeated_if_all_epochs_have_more_than_there_are(epochs: int) -> None:
    settings = Settings(epochs=epochs)
    all_seen = epochs * MAX_EPOCH_EDGES
    found = {number: repeats_edges(settings, number) for number in (1000, all_seen - 1, all_seen)}
    assert found == {1000: epochs > 1, all_seen - 1: epochs > 1, all_seen: False}
    # Every epoch of a learned encoder has all edges.
    assert repeats_edges(replace(PAPER, epochs=2), 10**7)


def test_a_validation_fraction_of_zero_holds_out_nothing(planted: TextualNetwork) -> None:
    assert split_validation(planted, 0.0, seed=0) == (planted, None)


def test_validation_edges_are_neither_training_edges_nor_non_edges(
    planted: TextualNetwork,
) -> None:
    train, validation = split_validation(planted, 0.3, seed=0)
    assert validation is not None

    def pairs(edges: torch.Tensor) -> set[tuple[int, ...]]:
        return {tuple(sorted(edge)) for edge in edges.tolist()}

    given = {pair for pair in pairs(planted.edges) if pair[0] != pair[1]}
    assert pairs(train.edges) | pairs(validation.edges) == given
    assert not pairs(train.edges) & pairs(validation.edges)
    assert not pairs(validation.non_edges) & given
    assert len(validation.non_edges) >= len(validation.edges)
