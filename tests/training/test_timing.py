"""Training time, estimated from one epoch."""

from dataclasses import replace

import pytest
import torch

from dmte.errors import TrainingError
from dmte.network import TextualNetwork
from dmte.recipes import PAPER
from dmte.settings import Settings
from dmte.training import timing
from dmte.training.run import TrainingRun
from dmte.training.timing import training_seconds


def test_more_epochs_take_more_time(planted: TextualNetwork) -> None:
    once = training_seconds(planted, replace(PAPER, dim=16, epochs=1))
    often = training_seconds(planted, replace(PAPER, dim=16, epochs=1000))
    assert 0 < 10 * once < often


@pytest.mark.parametrize("weights", [1.0, None])
def test_a_large_network_is_measured_on_a_part_of_it(
    weights: float | None, planted: TextualNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    if weights is not None:
        planted = planted.with_edges(planted.edges, torch.full((len(planted.edges),), weights))
    measured = []

    class Recorded(TrainingRun):
        def __init__(self, network: TextualNetwork, settings: Settings, seed: int) -> None:
            measured.append(network)
            super().__init__(network, settings, seed)

    monkeypatch.setattr(timing, "TrainingRun", Recorded)
    monkeypatch.setattr(timing, "MAX_VERTICES", planted.num_vertices // 2)
    assert training_seconds(planted, replace(PAPER, dim=16, epochs=1)) > 0
    (part,) = measured
    assert part.num_vertices == planted.num_vertices // 2
    assert len(part.edges) == len(planted.edges) // 2
    assert set(part.texts) <= set(planted.texts)


def test_a_network_without_training_data_raises(planted: TextualNetwork) -> None:
    lonely = replace(planted, edges=torch.empty(0, 2, dtype=torch.int64))
    with pytest.raises(TrainingError, match="only 0 vertices have an edge"):
        training_seconds(lonely, PAPER)


def test_a_model_without_an_epoch_takes_its_set_up(planted: TextualNetwork) -> None:
    lonely = replace(planted, edges=torch.empty(0, 2, dtype=torch.int64))
    assert 0 < training_seconds(lonely, Settings()) < 10
