"""The four parts of the objective against the paper's formula, edge by edge in plain floats."""

import math
from typing import get_args

import pytest
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.autograd import gradcheck
from torch.func import functional_call

from dmte.diffusion.operators import DiffusionConvolution
from dmte.diffusion.transition import transition_matrix
from dmte.model.diffusion_maps import DiffusionMaps, Halves, StructureEmbedding
from dmte.settings import PARTS, Loss, ObjectiveWeights
from dmte.text import Vocabulary, WordAverage
from dmte.training.objective import LOSSES, Scores, part_losses, score_edges, weighted_sum

NUM_VERTICES = 6
DIM = 3
# A self-loop, a repeated edge and both directions of one are among them.
SOURCE = torch.tensor([0, 1, 2, 3, 4, 0, 1])
TARGET = torch.tensor([1, 2, 0, 3, 5, 1, 0])
WEIGHTS = torch.tensor([1.0, 2.0, 0.5, 3.0, 0.25, 1.5, 4.0], dtype=torch.float64)
# The predicted and the given vector of each part, by equations 9 to 12.
PREDICTED_AND_GIVEN = {
    "text_text": ("text", "text"),
    "structure_structure": ("structure", "diffused_structure"),
    "structure_text": ("structure", "text"),
    "text_structure": ("text", "diffused_structure"),
}


