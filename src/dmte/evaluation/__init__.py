"""Link prediction and classification of every method, on the same questions."""

from dmte.evaluation.classification import (
    LABEL_FRACTIONS,
    ClassScores,
    ClassTask,
    class_task,
    classify,
)
from dmte.evaluation.jobs import Cell, ClassCell, LinkCell
from dmte.evaluation.link_prediction import (
    PROTOCOLS,
    LinkScores,
    LinkTask,
    published_task,
    scores_by_way,
    strict_task,
)
from dmte.evaluation.methods import METHODS, choose_methods, find_method
from dmte.evaluation.parallel import run_cells
from dmte.evaluation.summary import evaluate_classes, evaluate_links, summarize

__all__ = [
    "LABEL_FRACTIONS",
    "METHODS",
    "PROTOCOLS",
    "Cell",
    "ClassCell",
    "ClassScores",
    "ClassTask",
    "LinkCell",
    "LinkScores",
    "LinkTask",
    "choose_methods",
    "class_task",
    "classify",
    "evaluate_classes",
    "evaluate_links",
    "find_method",
    "published_task",
    "run_cells",
    "scores_by_way",
    "strict_task",
    "summarize",
]
