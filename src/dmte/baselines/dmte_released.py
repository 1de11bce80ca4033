"""The model of the program that DMTE's authors released, which differs from the paper's.

Reimplemented from revision 09264b6 of dylanz0426/DMTE on GitHub. B holds the shares of words in
texts that are cut or padded to 300 words; the pad word's vector is learned like any other. P is a
part of the transition matrix:

    X = tanh(B E_w)        V_t = Σ_h λ_h P_h X W_h        P_0 = I, P_1 = P, P_2 = P ⊙ P
    V_s = E_s, rows longer than 1 scaled to length 1      U_s = Σ_h λ_h P_h V_s

The loss is a sum over the lines (a, b) of the edge list in both directions, with the same negative
n in both, P_n(v) ∝ d_v^{3/4}, and with ε = 0.001:

    L = -Σ_ab Σ α (log(σ(x_a · y_b) + ε) + log(σ(-x_a · y_n) + ε))

with x · y one of v^t · v^t, u^s · v^s, u^s · v^t and v^t · v^s, and α = 0.7, 1, 0.1 and 0.1.
Differences from the paper:

- W_h is a dense matrix per hop, there are three hops, and tanh precedes the diffusion.
- The second power of P is taken entry by entry.
- P ignores weights and directions of edges. A step has two blocks of P: rows and columns of its
  first ends, and those of its second ends. A vertex that is an end of k lines of a step has k rows
  and k columns there. Texts of negatives are mixed by the block of the first ends, in their places.
- Repeated lines and self-loops are kept, and each epoch drops lines that do not fill a batch of
  256.

A vertex is the mean of v^t ⊕ v^s over its lines in the batches of the last epoch; the last batch is
filled with the first lines. A vertex without edges has no vector there and the zero vector here.
Ours also differs in tokenization (see ``tokenize``), and a network with fewer lines than a batch is
one batch.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dmte.baselines.cane.method import RELEASED_WEIGHTS
from dmte.baselines.skipgram import require_even, require_positive
from dmte.embedding.embedding import Embedding
from dmte.errors import ConfigError
from dmte.kernels.adam import Adam
from dmte.kernels.row_norms import divided_rows
from dmte.kernels.sparse import SparseMatrix
from dmte.model.diffusion_maps import Halves
from dmte.network import TextualNetwork
from dmte.network.textual_network import adjacency_matrix
from dmte.runtime.memory import keep_freed_memory
from dmte.runtime.progress import track
from dmte.runtime.seeding import generator_for, truncated_gaussian
from dmte.settings import ObjectiveWeights
from dmte.text import TokenizedTexts, tokenized
from dmte.training.negative_sampling import NOISE_POWER, NegativeSampler
from dmte.training.objective import Scores, score_edges, weighted_sum

OFFSET = 0.001
"""ε, which bounds the loss of a pair; from the authors' released code."""
LONGEST_ROW = 1.0  # The norm of a row of V_s; from the authors' released code.

Rows = Float[Tensor, "rows dim"]


def padded_bag(texts: TokenizedTexts, max_words: int) -> sp.csr_array:
    """Return B: the share of every word in a text of ``max_words``; the last column is padding.

    >>> _, texts = tokenized(["red fox", "red red red fox fox", ""])
    >>> padded_bag(texts, max_words=4).toarray().tolist()
    [[0.25, 0.25, 0.5], [0.25, 0.75, 0.0], [0.0, 0.0, 1.0]]
    """
    cut = texts.first_words(max_words)
    filled = cut.lengths().numpy() / max_words
    words = sp.diags_array(filled) @ cut.bag_of_words()
    padding = sp.csr_array(1 - filled[:, np.newaxis])
    return sp.csr_array(sp.hstack([words, padding]), dtype=np.float32)


def unweighted_transition(edges: Int[Tensor, "edges 2"], num_vertices: int) -> sp.csr_array:
    """Return P without weights, for vertices that all have an edge; rows sum to one.

    >>> unweighted_transition(torch.tensor([[0, 1], [1, 0], [1, 1]]), 2).toarray().tolist()
    [[0.0, 1.0], [0.5, 0.5]]
    """
    ones = torch.ones(len(edges), dtype=torch.float64)
    linked = adjacency_matrix(edges, ones, num_vertices, directed=False)
    num_neighbors = np.diff(linked.indptr)
    shares = np.repeat(1 / num_neighbors, num_neighbors)
    return sp.csr_array((shares, linked.indices, linked.indptr), shape=linked.shape)


