"""What training takes, said before it is done.

Memory is counted from the sizes of the tables (word averages; a Bi-LSTM takes more). Time is
measured: one step is made and multiplied.
"""

import math
from dataclasses import dataclass
from time import perf_counter

import torch

from dmte.config import Settings
from dmte.network import TextualNetwork
from dmte.randomness import generator_for
from dmte.training import TrainingRun

FLOAT_BYTES = 4


@dataclass(frozen=True, slots=True)
class Cost:
    """What one training takes on this machine."""

    memory_bytes: int
    """At its peak, on top of what Python and torch take themselves."""
    seconds: float


def estimate(network: TextualNetwork, settings: Settings) -> Cost:
    """Return what training ``network`` takes.

    Raises:
        TrainingError: The network cannot be trained on at all.
    """
    run = TrainingRun(network, settings, seed=0)
    batch = torch.arange(min(run.batch_size, run.num_edges))
    for _ in range(2):  # The first step also sets up Adam and warms the allocator.
        started = perf_counter()
        run.step(batch, generator_for(0, "estimate"))
        seconds = perf_counter() - started
    steps = math.ceil(run.num_edges / run.batch_size) * settings.epochs
    return Cost(_memory_bytes(run, settings, len(batch)), seconds * steps)


def _memory_bytes(run: TrainingRun, settings: Settings, batch: int) -> int:
    """Return the bytes of tables, of what a step keeps for its backward pass, and of its scores."""
    num_parameters = sum(parameter.numel() for parameter in run.model.parameters())
    with_gradient_and_moments = 4 * num_parameters
    powers_and_gates = 2 * settings.hops
    halves_and_gradients = 8
    propagated = (powers_and_gates + halves_and_gradients) * run.num_linked * settings.half
    directions, gathered_and_products = 2, 20
    scored = directions * gathered_and_products * batch * settings.num_negatives * settings.half
    return FLOAT_BYTES * (with_gradient_and_moments + propagated + scored)
