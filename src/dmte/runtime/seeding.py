"""Seeded random generators.

Every draw takes a generator, which is a pure function of the seed, its purpose and the training
step. So no draw depends on earlier ones: a resumed run draws the same numbers as an uninterrupted
one. The global generator is never seeded.
"""

import hashlib

import torch
from jaxtyping import Float
from torch import nn

STANDARD_DEVIATION = 0.3  # Not in the paper; from the authors' released code.
CUT = 2.0  # In standard deviations, as in TensorFlow's truncated_normal, used by the authors.


def generator_for(seed: int, purpose: str, step: int = 0) -> torch.Generator:
    """Generator for one purpose at one step of the run with this seed.

    >>> first, again = generator_for(7, "negatives", 3), generator_for(7, "negatives", 3)
    >>> torch.equal(torch.rand(5, generator=first), torch.rand(5, generator=again))
    True
    """
    digest = hashlib.sha256(f"{seed}/{purpose}/{step}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:4], "little"))


def truncated_gaussian(
    num_rows: int,
    num_columns: int,
    generator: torch.Generator,
    *,
    deviation: float = STANDARD_DEVIATION,
) -> Float[nn.Parameter, "rows columns"]:
    """Parameter drawn from N(0, deviation²), truncated at two deviations."""
    table = torch.empty(num_rows, num_columns)
    bound = CUT * deviation
    nn.init.trunc_normal_(table, 0.0, deviation, -bound, bound, generator=generator)
    return nn.Parameter(table)
