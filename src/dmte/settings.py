"""Every setting, its type, its default and the source of the default.

``Settings`` is stored with a model, gives ``Dmte`` its parameters and the command line its options
and their help. This module does not import torch, so that help appears at once.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, astuple, dataclass, field, fields, replace
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple

from dmte.constraints import Above, AtLeast, Range, Weights, check_fields
from dmte.errors import ConfigError

Encoder = Literal["word-average", "bilstm", "spectral", "features"]
"""Names in ``text.ENCODERS``."""

Transition = Literal["walk", "symmetric"]
"""Names in ``diffusion.transition.TRANSITIONS``."""

Activation = Literal["tanh", "none"]
"""Names in ``diffusion.operators.ACTIVATIONS``: nonlinearity of a hop before hops are summed."""

Loss = Literal["pointwise", "ranking"]
"""Names in ``training.objective.LOSSES``."""

Half = Literal["both", "text", "structure"]
"""Part of the vectors that is compared."""

Projection = Literal["tsne", "pca", "umap"]
"""Projection of the vectors to a map."""

Favor = Literal["balanced", "auc", "top"]
"""Names in ``training.validation.CRITERIA``: what validation edges choose by."""

Protocol = Literal["strict", "published"]
"""Names in ``evaluation.PROTOCOLS``."""

NUM_SEEDS = 10
"""Runs averaged per figure (section 5)."""

LABEL_FRACTIONS = (0.1, 0.3, 0.5, 0.7)
"""Fractions of labelled vertices to train on (section 5.2)."""

Count = Annotated[int, AtLeast(1)]
Rate = Annotated[float, Above(0)]
Fraction = Annotated[float, Range(0, 1, closed=False)]
HopWeights = Annotated[tuple[float, ...], Weights()]
PartWeight = Annotated[float, AtLeast(0)]

WORD_SETTINGS = ("letters", "word_weights")
"""Settings that only some encoders use (``EncoderTraits.has_word_settings``)."""


class EncoderTraits(NamedTuple):
    """Properties of a text encoder that other settings depend on."""

    is_frozen: bool = False
    """X is fixed before training."""
    reads_words: bool = True
    """It reads texts, not the features of the vertices."""
    reads_order: bool = False
    """It depends on the order of the words."""
    has_word_settings: bool = False
    """It uses the settings ``WORD_SETTINGS``."""
    dim_multiple: int = 2
    """``dim`` must be a multiple of it."""


ENCODER_TRAITS: Mapping[str, EncoderTraits] = MappingProxyType(
    {
        "word-average": EncoderTraits(),
        "bilstm": EncoderTraits(reads_order=True, dim_multiple=4),
        "spectral": EncoderTraits(is_frozen=True, has_word_settings=True),
        "features": EncoderTraits(is_frozen=True, reads_words=False),
    }
)
"""The properties of every encoder in ``text.ENCODERS``."""

PARTS = ("text_text", "structure_structure", "structure_text", "text_structure")
"""Parts of the objective (Eq. 8)."""

LARGEST_POWER = 4.0
"""Largest degree power; beyond it hub vectors overflow float32."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectiveWeights:
    """Weights α of the four parts of the objective (section 5, parameter settings)."""

    text_text: PartWeight = 1.0
    """α_tt."""
    structure_structure: PartWeight = 1.0
    """α_ss."""
    structure_text: PartWeight = 0.3
    """α_st."""
    text_structure: PartWeight = 0.3
    """α_ts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Model and training settings; the defaults are the recommended recipe (docs/recipe.md).

    >>> settings = Settings(dim=64)
    >>> settings.hops, settings.half, settings.is_text_only, settings.has_frozen_encoder
    (4, 64, True, True)
    >>> Settings.from_dict(settings.to_dict()) == settings
    True
    >>> Settings(epochs=0)
    Traceback (most recent call last):
    ...
    dmte.errors.ConfigError: epochs must be a whole number of at least 1, not 0
    """

    encoder: Encoder = "spectral"
    """Text encoder that produces X, one row per vertex. "word-average" (Eq. 2) and "bilstm" (Eq. 4)
    are learned. "spectral" (TF-IDF projected on its leading singular vectors) and "features" (given
    with the network) are fixed before training."""
    dim: Annotated[int, AtLeast(2)] | None = None
    """Width d of a vertex's vector; with None, validation edges choose 64, 128, 256 or 512. None
    needs a frozen encoder and no structure half. The paper uses 200, half of it structure (section
    5)."""
    hop_weights: HopWeights = (1.0, 0.7, 0.5, 0.35)
    """Importance λ of the hops 0, 1, 2, ..., one number per hop. The paper has four hops (section
    5) and prints no λ; ``PAPER`` uses 1, 0.3, 0.1 (the authors' released code) and 0.03. The
    defaults are from a trial on Cora. Without an activation λ only initialises the filters."""
    structure_hop_weights: HopWeights | None = None
    """Importance λ of the hops in the structure half. None uses ``hop_weights``."""
    text_diffusion: bool = True
    """Compute V_t as the diffusion convolution of X; otherwise V_t = X (version i)."""
    transition: Transition = "symmetric"
    """Matrix P that texts are diffused by. "walk" is the random walk (Definition 2). "symmetric"
    keeps a share of a vertex's own text, and a hub contributes less to each neighbor."""
    activation: Activation = "none"
    """Nonlinearity applied to each hop before hops are summed. With "none" the filters W start at
    λ. The paper uses "tanh"."""
    mixing: bool = True
    """Multiply V_t by a learned square matrix, initialised as the identity."""
    unit_rows: bool = True
    """Normalise the rows of V_t to length 1, so that dot products are cosines."""
    structure: bool = False
    """Add a structure half, a learned row per vertex; otherwise v_i = v_i^t (version ii)."""
    structure_share: Fraction | None = None
    """Weight β of links in a score, next to texts; 0 disables it. Links enter as diffused random
    rows. None chooses β by validation AUC if ``dim`` is None and the gain is significant."""
    degree_power: Annotated[float, Range(0, LARGEST_POWER)] | None = None
    """Exponent a of the length (1 + d/3)^a of a vertex with d edges; 0 is length 1. Dot products
    then favor vertices with many edges; cosines do not change. None chooses a by validation edges.
    The paper uses 0."""
    min_count: Count = 1
    """Minimum number of occurrences of a word in the vocabulary."""
    max_vocabulary: Count | None = 200_000
    """Maximum number of words in the vocabulary, the most frequent first. None keeps all. With half
    of the words, the AUC of DBLP, of long texts and of 10⁵ vertices falls by at most 0.2."""
    letters: bool | None = None
    """Add character n-grams to the words of spectral texts, to match inflected words. None enables
    it if half of the texts have fewer than 20 words."""
    word_weights: bool | None = None
    """Learn a weight per word of spectral texts, initialised from its IDF. None enables it when
    there are 1 to 999 validation edges; with more it takes time without a gain."""
    word_dropout: Fraction | None = None
    """Fraction of words dropped from the texts, drawn again each epoch. None drops half of them, or
    none if there are more edges than training uses. The paper uses 0."""

    objective: ObjectiveWeights = field(default_factory=ObjectiveWeights)
    """Weights α of the four parts: text-text, structure-structure, structure-text, text-structure.
    The values are the paper's (section 5)."""
    loss: Loss = "ranking"
    """Loss function: "pointwise" (logistic, Eq. 13) or "ranking" (edges outscore negatives)."""
    sharpness: Rate = 10.0
    """Factor τ of score differences in the ranking loss."""
    softmax_weight: Annotated[float, AtLeast(0)] | None = None
    """Weight μ of a softmax in the ranking loss, which improves the top of a ranking. It is over
    an edge's end and its negatives. None uses 0.3, or 0 if there are more edges than training uses.
    The paper uses 0."""
    num_negatives: Count = 128
    """Negatives per edge, K; 1 in the paper (section 5)."""
    share_negatives: bool = True
    """Draw one set of K negatives for all edges of a step; the paper draws a set for each edge.
    Neighbors of the end of an edge are not its negatives."""
    noise_power: Annotated[float, AtLeast(0)] = 0.0
    """Exponent of the out-degree in the noise distribution; 0.75 in the paper (section 4.4). 0
    draws vertices uniformly, including those without edges unless there is a structure half."""
    epochs: Count = 8
    """Maximum number of passes over the edges, or over 20,480 of them if X is fixed. The authors'
    released code uses 200."""
    batch_size: Count | None = None
    """Edges per step. None uses a twentieth of the edges, at least 512 and at most 1,024, if X is
    fixed. Otherwise every step propagates the whole graph, and None uses 8,192, or a fiftieth of
    the edges if that is more."""
    round_edges: Count | None = None
    """Edges that one or more steps score while all are removed from P (``hide_supervised``). At
    most a fifth of all; P and the hop tables are computed again for every round. None uses a fifth,
    at most 20,480, if X is fixed, and otherwise the edges of one step."""
    learning_rate: Rate = 0.03
    """Step size of Adam. The paper does not state it; ``PAPER`` uses 0.003."""
    mixing_learning_rate: Rate = 0.002
    """Step size of Adam for the square matrix of the setting mixing."""
    decay: bool = True
    """Decrease all step sizes linearly to zero over ``epochs``. A run with another number of epochs
    then takes other steps, so a checkpoint cannot be resumed with it."""
    word_learning_rate: Rate = 0.05
    """Step size of Adam for the logarithms of the word weights, which have one step per round."""
    hide_supervised: bool = True
    """Remove the edges of a step from P while they are scored (see ``round_edges``)."""
    validation_fraction: Fraction = 0.1
    """Fraction of edges held out for early stopping. 0 trains all epochs on all edges."""
    folds: Count | None = None
    """Trainings with different validation edges, whose parameters are averaged. None uses 3 with
    fewer than 1,000 validation edges, otherwise 1. More than 1 needs a frozen encoder and no
    structure half."""
    validate_every: Count = 1
    """Epochs between two evaluations on the validation edges."""
    patience: Count = 8
    """Evaluations without a better validation result before training stops."""
    favor: Favor = "auc"
    """Criterion by which validation edges choose: "auc", "top" or "balanced". They choose the
    width, the epoch and the degree power. "auc" is the AUC against random pairs, "top" the MRR of
    hidden links among up to 5,000 vertices, and "balanced" the sum of both, which in trials cost
    0.1 AUC and gained 1.2 MRR on average (docs/recipe.md)."""

    def __post_init__(self) -> None:
        check_fields(self)
        for holds, message in self._rules():
            if not holds:
                raise ConfigError(message)

    def _rules(self) -> Iterator[tuple[bool, str]]:
        """Yield every rule between fields: whether it holds, and the message if it does not."""
        traits, encoder = self.encoder_traits, f"the encoder {self.encoder!r}"
        frozen = "unless the encoder is frozen (spectral, features)"
        for name in WORD_SETTINGS:
            holds = traits.has_word_settings or not getattr(self, name)
            yield holds, f"{name} must be false or left out with {encoder}; only 'spectral' uses it"
        yield (
            self.text_diffusion or self.mixing or not traits.is_frozen,
            f"{encoder} has no trainable parameters; enable text_diffusion or mixing",
        )
        yield (
            self.dim is not None or self.is_text_only,
            f"dim must be a number {frozen} and there is no structure half",
        )
        yield (
            (self.dim or 0) % traits.dim_multiple == 0,
            f"dim must be a multiple of {traits.dim_multiple} with {encoder}, not {self.dim}",
        )
        for name in ("structure_share", "degree_power"):
            holds = self.supports_structure_share or not getattr(self, name)
            rest = "unit_rows is true and there is no learned structure half"
            yield holds, f"{name} must be 0 {frozen}, {rest}"
        yield (
            (self.folds or 1) == 1 or (self.is_text_only and self.validation_fraction > 0),
            f"folds must be 1 {frozen}, there is no structure half and validation_fraction is "
            "above 0",
        )
        yield (
            (self.batch_size or 1) <= (self.round_edges or self.batch_size or 1),
            f"batch_size must be at most round_edges, {self.round_edges}, because a round is "
            f"divided into steps, not {self.batch_size}",
        )
        yield (
            any(astuple(self.objective)),
            f"objective must have a weight above 0: {self.objective}",
        )

    @property
    def hops(self) -> int:
        """H, the number of powers of P in use, P^0 included."""
        return len(self.hop_weights)

    @property
    def encoder_traits(self) -> EncoderTraits:
        """The properties of the encoder."""
        return ENCODER_TRAITS[self.encoder]

    @property
    def has_frozen_encoder(self) -> bool:
        """Whether X is fixed before training."""
        return self.encoder_traits.is_frozen

    @property
    def is_text_only(self) -> bool:
        """Whether the encoder is frozen and there is no learned structure half."""
        return self.has_frozen_encoder and not self.structure

    @property
    def supports_structure_share(self) -> bool:
        """Whether ``structure_share`` and ``degree_power`` may be above 0."""
        return self.is_text_only and self.unit_rows

    @property
    def half(self) -> int:
        """The width of the text half, and of the structure half: d_t = d_s = d / 2.

        Raises:
            ConfigError: ``dim`` is None.
        """
        if self.dim is None:
            raise ConfigError("dim is not chosen yet")
        return self.dim // self._num_halves

    @property
    def _num_halves(self) -> int:
        return 1 if self.is_text_only and not self.structure_share else 2

    def with_half(self, half: int) -> "Settings":
        """Return these settings with another width of the text half.

        >>> Settings().with_half(64).dim, Settings(structure_share=0.5).with_half(64).dim
        (64, 128)
        """
        return replace(self, dim=half * self._num_halves)

    def to_dict(self) -> dict[str, Any]:
        """Return every setting as plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_stored(cls, values: Mapping[str, Any]) -> "Settings":
        """Return the settings of a stored model, perhaps of an earlier version.

        Settings that the version did not have get the values that it used.

        >>> Settings.from_stored({"num_negatives": 5}).share_negatives
        False

        Raises:
            ConfigError: A name is not a setting, or a value is out of range.
        """
        return cls.from_dict(
            {"share_negatives": False, "decay": False, "softmax_weight": 0.0, **values}
        )

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Settings":
        """Return the settings that ``to_dict`` wrote; missing ones have their defaults.

        Raises:
            ConfigError: A name is not a setting, or a value is out of range.
        """
        if unknown := set(values) - {setting.name for setting in fields(cls)}:
            raise ConfigError(f"unknown settings: {', '.join(sorted(unknown))}")
        # JSON has neither tuples nor dataclasses.
        plain: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in values.items()
        }
        return cls(**plain | {"objective": _objective(values.get("objective", {}))})


def _objective(weights: Any) -> ObjectiveWeights:
    names = {weight.name for weight in fields(ObjectiveWeights)}
    if not isinstance(weights, Mapping) or not set(weights) <= names:
        raise ConfigError(f"objective must have weights of {', '.join(PARTS)}, not {weights!r}")
    return ObjectiveWeights(**weights)
