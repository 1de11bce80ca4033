"""The recommended recipe: its parts against slow formulas, and when it learns."""

from collections import deque
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from dmte.diffusion.operators import HopFilters
from dmte.diffusion.transition import transition_matrix
from dmte.errors import TrainingError
from dmte.evaluation import METHODS, strict_task
from dmte.kernels.sparse import CompressedRows
from dmte.model.build import embed_network
from dmte.model.diffusion_maps import SquareMap
from dmte.model.trained_model import TrainedModel
from dmte.network import TextualNetwork
from dmte.network.synthetic import PlantedTopics
from dmte.recipes import PAPER
from dmte.settings import Settings
from dmte.text import LearnedWeights, SpectralWords
from dmte.training.auto_settings import auto_word_weights
from dmte.training.edges import even_parts
from dmte.training.fold import Fold
from dmte.training.frozen_start import WIDTHS
from dmte.training.method import DmteMethod
from dmte.training.objective import Scores, ranking_losses
from dmte.training.run import TrainingRun


@pytest.fixture
def topics() -> TextualNetwork:
    return PlantedTopics(num_vertices=160).draw(torch.Generator().manual_seed(4))


def test_hop_filters_are_a_sum_over_dense_powers(planted: TextualNetwork) -> None:
    filters = HopFilters(5, (1.0, 0.7, 0.5), torch.Generator())
    with torch.no_grad():
        filters.filters.add_(torch.randn(3, 5, generator=torch.Generator().manual_seed(0)))
    features = torch.randn(80, 5, generator=torch.Generator().manual_seed(1))
    transition = transition_matrix(planted.adjacency())
    dense = transition @ torch.eye(80)
    slow = sum(
        filters.filters[hop] * (torch.linalg.matrix_power(dense, hop) @ features)
        for hop in range(3)
    )
    torch.testing.assert_close(filters(transition, features), slow, atol=1e-5, rtol=0)


def test_hop_filters_have_the_gradients_of_their_formula(planted: TextualNetwork) -> None:
    transition = transition_matrix(planted.adjacency(), torch.float64)
    filters = HopFilters(3, (1.0, 0.7, 0.5), torch.Generator()).double()
    generator = torch.Generator().manual_seed(1)
    features = torch.randn(80, 3, generator=generator, dtype=torch.float64, requires_grad=True)

    def filtered(features: Tensor, values: Tensor) -> Tensor:
        found: Tensor = torch.func.functional_call(
            filters, {"filters": values}, (transition, features)
        )
        return found

    assert torch.autograd.gradcheck(filtered, (features, filters.filters), fast_mode=True)


def test_filters_and_map_start_as_plain_diffusion(planted: TextualNetwork) -> None:
    features = torch.randn(80, 5, generator=torch.Generator().manual_seed(1))
    transition = transition_matrix(planted.adjacency())
    mixed = SquareMap(5)(HopFilters(5, (1.0, 0.5), torch.Generator())(transition, features))
    torch.testing.assert_close(mixed, features + 0.5 * (transition @ features))


@pytest.mark.parametrize("weight", [0.0, 0.3])
def test_the_ranking_loss_is_its_formula(weight: float) -> None:
    generator = torch.Generator().manual_seed(0)
    scores = Scores(
        torch.randn(1, 4, generator=generator), torch.randn(1, 4, 3, generator=generator)
    )
    weights = torch.tensor([1.0, 2.0, 0.5, 1.0])
    slow = 0.0
    for edge in range(4):
        gains = [
            torch.log(torch.sigmoid(10 * (scores.positive[0, edge] - scores.negative[0, edge, k])))
            for k in range(3)
        ]
        ahead = torch.cat([scores.positive[0, edge, None], scores.negative[0, edge]])
        in_softmax = torch.log_softmax(10 * ahead, dim=0)[0]
        slow -= float(weights[edge] * (sum(gains) / 3 + weight * in_softmax))
    found = ranking_losses(scores, weights, sharpness=10.0, softmax_weight=weight)
    assert float(found[0]) == pytest.approx(slow / 4.5, rel=1e-5)


def test_what_is_not_a_negative_of_an_edge_is_not_in_its_loss() -> None:
    generator = torch.Generator().manual_seed(0)
    positive = torch.randn(1, 2, generator=generator)
    negative = torch.randn(1, 2, 4, generator=generator)
    negative[:, :, 3] = -torch.inf
    masked, without = (
        ranking_losses(Scores(positive, some), torch.ones(2), 10.0, softmax_weight=0.3)
        for some in (negative, negative[:, :, :3])
    )
    # The mean over negatives counts those that are masked.
    pairwise, fewer = (
        ranking_losses(Scores(positive, some), torch.ones(2), 10.0)
        for some in (negative, negative[:, :, :3])
    )
    torch.testing.assert_close(pairwise, 3 / 4 * fewer)
    torch.testing.assert_close(masked - pairwise, without - fewer)


