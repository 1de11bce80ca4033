"""Link prediction and classification of every method on the same splits."""

import warnings
from typing import Any

from dmte.evaluation.classification import (
    LABEL_FRACTIONS,
    ClassScores,
    ClassTask,
    class_task,
    classify,
)
from dmte.evaluation.jobs import ClassJob, Job, LinkJob
from dmte.evaluation.link_prediction import (
    PROTOCOLS,
    LinkScores,
    LinkTask,
    published_task,
    scores_by_way,
    strict_task,
)
from dmte.evaluation.methods import METHODS, choose_methods, find_method
from dmte.evaluation.parallel import run_jobs
from dmte.evaluation.summary import evaluate_classes, evaluate_links, summarize

__all__ = [
    "LABEL_FRACTIONS",
    "METHODS",
    "PROTOCOLS",
    "ClassJob",
    "ClassScores",
    "ClassTask",
    "Job",
    "LinkJob",
    "LinkScores",
    "LinkTask",
    "choose_methods",
    "class_task",
    "classify",
    "evaluate_classes",
    "evaluate_links",
    "find_method",
    "published_task",
    "run_jobs",
    "scores_by_way",
    "strict_task",
    "summarize",
]

_RENAMED: dict[str, Any] = {
    "Cell": Job,
    "ClassCell": ClassJob,
    "LinkCell": LinkJob,
    "run_cells": run_jobs,
}


def __getattr__(name: str) -> Any:
    """Resolve a former name, with a warning."""
    if name not in _RENAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = _RENAMED[name]
    warnings.warn(f"{name} is now {found.__name__}", DeprecationWarning, stacklevel=2)
    return found
