"""Steps on hop tables and shared negatives, against dense formulas."""

from collections import deque
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from dmte.network import TextualNetwork
from dmte.network.synthetic import PlantedTopics
from dmte.recipes import PAPER
from dmte.runtime.seeding import generator_for
from dmte.settings import Settings
from dmte.training.edges import even_parts, step_sizes
from dmte.training.fold import Fold
from dmte.training.objective import Scores, ranking_losses
from dmte.training.run import TrainingRun

SETTINGS = Settings(dim=16, folds=1, num_negatives=20, word_dropout=0.0, word_weights=False)
LEARNED = Settings(encoder="word-average", dim=8)


def network(*, directed: bool) -> TextualNetwork:
    drawn = PlantedTopics(num_vertices=90).draw(torch.Generator().manual_seed(5))
    edges = replace(drawn, directed=directed).distinct_edges()[0]
    return TextualNetwork(ids=drawn.ids, texts=drawn.texts, edges=edges, directed=directed)


def dense_transition(fold: Fold, hidden: Tensor) -> Tensor:
    """Return P without the edges ``hidden`` by its formula."""
    edges, num_vertices = fold.edges, len(fold.edges.members)
    hides = {frozenset(pair) for pair in edges.edges[hidden].tolist()}
    adjacency = torch.zeros(num_vertices, num_vertices, dtype=torch.float64)
    kept = [pair for pair in edges.edges.tolist() if frozenset(pair) not in hides]
    for i, j in kept:
        adjacency[i, j] += 1
        if not edges.are_directed:
            adjacency[j, i] += 1
    looped = adjacency + torch.eye(num_vertices, dtype=torch.float64)
    return looped.sum(1, keepdim=True) ** -0.5 * looped * looped.sum(0) ** -0.5


def dense_vectors(fold: Fold, transition: Tensor) -> Tensor:
    """Return the rows of Σ_h λ_h P^h X at length 1, with a gradient if X has one."""
    encoder = fold.model.encoder
    hops = [encoder(encoder.prepare(fold._words)).double()]
    for _ in range(3):
        hops.append(transition @ hops[-1])
    weights = torch.tensor(fold.settings.hop_weights, dtype=torch.float64)
    return normalize(torch.stack([w * hop for w, hop in zip(weights, hops, strict=True)]).sum(0))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("word_weights", [False, True], ids=["fixed X", "word weights"])
@pytest.mark.parametrize("many", [0.0, 2.0], ids=["all rows", "rows of the round"])
def test_the_first_step_of_a_round_has_the_loss_of_the_formula(
    monkeypatch: pytest.MonkeyPatch, many: float, *, directed: bool, word_weights: bool
) -> None:
    """Negatives have no edge with the end of an edge, not even a hidden one."""
    monkeypatch.setattr("dmte.training.rounds.MANY", many)
    settings = replace(SETTINGS, batch_size=10, word_weights=word_weights)
    run = TrainingRun(network(directed=directed), settings, seed=0)
    fold = run.folds[0]
    hidden = torch.arange(20)
    vectors = dense_vectors(fold, dense_transition(fold, hidden))
    negatives = fold.sampler.draw_shared(20, generator_for(0, "test"))
    batch = fold.edges.directed(hidden[:10])
    linked = {frozenset(pair) for pair in fold.edges.edges.tolist()}
    positive = (vectors[batch.source] * vectors[batch.target]).sum(1)
    negative = vectors[batch.target] @ vectors[negatives].T
    num_masked = 0
    for row, target in enumerate(batch.target.tolist()):
        for column, other in enumerate(negatives.tolist()):
            if other == target or frozenset((target, other)) in linked:
                negative[row, column] = -torch.inf
                num_masked += 1
    assert num_masked > 0
    scores = Scores(positive[None], negative[None])
    slow = ranking_losses(scores, torch.ones(len(positive)).double(), 10.0, softmax_weight=0.3)
    expected = gradient_of_words(fold, slow) if word_weights else None
    found, weight = next(fold.train_round(hidden, generator_for(0, "test")))
    assert weight == len(positive)
    torch.testing.assert_close(found.double(), slow.detach(), rtol=1e-5, atol=1e-6)
    if expected is not None:
        found_gradient = fold.model.encoder.get_parameter("emphasis").grad
        torch.testing.assert_close(found_gradient, expected, rtol=1e-3, atol=1e-6)


