"""Settings that are None: the width of a frozen encoder, and what many edges do not need."""

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import normalize

from dmte.network import TextualNetwork
from dmte.network.synthetic import PlantedTopics
from dmte.settings import Settings
from dmte.training.auto_settings import Regularization, regularized
from dmte.training.edges import MAX_EPOCH_EDGES
from dmte.training.frozen_start import WIDTHS, WIDTHS_OF_MANY_EDGES
from dmte.training.run import TrainingRun


def linked_by_features(num_vertices: int, strength: float) -> TextualNetwork:
    """Link vertices with similar values of 60 features; 64 others are noise of strength 1."""
    generator = torch.Generator().manual_seed(0)
    telling, silent = (
        torch.linalg.qr(torch.randn(num_vertices, number, generator=generator)).Q
        for number in (60, 64)
    )
    alike = (normalize(telling) @ normalize(telling).T).triu(1)
    closest = alike.flatten().topk(2 * num_vertices).indices
    return TextualNetwork(
        ids=tuple(map(str, range(num_vertices))),
        texts=("",) * num_vertices,
        edges=torch.stack([closest // num_vertices, closest % num_vertices], dim=1),
        features=torch.cat([strength * telling, silent], dim=1),
    )


@pytest.mark.medium
@pytest.mark.parametrize(
    ("strength", "width"), [(1.5, 64), (0.8, 128)], ids=["telling first", "telling last"]
)
def test_the_width_with_the_best_validation_auc_is_chosen(strength: float, width: int) -> None:
    network = linked_by_features(200, strength)
    aucs = {}
    for dim in (64, 128):
        run = TrainingRun(network, Settings(encoder="features", dim=dim, epochs=1), seed=0)
        next(run.epochs())
        aucs[dim] = run.history[0].validation_auc or 0.0
    assert aucs[width] == max(aucs.values()) > min(aucs.values())
    assert TrainingRun(network, Settings(encoder="features"), seed=0).settings.dim == width


MANY = 8 * MAX_EPOCH_EDGES


@pytest.mark.parametrize(("num_edges", "helps"), [(1000, True), (MANY - 1, True), (MANY, False)])
def test_words_are_dropped_and_the_loss_has_a_softmax_if_edges_are_repeated(
    num_edges: int, *, helps: bool
) -> None:
    found = regularized(Settings(epochs=8), num_edges)
    expected = Regularization() if helps else (0.0, 0.0)
    assert (found.word_dropout, found.softmax_weight) == expected
    assert replace(found, word_dropout=None, softmax_weight=None) == Settings(epochs=8)


@pytest.mark.parametrize("num_edges", [1000, MANY])
def test_given_word_dropout_and_softmax_weight_are_used(num_edges: int) -> None:
    settings = Settings(word_dropout=0.2, softmax_weight=0.7)
    assert regularized(settings, num_edges) == settings


def test_an_epoch_of_many_edges_has_some_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each epoch has others, the width is one of the larger, and all words are used."""
    monkeypatch.setattr("dmte.training.edges.MAX_EPOCH_EDGES", 40)
    network = PlantedTopics(num_vertices=160, words_per_text=60).draw(
        torch.Generator().manual_seed(4)
    )
    run = TrainingRun(network, Settings(epochs=2, folds=1), seed=0)
    assert (run.settings.word_dropout, run.settings.softmax_weight) == (0.0, 0.0)
    assert run.settings.dim in WIDTHS_OF_MANY_EDGES
    assert TrainingRun(network, Settings(epochs=100), seed=0).settings.dim in WIDTHS
    fold, seen = run.folds[0], []
    train_round = fold.train_round

    def observe(hidden: torch.Tensor, generator: torch.Generator) -> object:
        seen.append(set(hidden.tolist()))
        return train_round(hidden, generator)

    monkeypatch.setattr(fold, "train_round", observe)
    for _ in run.epochs():
        pass
    first, second = seen
    assert len(first) == len(second) == 40 < len(fold.edges)
    assert first != second
