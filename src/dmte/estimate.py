"""What training takes, said before it is done.

Memory is counted from the sizes of the tables (word averages; a Bi-LSTM takes more). Time is
measured: training is set up, a few steps and looks are made, and the fastest are multiplied by as
many epochs as may be made. Where training stops early, it takes less.
"""

import math
import time

import torch

from dmte.config import Settings
from dmte.cost import FLOAT_BYTES, Cost, fastest_seconds
from dmte.network import TextualNetwork
from dmte.randomness import generator_for
from dmte.training import TrainingRun
from dmte.width import WIDTHS

NUM_STEPS = 4  # The first also sets up Adam and warms the allocator.


def estimate(network: TextualNetwork, settings: Settings) -> Cost:
    """Return what training ``network`` takes.

    Raises:
        TrainingError: The network cannot be trained on at all.
    """
    began = time.perf_counter()
    run = TrainingRun(network, settings, seed=0)
    start_seconds = time.perf_counter() - began
    if run.is_done:
        return Cost(_memory_bytes(run, 0), start_seconds)
    fold = run.folds[0]
    batch = torch.arange(min(fold.batch_size, run.num_edges))
    step = fastest_seconds(lambda: fold.step(batch, generator_for(0, "estimate")), NUM_STEPS)
    words = fastest_seconds(lambda: fold.leave_words_out(0), NUM_STEPS)
    look = fastest_seconds(lambda: fold.look(0), NUM_STEPS)
    num_steps = math.ceil(run.num_edges / fold.batch_size)
    epoch = words + step * num_steps + look / settings.validate_every
    seconds = start_seconds + epoch * settings.epochs * len(run.folds)
    return Cost(_memory_bytes(run, len(batch)), seconds)


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
    most = max(during_step, at_the_end, _of_start(run))
    return FLOAT_BYTES * (with_gradient_and_moments + _kept(run) + most)


def _kept(run: TrainingRun) -> int:
    """Return the numbers that stay as they are: fixed texts, of all vertices and of every fold."""
    if not run.settings.has_fixed_texts:
        return 0
    rows = run.network.num_vertices + sum(len(fold.edges.members) for fold in run.folds)
    return rows * run.settings.half + sum(b.numel() for b in run.folds[0].model.buffers())


def _of_start(run: TrainingRun) -> int:
    """Return the numbers that the search for directions works on: three of the widest tables."""
    if not run.settings.has_fixed_texts:
        return 0
    encoder = run.folds[0].model.encoder
    width = max(WIDTHS) if run.asked_for.dim is None else encoder.dim
    rows = next(encoder.buffers()).shape[0] + run.network.num_vertices
    return 3 * rows * width
