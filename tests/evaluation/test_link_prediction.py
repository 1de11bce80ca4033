"""Link prediction: networks whose AUC is known by hand, and questions that never leak."""

import json
from pathlib import Path

import pytest
import torch

from dmte.cli.score_tables import table
from dmte.embedding.embedding import Embedding
from dmte.errors import SplitError
from dmte.evaluation import (
    METHODS,
    PROTOCOLS,
    LinkTask,
    link_prediction,
    published_task,
    strict_task,
)
from dmte.evaluation.jobs import link_jobs
from dmte.evaluation.link_prediction import every_edge_task, scores_by_way
from dmte.evaluation.summary import evaluate_links, link_results
from dmte.metrics import LINK_METRICS, LinkMetric
from dmte.network import TextualNetwork, read_folder
from dmte.network.split import Leaks, draw_unlinked
from dmte.plotting.curves import result_panels


class KnowsEverything:
    """Scores a pair by whether the full network links it."""

    def __init__(self, network: TextualNetwork, sign: float = 1.0) -> None:
        self.pairs = {tuple(sorted(edge)) for edge in network.edges.tolist()}
        self.sign = sign

    def score(self, pairs: torch.Tensor) -> torch.Tensor:
        linked = [tuple(sorted(pair)) in self.pairs for pair in pairs.tolist()]
        return self.sign * torch.tensor(linked, dtype=torch.float32)


class KnowsNothing:
    """Gives every pair the same score."""

    def score(self, pairs: torch.Tensor) -> torch.Tensor:
        return torch.zeros(len(pairs))


def test_auc_is_one_for_an_oracle_zero_reversed_and_half_for_ties(
    planted: TextualNetwork,
) -> None:
    task = strict_task(planted, 0.5, seed=0)
    assert task.auc(KnowsEverything(planted)) == 1.0
    assert task.auc(KnowsEverything(planted, sign=-1.0)) == 0.0
    for protocol in PROTOCOLS.values():
        assert protocol(planted, 0.5, 0).auc(KnowsNothing()) == 0.5


def test_a_paired_task_compares_an_edge_with_its_own_candidates_only(
    planted: TextualNetwork,
) -> None:
    """Scores 3, 1 against own 2, 0: two wins; against all: three of four."""
    vectors = torch.tensor([[1.0], [3.0], [2.0], [1.0], [0.0]])
    embedding = Embedding(tuple("abcde"), vectors, 1)
    edges, others = torch.tensor([[0, 1], [0, 3]]), torch.tensor([[2], [4]])
    non_edges = torch.tensor([[0, 2], [0, 4]])
    paired = LinkTask(planted, edges, non_edges, others, is_paired=True)
    pooled = LinkTask(planted, edges, non_edges, others, is_paired=False)
    assert paired.auc(embedding) == 1.0
    assert pooled.auc(embedding) == 0.75


def test_ranks_match_a_count_by_hand(planted: TextualNetwork) -> None:
    """The edge (0, 1) scores 3 among 4, 3, 0: rank 2.5; (0, 2) scores 9 among 4, 3, 0: rank 1."""
    vectors = torch.tensor([[1.0], [3.0], [9.0], [4.0], [3.0], [0.0]])
    score = Embedding(tuple("abcdef"), vectors, 1).score
    edges, others = torch.tensor([[0, 1], [0, 2]]), torch.tensor([[3, 4, 5], [3, 4, 5]])
    non_edges = torch.tensor([[0, 3], [0, 4]])
    scores = LinkTask(planted, edges, non_edges, others, is_paired=True).evaluate(score)
    assert scores.mrr == pytest.approx((1 / 2.5 + 1) / 2)
    assert scores.hits_at_10 == 1.0
    assert scores.auc == pytest.approx((1.5 / 3 + 1) / 2)
    # 9, then 4 that is none, then 3 and 3 tied: 1 · 1/2 at the first, 2/4 · 1/2 at the last.
    assert scores.average_precision == pytest.approx(0.75)


