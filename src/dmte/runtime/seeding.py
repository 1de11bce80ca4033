"""Where random numbers come from.

Every draw takes a generator, and a generator is a pure function of the seed, what it is for and
where training stands. So nothing depends on what was drawn before: a resumed run draws what the
uninterrupted one would have drawn. Nothing is ever seeded globally.
"""

import hashlib

import torch
from jaxtyping import Float
from torch import nn

STANDARD_DEVIATION = 0.3  # The paper gives none; the authors' released code uses this one.
CUT = 2.0  # In standard deviations, as TensorFlow's truncated_normal, which the authors used.


def generator_for(seed: int, purpose: str, step: int = 0) -> torch.Generator:
    """Return the generator for one purpose at one step of the run with this seed.

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
    """Return a parameter drawn from N(0, 0.3²), or wider, redrawn beyond two deviations."""
    table = torch.empty(num_rows, num_columns)
    bound = CUT * deviation
    nn.init.trunc_normal_(table, 0.0, deviation, -bound, bound, generator=generator)
    return nn.Parameter(table)
