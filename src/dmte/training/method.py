"""DMTE as a method (Zhang, Li, Shen and Carin, NeurIPS 2018), to compare with the baselines.

The vector of a vertex is its text half and its structure half, v_i = v_i^t ⊕ v_i^s. The texts X are
diffused over the edges, the structure half is a learned row per vertex, and each half predicts the
other:

    V_t = Σ_h λ_h tanh(W_h ⊙ P^h X)        U_s = Σ_h λ_h P^h V_s
    L = α_tt L_tt(V_t, V_t) + α_ss L_ss(V_s, U_s) + α_st L_st(V_s, V_t) + α_ts L_ts(V_t, U_s)

Each part uses negative sampling along the edges (``docs/method.md``). The paper leaves f, λ, the
step size and the number of epochs open; every setting states its choice. That is ``dmte-paper``.

``dmte`` is the recommended recipe (``docs/recipe.md``). X are TF-IDF vectors in their leading
singular directions, with character n-grams for short texts and learned word weights. A vertex is
only its text half: V_t = Σ_h W_h ⊙ P^h X, multiplied by a square matrix, with rows of length 1, or
longer for vertices with many edges if that helps. The loss ranks edges above their negatives.

A vertex without edges has the text half of its own text and a structure half of zeros. An empty
text adds nothing itself, but the texts of its neighbors are diffused to it.
"""

from dataclasses import dataclass, field

from dmte.embedding.embedding import Embedding
from dmte.model.trained_model import TrainedModel
from dmte.network import TextualNetwork
from dmte.runtime.progress import finish, track
from dmte.settings import Settings
from dmte.training.estimate import Sizes, memory_bytes
from dmte.training.run import TrainingRun


@dataclass(frozen=True, slots=True)
class DmteMethod:
    """DMTE, by default with the recommended recipe."""

    settings: Settings = field(default_factory=Settings)

    def fit(self, network: TextualNetwork, seed: int) -> Embedding:
        """Return one vector per vertex of ``network``."""
        return self.train(network, seed).embedding

    def memory_bytes(self, network: TextualNetwork) -> int:
        """Return the estimated peak memory of a fit, besides Python, torch and the network."""
        return memory_bytes(Sizes.of(network, self.settings), self.settings)

    def train(self, network: TextualNetwork, seed: int) -> TrainedModel:
        """Return the trained model.

        Raises:
            TrainingError: There is too little training data, or the loss diverged.
        """
        run = TrainingRun(network, self.settings, seed)
        reports = run.epochs()
        for _ in track(range(self.settings.epochs)):
            if next(reports, None) is None:  # Early stopping.
                finish()
                break
        return run.result()
