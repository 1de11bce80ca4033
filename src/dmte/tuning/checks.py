"""What a network must have to be tuned on: links, pairs without one, and words or features.

Links held back are told from pairs that have none, and everything is compared with the default.
"""

from dmte.errors import TrainingError
from dmte.network import TextualNetwork
from dmte.text.tokenize import tokenize
from dmte.training.edges import num_linked_pairs, num_pairs

JUDGING_SHARE = 0.2
"""Of the edges, held back to judge by."""
MIN_JUDGING = 20
"""Edges to judge by, and pairs that are none; with fewer, no difference would stand out."""


def refuse_untunable(network: TextualNetwork) -> None:
    """Check that a search on ``network`` can tell anything.

    Raises:
        TrainingError: It cannot; says what is missing.
    """
    _refuse_few_pairs(network)
    _refuse_wordless(network)


def _refuse_few_pairs(network: TextualNetwork) -> None:
    """Check that there are links to judge by, and pairs without a link to tell them from.

    Raises:
        TrainingError: There are too few of one or the other.
    """
    linked = num_linked_pairs(network)
    judging, free = int(JUDGING_SHARE * linked), num_pairs(network.num_vertices) - linked
    if judging < MIN_JUDGING:
        raise TrainingError(
            f"too few links to tune on: {judging} of {linked} would be held back to judge by, and "
            f"fewer than {MIN_JUDGING} tell nothing; the default is the best choice"
        )
    if free < MIN_JUDGING:
        raise TrainingError(
            "too few pairs of vertices without a link to tune on: links held back would be told "
            f"from {free}, and fewer than {MIN_JUDGING} tell nothing; the default is the best "
            "choice"
        )


def _refuse_wordless(network: TextualNetwork) -> None:
    """Check that the default can learn, since everything is compared with it.

    Raises:
        TrainingError: No text has a word, or no feature is other than zero.
    """
    if network.features is None:
        missing, found = "text has a word", any(map(tokenize, network.texts))
    else:
        missing, found = "feature is other than zero", bool(network.features.any())
    if not found:
        raise TrainingError(
            f"no {missing}, and the default, which a search starts from and compares with, learns "
            "from nothing else; the paper's recipe learns from links alone: dmte train --recipe "
            "paper"
        )
