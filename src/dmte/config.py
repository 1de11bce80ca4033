"""Every setting, its default and where the default comes from.

A setting is a field. The same dataclass is the file in a model folder and the options of the
command line, so a default is written here and nowhere else.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from types import MappingProxyType
from typing import Any

from dmte.errors import ConfigError
from dmte.objective import PARTS, ObjectiveWeights
from dmte.text import ENCODERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What DMTE is and how it is trained; the defaults are the paper's word-average version.

    >>> Settings(dim=64).dim
    64
    >>> Settings(encoder="bert")
    Traceback (most recent call last):
    ...
    dmte.errors.ConfigError: encoder must be one of word-average, bilstm, not 'bert'
    """

    encoder: str = "word-average"
    """How a text becomes a row of X: word-average (Eq. 2) or bilstm (Eq. 4)."""
    dim: int = 200
    """The width d of a vertex's vector, half of it text and half structure (section 5); text only
    keeps its half."""
    hop_weights: tuple[float, ...] = (1.0, 0.3, 0.1, 0.03)
    """The importance λ of hop 0, 1, 2, ..., one number per hop. H = 4 (section 5); the paper tunes
    λ per data set and prints none, the authors' released code has 1, 0.3, 0.1, continued here."""
    structure_hop_weights: tuple[float, ...] | None = None
    """The importance λ for the structure's diffusion map, if it is not the text's."""
    text_diffusion: bool = True
    """Whether V_t is the diffusion convolution of X; without it V_t = X (version i)."""
    structure: bool = True
    """Whether there is a structure half; without it v_i = v_i^t (version ii)."""
    min_count: int = 1
    """How often a word must occur to be learned; the paper keeps every word."""
    max_vocabulary: int | None = None
    """How many words are learned at most, the commonest first."""

    objective: ObjectiveWeights = field(default_factory=ObjectiveWeights)
    """The weights α of the four parts: text-text, structure-structure, structure-text and
    text-structure (section 5)."""
    num_negatives: int = 1
    """Negatives per edge, K (section 5)."""
    epochs: int = 200
    """Passes over the edges; the paper gives none, the authors' released code makes 200."""
    batch_size: int = 8192
    """Edges scored per step. The paper gives no number. A step propagates the whole graph whatever
    it scores, so large batches waste less."""
    learning_rate: float = 0.003
    """Adam's step size; the paper gives none."""
    hide_supervised: bool = False
    """Whether a step takes the edges it scores out of P, so that it cannot read off the answer;
    a step then scores at most a fifth of the edges."""
    validation_fraction: float = 0.0
    """Share of the edges held back to stop early on; 0 to train all epochs on all edges."""
    validate_every: int = 5
    """Epochs between two looks at the held-back edges."""
    patience: int = 6
    """Looks without a better AUC before training stops."""

    def __post_init__(self) -> None:
        self._check_model()
        self._check_training()

    def _check_model(self) -> None:
        if self.encoder not in ENCODERS:
            known = ", ".join(ENCODERS)
            raise ConfigError(f"encoder must be one of {known}, not {self.encoder!r}")
        multiple = 4 if self.encoder == "bilstm" else 2
        if self.dim < multiple or self.dim % multiple:
            raise ConfigError(
                f"dim must be a positive multiple of {multiple} with the {self.encoder} encoder, "
                f"not {self.dim}"
            )
        for name in ("hop_weights", "structure_hop_weights"):
            weights = getattr(self, name)
            if weights is not None and not _are_weights(weights):
                raise ConfigError(f"{name} must be numbers of at least 0, not all 0: {weights}")

    def _check_training(self) -> None:
        counts = ("num_negatives", "epochs", "batch_size", "validate_every", "patience")
        for name in (*counts, "min_count", "max_vocabulary"):
            count = getattr(self, name)
            if count is None and name == "max_vocabulary":
                continue
            if not isinstance(count, int) or count < 1:
                raise ConfigError(f"{name} must be a whole number of at least 1, not {count!r}")
        if not 0 <= self.validation_fraction < 1:
            raise ConfigError(
                f"validation_fraction must be from 0 to below 1, not {self.validation_fraction}"
            )
        if not 0 < self.learning_rate < float("inf"):
            raise ConfigError(f"learning_rate must be above 0, not {self.learning_rate}")
        if not _are_weights(tuple(getattr(self.objective, part) for part in PARTS)):
            raise ConfigError(
                f"the weights of the objective must be at least 0, not all 0: {self.objective}"
            )

    @property
    def hops(self) -> int:
        """H, the number of powers of P in use, P^0 included."""
        return len(self.hop_weights)

    @property
    def half(self) -> int:
        """The width of the text half, and of the structure half: d_t = d_s = d / 2."""
        return self.dim // 2

    def to_dict(self) -> dict[str, Any]:
        """Return every setting as plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Settings":
        """Return the settings ``to_dict`` wrote.

        Raises:
            ConfigError: A name is not a setting.
        """
        unknown = set(values) - {setting.name for setting in fields(cls)}
        if unknown:
            raise ConfigError(f"unknown settings: {', '.join(sorted(unknown))}")
        # JSON knows neither tuples nor dataclasses.
        plain: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in values.items()
        }
        plain["objective"] = ObjectiveWeights(**values.get("objective", {}))
        return cls(**plain)


def _are_weights(numbers: tuple[float, ...]) -> bool:
    """Return whether these are finite numbers of at least 0, not all 0."""
    return all(math.isfinite(number) and number >= 0 for number in numbers) and any(numbers)


VARIANTS: Mapping[str, Settings] = MappingProxyType(
    {
        "no-diffusion": Settings(text_diffusion=False),
        "text-only": Settings(structure=False),
        "bilstm": Settings(encoder="bilstm"),
        "word-average": Settings(),
    }
)
"""The four versions of the paper (section 5), by the name the command line uses."""
