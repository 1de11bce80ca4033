"""Validation: ranks of ends among candidates, and what validation edges choose by."""

from dataclasses import replace

import pytest
import torch

import dmte.training.validation as module
from dmte.metrics import PairScores
from dmte.network import TextualNetwork
from dmte.recipes import PAPER
from dmte.settings import Settings
from dmte.training.run import TrainingRun
from dmte.training.validation import CRITERIA, ValidationEdges, split_validation


def split_of(network: TextualNetwork) -> tuple[TextualNetwork, ValidationEdges]:
    train, validation = split_validation(network, 0.3, seed=0, ranked=True)
    assert validation is not None
    return train, validation


def test_candidates_are_vertices_without_an_edge_to_the_end(planted: TextualNetwork) -> None:
    _, validation = split_of(planted)
    candidates = validation.candidates
    both = [*planted.edges.tolist(), *planted.edges.flip(1).tolist()]
    linked = {(a, b) for a, b in both} | {(v, v) for v in range(planted.num_vertices)}
    scores = torch.zeros(len(candidates.ends), len(candidates.vertices))
    left_out = candidates.without_linked(scores).isinf()
    for row, end in enumerate(candidates.ends.tolist()):
        for column, other in enumerate(candidates.vertices.tolist()):
            assert bool(left_out[row, column]) == ((end, other) in linked)


def test_at_most_so_many_ends_and_candidates_are_scored(
    planted: TextualNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_RANKED", 4)
    monkeypatch.setattr(module, "MAX_CANDIDATES", 30)
    _, validation = split_of(planted)
    candidates = validation.candidates
    assert candidates.ends.tolist() == validation.edges[:4].T.flatten().tolist()
    assert 15 < len(candidates.vertices) <= 30


def test_mrr_is_that_of_every_end_in_a_loop() -> None:
    generator = torch.Generator().manual_seed(0)
    edges, others = torch.rand(5, generator=generator), torch.rand(6, 8, generator=generator)
    ranks = [1 + sum(bool(o > edges[k % 3]) for o in others[k]) for k in range(6)]
    expected = sum(1 / rank for rank in ranks) / 6
    assert PairScores(edges, edges, others).mrr() == pytest.approx(expected)
    assert PairScores(edges, edges).mrr() == 0.0


@pytest.mark.parametrize("settings", [Settings(dim=16, epochs=1), replace(PAPER, dim=8, epochs=1)])
def test_a_fold_scores_candidates_by_the_vectors_of_its_training_edges(
    planted: TextualNetwork, settings: Settings
) -> None:
    ranked = replace(settings, favor="top", validation_fraction=0.3, validate_every=1, folds=1)
    run = TrainingRun(planted, replace(ranked, word_weights=False), seed=0)
    list(run.epochs())
    (fold,) = run.folds
    validation = fold.validation_edges
    assert validation is not None
    scores = fold._score_validation(validation)
    without = replace(ranked, validation_fraction=0.0, degree_power=0.0, structure_share=0.0)
    train = TrainingRun(fold.train, replace(without, word_weights=False), seed=0)
    # The same directions and vocabulary: no text depends on the edges.
    train.folds[0].model.load_state_dict(fold.model.state_dict())
    vectors = train.result().embedding.vectors
    candidates = validation.candidates
    expected = vectors[candidates.ends] @ vectors[candidates.vertices].T
    kept = ~scores.candidates.isinf()
    torch.testing.assert_close(scores.candidates[kept], expected[kept], rtol=1e-4, atol=1e-5)


def test_a_criterion_favors_pairs_or_lists_or_both() -> None:
    """One of two edges beats all pairs; both are second in the lists of their ends."""
    scores = PairScores(torch.tensor([3.0, 1.0]), torch.tensor([2.0]), torch.full((4, 1), 4.0))
    found = {name: criterion(scores) for name, criterion in CRITERIA.items()}
    assert found == {"auc": 0.5, "top": 0.5, "balanced": 1.0}


def test_without_a_list_nothing_is_ranked(planted: TextualNetwork) -> None:
    _, validation = split_validation(planted, 0.3, seed=0)
    assert validation is not None
    assert len(validation.candidates.ends) == 0
