"""Ranks of hidden links among all vertices, beside a loop that ranks one vertex after the other."""

import pytest
import torch

import dmte.evaluation.full_ranking as module
from dmte.baselines import BASELINES
from dmte.embedding.embedding import Embedding
from dmte.embedding.method import RowScorer
from dmte.evaluation import LinkTask, strict_task
from dmte.evaluation.full_ranking import FullRanking, full_ranks_by_way
from dmte.network import TextualNetwork


def by_hand(task: LinkTask, vectors: torch.Tensor) -> tuple[list[float], list[float], int]:
    """Rank every hidden neighbor of every vertex by sorting scores."""
    both = [*task.train.edges.tolist(), *task.train.edges.flip(1).tolist()]
    known = {(a, b) for a, b in both} | {(v, v) for v in range(task.train.num_vertices)}
    hidden = {(a, b) for a, b in task.edges.tolist()} | {(b, a) for a, b in task.edges.tolist()}
    among_others: list[float] = []
    in_list: list[float] = []
    for vertex in range(task.train.num_vertices):
        scores = (vectors @ vectors[vertex]).tolist()
        listed = [v for v in range(len(scores)) if (vertex, v) not in known]
        others = [v for v in listed if (vertex, v) not in hidden]
        for found in (v for v in listed if (vertex, v) in hidden):
            for ranks, rivals in ((among_others, others), (in_list, listed)):
                above = sum(scores[v] > scores[found] for v in rivals if v != found)
                ties = sum(scores[v] == scores[found] for v in rivals if v != found)
                ranks.append(1 + above + ties / 2)
    return among_others, in_list, len({a for a, _ in hidden})


@pytest.mark.parametrize("block_scores", [1, 1 << 20])
def test_ranks_equal_those_of_a_loop_over_all_vertices(
    planted: TextualNetwork, block_scores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BLOCK_SCORES", block_scores)
    task = strict_task(planted, 0.5, seed=0)
    generator = torch.Generator().manual_seed(0)
    # Small whole numbers: many ties.
    vectors = torch.randint(-2, 3, (planted.num_vertices, 3), generator=generator).float()
    found = full_ranks_by_way(Embedding(planted.ids, vectors, 3), task.full)["dot"]
    among_others, in_list, num_lists = by_hand(task, vectors)
    assert sorted(found.among_others.tolist()) == sorted(among_others)
    assert sorted(found.in_list.tolist()) == sorted(in_list)
    assert found.num_lists == num_lists


def test_an_oracle_ranks_every_hidden_link_first(planted: TextualNetwork) -> None:
    task = strict_task(planted, 0.5, seed=0)
    adjacency = torch.from_numpy(planted.adjacency().toarray()).float()

    class Oracle:
        def score(self, pairs: torch.Tensor) -> torch.Tensor:
            return adjacency[pairs[:, 0], pairs[:, 1]]

    (scores,) = task.evaluate_ways(Oracle()).values()
    assert scores.full_mrr == scores.full_hits_at_10 == 1.0
    hidden = torch.bincount(task.edges.flatten(), minlength=planted.num_vertices)
    expected = hidden[hidden > 0].clamp(max=10).double().mean() / 10
    assert scores.precision_at_10 == pytest.approx(float(expected))


def test_an_edge_that_was_trained_on_and_a_self_loop_are_not_ranked() -> None:
    texts = ("a", "b", "c", "d")
    train = TextualNetwork(ids=texts, texts=texts, edges=torch.tensor([[0, 1], [1, 2]]))
    ranking = FullRanking.draw(train, torch.tensor([[1, 0], [3, 3], [0, 2]]), seed=0)
    assert ranking is not None
    assert sorted(ranking.vertices.tolist()) == [0, 2]
    assert FullRanking.draw(train, torch.tensor([[1, 0], [3, 3]]), seed=0) is None


@pytest.mark.parametrize("name", ["tfidf", "adamic-adar"])
def test_scores_of_rows_equal_those_of_pairs(planted: TextualNetwork, name: str) -> None:
    scorer = BASELINES[name].fit(planted, seed=0)
    assert isinstance(scorer, RowScorer)
    rows = scorer.score_rows(torch.tensor([3, 1]))
    pairs = torch.tensor([[v, other] for v in (3, 1) for other in range(planted.num_vertices)])
    torch.testing.assert_close(rows.flatten(), scorer.score(pairs))


def test_many_vertices_are_ranked_by_a_sample_of_them(
    planted: TextualNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_RANKED", 5)
    task, again, other = (strict_task(planted, 0.5, seed) for seed in (0, 0, 1))
    assert task.full is not None
    assert again.full is not None
    assert other.full is not None
    assert len(task.full.vertices) == 5
    assert torch.equal(task.full.vertices, again.full.vertices)
    assert not torch.equal(task.full.vertices, other.full.vertices)
    assert len(task.full.limited(1).vertices) == 1
