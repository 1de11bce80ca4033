"""A structure half from random rows, for networks whose texts are not informative enough.

    V_s = Σ_{h=4}^{7} P^h R, rows of length 1     R has random rows, which are not learned
    v_i = √(1 - β) v_i^t ⊕ √β v_i^s               β is the weight of links in a score

V_s is the diffusion map (Definition 4) of random rows. It compares, in few dimensions, where walks
of four to seven steps end (FastRP, Chen et al. 2019). P is the walk of Definition 2. The
recommended recipe uses this structure half only if it clearly improves validation AUC. The rows of
vertices without edges are zero.
"""

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float
from torch import Tensor

from dmte.diffusion.hop_tables import column_blocks
from dmte.diffusion.operators import diffuse
from dmte.diffusion.transition import transition_matrix
from dmte.distributed.columns import ALL_COLUMNS, Columns
from dmte.kernels.row_norms import unit_rows_
from dmte.runtime.seeding import generator_for

HOP_WEIGHTS = (0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0)
"""λ of the walks; diffused texts already cover shorter ones."""


def walk_features(
    adjacency: sp.csr_array,
    dim: int,
    seed: int,
    columns: Columns = ALL_COLUMNS,
    dtype: torch.dtype = torch.float32,
) -> Float[Tensor, "vertices own"]:
    """Return V_s of the edges S; if divided, the own columns of ``dim``.

    >>> pair = sp.csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    >>> ends = walk_features(pair, dim=4, seed=0)
    >>> bool(torch.allclose(ends[0], ends[1])), bool(ends[2].any())
    (True, False)
    """
    # Walks never reach vertices without edges, often most of a network.
    linked = np.flatnonzero(adjacency.sum(axis=0) + adjacency.sum(axis=1))
    rows = torch.from_numpy(linked)
    drawn = torch.randn(adjacency.shape[0], dim, generator=generator_for(seed, "walk ends"))
    own = drawn[:, columns.own(dim)].to(dtype).contiguous()
    del drawn
    walk = transition_matrix(adjacency[linked][:, linked], dtype)
    for block in column_blocks(*own.shape):
        some = diffuse(walk, own[rows, block], HOP_WEIGHTS)
        own[:, block] = 0.0
        own[rows, block] = some
    return unit_rows_(own, columns)
