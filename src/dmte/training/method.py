"""DMTE itself (Zhang, Li, Shen and Carin, NeurIPS 2018), a method like those it is compared with.

A vertex is its text half beside its structure half, v_i = v_i^t ⊕ v_i^s. The texts X are diffused
over the edges, the structure half is a learned row per vertex, and either predicts the other:

    V_t = Σ_h λ_h tanh(W_h ⊙ P^h X)        U_s = Σ_h λ_h P^h V_s
    L = α_tt L_tt(V_t, V_t) + α_ss L_ss(V_s, U_s) + α_st L_st(V_s, V_t) + α_ts L_ts(V_t, U_s)

each part by negative sampling along the edges; ``docs/method.md`` walks through it. The paper
leaves f, λ, the step size and the number of epochs open, and every setting says what was taken.
That is ``dmte-paper``. ``dmte`` is the recommended recipe (``docs/recipe.md``): X are TF-IDF
vectors, of short texts with groups of letters beside the words, in their strongest directions, in
which only how much a word counts is learned; V_t = Σ_h W_h ⊙ P^h X, multiplied by a square matrix
and with rows of length 1, or longer where vertices with many edges are linked more readily, is all
there is of a vertex; an edge has to score above its negatives.

A vertex without edges keeps its walker, so its text half is made of its own text, and its structure
half is zero. An empty text adds nothing; diffused, the texts of the neighbors do.
"""

from dataclasses import dataclass, field

from dmte.embedding.embedding import Embedding
from dmte.model.trained_model import TrainedModel
from dmte.network import TextualNetwork
from dmte.runtime.progress import finish, track
from dmte.settings import Settings
from dmte.training.run import TrainingRun


@dataclass(frozen=True, slots=True)
class DmteMethod:
    """DMTE by the recommended recipe unless the settings say otherwise."""

    settings: Settings = field(default_factory=Settings)

    def fit(self, network: TextualNetwork, seed: int) -> Embedding:
        """Return one vector per vertex of ``network``."""
        return self.train(network, seed).embedding

    def train(self, network: TextualNetwork, seed: int) -> TrainedModel:
        """Return the trained model, which can do more than its vectors can.

        Raises:
            TrainingError: There is too little to learn from, or the loss diverged.
        """
        run = TrainingRun(network, self.settings, seed)
        reports = run.epochs()
        for _ in track(range(self.settings.epochs)):
            if next(reports, None) is None:  # Early stopping.
                finish()
                break
        return run.result()
