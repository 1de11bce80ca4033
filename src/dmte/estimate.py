"""What training takes, said before it is done.

Memory is counted from the sizes of the tables (word averages; a Bi-LSTM takes more). Time is
measured: a few steps are made and the fastest is multiplied.
"""

import math

import torch

from dmte.config import Settings
from dmte.cost import FLOAT_BYTES, Cost, fastest_seconds
from dmte.network import TextualNetwork
from dmte.randomness import generator_for
from dmte.training import TrainingRun

NUM_STEPS = 4  # The first also sets up Adam and warms the allocator.


def estimate(network: TextualNetwork, settings: Settings) -> Cost:
    """Return what training ``network`` takes.

    Raises:
        TrainingError: The network cannot be trained on at all.
    """
    run = TrainingRun(network, settings, seed=0)
    if run.is_done:
        return Cost(_memory_bytes(run, 0), 0.0)
    fold = run.folds[0]
    batch = torch.arange(min(fold.batch_size, run.num_edges))
    seconds = fastest_seconds(lambda: fold.step(batch, generator_for(0, "estimate")), NUM_STEPS)
    steps = math.ceil(run.num_edges / fold.batch_size) * settings.epochs * len(run.folds)
    return Cost(_memory_bytes(run, len(batch)), seconds * steps)


def _memory_bytes(run: TrainingRun, batch: int) -> int:
    """Return the bytes of the tables and of what is kept beside them when that is most.

    That is either during a step, for the backward pass over the linked vertices and the scores, or
    at the end, when all vertices are embedded at once.
    """
    settings = run.settings
    fold = run.folds[0]
    num_parameters = sum(p.numel() for p in fold.model.parameters()) * len(run.folds)
    with_gradient_and_moments = 4 * num_parameters
    powers_and_activations, halves_and_gradients = 2 * settings.hops, 8
    tables = (powers_and_activations + halves_and_gradients) * settings.half
    directions, rows_per_pair = 2, 4 * (1 + settings.num_negatives)
    scored = directions * rows_per_pair * batch * settings.half
    during_step = tables * len(fold.edges.members) + scored
    at_the_end = tables * run.network.num_vertices
    return FLOAT_BYTES * (with_gradient_and_moments + max(during_step, at_the_end))
