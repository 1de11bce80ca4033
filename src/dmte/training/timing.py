"""Training time, estimated from one epoch, on a part of the network if it is large."""

import time
from dataclasses import replace
from itertools import islice

import torch

from dmte.network import TextualNetwork
from dmte.settings import Settings
from dmte.training.estimate import Sizes
from dmte.training.run import TrainingRun

MAX_VERTICES = 4096
"""Maximum number of vertices of the network on which the epoch is measured."""


def training_seconds(network: TextualNetwork, settings: Settings) -> float:
    """Measure the set-up and one epoch, and scale both to the whole network and all epochs.

    Early stopping makes training shorter.

    Raises:
        TrainingError: There is too little training data.
    """
    sizes = Sizes.of(network, settings)
    # The sample could resolve these settings differently.
    settings = replace(settings, folds=sizes.folds, word_weights=sizes.auto_word_weights)
    measured = _sample(network, min(MAX_VERTICES, network.num_vertices))
    started = time.perf_counter()
    run = TrainingRun(measured, settings, seed=0)
    seconds = time.perf_counter() - started
    seconds += settings.epochs * sum(report.seconds for report in islice(run.epochs(), 1))
    return seconds * network.num_vertices / measured.num_vertices


def _sample(network: TextualNetwork, num_vertices: int) -> TextualNetwork:
    """Build a smaller network with as many edges and words per vertex."""
    step = network.num_vertices / num_vertices
    chosen = [int(number * step) for number in range(num_vertices)]
    kept = torch.linspace(0, max(len(network.edges) - 1, 0), int(len(network.edges) / step)).long()
    return replace(
        network,
        ids=[network.ids[vertex] for vertex in chosen],
        texts=[network.texts[vertex] for vertex in chosen],
        edges=network.edges[kept] % num_vertices,
        weights=None if network.weights is None else network.weights[kept],
        labels=None,
        features=None if network.features is None else network.features[chosen],
    )