def random(*shape: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def negatives_of(num_negatives: int) -> Tensor:
    generator = torch.Generator().manual_seed(9)
    return torch.randint(NUM_VERTICES, (len(SOURCE), num_negatives), generator=generator)


@pytest.fixture
def halves() -> Halves:
    """Return three tables that have nothing in common, so that no two can be mistaken."""
    text, structure, diffused = (random(NUM_VERTICES, DIM, seed=seed) for seed in range(3))
    return Halves(text, structure, diffused)


def losses(halves: Halves, negatives: Tensor, weights: Tensor = WEIGHTS) -> Tensor:
    return part_losses(score_edges(halves, SOURCE, TARGET, negatives), weights)


def dot(left: list[float], right: list[float]) -> float:
    return sum(one * other for one, other in zip(left, right, strict=True))


def log_sigmoid(score: float) -> float:
    return math.log(1.0 / (1.0 + math.exp(-score)))


def slow_loss(halves: Halves, part: str, negatives: Tensor, weights: Tensor = WEIGHTS) -> float:
    """Return -Σ_e s_ij (log σ(v_i · v_j) + Σ_k log σ(-v_k · v_j)) / Σ_e s_ij."""
    predicted_name, given_name = PREDICTED_AND_GIVEN[part]
    predicted: list[list[float]] = getattr(halves, predicted_name).tolist()
    given: list[list[float]] = getattr(halves, given_name).tolist()
    gained = 0.0
    edges = zip(SOURCE.tolist(), TARGET.tolist(), weights.tolist(), negatives.tolist(), strict=True)
    for i, j, weight, others in edges:
        likelihood = log_sigmoid(dot(predicted[i], given[j]))
        for k in others:
            likelihood += log_sigmoid(-dot(predicted[k], given[j]))
        gained += weight * likelihood
    return -gained / float(weights.sum())


@pytest.mark.parametrize("num_negatives", [1, 3])
@pytest.mark.parametrize("part", PARTS)
def test_a_part_equals_the_formula_edge_by_edge(
    halves: Halves, part: str, num_negatives: int
) -> None:
    negatives = negatives_of(num_negatives)
    found = losses(halves, negatives)[PARTS.index(part)]
    assert float(found) == pytest.approx(slow_loss(halves, part, negatives), rel=1e-12)


def test_the_parts_are_in_the_order_of_their_names(halves: Halves) -> None:
    assert set(PARTS) == set(PREDICTED_AND_GIVEN)
    assert losses(halves, negatives_of(1)).shape == (len(PARTS),)
    found = losses(halves, negatives_of(1))
    assert len(found.unique()) == len(PARTS)


def test_scores_are_dot_products_with_the_given_vector(halves: Halves) -> None:
    scores = score_edges(halves, SOURCE, TARGET, negatives_of(3))
    assert scores.positive.shape == (4, len(SOURCE))
    assert scores.negative.shape == (4, len(SOURCE), 3)
    for number, part in enumerate(PARTS):
        predicted, given = (getattr(halves, name) for name in PREDICTED_AND_GIVEN[part])
        for edge, (i, j) in enumerate(zip(SOURCE.tolist(), TARGET.tolist(), strict=True)):
            torch.testing.assert_close(scores.positive[number, edge], predicted[i] @ given[j])
            for at, k in enumerate(negatives_of(3)[edge].tolist()):
                torch.testing.assert_close(
                    scores.negative[number, edge, at], predicted[k] @ given[j]
                )


def test_scores_of_groups_of_columns_add_up(halves: Halves) -> None:
    """Only the dot products mix columns, by a sum."""
    negatives = negatives_of(2)
    whole = score_edges(halves, SOURCE, TARGET, negatives)
    left, right = (
        score_edges(
            Halves(*(half[:, columns] for half in halves if half is not None)),
            SOURCE,
            TARGET,
            negatives,
        )
        for columns in (slice(0, 1), slice(1, None))
    )
    torch.testing.assert_close(left.positive + right.positive, whole.positive)
    torch.testing.assert_close(left.negative + right.negative, whole.negative)


def test_without_a_structure_half_only_the_text_part_is_left(halves: Halves) -> None:
    negatives = negatives_of(3)
    found = losses(Halves(halves.text, None, None), negatives)
    assert found.shape == (1,)
    assert float(found[0]) == pytest.approx(slow_loss(halves, "text_text", negatives), rel=1e-12)


def test_gradients_have_the_same_bits_again_with_several_threads() -> None:
    generator = torch.Generator().manual_seed(0)
    text = torch.randn(50, 64, generator=generator)
    source, target = torch.randint(50, (2, 4096), generator=generator)
    negatives = torch.randint(50, (128,), generator=generator)
    threads, gradients = torch.get_num_threads(), []
    torch.set_num_threads(2)
    for _ in range(40):
        table = text.clone().requires_grad_()
        scores = score_edges(Halves(table, None, None), source, target, negatives)
        scores.negative.sigmoid().sum().backward()
        assert table.grad is not None
        gradients.append(table.grad)
    torch.set_num_threads(threads)
    assert all(torch.equal(gradients[0], one) for one in gradients)


def test_an_edge_of_weight_two_counts_like_two_edges(halves: Halves) -> None:
    negatives = negatives_of(1)
    once = score_edges(halves, SOURCE[:2], TARGET[:2], negatives[:2])
    twice = score_edges(halves, SOURCE[[0, 1, 1]], TARGET[[0, 1, 1]], negatives[[0, 1, 1]])
    torch.testing.assert_close(
        part_losses(once, torch.tensor([1.0, 2.0], dtype=torch.float64)),
        part_losses(twice, torch.ones(3, dtype=torch.float64)),
    )


def test_the_unit_of_the_weights_does_not_matter(halves: Halves) -> None:
    negatives = negatives_of(1)
    torch.testing.assert_close(
        losses(halves, negatives, 1000 * WEIGHTS), losses(halves, negatives, WEIGHTS)
    )


def test_the_loss_of_a_score_of_zero_is_log_two() -> None:
    scores = Scores(torch.zeros(4, 2), torch.zeros(4, 2, 3))
    torch.testing.assert_close(
        part_losses(scores, torch.tensor([1.0, 5.0])), torch.full((4,), 4 * math.log(2))
    )


def test_the_loss_falls_with_the_score_of_an_edge_and_rises_with_that_of_a_negative() -> None:
    def cost(positive: float, negative: float) -> float:
        scores = Scores(torch.tensor([[positive]]), torch.tensor([[[negative]]]))
        return float(part_losses(scores, torch.ones(1))[0])

    assert cost(1.0, 0.0) < cost(0.0, 0.0) < cost(0.0, 1.0)
    assert cost(0.0, 0.0) > 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_large_scores_do_not_overflow(dtype: torch.dtype) -> None:
    positive = torch.tensor([[1000.0, -1000.0]], dtype=dtype, requires_grad=True)
    negative = torch.tensor([[[1000.0], [-1000.0]]], dtype=dtype, requires_grad=True)
    (loss,) = part_losses(Scores(positive, negative), torch.ones(2, dtype=dtype))
    assert float(loss.detach()) == pytest.approx(1000.0)
    to_positive, to_negative = torch.autograd.grad(loss, (positive, negative))
    torch.testing.assert_close(to_positive, torch.tensor([[0.0, -0.5]], dtype=dtype))
    torch.testing.assert_close(to_negative, torch.tensor([[[0.5], [0.0]]], dtype=dtype))


def test_the_parts_are_added_with_the_weights_of_the_paper() -> None:
    parts = torch.tensor([1.0, 10.0, 100.0, 1000.0], dtype=torch.float64)
    assert float(weighted_sum(parts, ObjectiveWeights())) == pytest.approx(1 + 10 + 30 + 300)


def test_each_weight_multiplies_the_part_of_its_name() -> None:
    parts = torch.tensor([1.0, 10.0, 100.0, 1000.0], dtype=torch.float64)
    weights = ObjectiveWeights(
        text_text=2.0, structure_structure=3.0, structure_text=5.0, text_structure=7.0
    )
    assert float(weighted_sum(parts, weights)) == pytest.approx(2 + 30 + 500 + 7000)


def test_the_text_part_alone_is_weighted_as_text() -> None:
    parts = torch.tensor([10.0], dtype=torch.float64)
    assert float(weighted_sum(parts, ObjectiveWeights(text_text=2.0))) == pytest.approx(20)


@pytest.mark.parametrize("structure", [True, False], ids=["four parts", "text only"])
def test_gradients_from_the_parameters_to_the_loss_are_those_of_finite_differences(
    structure: bool,  # noqa: FBT001
) -> None:
    texts = ["a b", "b", "c a b b", "", "c c", "a"]
    vocabulary = Vocabulary.of(texts)
    generator = torch.Generator().manual_seed(0)
    model = DiffusionMaps(
        WordAverage(len(vocabulary), DIM, generator),
        DiffusionConvolution(DIM, (1.0, 0.5, 0.25), generator),
        StructureEmbedding(NUM_VERTICES, DIM, (1.0, 0.5), generator) if structure else None,
    ).double()
    adjacency = sp.coo_array((WEIGHTS.numpy(), (SOURCE.numpy(), TARGET.numpy())), shape=(6, 6))
    transition = transition_matrix(adjacency.tocsr(), torch.float64)
    prepared = model.encoder.prepare(vocabulary.encode(texts))
    values = {name: value.detach().clone() for name, value in model.named_parameters()}
    if structure:
        # Rows on both sides of length 1, where V_s changes its formula.
        values["structure.table"] *= torch.tensor([[0.1], [9.0], [0.5], [7.0], [0.3], [8.0]])

    def loss(*parameters: Tensor) -> Tensor:
        named = dict(zip(values, parameters, strict=True))
        halves: Halves = functional_call(model, named, (prepared, transition))
        return weighted_sum(losses(halves, negatives_of(2)), ObjectiveWeights())

    inputs = tuple(value.requires_grad_() for value in values.values())
    assert gradcheck(loss, inputs)
    assert all(gradient.count_nonzero() for gradient in torch.autograd.grad(loss(*inputs), inputs))


def test_settings_name_every_loss() -> None:
    assert set(get_args(Loss)) == set(LOSSES)