def part_losses(scores: Scores) -> Float[Tensor, " parts"]:
    """Return -Σ (log(σ(+) + ε) + log(σ(-) + ε)) of every part."""
    attraction = (torch.sigmoid(scores.positive) + OFFSET).log().sum(dim=1)
    repulsion = (torch.sigmoid(-scores.negative) + OFFSET).log().sum(dim=(1, 2))
    return -(attraction + repulsion)


class ReleasedTrainer:
    """Learns the parameters; vertices with an edge are renumbered."""

    def __init__(self, network: TextualNetwork, method: "ReleasedDmte", seed: int) -> None:
        keep_freed_memory()
        self.network, self.method, self.seed = network, method, seed
        self.members, self.edges = network.edges.unique(return_inverse=True)
        num_members = len(self.members)
        degrees = torch.bincount(self.edges.flatten(), minlength=num_members).double()
        self._sampler = NegativeSampler(degrees**NOISE_POWER)
        _, texts = tokenized([network.texts[vertex] for vertex in self.members.tolist()])
        self.bag = padded_bag(texts, method.max_words)
        self.transition = unweighted_transition(self.edges, num_members)
        generator = generator_for(seed, "released start")
        self.words = truncated_gaussian(self.bag.shape[1], method.word_dim, generator)
        num_rows = len(method.hop_weights) * method.word_dim
        # W_0, W_1, ... stacked.
        self.filters = truncated_gaussian(num_rows, method.half, generator)
        self.structure = truncated_gaussian(num_members, method.half, generator)
        self.parameters = [self.words, self.filters, self.structure]
        self._optimizer = Adam(self.parameters, method.learning_rate)

    @property
    def batch_size(self) -> int:
        """Lines per step; all lines if they do not fill a batch."""
        return min(self.method.batch_size, len(self.edges))

    def batches(self, epoch: int) -> tuple[Int[Tensor, " batch"], ...]:
        """Shuffle the lines of an epoch, and drop those that do not fill a batch."""
        batches: tuple[Tensor, ...] = self._order(epoch).split(self.batch_size)
        return batches[: len(self.edges) // self.batch_size]

    def last_batches(self) -> tuple[Int[Tensor, " batch"], ...]:
        """Return the batches of the last epoch; the last is filled with the first lines."""
        order = self._order(self.method.epochs - 1)
        filled = torch.cat([order, order[: -len(order) % self.batch_size]])
        batches: tuple[Tensor, ...] = filled.split(self.batch_size)
        return batches

    def _order(self, epoch: int) -> Int[Tensor, " edges"]:
        generator = generator_for(self.seed, "released order", epoch)
        return torch.randperm(len(self.edges), generator=generator)

    def step(self, batch: Int[Tensor, " batch"], generator: torch.Generator) -> float:
        """Make one step of Adam on the lines ``batch`` with fresh negatives; return its loss."""
        first, second = ends = self.edges[batch].T
        loss = self.loss(ends, self._sampler.draw(first, second, 1, generator).squeeze(1))
        self._optimizer.zero_grad()
        loss.backward()
        self._optimizer.step()
        return float(loss.detach())

    def loss(
        self, ends: Int[Tensor, "2 batch"], negatives: Int[Tensor, " batch"]
    ) -> Float[Tensor, ""]:
        """Return L of lines, given by their first and second ends, with a negative each."""
        first, second, other = torch.arange(3 * len(negatives)).view(3, -1)
        scores = score_edges(
            Halves(*self.halves(ends, negatives)),
            source=torch.cat([second, first]),
            target=torch.cat([first, second]),
            negatives=torch.cat([other, other]).unsqueeze(1),
        )
        return weighted_sum(part_losses(scores), self.method.objective)

    def halves(
        self, ends: Int[Tensor, "2 batch"], negatives: Int[Tensor, " others"]
    ) -> tuple[Rows, Rows, Rows]:
        """Return V_t, V_s and U_s of the first ends, the second ends and the negatives."""
        vertices, places = torch.cat([*ends, negatives]).unique(return_inverse=True)
        powers = self.powers(ends, with_negatives=len(negatives) > 0)
        bag = SparseMatrix.from_scipy(self.bag[vertices.numpy()], torch.float32)
        texts = torch.tanh(bag @ self.words).index_select(0, places)
        structure = divided_rows(self.structure.index_select(0, vertices), LONGEST_ROW)
        structure = structure.index_select(0, places)
        text = torch.cat(self._hops(powers, texts), dim=1) @ self.filters
        return text, structure, torch.stack(self._hops(powers, structure)).sum(dim=0)

    def powers(self, ends: Int[Tensor, "2 batch"], *, with_negatives: bool) -> list[SparseMatrix]:
        """Return P_1, P_2, ... of the rows of a step; first and second ends are separate blocks."""
        first, second = (self.transition[side][:, side] for side in ends.numpy())
        blocks = [first, second, first] if with_negatives else [first, second]
        diagonal = sp.csr_array(sp.block_diag(blocks, format="csr"))
        hops = range(1, len(self.method.hop_weights))
        return [SparseMatrix.from_scipy(diagonal.power(hop), torch.float32) for hop in hops]

    def _hops(self, powers: list[SparseMatrix], table: Rows) -> list[Rows]:
        """Return λ_h P_h of a table, hop by hop."""
        mixed = [table, *(power @ table for power in powers)]
        weights = self.method.hop_weights
        return [weight * one for weight, one in zip(weights, mixed, strict=True)]

    @torch.no_grad()
    def result(self) -> Embedding:
        """Average v^t ⊕ v^s over the lines of every vertex."""
        sums = torch.zeros(len(self.members), self.method.dim)
        counts = torch.zeros(len(self.members), 1)
        for batch in self.last_batches():
            ends = self.edges[batch].T
            text, structure, _ = self.halves(ends, negatives=batch[:0])
            sums.index_add_(0, ends.flatten(), torch.cat([text, structure], dim=1))
            counts.index_add_(0, ends.flatten(), torch.ones(ends.numel(), 1))
        vectors = torch.zeros(self.network.num_vertices, self.method.dim)
        vectors[self.members] = sums / counts
        return Embedding(self.network.ids, vectors, text_dim=self.method.half)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedDmte:
    """The model of the authors' released program, to compare with the paper's."""

    dim: int = 200
    """The width of a vector, half of it text and half structure (the authors' released code)."""
    word_dim: int = 200
    """The width of a word's vector (the authors' released code)."""
    max_words: int = 300
    """Words that a text is cut or padded to (the authors' released code)."""
    hop_weights: tuple[float, ...] = (1.0, 0.3, 0.1)
    """The importance λ of P_0, P_1, P_2, ..., one number per hop (the authors' released code)."""
    objective: ObjectiveWeights = RELEASED_WEIGHTS
    """α, the weights of the parts (the authors' released code)."""
    epochs: int = 200
    """Passes over the lines of the edge list (the authors' released code)."""
    batch_size: int = 256
    """Lines per step, which also set the size of the blocks of P (the authors' released code)."""
    learning_rate: float = 0.001
    """Adam's step size (the authors' released code)."""

    def __post_init__(self) -> None:
        require_positive(self, "word_dim", "max_words", "epochs", "batch_size", "learning_rate")
        require_even(self.dim)
        if not self.hop_weights:
            raise ConfigError("hop_weights must have at least one number, that of P_0")

    @property
    def half(self) -> int:
        """The width of a text vector, and of a structure vector."""
        return self.dim // 2

    def fit(self, network: TextualNetwork, seed: int) -> Embedding:
        """Learn from the edges; the same seed gives the same vectors.

        Raises:
            TrainingError: Fewer than three vertices have an edge.
        """
        trainer = ReleasedTrainer(network, self, seed)
        for epoch in track(range(self.epochs)):
            generator = generator_for(seed, "released negatives", epoch)
            for batch in trainer.batches(epoch):
                trainer.step(batch, generator)
        return trainer.result()
