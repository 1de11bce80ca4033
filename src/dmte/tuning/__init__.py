"""Search of settings for one network on held-out edges, with optuna.

A split holds out a fifth of the edges, the tuning edges. A trial trains on the rest, with its own
validation edges for early stopping. Its score is the AUC on the tuning edges, averaged over splits;
a trial whose first split is below the median of earlier trials skips the others. Trial 0 is the
recommended recipe, trial 1 the paper's; the next change one thing about trial 0, and then optuna's
TPE proposes. λ_h = hop_decay^h gives the hop weights.

The best of many noisy scores is biased upwards. So the best trial and the default are trained again
on fresh splits, and the default stays unless there

    mean of AUC_best - AUC_default  >  2 SE

SE is the larger of the standard error over splits and DeLong's error on the tuning edges.

Trials are stored in a journal. A proposal depends only on the seed, the number of the trial and the
trials before it, so an interrupted search resumes exactly. optuna is an extra, imported when it
proposes.
"""

from dmte.tuning.result import Check, Outcome, Trial
from dmte.tuning.search import Search, tune
from dmte.tuning.space import SPACE, Space

__all__ = ["SPACE", "Check", "Outcome", "Search", "Space", "Trial", "tune"]
