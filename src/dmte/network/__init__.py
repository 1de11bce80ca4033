"""The textual network G = (V, E, T): what it is, where it comes from, how its edges are split."""

from dmte.network.textual_network import TextualNetwork

__all__ = ["TextualNetwork"]
