"""Training learns, is reproducible to the bit, and stops early."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from dmte.baselines import RandomVectors
from dmte.errors import TrainingError
from dmte.evaluation import strict_task
from dmte.network import TextualNetwork, read_folder
from dmte.network.synthetic import PlantedTopics
from dmte.recipes import PAPER, VARIANTS
from dmte.settings import Settings
from dmte.training.method import DmteMethod
from dmte.training.run import TrainingRun

SMALL = replace(PAPER, dim=16, epochs=6, batch_size=64)
RATES = {
    name: f"a {name}_rate below {getattr(Settings(), f'{name}_rate'):g}"
    for name in ("learning", "mixing_learning", "word_learning")
}
"""Advice about the step sizes of the recommended recipe."""


def digest_of(network: TextualNetwork, settings: Settings, seed: int = 0) -> list[float]:
    return DmteMethod(settings).fit(network, seed).vectors.flatten().tolist()


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_version_gives_every_vertex_a_finite_vector(
    planted: TextualNetwork, variant: str
) -> None:
    settings = replace(VARIANTS[variant], dim=16, epochs=2)
    embedding = DmteMethod(settings).fit(planted, seed=0)
    assert embedding.ids == planted.ids
    assert embedding.text.shape == (80, 8)
    assert embedding.structure.shape == (80, 8 if settings.structure else 0)
    assert torch.isfinite(embedding.vectors).all()


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["word-average", "no-diffusion", "text-only"])
def test_every_version_beats_random_vectors_by_far(variant: str) -> None:
    network = PlantedTopics(num_vertices=200).draw(torch.Generator().manual_seed(1))
    task = strict_task(network, 0.8, seed=0)
    learned = task.auc(DmteMethod(replace(VARIANTS[variant], dim=64)).fit(task.train, seed=0))
    drawn = task.auc(RandomVectors().fit(task.train, seed=0))
    assert learned > drawn + 0.2


@pytest.mark.medium
def test_the_bilstm_learns_topics() -> None:
    network = PlantedTopics(num_vertices=120).draw(torch.Generator().manual_seed(1))
    task = strict_task(network, 0.8, seed=0)
    settings = replace(VARIANTS["bilstm"], dim=32, epochs=60, learning_rate=0.01)
    assert task.auc(DmteMethod(settings).fit(task.train, seed=0)) > 0.65


@pytest.mark.medium
@pytest.mark.parametrize(
    "change",
    [{}, {"encoder": "bilstm"}, {"hide_supervised": True}, {"validation_fraction": 0.2}],
    ids=str,
)
def test_the_same_seed_gives_the_same_bits(
    planted: TextualNetwork, change: dict[str, object]
) -> None:
    settings = replace(SMALL, **change)  # type: ignore[arg-type]
    assert digest_of(planted, settings) == digest_of(planted, settings)


@pytest.mark.medium
def test_another_seed_gives_other_vectors(planted: TextualNetwork) -> None:
    assert digest_of(planted, SMALL, seed=0) != digest_of(planted, SMALL, seed=1)


@pytest.mark.slow
def test_another_process_gives_the_same_bits_with_two_threads(tmp_path: Path) -> None:
    script = """
