"""Link prediction, and every method by name."""

from collections.abc import Mapping
from types import MappingProxyType

from dmte.baselines import BASELINES
from dmte.config import VARIANTS
from dmte.embedding import Method
from dmte.evaluation.link_prediction import PROTOCOLS, LinkTask, published_task, strict_task
from dmte.training import Dmte

METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "dmte-paper": Dmte.of(VARIANTS["word-average"]),
        "dmte-paper-no-diffusion": Dmte.of(VARIANTS["no-diffusion"]),
        "dmte-paper-text-only": Dmte.of(VARIANTS["text-only"]),
        "dmte-paper-bilstm": Dmte.of(VARIANTS["bilstm"]),
        **BASELINES,
    }
)
"""DMTE in its four versions and every baseline, by the name the command line uses."""

__all__ = ["METHODS", "PROTOCOLS", "LinkTask", "published_task", "strict_task"]
