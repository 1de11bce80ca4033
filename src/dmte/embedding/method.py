"""The protocols of methods, which evaluation relies on for DMTE and the baselines alike."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor

from dmte.network.textual_network import TextualNetwork


@runtime_checkable
class PairScorer(Protocol):
    """Scores how likely two vertices are linked."""

    def score(self, pairs: Int[Tensor, "pairs 2"]) -> Float[Tensor, " pairs"]:
        """Return a score per pair of positions; higher is likelier."""


@runtime_checkable
class RowScorer(Protocol):
    """Scores vertices with all vertices at once, faster than pair by pair."""

    def score_rows(self, vertices: Int[Tensor, " some"]) -> Float[Tensor, "some vertices"]:
        """Return the scores of these vertices with every vertex."""


@runtime_checkable
class Method(Protocol):
    """Learns from a network to score its pairs; the fields are the settings."""

    def fit(self, network: TextualNetwork, seed: int) -> PairScorer:
        """Learn from ``network``; the same seed gives the same result."""


@runtime_checkable
class PredictsMemory(Protocol):
    """A method whose memory is known before a fit."""

    def memory_bytes(self, network: TextualNetwork) -> int:
        """Return the peak memory of a fit, besides Python, torch and the network."""


@runtime_checkable
class NeedsMore(Protocol):
    """A method with an external dependency, such as a pretrained model."""

    def unavailable_reason(self) -> str | None:
        """Return one line on the missing dependency and its remedy, or None if it is there."""

    def dependency_id(self) -> str:
        """Return a word that identifies the dependency in stored results.

        Raises:
            DmteError: The dependency is missing.
        """


@runtime_checkable
class LearnsFromLabels(Protocol):
    """A method that also learns from labels of vertices."""

    def with_labels(self, labels: Sequence[tuple[str, str]]) -> Method:
        """Return the method with these (id, class) pairs as its only labels."""


def unavailable_reason(method: Method) -> str | None:
    """Return why a method cannot run here, or None if it can."""
    return method.unavailable_reason() if isinstance(method, NeedsMore) else None