import hashlib, torch
torch.set_num_threads(2)
from dmte.network.synthetic import PlantedTopics
from dmte.settings import Settings
from dmte.training.method import DmteMethod
network = PlantedTopics(num_vertices=80).draw(torch.Generator().manual_seed(5))
vectors = DmteMethod(Settings(dim=16, epochs=5, batch_size=64)).fit(network, seed=3).vectors
digest = hashlib.sha256(vectors.numpy().tobytes()).hexdigest()
"""
    command = [sys.executable, "-c", f"{script}\nprint(digest)"]
    other = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    before, here = torch.get_num_threads(), {"digest": ""}
    try:
        exec(script, here)
    finally:
        torch.set_num_threads(before)
    assert other.stdout.strip() == here["digest"] != ""


def test_training_does_not_use_the_global_generator(planted: TextualNetwork) -> None:
    before = torch.get_rng_state()
    digest_of(planted, SMALL)
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.medium
def test_the_loss_falls(planted: TextualNetwork) -> None:
    losses = [report.loss for report in TrainingRun(planted, replace(SMALL, epochs=40), 0).epochs()]
    assert len(losses) == 40
    assert losses[-1] < losses[0] - 0.3


def test_a_report_adds_up_its_parts(planted: TextualNetwork) -> None:
    report = next(iter(TrainingRun(planted, SMALL, 0).epochs()))
    alpha = {"text_text": 1, "structure_structure": 1, "structure_text": 0.3, "text_structure": 0.3}
    assert set(report.parts) == set(alpha)
    assert report.loss == pytest.approx(sum(alpha[part] * report.parts[part] for part in alpha))
    assert report.num_edges == len(planted.distinct_edges()[0])


def test_the_loss_of_an_epoch_does_not_depend_on_the_batch_size(planted: TextualNetwork) -> None:
    whole = next(iter(TrainingRun(planted, replace(SMALL, learning_rate=1e-12), 0).epochs()))
    split = replace(SMALL, learning_rate=1e-12, batch_size=7, num_negatives=1)
    pieces = next(iter(TrainingRun(planted, split, 0).epochs()))
    # Negatives differ from batch to batch, so the two agree only about.
    assert pieces.loss == pytest.approx(whole.loss, rel=0.02)


def test_an_isolated_vertex_has_no_structure_but_keeps_its_text(planted: TextualNetwork) -> None:
    embedding = DmteMethod(SMALL).fit(planted, seed=0)
    assert not embedding.structure[7].any()
    assert embedding.text[7].any()


@pytest.mark.medium
def test_isolated_vertices_change_nothing_for_the_others(planted: TextualNetwork) -> None:
    """Leaving them out of training is exact: others' vectors do not depend on their number."""
    more = TextualNetwork(
        ids=(*planted.ids, "extra"), texts=(*planted.texts, planted.texts[0]), edges=planted.edges
    )
    with_extra = DmteMethod(SMALL).fit(more, seed=0).vectors[:-1]
    torch.testing.assert_close(DmteMethod(SMALL).fit(planted, seed=0).vectors, with_extra)


@pytest.mark.medium
def test_weights_change_the_vectors(planted: TextualNetwork) -> None:
    weights = torch.ones(len(planted.edges), dtype=torch.float64)
    weights[::2] = 9.0
    assert digest_of(planted.with_edges(planted.edges, weights), SMALL) != digest_of(planted, SMALL)


@pytest.mark.medium
def test_scaling_all_weights_changes_nothing(planted: TextualNetwork) -> None:
    """P and P_n are normalized and the loss is a weighted mean."""
    double = torch.full((len(planted.edges),), 2.0, dtype=torch.float64)
    scaled = DmteMethod(SMALL).fit(planted.with_edges(planted.edges, double), seed=0).vectors
    torch.testing.assert_close(scaled, DmteMethod(SMALL).fit(planted, seed=0).vectors)


@pytest.mark.medium
def test_direction_changes_the_vectors(planted: TextualNetwork) -> None:
    assert digest_of(replace(planted, directed=True), SMALL) != digest_of(planted, SMALL)


@pytest.mark.medium
def test_early_stopping_stops_and_keeps_the_best() -> None:
    network = PlantedTopics(num_vertices=100).draw(torch.Generator().manual_seed(2))
    settings = replace(
        PAPER,
        dim=16,
        epochs=400,
        learning_rate=0.05,
        validation_fraction=0.2,
        validate_every=2,
        patience=3,
    )
    run = TrainingRun(network, settings, seed=0)
    checks = {r.epoch: r.validation_auc for r in run.epochs() if r.validation_auc is not None}
    assert run.epoch < 400
    kept_check = run.folds[0].best
    assert kept_check.epoch == max(checks, key=lambda epoch: (checks[epoch], -epoch))
    assert run.epoch == kept_check.epoch + 3 * 2
    best = kept_check.parameters
    assert best is not None
    kept = run.result().model.state_dict()
    assert all(torch.equal(kept[name], best[name]) for name in best)


