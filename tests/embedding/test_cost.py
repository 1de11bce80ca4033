"""Costs: a smaller network is like the one it is for, and times follow a straight line."""

import pytest
import torch

from dmte.embedding import cost
from dmte.embedding.cost import SAMPLE, fastest_seconds, seconds_by_size, smaller_network
from dmte.network import TextualNetwork
from dmte.network.synthetic import PlantedTopics


def draw(num_vertices: int) -> TextualNetwork:
    return PlantedTopics(num_vertices=num_vertices).draw(torch.Generator().manual_seed(0))


def test_a_smaller_network_has_as_many_edges_and_words_a_vertex() -> None:
    network = draw(400)
    small = smaller_network(network, 100)
    assert small.num_vertices == 100
    assert len(small.edges) == len(network.edges) // 4
    assert set(small.texts) <= set(network.texts)
    assert smaller_network(network.with_edges(network.edges[:0]), 100).edges.shape == (0, 2)


def test_times_are_a_fixed_part_and_one_per_vertex(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(cost, "perf_counter", lambda: clock[0])

    def work(network: TextualNetwork) -> None:
        clock[0] += 3.0 + 0.5 * network.num_vertices

    for size in (50, SAMPLE + 1000):
        assert seconds_by_size(work, draw(size)) == pytest.approx(3.0 + 0.5 * size)


def test_the_fastest_run_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([0.0, 5.0, 5.0, 6.0])
    monkeypatch.setattr(cost, "perf_counter", lambda: next(ticks))
    assert fastest_seconds(lambda: None) == 1.0
