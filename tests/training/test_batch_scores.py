"""Steps on hop tables and shared negatives, against dense formulas."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from dmte.network import TextualNetwork
from dmte.network.synthetic import PlantedTopics
from dmte.runtime.seeding import generator_for
from dmte.settings import Settings
from dmte.training.edges import step_sizes
from dmte.training.fold import Fold
from dmte.training.objective import Scores, ranking_losses
from dmte.training.run import TrainingRun

SETTINGS = Settings(dim=16, folds=1, num_negatives=20, word_dropout=0.0, word_weights=False)


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
    encoder = fold.model.encoder
    hops = [encoder(encoder.prepare(fold._words)).double()]
    for _ in range(3):
        hops.append(transition @ hops[-1])
    weights = torch.tensor(fold.settings.hop_weights, dtype=torch.float64)
    return normalize(torch.stack([w * hop for w, hop in zip(weights, hops, strict=True)]).sum(0))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("many", [0.0, 2.0], ids=["all rows", "rows of the round"])
def test_the_first_step_of_a_round_has_the_loss_of_the_formula(
    monkeypatch: pytest.MonkeyPatch, many: float, *, directed: bool
) -> None:
    """Negatives have no edge with the end of an edge, not even a hidden one."""
    monkeypatch.setattr("dmte.training.rounds.MANY", many)
    run = TrainingRun(network(directed=directed), replace(SETTINGS, batch_size=10), seed=0)
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
    slow = ranking_losses(
        Scores(positive[None], negative[None]), torch.ones(len(positive)).double(), 10.0
    )
    found, weight = next(fold.train_round(hidden, generator_for(0, "test")))
    assert weight == len(positive)
    torch.testing.assert_close(found.double(), slow, rtol=1e-5, atol=1e-6)


def test_a_round_of_small_steps_scores_every_hidden_edge_once() -> None:
    run = TrainingRun(network(directed=False), replace(SETTINGS, batch_size=7), seed=0)
    fold = run.folds[0]
    steps = list(fold.train_round(torch.arange(20), generator_for(0, "test")))
    assert [weight for _, weight in steps] == [14, 14, 12]


@pytest.mark.parametrize(
    ("settings", "number", "expected"),
    [
        (Settings(), 1, (1, 1, 1)),
        (Settings(batch_size=10), 1000, (10, 200, 1000)),
        (Settings(round_edges=50), 1000, (50, 50, 1000)),
        (Settings(round_edges=500), 1000, (200, 200, 1000)),
        (Settings(hide_supervised=False), 1000, (1000, 131072, 1000)),
        (Settings(encoder="word-average", dim=8), 1000, (200, 200, 1000)),
        (Settings(encoder="word-average", dim=8), 10**6, (20000, 20000, 10**6)),
    ],
)
def test_sizes_of_steps(settings: Settings, number: int, expected: tuple[int, ...]) -> None:
    found = step_sizes(settings, number)
    assert (min(found.batch, number), found.round, found.epoch) == expected