def test_it_starts_from_diffused_texts_and_keeps_the_start_if_learning_does_not_help(
    topics: TextualNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forget(fold: Fold, _: int) -> Generator[None, None, Tensor]:
        for parameter in fold.model.parameters():
            parameter.data.zero_()
        yield
        return torch.ones(1)

    monkeypatch.setattr(Fold, "train_epoch", forget)
    settings = Settings(dim=64, epochs=3)
    run = TrainingRun(topics, settings, seed=0)
    for _ in run.epochs():
        pass
    start, *later = (record.validation_auc for record in run.history)
    assert later == [0.5] * 3
    assert run.best is not None
    assert run.best.epoch == 0
    assert run.best.auc == start
    encoder = run.result().model.encoder
    features = encoder(encoder.prepare(run.vocabulary.encode(topics.texts)))
    transition = transition_matrix(topics.adjacency(), kind="symmetric")
    mixed, power = features.clone(), features
    for weight in settings.hop_weights[1:]:
        power = transition @ power
        mixed += weight * power
    vectors = run.result().embedding.vectors
    torch.testing.assert_close(vectors, normalize(mixed), atol=1e-4, rtol=0)


def test_negatives_are_drawn_uniformly(topics: TextualNetwork) -> None:
    few = topics.with_edges(topics.edges[:100], topics.edge_weights[:100])
    run = TrainingRun(few, Settings(dim=64), seed=0)
    noise, is_linked = run.folds[0]._noise(), run.folds[0].edges.are_linked()
    assert int((~is_linked).sum()) > 0
    assert torch.all(noise[is_linked] == 1)
    assert float(noise.sum()) == pytest.approx(few.num_vertices)


@pytest.mark.medium
def test_folds_have_different_validation_edges_and_are_averaged(topics: TextualNetwork) -> None:
    run = TrainingRun(topics, Settings(dim=64, epochs=3), seed=0)
    for _ in run.epochs():
        pass
    held_back = [
        fold.validation_edges.edges.tolist() for fold in run.folds if fold.validation_edges
    ]
    assert len(held_back) == 3
    first, second, third = held_back
    assert first != second != third != first
    parameters = dict(run.result().model.named_parameters())
    assert set(parameters) == {"convolution.filters", "mixing.matrix"}
    averages = {
        name: torch.stack([fold.best_parameters()[name] for fold in run.folds]).mean(dim=0)
        for name in run.folds[0].best_parameters()
    }
    for name, found in parameters.items():
        torch.testing.assert_close(found.detach(), averages[name])
    rarities = [one.get_buffer("rarities") for one in (run.result().model.encoder, encoder_of(run))]
    torch.testing.assert_close(rarities[0], rarities[1] * averages["encoder.emphasis"].exp())


def encoder_of(run: TrainingRun) -> SpectralWords:
    """Return what the first training reads texts by."""
    encoder = run.folds[0].model.encoder
    words = encoder.words if isinstance(encoder, LearnedWeights) else encoder
    assert isinstance(words, SpectralWords)
    return words


@pytest.mark.medium
def test_words_shared_along_links_count_more_than_those_shared_by_accident() -> None:
    """Vertices 4i to 4i + 3 are linked and share a word; those 60 apart share another."""
    groups = torch.arange(240).view(60, 4)
    pairs = torch.cat([torch.combinations(group) for group in groups])
    texts = tuple(f"told{v // 4} chance{v % 60} filler{v % 3}" for v in range(240))
    network = TextualNetwork(ids=tuple(map(str, range(240))), texts=texts, edges=pairs)
    settings = Settings(
        dim=64, letters=False, word_weights=True, validation_fraction=0.0, epochs=20
    )
    run = TrainingRun(network, settings, seed=0)
    start = dict(zip(run.vocabulary.words, encoder_of(run).rarities.tolist(), strict=True))
    for _ in run.epochs():
        pass
    ended = run.result().model.encoder.get_buffer("rarities").tolist()
    learned = dict(zip(run.vocabulary.words, ended, strict=True))
    ratio = {
        kind: sum(learned[w] / start[w] for w in start if w.startswith(kind)) / 60
        for kind in ("told", "chance")
    }
    assert ratio["told"] > 1.1 * ratio["chance"]


@pytest.mark.parametrize(
    ("settings", "held_back", "learned"),
    [
        (Settings(), 0, False),
        (Settings(), 1, True),
        (Settings(), 999, True),
        (Settings(), 1000, False),
        (Settings(word_weights=True), 1000, True),
        (Settings(word_weights=False), 999, False),
        (Settings(encoder="features"), 999, False),
        (PAPER, 999, False),
    ],
)
def test_word_weights_are_learned_with_few_validation_edges(
    settings: Settings, held_back: int, *, learned: bool
) -> None:
    assert auto_word_weights(settings, held_back) is learned


@pytest.mark.medium
def test_word_weights_are_idf_unless_they_are_learned(topics: TextualNetwork) -> None:
    run = TrainingRun(topics, Settings(dim=16, epochs=2, word_weights=False), seed=0)
    start = encoder_of(run).rarities.clone()
    for _ in run.epochs():
        pass
    assert torch.equal(run.result().model.encoder.get_buffer("rarities"), start)
    assert run.result().settings.word_weights is False


def emphasis_of(fold: Fold) -> Tensor:
    return dict(fold.model.named_parameters())["encoder.emphasis"].detach()


def test_every_fold_has_its_own_word_weights(topics: TextualNetwork) -> None:
    settings = Settings(dim=16, epochs=1, folds=2, word_dropout=0.0)
    run, alone = (TrainingRun(topics, settings, seed=0) for _ in range(2))
    for _ in run.epochs():
        pass
    deque(alone.folds[1].train_epoch(0), maxlen=0)
    first, second = map(emphasis_of, run.folds)
    assert not torch.equal(first, second)
    assert torch.equal(second, emphasis_of(alone.folds[1]))
    assert not emphasis_of(alone.folds[0]).any()


def test_step_sizes_fall_linearly_to_zero_over_all_epochs(topics: TextualNetwork) -> None:
    settings = Settings(dim=16, folds=1, epochs=3)
    decays, constant = (
        TrainingRun(topics, replace(settings, decay=decay), seed=0).folds[0]
        for decay in (True, False)
    )
    rates = [group.rate for group in constant.optimizer.groups]
    seen, scales = 0, []
    for epoch in range(3):
        rounds = constant.train_epoch(epoch)
        order = torch.randperm(len(decays.edges), generator=decays._generator("order", epoch))
        parts = even_parts(order, decays.sizes.round)
        shrunk = decays.train_epoch(epoch)
        for part in parts:
            left = 1 - seen / (3 * len(decays.edges))
            seen += len(part)
            for group, rate in zip(constant.optimizer.groups, rates, strict=True):
                group.rate = rate * left
            next(rounds)
            next(shrunk)
            scales.append(decays.optimizer.scale)
            assert constant.optimizer.scale == 1
        assert next(rounds, None) is next(shrunk, None) is None
    assert scales == pytest.approx([1 - number / 15 for number in range(15)], abs=0.002)
    for name, found in decays.parameters().items():
        torch.testing.assert_close(found, constant.parameters()[name])


def test_the_step_sizes_of_the_paper_do_not_decay(topics: TextualNetwork) -> None:
    run = TrainingRun(topics, replace(PAPER, dim=8, epochs=2), seed=0)
    assert [run.folds[0].optimizer.scale for _ in run.epochs()] == [1, 1]


def test_filters_m_and_word_weights_have_their_own_step_sizes(
    topics: TextualNetwork,
) -> None:
    """The first step of Adam is of the size of the rate, whatever the gradient is."""
    settings = Settings(
        dim=16, folds=1, learning_rate=0.02, mixing_learning_rate=0.003, word_learning_rate=0.4
    )
    fold = TrainingRun(topics, settings, seed=0).folds[0]
    before = fold.parameters()
    list(fold.train_round(torch.arange(fold.sizes.round), torch.Generator().manual_seed(0)))
    moved = {name: (now - before[name]).abs().max() for name, now in fold.parameters().items()}
    assert {name: round(float(far), 4) for name, far in moved.items()} == {
        "convolution.filters": 0.02,
        "mixing.matrix": 0.003,
        "encoder.emphasis": 0.4,
    }


@pytest.mark.medium
def test_vectors_equal_those_of_the_stored_model_to_the_bit(
    topics: TextualNetwork, tmp_path: Path
) -> None:
    run = TrainingRun(topics, Settings(dim=64, epochs=3), seed=0)
    for _ in run.epochs():
        pass
    run.result().save(tmp_path / "model")
    stored = TrainedModel.load(tmp_path / "model")
    texts = stored.model.encoder.prepare(stored.vocabulary.encode(topics.texts))
    none_linked = torch.empty(0, dtype=torch.int64)
    again = embed_network(stored.model, stored.network, texts, none_linked)
    assert torch.equal(again.vectors, stored.embedding.vectors)


@pytest.mark.medium
def test_an_intermediate_result_does_not_change_training(topics: TextualNetwork) -> None:
    run, asked = (TrainingRun(topics, Settings(dim=16, epochs=3), seed=0) for _ in range(2))
    for _ in run.epochs():
        pass
    for _ in asked.epochs():
        asked.result()
    assert torch.equal(run.result().embedding.vectors, asked.result().embedding.vectors)


def test_every_epoch_drops_other_words(topics: TextualNetwork) -> None:
    settings = Settings(dim=16, epochs=3, folds=1, word_dropout=0.5, word_weights=False)
    run = TrainingRun(topics, settings, seed=0)
    fold = run.folds[0]
    whole = fold.model.encoder.prepare(run.vocabulary.encode(topics.texts))
    seen = [cast("CompressedRows", fold._texts) for _ in run.epochs()]
    for texts in seen:
        assert 0.45 < len(texts.values) / len(whole.values) < 0.55
    assert not torch.equal(seen[0].columns, seen[1].columns)
    again = whole.dropout(0.5, fold._generator("words", 2))
    assert torch.equal(seen[2].columns, again.columns)
    assert torch.equal(seen[2].values, again.values)
    # Validation and the result use all words.
    assert torch.equal(fold._all_texts.values, whole.values)


def test_training_helps_if_links_follow_topics(topics: TextualNetwork) -> None:
    task = strict_task(topics, 0.8, seed=0)
    run = TrainingRun(task.train, Settings(), seed=0)
    for _ in run.epochs():
        pass
    assert run.best is not None
    assert run.best.epoch > 0
    assert run.settings.dim in WIDTHS
    assert task.auc(run.result().embedding) > task.auc(METHODS["lsa-diffused"].fit(task.train, 0))


def test_with_too_few_edges_texts_are_only_diffused() -> None:
    network = TextualNetwork(
        ids=("a", "b", "c"),
        texts=("red fox", "red hen", "blue sky"),
        edges=torch.tensor([[0, 1]]),
    )
    run = TrainingRun(network, Settings(), seed=0)
    assert run.is_done
    assert list(run.epochs()) == []
    vectors = run.result().embedding.vectors
    torch.testing.assert_close(vectors.norm(dim=1), torch.ones(3))
    assert float(vectors[0] @ vectors[1]) > 0.5 > float(vectors[0] @ vectors[2])


def test_untrained_models_have_no_word_weights(topics: TextualNetwork) -> None:
    few = replace(topics, edges=topics.edges[:40], weights=None)
    run = TrainingRun(few, Settings(dim=16), seed=0)
    assert run.is_done
    assert run.result().settings.word_weights is False
    assert list(run.folds[0].model.encoder.parameters()) == []


def test_texts_alone_are_embedded() -> None:
    network = TextualNetwork(
        ids=("a", "b"), texts=("red fox", "red hen"), edges=torch.empty(0, 2).long()
    )
    assert torch.isfinite(DmteMethod().fit(network, 0).vectors).all()


def test_a_network_without_texts_raises_with_a_recipe_for_it(topics: TextualNetwork) -> None:
    wordless = replace(topics, texts=("",) * topics.num_vertices)
    with pytest.raises(TrainingError, match=r"no text has a word.*'dmte train --recipe paper'"):
        DmteMethod().fit(wordless, 0)
    assert DmteMethod(replace(PAPER, dim=16, epochs=1)).fit(wordless, 0).vectors.any()


@pytest.mark.parametrize("settings", [Settings(), PAPER], ids=["recommended", "paper"])
def test_features_that_are_all_zero_raise_with_any_recipe(
    topics: TextualNetwork, settings: Settings
) -> None:
    nothing = topics.with_features(torch.zeros(topics.num_vertices, 8))
    with pytest.raises(TrainingError, match="all features of all vertices are zero") as refused:
        DmteMethod(replace(settings, encoder="features")).fit(nothing, 0)
    assert "recipe" not in str(refused.value)


@pytest.mark.medium
def test_a_stored_model_embeds_a_text_as_before(topics: TextualNetwork, tmp_path: Path) -> None:
    trained = DmteMethod(Settings(epochs=2)).train(topics, seed=0)
    trained.save(tmp_path / "model")
    loaded = TrainedModel.load(tmp_path / "model")
    text = topics.texts[0]
    assert torch.equal(loaded.embed_text(text), trained.embed_text(text))
    assert loaded.settings.dim in WIDTHS


@pytest.mark.parametrize(
    ("num_words", "asked", "used"),
    [(12, None, True), (30, None, False), (12, False, False), (30, True, True)],
)
def test_a_model_stores_whether_letters_are_used(
    num_words: int, *, asked: bool | None, used: bool
) -> None:
    network = PlantedTopics(num_vertices=160, words_per_text=num_words).draw(torch.Generator())
    run = TrainingRun(network, Settings(dim=16, epochs=1, letters=asked), seed=0)
    assert (run.requested_settings.letters, run.result().settings.letters) == (asked, used)


def test_only_spectral_texts_have_letters(topics: TextualNetwork) -> None:
    featured = topics.with_features(torch.ones(topics.num_vertices, 4))
    for settings in (Settings(encoder="features"), replace(PAPER, letters=None)):
        assert TrainingRun(featured, settings, seed=0).settings.letters is False


def complete(num_vertices: int, *, without: int = 0, directed: bool = False) -> TextualNetwork:
    """Everything is linked to everything, but for the last ``without`` pairs."""
    pairs = torch.combinations(torch.arange(num_vertices))
    if directed:
        pairs = torch.cat([pairs, pairs.flip(1)])
    return TextualNetwork(
        ids=tuple(map(str, range(num_vertices))),
        texts=tuple(f"word{vertex % 3} word{vertex}" for vertex in range(num_vertices)),
        edges=pairs[: len(pairs) - without],
        directed=directed,
    )


@pytest.mark.parametrize(
    "network",
    [
        complete(20),
        complete(20, without=7),
        complete(15, directed=True),
        complete(20).with_edges(torch.arange(20).repeat(5, 1).T.reshape(-1, 1).repeat(1, 2)),
        complete(100).with_edges(
            torch.cat([torch.arange(100).unsqueeze(1).repeat(1, 2), torch.tensor([[0, 1], [2, 3]])])
        ),
    ],
    ids=["complete", "nearly complete", "directed", "self-loops", "self-loops and two edges"],
)
def test_networks_without_validation_edges_are_embedded_untrained(
    network: TextualNetwork,
) -> None:
    run = TrainingRun(network, Settings(epochs=2), seed=0)
    assert not list(run.epochs())
    assert not run.history
    trained = run.result()
    assert torch.isfinite(trained.embedding.vectors).all()
    parameters = dict(trained.model.named_parameters())
    assert torch.equal(parameters["mixing.matrix"], torch.eye(run.settings.half))
    plain = HopFilters(run.settings.half, run.settings.hop_weights, torch.Generator())
    assert torch.equal(parameters["convolution.filters"], plain.filters)


@pytest.mark.medium
@pytest.mark.parametrize(("num_edges", "learns"), [(79, False), (80, True)])
def test_training_needs_eight_validation_edges(num_edges: int, *, learns: bool) -> None:
    """A tenth of the edges are validation edges."""
    network = complete(40)
    run = TrainingRun(network.with_edges(network.edges[:num_edges]), Settings(epochs=1), seed=0)
    assert len(list(run.epochs())) == learns


@pytest.mark.medium
def test_nearly_all_pairs_may_be_linked_if_eight_are_not() -> None:
    for without, num_epochs in ((7, 0), (8, 1)):
        run = TrainingRun(complete(20, without=without), Settings(epochs=1), seed=0)
        assert len(list(run.epochs())) == num_epochs


@pytest.mark.medium
def test_training_works_with_weights_of_any_unit(topics: TextualNetwork) -> None:
    weights = torch.rand(len(topics.edges), dtype=torch.float64) + 0.5
    aucs = []
    for unit in (1.0, 1e300, 1e-300):
        weighted = topics.with_edges(topics.edges, weights * unit)
        run = TrainingRun(weighted, Settings(epochs=2, dim=64), seed=0)
        for _ in run.epochs():
            pass
        assert run.best is not None
        aucs.append(run.best.auc)
    assert aucs[1:] == pytest.approx([aucs[0]] * 2, abs=0.01)


def test_self_loops_are_in_p_and_never_validation_edges(topics: TextualNetwork) -> None:
    loops = torch.arange(10).unsqueeze(1).repeat(1, 2)
    network = topics.with_edges(torch.cat([topics.edges, loops]))
    run = TrainingRun(network, Settings(epochs=1, dim=64), seed=0)
    for fold in run.folds:
        assert (fold.train.edges[:, 0] == fold.train.edges[:, 1]).sum() == 10
        assert fold.validation_edges is not None
        assert (fold.validation_edges.edges[:, 0] != fold.validation_edges.edges[:, 1]).all()
