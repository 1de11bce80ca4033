"""Generators are reproducible, independent, and never global."""

import math

import pytest
import torch
from torch import Tensor

from dmte.runtime.seeding import CUT, STANDARD_DEVIATION, generator_for, truncated_gaussian


def draws(seed: int, purpose: str, step: int) -> Tensor:
    return torch.rand(8, generator=generator_for(seed, purpose, step))


def test_the_same_arguments_give_the_same_draws() -> None:
    assert torch.equal(draws(7, "order", 3), draws(7, "order", 3))


@pytest.mark.parametrize(
    "other",
    [(8, "order", 3), (-7, "order", 3), (7, "negatives", 3), (7, "order", 4), (7, "order", 0)],
    ids=str,
)
def test_another_seed_purpose_or_step_gives_other_draws(other: tuple[int, str, int]) -> None:
    assert not torch.equal(draws(*other), draws(7, "order", 3))


def test_seed_and_step_do_not_run_into_each_other() -> None:
    assert not torch.equal(draws(1, "order", 12), draws(11, "order", 2))
    assert not torch.equal(draws(1, "order1", 2), draws(1, "order", 12))


def test_the_default_step_is_zero() -> None:
    assert torch.equal(torch.rand(8, generator=generator_for(7, "order")), draws(7, "order", 0))


def test_earlier_draws_do_not_matter() -> None:
    used = generator_for(7, "order", 3)
    torch.rand(100, generator=used)
    assert torch.equal(torch.rand(8, generator=generator_for(7, "order", 3)), draws(7, "order", 3))


def test_the_global_generator_is_left_alone() -> None:
    before = torch.random.get_rng_state()
    truncated_gaussian(10, 10, generator_for(0, "parameters"))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_truncated_gaussian_depends_on_its_generator_alone() -> None:
    first, again = (truncated_gaussian(4, 5, generator_for(1, "a")) for _ in range(2))
    assert torch.equal(first, again)
    assert not torch.equal(first, truncated_gaussian(4, 5, generator_for(2, "a")))


def test_a_truncated_gaussian_is_a_parameter_of_the_given_shape() -> None:
    table = truncated_gaussian(4, 5, generator_for(0, "a"))
    assert isinstance(table, torch.nn.Parameter)
    assert table.requires_grad
    assert table.shape == (4, 5)
    assert truncated_gaussian(0, 5, generator_for(0, "a")).shape == (0, 5)


def test_a_truncated_gaussian_stays_within_its_bounds_and_fills_them() -> None:
    table = truncated_gaussian(400, 500, generator_for(0, "a")).detach()
    bound = 2 * 0.3
    assert bound == CUT * STANDARD_DEVIATION
    assert float(table.abs().max()) <= bound
    assert float(table.max()) > 0.99 * bound
    assert float(table.min()) < -0.99 * bound


def test_a_truncated_gaussian_has_the_moments_of_the_formula() -> None:
    """Cut at ±c σ, N(0, σ²) has the variance σ² (1 - 2 c φ(c) / (2 Φ(c) - 1))."""
    table = truncated_gaussian(400, 500, generator_for(0, "a")).detach().double()
    density = math.exp(-2.0) / math.sqrt(2 * math.pi)
    variance = 0.3**2 * (1 - 4 * density / math.erf(math.sqrt(2.0)))
    assert float(table.mean()) == pytest.approx(0, abs=0.003)
    assert float(table.std()) == pytest.approx(math.sqrt(variance), rel=0.01)
    within_one = float((table.abs() < 0.3).double().mean())
    assert within_one == pytest.approx(
        math.erf(math.sqrt(0.5)) / math.erf(math.sqrt(2.0)), abs=0.005
    )