def test_hits_are_the_share_ranked_among_the_ten_best(planted: TextualNetwork) -> None:
    """Vertex v scores -v, so an edge to vertex 10 stands behind ten of its candidates."""
    vectors = -torch.arange(30.0).unsqueeze(1)
    vectors[0] = 1.0
    score = Embedding(tuple(map(str, range(30))), vectors, 1).score
    edges = torch.tensor([[0, 10], [0, 11]])
    others = torch.tensor([[*range(1, 10), *range(20, 30)], [*range(1, 11), *range(20, 29)]])
    task = LinkTask(planted, edges, edges, others, is_paired=True)
    assert task.evaluate(score).hits_at_10 == 0.5


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_scores_do_not_depend_on_the_size_of_blocks(
    planted: TextualNetwork, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = PROTOCOLS[protocol](planted, 0.6, 0)
    fitted = METHODS["lsa"].fit(task.train, 0)
    at_once = task.evaluate_ways(fitted)
    monkeypatch.setattr(link_prediction, "BLOCK_EDGES", 3)
    assert task.evaluate_ways(fitted) == at_once
    by_pairs = task.evaluate(fitted.score)  # A function of pairs ranks no lists.
    assert by_pairs == {name: at_once["dot"][name] for name in by_pairs}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_beyond_a_limit_a_sample_of_the_hidden_edges_is_scored(
    planted: TextualNetwork, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = PROTOCOLS[protocol]
    every = draw(planted, 0.6, 0)
    assert every.num_unscored == 0
    for limit, count in ((len(every.edges), len(every.edges)), (7, 7)):
        monkeypatch.setattr(link_prediction, "MAX_SCORED", limit)
        task = draw(planted, 0.6, 0)
        assert task.train.edges.equal(every.train.edges)
        assert len(task.edges) == len(task.non_edges) == len(task.candidates) == count
        assert task.num_unscored == len(every.edges) - count
    assert set(map(frozenset, task.edges.tolist())) < set(map(frozenset, every.edges.tolist()))
    (row,) = evaluate_links(planted, ["tfidf"], [0.6], protocol=protocol, num_seeds=1)
    assert (row["hidden_edges"], row["unscored_edges"]) == (7, len(every.edges) - 7)


def test_results_count_unscored_edges_only_if_there_are_any(planted: TextualNetwork) -> None:
    (row,) = evaluate_links(planted, ["tfidf"], [0.6], num_seeds=1)
    assert "unscored_edges" not in row


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_same_seed_draws_the_same_pairs(planted: TextualNetwork, protocol: str) -> None:
    one, same, other = (PROTOCOLS[protocol](planted, 0.6, seed) for seed in (0, 0, 1))
    assert torch.equal(one.edges, same.edges)
    assert torch.equal(one.non_edges, same.non_edges)
    assert not torch.equal(one.train.edges, other.train.edges)


def test_strict_scores_every_hidden_edge_and_as_many_non_edges(
    planted: TextualNetwork,
) -> None:
    task = strict_task(planted, 0.6, seed=0)
    given = {tuple(sorted(edge)) for edge in planted.edges.tolist()}
    proper = {pair for pair in given if pair[0] != pair[1]}
    hidden = {tuple(sorted(edge)) for edge in task.edges.tolist()}
    trained = {tuple(sorted(edge)) for edge in task.train.edges.tolist()}
    scored = {tuple(sorted(pair)) for pair in task.non_edges.tolist()}
    assert hidden | trained == proper
    assert not hidden & trained
    assert not scored & given
    assert len(task.non_edges) == len(task.edges)
    ranked = {
        tuple(sorted((source, other)))
        for source, others in zip(task.edges[:, 0].tolist(), task.candidates.tolist(), strict=True)
        for other in others
    }
    assert not ranked & given
    assert all(one != other for one, other in ranked)
    assert task.leaks() == Leaks(0, 0)


def test_published_scores_only_ends_that_kept_an_edge(planted: TextualNetwork) -> None:
    task = published_task(planted, 0.3, seed=0)
    kept = set(task.train.edges.flatten().tolist())
    assert set(task.edges.flatten().tolist()) <= kept
    assert set(task.candidates.flatten().tolist()) <= kept
    assert torch.equal(task.non_edges[:, 0], task.edges[:, 0])
    assert not (task.candidates == task.edges[:, 1:]).any()


def test_published_counts_loops_and_reversed_lines_among_the_hidden() -> None:
    """Every line twice, once reversed, and a loop per vertex: what is hidden is often known."""
    ring = [(v, (v + 1) % 40) for v in range(40)]
    lines = [*ring, *((j, i) for i, j in ring), *((v, v) for v in range(40))]
    network = TextualNetwork(
        ids=tuple(map(str, range(40))), texts=[""] * 40, edges=torch.tensor(lines)
    )
    task = published_task(network, 0.5, seed=0)
    trained = {tuple(sorted(edge)) for edge in task.train.edges.tolist()}
    scored = task.edges.tolist()
    loops = sum(i == j for i, j in scored)
    known = sum(i != j and tuple(sorted((i, j))) in trained for i, j in scored)
    assert task.leaks() == Leaks(self_loops=loops, trained_on=known)
    assert loops
    assert known


def test_every_edge_scores_training_edges_as_well(
    planted: TextualNetwork,
) -> None:
    task = every_edge_task(planted, 0.5, seed=0)
    honest = published_task(planted, 0.5, seed=0)
    assert torch.equal(task.train.edges, honest.train.edges)
    scored = {tuple(edge) for edge in task.edges.tolist()}
    assert scored >= {tuple(edge) for edge in task.train.edges.tolist()}
    assert scored >= {tuple(edge) for edge in honest.edges.tolist()}
    assert task.leaks().trained_on >= len(task.train.edges)


def test_an_edge_whose_end_links_to_all_is_ranked_from_the_other_end() -> None:
    star = TextualNetwork(
        ids=tuple("abcdefgh"), texts=[""] * 8, edges=torch.tensor([[0, v] for v in range(1, 8)])
    )
    task = strict_task(star, 0.5, seed=0)
    assert (task.edges[:, 1] == 0).all()
    assert not (task.candidates == 0).any()


def test_an_edge_without_candidates_raises() -> None:
    """A triangle with a vertex that two of its corners are linked to."""
    edges = torch.tensor([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3]])
    network = TextualNetwork(ids=tuple("abcd"), texts=[""] * 4, edges=edges)
    with pytest.raises(SplitError, match="linked to every vertex"):
        draw_unlinked(network, edges[:1], 3, torch.Generator())


def test_an_embedding_is_scored_by_dot_and_cosine_and_others_their_own_way(
    planted: TextualNetwork,
) -> None:
    vectors = torch.tensor([[1.0, 0.0], [2.0, 0.0]])
    pair = torch.tensor([[0, 1]])
    ways = scores_by_way(Embedding(("a", "b"), vectors, 2), pair)
    assert {name: float(score) for name, score in ways.items()} == {"dot": 2, "cosine": 1}
    assert list(scores_by_way(KnowsEverything(planted), pair)) == ["own"]


def test_a_published_split_without_scored_edges_raises() -> None:
    network = TextualNetwork(
        ids=tuple("abcd"), texts=("",) * 4, edges=torch.tensor([[0, 1], [2, 3]])
    )
    with pytest.raises(SplitError, match="no hidden edge has two ends"):
        published_task(network, 0.5, seed=0)


def test_every_method_has_scores(planted: TextualNetwork) -> None:
    task = strict_task(planted, 0.7, seed=0)
    for name in ("random", "adamic-adar", "tfidf"):
        scores = METHODS[name].fit(task.train, 0).score(task.edges)
        assert torch.isfinite(scores).all()


@pytest.mark.slow
def test_word_averages_reach_the_papers_figure_on_cora(data_folder: Path) -> None:
    """Table 1 prints 96.0 at 55 %, `dmte reproduce cora-links` measures all seeds and ratios."""
    task = published_task(read_folder(data_folder / "cora"), 0.55, seed=0)
    assert task.auc(METHODS["dmte-paper"].fit(task.train, 0)) >= 0.95


def test_a_new_metric_is_in_results_tables_and_plots(
    planted: TextualNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line in ``LINK_METRICS`` is all it takes."""
    mean_rank = LinkMetric(
        title="MeanRank",
        compute=lambda ranked: float(ranked.ranks.mean()),
        unit="",
        higher_is_better=False,
    )
    monkeypatch.setitem(LINK_METRICS, "mean_rank", mean_rank)
    rows = evaluate_links(planted, ["tfidf", "random"], [0.5], num_seeds=2)
    figures = [json.loads(json.dumps(row))["mean_rank"]["mean"] for row in rows]
    assert 1 < min(figures) < max(figures) < 102
    lines = table(rows, LINK_METRICS).splitlines()
    assert "MeanRank" in lines[0]
    assert f"{figures[0]:.1f}" in lines[1].split()
    (panel,) = result_panels({"results": rows}, "mean_rank")
    assert panel.axis_names[1] == "MeanRank"
    assert [line.y[0] for line in panel.lines] == sorted(
        row["mean_rank"]["mean"] for row in rows if row["score"] != "cosine"
    )


def test_results_from_before_a_metric_are_summarized_without_it(planted: TextualNetwork) -> None:
    done = [(job, job.run(planted)) for job in link_jobs("", ["random"], [0.5], ["strict"], 2)]
    del done[0][1]["scores"]["dot"]["mrr"]
    dot, cosine = link_results(done)
    assert "mrr" not in dot
    assert len(cosine["mrr"]["values"]) == 2