def gradient_of_words(fold: Fold, loss: Tensor) -> Tensor:
    """Return the gradient of a loss for the logarithms of the word weights."""
    emphasis = fold.model.encoder.get_parameter("emphasis")
    (gradient,) = torch.autograd.grad(loss.sum(), emphasis)
    assert gradient.any()
    return gradient


def test_word_weights_take_a_step_per_round_and_filters_a_step_per_batch() -> None:
    settings = replace(SETTINGS, batch_size=7, word_weights=True)
    fold = TrainingRun(network(directed=False), settings, seed=0).folds[0]
    num_rounds = 0
    for _ in fold.train_epoch(0):
        num_rounds += 1
    steps = {
        name: int(fold.optimizer.state[parameter]["step"])
        for name, parameter in fold.model.named_parameters()
    }
    rounds = even_parts(torch.arange(len(fold.edges)), fold.sizes.round)
    num_batches = sum(len(even_parts(hidden, 7)) for hidden in rounds)
    assert len(rounds) == num_rounds < num_batches
    assert steps == {
        "encoder.emphasis": num_rounds,
        "convolution.filters": num_batches,
        "mixing.matrix": num_batches,
    }


def test_a_round_of_small_steps_scores_every_hidden_edge_once() -> None:
    run = TrainingRun(network(directed=False), replace(SETTINGS, batch_size=7), seed=0)
    fold = run.folds[0]
    steps = list(fold.train_round(torch.arange(20), generator_for(0, "test")))
    assert [weight for _, weight in steps] == [14, 14, 12]


def trained(fold: Fold, num_threads: int) -> dict[str, Tensor]:
    """Return the parameters after a round of two steps."""
    before = torch.get_num_threads()
    torch.set_num_threads(num_threads)
    try:
        deque(fold.train_round(torch.arange(40), generator_for(0, "test")), maxlen=0)
        assert torch.get_num_threads() == num_threads
    finally:
        torch.set_num_threads(before)
    return fold.parameters()


@pytest.mark.parametrize("word_weights", [False, True], ids=["fixed X", "word weights"])
def test_halves_of_a_step_have_its_gradient(
    monkeypatch: pytest.MonkeyPatch, *, word_weights: bool
) -> None:
    """On two threads they have the bits of one, and together those of the whole up to rounding."""
    settings = replace(SETTINGS, batch_size=20, word_weights=word_weights)
    whole, one, two = (
        TrainingRun(network(directed=False), settings, seed=0).folds[0] for _ in range(3)
    )
    expected = trained(whole, 1)
    monkeypatch.setattr("dmte.training.batch_scores.SMALL_HALF", 10)
    by_one, by_two = trained(one, 1), trained(two, 2)
    for name, found in by_one.items():
        torch.testing.assert_close(found, expected[name], rtol=1e-3, atol=1e-5)
        assert torch.equal(found, by_two[name])


@pytest.mark.parametrize(
    ("settings", "number", "expected"),
    [
        (Settings(), 1, (1, 1, 1)),
        (Settings(), 1001, (201, 201, 1001)),
        (Settings(), 10_000, (512, 2000, 10_000)),
        (Settings(), 16_000, (800, 3200, 16_000)),
        (Settings(), 10**6, (1024, 20_480, 20_480)),
        (Settings(batch_size=10), 1000, (10, 200, 1000)),
        (Settings(round_edges=50), 1000, (50, 50, 1000)),
        (Settings(round_edges=500), 1000, (200, 200, 1000)),
        (Settings(hide_supervised=False), 1000, (512, 20_480, 1000)),
        (LEARNED, 1000, (200, 200, 1000)),
        (LEARNED, 10**6, (20_000, 20_000, 10**6)),
        (PAPER, 1000, (1000, 1000, 1000)),
        (PAPER, 10**6, (20_000, 10**6, 10**6)),
    ],
)
def test_sizes_of_steps(settings: Settings, number: int, expected: tuple[int, ...]) -> None:
    assert step_sizes(settings, number) == expected
