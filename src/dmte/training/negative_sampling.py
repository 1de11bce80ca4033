"""Negative samples (section 4.4).

    P_n(v) ∝ d_v^{3/4}, with d_v the out-degree of v

A negative must not be an end of its edge. Instead of drawing again, the sampler cuts the shares of
both ends out of the distribution, so that one draw is always enough.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dmte.errors import TrainingError

NOISE_POWER = 0.75
"""Exponent of the out-degree in P_n (section 4.4)."""


class NegativeSampler:
    """Draws vertices from P_n, except the ends of the edge they are drawn for."""

    noise: Float[Tensor, " vertices"]
    """The share of every vertex, not normalized."""

    def __init__(self, noise: Float[Tensor, " vertices"]) -> None:
        noise = noise.to(torch.float64)
        if int((noise > 0).sum()) < 3:
            # In a directed star only the center has an out-degree: draw uniformly.
            noise = torch.ones_like(noise)
        if len(noise) < 3:
            raise TrainingError(
                f"only {len(noise)} vertices have an edge; training needs at least 3, "
                "because a negative must differ from both ends of an edge"
            )
        self.noise = noise
        self._ends = noise.cumsum(0)

    def draw_shared(
        self, num_negatives: int, generator: torch.Generator
    ) -> Int[Tensor, " negatives"]:
        """Return different vertices, at most ``num_negatives``, as negatives of many edges.

        >>> NegativeSampler(torch.tensor([0.0, 1.0, 1.0, 1.0])).draw_shared(9, torch.Generator())
        tensor([1, 2, 3])
        """
        if num_negatives >= len(self.noise):
            return self.noise.nonzero().flatten()
        point = torch.rand(num_negatives, generator=generator, dtype=torch.float64)
        drawn = torch.searchsorted(self._ends, point * self._ends[-1], right=True)
        distinct: Tensor = drawn.clamp(max=len(self.noise) - 1).unique()
        return distinct

    def draw(
        self,
        source: Int[Tensor, " batch"],
        target: Int[Tensor, " batch"],
        num_negatives: int,
        generator: torch.Generator,
    ) -> Int[Tensor, "batch negatives"]:
        """Return ``num_negatives`` vertices per edge."""
        low = torch.minimum(source, target).unsqueeze(1)
        high = torch.maximum(source, target).unsqueeze(1)
        low_share = self.noise[low]
        high_share = torch.where(high == low, 0.0, self.noise[high])
        rest = self._ends[-1] - low_share - high_share
        shape = (len(source), num_negatives)
        point = torch.rand(shape, generator=generator, dtype=torch.float64) * rest
        # Skip the two intervals that belong to the ends, the lower one first.
        point = torch.where(point >= self._ends[low] - low_share, point + low_share, point)
        skips = (point >= self._ends[high] - self.noise[high]) & (high != low)
        point = torch.where(skips, point + high_share, point)
        drawn = torch.searchsorted(self._ends, point, right=True)
        return self._off_the_ends(drawn.clamp(max=len(self.noise) - 1), low, high)

    def _off_the_ends(
        self,
        drawn: Int[Tensor, "batch negatives"],
        low: Int[Tensor, "batch 1"],
        high: Int[Tensor, "batch 1"],
    ) -> Int[Tensor, "batch negatives"]:
        """Move draws that rounding put on an end, or on a share of 0, to the next vertex."""
        bad = (drawn == low) | (drawn == high) | (self.noise[drawn] == 0)
        while bool(bad.any()):
            drawn = torch.where(bad, (drawn + 1) % len(self.noise), drawn)
            bad = (drawn == low) | (drawn == high) | (self.noise[drawn] == 0)
        return drawn
