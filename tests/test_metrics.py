"""Metrics equal slow loops."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dmte.metrics import PairScores, auc, auc_difference_error, average_precision, mean_ranks

# Few different values, so that most examples have ties.
scores = st.lists(st.sampled_from([-2.5, -1.0, 0.0, 0.5, 3.0, 1e30]), min_size=1, max_size=12)


def slow_auc(positive: list[float], negative: list[float]) -> float:
    wins = 0.0
    for one in positive:
        for other in negative:
            wins += 1.0 if one > other else 0.5 if one == other else 0.0
    return wins / (len(positive) * len(negative))


@given(positive=scores, negative=scores)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_auc_equals_the_double_loop(positive: list[float], negative: list[float]) -> None:
    found = auc(torch.tensor(positive), torch.tensor(negative))
    assert found == pytest.approx(slow_auc(positive, negative), abs=1e-12)


@pytest.mark.parametrize(
    ("positive", "negative", "expected"),
    [
        ([2.0, 3.0], [0.0, 1.0], 1.0),
        ([0.0, 1.0], [2.0, 3.0], 0.0),
        ([1.0, 1.0], [1.0, 1.0, 1.0], 0.5),
        ([3.0, 0.0], [1.0, 2.0], 0.5),
        ([1.0], [0.0, 1.0, 2.0, 3.0], 0.375),
        ([float("inf")], [0.0], 1.0),
        ([float("-inf")], [0.0], 0.0),
    ],
    ids=["best", "worst", "all tied", "half", "mixed", "infinite", "minus infinite"],
)
def test_auc_of_cases_known_by_eye(
    positive: list[float], negative: list[float], expected: float
) -> None:
    assert auc(torch.tensor(positive), torch.tensor(negative)) == expected


def test_swapping_edges_and_non_edges_gives_one_minus_auc() -> None:
    generator = torch.Generator().manual_seed(0)
    positive = torch.randint(20, (50,), generator=generator).double()
    negative = torch.randint(20, (70,), generator=generator).double()
    assert auc(positive, negative) == pytest.approx(1 - auc(negative, positive), abs=1e-12)


def test_auc_of_large_sets_is_counted_exactly() -> None:
    """In single precision 2 × 10⁹ compared pairs would already be rounded."""
    positive, negative = torch.ones(50_000), torch.zeros(50_000)
    negative[0] = 2.0
    assert auc(positive, negative) == 1 - 1 / 50_000


def test_auc_takes_scores_that_are_a_view() -> None:
    table = torch.tensor([[3.0, 9.0], [1.0, 9.0], [2.0, 9.0]])
    assert auc(table[:2, 0], table[2:, 0]) == 0.5


@pytest.mark.parametrize(
    ("positive", "negative"),
    [([float("nan")], [0.0]), ([0.0], [float("nan")])],
    ids=["edge", "non-edge"],
)
def test_nan_scores_of_edges_lose_every_comparison(
    positive: list[float], negative: list[float]
) -> None:
    assert auc(torch.tensor(positive), torch.tensor(negative)) == slow_auc(positive, negative)


def slow_average_precision(positive: list[float], negative: list[float]) -> float:
    """Count again at every threshold."""
    total, before = 0.0, 0.0
    for threshold in sorted({*positive, *negative}, reverse=True):
        found = sum(score >= threshold for score in positive)
        passed = sum(score >= threshold for score in negative)
        recall = found / len(positive)
        total += (recall - before) * found / (found + passed)
        before = recall
    return total


@given(positive=scores, negative=scores)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_average_precision_equals_the_slow_loop(
    positive: list[float], negative: list[float]
) -> None:
    found = average_precision(torch.tensor(positive), torch.tensor(negative))
    assert found == pytest.approx(slow_average_precision(positive, negative), abs=1e-12)


@given(own=scores, others=st.lists(scores, min_size=1, max_size=1))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_ranks_count_those_above_and_half_the_ties(
    own: list[float], others: list[list[float]]
) -> None:
    rivals = others[0]
    table = torch.tensor(rivals).expand(len(own), -1)
    for score, rank in zip(own, mean_ranks(torch.tensor(own), table).tolist(), strict=True):
        above = sum(rival > score for rival in rivals)
        assert rank == 1 + above + sum(rival == score for rival in rivals) / 2


def test_nan_scores_count_as_mistakes() -> None:
    nan, one = torch.tensor([float("nan")]), torch.tensor([1.0])
    assert average_precision(nan, one) == average_precision(one, nan) == 0.5
    assert mean_ranks(nan, one.unsqueeze(1)).tolist() == [2.0]
    assert mean_ranks(one, nan.unsqueeze(1)).tolist() == [2.0]


def test_the_error_of_a_difference_is_that_of_paired_placements() -> None:
    """Against the definition, pair by pair: ψ = 1, ½ or 0 for an edge above, level, below."""
    draw = torch.Generator().manual_seed(4)
    sides = [[torch.randint(6, (size,), generator=draw).float() for size in (7, 9)] for _ in "ab"]
    psi = [[[(p > n) + (p == n) / 2 for n in side[1]] for p in side[0]] for side in sides]
    delta = torch.tensor(psi[0]).double() - torch.tensor(psi[1]).double()
    variance = delta.mean(dim=1).var() / 7 + delta.mean(dim=0).var() / 9
    found = auc_difference_error(PairScores(*sides[0]), PairScores(*sides[1]))
    assert found == pytest.approx(float(variance.sqrt()))


@pytest.mark.medium
def test_the_error_of_a_difference_is_its_spread_over_new_samples() -> None:
    draw = torch.Generator().manual_seed(5)
    found, errors = [], []
    for _ in range(300):
        shared = torch.randn(2, 150, generator=draw)
        first, second = (shared + torch.randn(2, 150, generator=draw) for _ in "ab")
        pair = [PairScores(scores[0] + 1, scores[1]) for scores in (first, second)]
        found.append(pair[0].auc() - pair[1].auc())
        errors.append(auc_difference_error(pair[0], pair[1]))
    assert sum(errors) / 300 == pytest.approx(float(torch.tensor(found).std()), rel=0.1)