def test_validation_edges_are_not_training_edges(planted: TextualNetwork) -> None:
    run = TrainingRun(planted, replace(SMALL, validation_fraction=0.25), seed=0)
    assert run.num_edges == pytest.approx(0.75 * len(planted.distinct_edges()[0]), abs=3)


def test_a_diverging_loss_stops_training(planted: TextualNetwork) -> None:
    run = TrainingRun(planted, replace(SMALL, learning_rate=1e38, epochs=50), seed=0)
    with pytest.raises(
        TrainingError, match=r"no longer a finite number in epoch \d+; a learning_rate below 1e\+38"
    ):
        for _ in run.epochs():
            pass


def test_parameters_that_overflow_in_the_last_step_raise(planted: TextualNetwork) -> None:
    run = TrainingRun(planted, replace(SMALL, epochs=1, batch_size=1000), seed=0)
    run.folds[0].optimizer.groups[0].rate = float("inf")
    with pytest.raises(TrainingError, match="a parameter was no longer a finite number in epoch 1"):
        next(run.epochs())


@pytest.mark.parametrize(
    ("settings", "rates"),
    [
        (PAPER, "a learning_rate below 0.003"),
        (
            Settings(word_weights=False),
            f"{RATES['learning']} or {RATES['mixing_learning']}",
        ),
        (
            Settings(word_weights=True),
            f"{RATES['learning']}, {RATES['mixing_learning']} or {RATES['word_learning']}",
        ),
        (
            Settings(word_weights=False, text_diffusion=False),
            RATES["mixing_learning"],
        ),
    ],
    ids=["paper", "mixing", "words", "mixing alone"],
)
def test_diverging_training_raises_with_every_step_size_in_use(
    planted: TextualNetwork, settings: Settings, rates: str
) -> None:
    settings = replace(settings, dim=16, validation_fraction=0.0, folds=1)
    run = TrainingRun(planted, settings, seed=0)
    for group in run.folds[0].optimizer.groups:
        group.rate = float("inf")
    with pytest.raises(TrainingError, match=f"in epoch 1; {rates} may help$"):
        next(run.epochs())


def test_a_result_does_not_change_when_training_continues(planted: TextualNetwork) -> None:
    run = TrainingRun(planted, SMALL, seed=0)
    reports = run.epochs()
    next(reports)
    early = run.result()
    before = {name: value.clone() for name, value in early.model.state_dict().items()}
    next(reports)
    assert all(torch.equal(early.model.state_dict()[name], before[name]) for name in before)


def test_a_network_without_edges_raises() -> None:
    network = TextualNetwork(
        ids=("a", "b", "c"), texts=("x", "y", "z"), edges=torch.empty(0, 2, dtype=torch.int64)
    )
    with pytest.raises(TrainingError, match="only 0 vertices have an edge"):
        DmteMethod(SMALL).fit(network, seed=0)


def test_a_network_without_a_single_word_still_trains(planted: TextualNetwork) -> None:
    silent = replace(planted, texts=("",) * planted.num_vertices)
    for variant in VARIANTS.values():
        embedding = DmteMethod(replace(variant, dim=16, epochs=2)).fit(silent, seed=0)
        assert not embedding.text.any()
        assert torch.isfinite(embedding.vectors).all()


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_version_trains_on_cora(data_folder: Path, variant: str) -> None:
    """Three steps over all edges; `dmte reproduce cora-links` trains to the end."""
    run = TrainingRun(
        read_folder(data_folder / "cora"), replace(VARIANTS[variant], dim=64, epochs=3), seed=0
    )
    losses = [report.loss for report in run.epochs()]
    assert losses == sorted(losses, reverse=True)
    assert torch.isfinite(run.result().embedding.vectors).all()
