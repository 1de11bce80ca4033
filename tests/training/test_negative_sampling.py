"""Negative samples follow the noise distribution and are never ends of their edge."""

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from torch import Tensor

from dmte.errors import TrainingError
from dmte.training.negative_sampling import NOISE_POWER, NegativeSampler

DEGREES = [3.0, 1.0, 0.0, 10.0, 2.5, 40.0, 1.0, 7.0]
HIGHEST = len(DEGREES) - 1
# The two ends of an edge: neighbors, extremes, both orders, self-loops, a vertex of no degree.
ENDS = [(3, 4), (4, 3), (0, HIGHEST), (HIGHEST, 0), (0, 1), (6, 7), (5, 1), (3, 3), (0, 0)]
ENDS += [(HIGHEST, HIGHEST), (2, 5), (2, 2)]
NUM_DRAWS = 60_000


def sampler_of(degrees: list[float]) -> NegativeSampler:
    return NegativeSampler(torch.tensor(degrees, dtype=torch.float64) ** NOISE_POWER)


def draw(
    degrees: list[float], source: int, target: int, count: int = NUM_DRAWS, seed: int = 0
) -> list[int]:
    """Return negatives for one edge, spread over a batch and several per edge."""
    per_edge = 10
    batch = torch.full((count // per_edge,), source), torch.full((count // per_edge,), target)
    drawn = sampler_of(degrees).draw(*batch, per_edge, torch.Generator().manual_seed(seed))
    return drawn.flatten().tolist()


def expected_shares(degrees: list[float], source: int, target: int) -> np.ndarray:
    """Return d_v^{3/4}, zero for the two ends, scaled to sum to one."""
    shares = np.array(
        [0.0 if v in (source, target) else degree**0.75 for v, degree in enumerate(degrees)]
    )
    scaled: np.ndarray = shares / shares.sum()
    return scaled


def assert_follow(drawn: list[int], shares: np.ndarray) -> None:
    counts = np.bincount(drawn, minlength=len(shares))
    possible = shares > 0
    assert counts[~possible].sum() == 0
    if possible.sum() > 1:  # With one vertex the proportions are trivial.
        assert chisquare(counts[possible], len(drawn) * shares[possible]).pvalue > 1e-3


@pytest.mark.parametrize(("source", "target"), ENDS)
def test_negatives_follow_the_degrees_to_the_three_quarters_without_the_ends(
    source: int, target: int
) -> None:
    drawn = draw(DEGREES, source, target)
    assert_follow(drawn, expected_shares(DEGREES, source, target))


def test_every_edge_of_a_batch_has_its_own_distribution() -> None:
    repeats = 5000
    source, target = (torch.tensor(side).repeat(repeats) for side in zip(*ENDS, strict=True))
    drawn = sampler_of(DEGREES).draw(source, target, 2, torch.Generator().manual_seed(1))
    for number, ends in enumerate(ENDS):
        assert_follow(
            drawn[number :: len(ENDS)].flatten().tolist(), expected_shares(DEGREES, *ends)
        )


def test_the_negatives_of_one_edge_are_drawn_independently() -> None:
    edges = torch.full((20_000,), 3), torch.full((20_000,), 4)
    drawn = sampler_of(DEGREES).draw(*edges, 2, torch.Generator().manual_seed(0))
    shares = expected_shares(DEGREES, 3, 4)
    pairs = (drawn[:, 0] * len(DEGREES) + drawn[:, 1]).tolist()
    assert_follow(pairs, np.outer(shares, shares).flatten())


@pytest.mark.parametrize("hub", [0, 3, 9])
def test_a_hub_with_almost_all_of_the_mass_is_never_drawn_for_its_own_edges(hub: int) -> None:
    degrees = [1.0] * 10
    degrees[hub] = (9 * 999.0) ** (4 / 3)
    for other in (0, 5, 9):
        for ends in ((hub, other), (other, hub)):
            assert_follow(draw(degrees, *ends), expected_shares(degrees, *ends))


def test_two_hubs_with_almost_all_of_the_mass_are_never_drawn_for_their_edge() -> None:
    degrees = [1e6, 1.0, 2.0, 3.0, 1e6]
    assert_follow(draw(degrees, 0, 4), expected_shares(degrees, 0, 4))
    assert_follow(draw(degrees, 4, 0), expected_shares(degrees, 4, 0))


@pytest.mark.parametrize("other", [1, 3, 4])
def test_rounding_never_draws_an_end_or_a_vertex_without_degree(other: int) -> None:
    """In double precision the shares of the others vanish beside the hub's."""
    degrees = [1e30, 1.0, 0.0, 1.0, 1.0, 0.0]
    possible = {1, 3, 4} - {other}
    for ends in ((0, other), (other, 0)):
        assert set(draw(degrees, *ends, count=1000)) <= possible


def test_a_hub_is_drawn_for_the_edges_of_others() -> None:
    degrees = [1.0, 1.0, 1e6, 1.0]
    drawn = draw(degrees, 0, 1, count=1000)
    assert drawn.count(2) > 990


def test_vertices_of_no_degree_are_never_drawn_while_three_have_one() -> None:
    degrees = [0.0, 5.0, 0.0, 1.0, 0.0, 2.0, 0.0]
    for ends in ((1, 3), (3, 1), (0, 6), (2, 5), (6, 6), (1, 1)):
        assert_follow(draw(degrees, *ends), expected_shares(degrees, *ends))


@pytest.mark.parametrize("position", [0, 1, 2])
def test_the_last_vertex_left_is_always_drawn(position: int) -> None:
    source, target = (vertex for vertex in range(3) if vertex != position)
    assert set(draw([1.0, 1e-3, 1e3], source, target, count=1000)) == {position}


@pytest.mark.parametrize(
    "degrees",
    [[4.0, 0.0, 0.0, 0.0, 0.0], [0.0, 3.0, 0.0, 0.0, 8.0], [0.0] * 5],
    ids=["a star", "two", "none"],
)
def test_draws_are_uniform_if_fewer_than_three_vertices_have_a_degree(degrees: list[float]) -> None:
    for ends in ((0, 1), (4, 1), (0, 0)):
        assert_follow(draw(degrees, *ends), expected_shares([1.0] * 5, *ends))


@pytest.mark.parametrize("count", [0, 1, 2])
def test_fewer_than_three_vertices_raise(count: int) -> None:
    with pytest.raises(TrainingError, match=f"only {count} vertices have an edge"):
        sampler_of([1.0] * count)


def test_draws_have_one_row_per_edge_and_one_column_per_negative() -> None:
    sampler = sampler_of(DEGREES)
    for batch, num_negatives in ((3, 4), (1, 1), (0, 2)):
        edges = torch.zeros(batch, dtype=torch.int64), torch.ones(batch, dtype=torch.int64)
        drawn = sampler.draw(*edges, num_negatives, torch.Generator().manual_seed(0))
        assert drawn.shape == (batch, num_negatives)
        assert drawn.dtype == torch.int64


def test_the_same_generator_gives_the_same_negatives() -> None:
    first, again, other = (draw(DEGREES, 0, 1, count=100, seed=seed) for seed in (0, 0, 1))
    assert first == again
    assert first != other


def test_the_global_generator_is_not_used() -> None:
    before = torch.random.get_rng_state()
    draw(DEGREES, 0, 1, count=100)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_degrees_may_be_single_precision_and_do_not_change() -> None:
    degrees = torch.tensor(DEGREES)
    before = degrees.clone()
    sampler = NegativeSampler(degrees**NOISE_POWER)
    assert torch.equal(degrees, before)
    expected: Tensor = torch.tensor(DEGREES, dtype=torch.float64) ** 0.75
    torch.testing.assert_close(sampler.noise, expected)


def test_negatives_among_many_vertices_are_never_an_end() -> None:
    """Sums over 100,000 shares are rounded, which must not push a draw onto an end."""
    generator = torch.Generator().manual_seed(0)
    degrees = torch.rand(100_000, generator=generator, dtype=torch.float64) ** 8 * 1e6
    source, target = torch.randint(100_000, (2, 50_000), generator=generator)
    drawn = NegativeSampler(degrees**NOISE_POWER).draw(source, target, 3, generator)
    assert bool(((drawn != source.unsqueeze(1)) & (drawn != target.unsqueeze(1))).all())
    assert bool((drawn >= 0).all())
    assert bool((drawn < 100_000).all())


def test_shared_negatives_are_different_and_follow_the_noise() -> None:
    noise = torch.tensor([0.0, 1.0, 3.0]).repeat_interleave(500)
    sampler, generator = NegativeSampler(noise), torch.Generator().manual_seed(1)
    draws = [sampler.draw_shared(60, generator) for _ in range(300)]
    assert all(len(drawn.unique()) == len(drawn) <= 60 for drawn in draws)
    assert not torch.equal(draws[0], draws[1])
    counts = torch.bincount(torch.cat(draws), minlength=1500).view(3, 500).sum(dim=1)
    assert counts[0] == 0
    # Repeated draws count once, so that frequent vertices have a little less than their share.
    assert 2.8 < float(counts[2] / counts[1]) < 3.05


def test_shared_negatives_are_all_vertices_if_there_are_not_more() -> None:
    generator = torch.Generator().manual_seed(0)
    before = generator.get_state()
    drawn = NegativeSampler(torch.ones(50)).draw_shared(50, generator)
    assert drawn.tolist() == list(range(50))
    assert torch.equal(generator.get_state(), before)
