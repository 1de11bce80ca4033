"""What every method returns, and what every method is.

An ``Embedding`` is one vector per vertex, v_i = v_i^t ⊕ v_i^s (Definition 3), under the vertex's
own id. Evaluation and search see nothing else, so they cannot tell DMTE from a baseline.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor

from dmte.network.textual_network import TextualNetwork
from dmte.search.vectors import Neighbor as Neighbor

if TYPE_CHECKING:
    pass


@runtime_checkable
class PairScorer(Protocol):
    """Anything that says how likely two vertices are linked."""

    def score(self, pairs: Int[Tensor, "pairs 2"]) -> Float[Tensor, " pairs"]:
        """Return a score per pair of positions; higher is likelier."""


@runtime_checkable
class Method(Protocol):
    """Anything that learns from a network to score its pairs; its fields are its settings."""

    def fit(self, network: TextualNetwork, seed: int) -> PairScorer:
        """Learn from ``network``; the same seed gives the same result."""


@runtime_checkable
class NeedsMore(Protocol):
    """A method that needs what may not be here, such as a model that somebody else trained."""

    def why_not(self) -> str | None:
        """Return why it cannot run here, in a line that says what to do; none if it can."""

    def needs(self) -> str:
        """Return what it needs, in a word under which results are kept.

        Raises:
            DmteError: It is not here.
        """


@runtime_checkable
class LearnsFromLabels(Protocol):
    """A method that learns from labels of vertices as well, which classification hands it."""

    def with_labels(self, labels: Sequence[tuple[str, str]]) -> Method:
        """Return the method that learns from these (id, class), and from no other label."""


def why_not(method: Method) -> str | None:
    """Return why a method cannot run here, or none if it can."""
    return method.why_not() if isinstance(method, NeedsMore) else None
