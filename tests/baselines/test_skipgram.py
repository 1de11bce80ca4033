"""Skip-gram: against its objective, written out."""

import pytest
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, normalize

from dmte.baselines.skipgram import (
    ENDED,
    AdagradTable,
    Noise,
    SkipGram,
    linked_vertices,
    pair_weights,
    walk_gradients,
)
from dmte.errors import ConfigError
from dmte.network import TextualNetwork

WALKS = torch.tensor(
    [[0, 1, 2, 1, 3], [2, 3, ENDED, ENDED, ENDED], [4, ENDED, ENDED, ENDED, ENDED]]
)
WINDOW, NUM_NEGATIVES = 2, 3


def slow_objective(inputs: Tensor, contexts: Tensor, negatives: Tensor) -> Tensor:
    """Return the objective of WALKS pair by pair; ``negatives`` are the vertices of each walk."""
    total = torch.zeros((), dtype=inputs.dtype)
    for walk, drawn in zip(WALKS.tolist(), negatives.tolist(), strict=True):
        for here, center in enumerate(walk):
            for there, context in enumerate(walk):
                is_pair = here != there and abs(here - there) <= WINDOW
                if not is_pair or ENDED in (center, context):
                    continue
                repulsion = [logsigmoid(-inputs[center] @ contexts[other]) for other in drawn]
                total = total + logsigmoid(inputs[center] @ contexts[context])
                total = total + NUM_NEGATIVES * torch.stack(repulsion).mean()
    return total


def test_gradients_are_those_of_the_objective_pair_by_pair() -> None:
    generator = torch.Generator().manual_seed(0)
    inputs, contexts = torch.randn(2, 5, 6, generator=generator).requires_grad_().unbind()
    inputs.retain_grad()
    contexts.retain_grad()
    negatives = torch.randint(5, (3, 4), generator=generator)
    slow_objective(inputs, contexts, negatives).backward()

    visited = WALKS.clamp(min=0)
    found = walk_gradients(
        inputs.detach()[visited],
        contexts.detach()[visited],
        contexts.detach()[negatives],
        pair_weights(WALKS != ENDED, WINDOW),
        NUM_NEGATIVES,
    )
    of_inputs, of_contexts = torch.zeros(5, 6), torch.zeros(5, 6)
    of_inputs.index_add_(0, visited.flatten(), found.inputs.flatten(0, 1))
    of_contexts.index_add_(0, visited.flatten(), found.contexts.flatten(0, 1))
    of_contexts.index_add_(0, negatives.flatten(), found.negatives.flatten(0, 1))
    torch.testing.assert_close(of_inputs, inputs.grad)
    torch.testing.assert_close(of_contexts, contexts.grad)


def test_adagrad_divides_by_the_root_of_the_summed_squares() -> None:
    table = AdagradTable(torch.zeros(3, 1))
    table.collect(torch.tensor([0, 0, 1]), torch.tensor([[1.0], [2.0], [-4.0]]))
    table.climb(0.1)
    torch.testing.assert_close(table.values, torch.tensor([[0.1], [-0.1], [0.0]]))
    table.collect(torch.tensor([0]), torch.tensor([[4.0]]))
    table.climb(0.1)
    # The squares are 9 and 16, so the step is 0.1 · 4 / 5.
    torch.testing.assert_close(table.values, torch.tensor([[0.18], [-0.1], [0.0]]))


def test_a_step_of_few_rows_and_one_of_all_are_the_same_to_the_bit() -> None:
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(8, 4, generator=generator)
    few, all_rows = AdagradTable(start.clone()), AdagradTable(start.clone())
    for _ in range(3):
        rows = torch.tensor([5, 1, 5])
        gradient = torch.randn(3, 4, generator=generator)
        few.collect(rows, gradient)
        all_rows.collect(rows, gradient)
        all_rows.collect(torch.arange(8), torch.zeros(8, 4))
        few.climb(0.1)
        all_rows.climb(0.1)
    assert torch.equal(few.values, all_rows.values)
    assert not torch.equal(few.values, start)


def test_a_weight_multiplies_a_gradient() -> None:
    once, thrice = AdagradTable(torch.zeros(4, 2)), AdagradTable(torch.zeros(4, 2))
    rows, gradient = torch.tensor([0, 2]), torch.tensor([[1.0, 2.0], [-1.0, 3.0]])
    once.collect(rows, gradient, weight=3.0)
    for table in (once, thrice):
        table.collect(rows, -2 * gradient)
    for _ in range(3):
        thrice.collect(rows, gradient)
    once.climb(0.1)
    thrice.climb(0.1)
    assert torch.equal(once.values, thrice.values)


def test_weights_of_full_walks_do_not_depend_on_ended_walks() -> None:
    walked = torch.ones(3, 6, dtype=torch.bool)
    walked[2, 4:] = False
    full, mixed = pair_weights(walked[:2], WINDOW), pair_weights(walked, WINDOW)
    assert torch.equal(full, mixed[:2])
    assert not mixed[2, 4:].any()
    assert not mixed[2, :, 4:].any()


def test_noise_follows_counts_to_the_three_quarters() -> None:
    counts = torch.tensor([0, 1, 16, 0, 81, 0])
    drawn = Noise(counts).draw(40_000, torch.Generator().manual_seed(1))
    shares = torch.bincount(drawn, minlength=6) / len(drawn)
    # Four standard deviations of a share of 40,000 draws are at most 0.01.
    torch.testing.assert_close(shares, torch.tensor([0, 1, 8, 0, 27, 0]) / 36, atol=0.01, rtol=0)


@pytest.mark.medium
def test_vertices_that_share_contexts_come_close() -> None:
    # 0 and 1 occur only beside 2, and 3 and 4 only beside 5.
    walks = torch.tensor([[0, 2], [1, 2], [3, 5], [4, 5]]).repeat(8, 1)
    settings = SkipGram(dim=8, window=1, num_negatives=5, learning_rate=0.05)
    vectors = settings.fit([walks] * 15, 15, num_vertices=7, seed=0)
    cosine = normalize(vectors) @ normalize(vectors).T
    assert cosine[0, 1] > cosine[0, 3] + 0.2
    assert cosine[3, 4] > cosine[1, 4] + 0.2
    assert not vectors[6].any()


def test_no_walks_give_zero_vectors() -> None:
    settings = SkipGram(dim=8, window=1, num_negatives=5, learning_rate=0.05)
    assert not settings.fit([], 1, num_vertices=3, seed=0).any()


def test_linked_vertices_are_the_ends_of_edges() -> None:
    edges = torch.tensor([[4, 1], [1, 2], [2, 2]])
    network = TextualNetwork(ids=tuple("abcde"), texts=("",) * 5, edges=edges, directed=True)
    assert linked_vertices(network).tolist() == [1, 2, 4]


@pytest.mark.parametrize("setting", ["dim", "window", "num_negatives", "learning_rate"])
def test_a_setting_of_zero_raises(setting: str) -> None:
    settings = {"dim": 8, "window": 1, "num_negatives": 5, "learning_rate": 0.05}
    settings[setting] = type(settings[setting])(0)
    with pytest.raises(ConfigError, match=f"{setting} must be above 0, not 0"):
        SkipGram(**settings)  # type: ignore[arg-type]
