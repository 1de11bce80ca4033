"""Better settings for one network, searched on edges held back from it, with optuna.

A split holds back a fifth of the edges to judge by. A trial trains on the rest, where it holds back
edges of its own to stop early on, and is judged by the AUC on the judging edges, averaged over
splits; a trial whose first split is below the median of earlier ones is not judged on the others.
Trial 0 is the recommended recipe, trial 1 the paper's, a few change one thing about the first, and
then optuna's TPE proposes. λ_h = decay^h, so that H and one number stand for the hop weights.

The best of many noisy figures is too high. So the best trial and the default are trained again on
fresh splits that no trial has seen, and the default stays unless there

    mean of AUC_best - AUC_default  >  2 SE

SE is the greater of the spread over splits and of DeLong's error of the judging edges.

Every trial is a line of a journal, on disk before the next begins. What is proposed is a function
of the seed, the number of the trial and the lines before it, so that a search that was interrupted
goes on as if it had not been. optuna is an extra, imported when it proposes.
"""

from dmte.tuning.result import Check, Outcome, Trial
from dmte.tuning.search import Search, tune
from dmte.tuning.space import SPACE, Space

__all__ = ["SPACE", "Check", "Outcome", "Search", "Space", "Trial", "tune"]
