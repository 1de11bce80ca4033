"""Every setting, its default and where the default comes from.

A setting is a field. The same dataclass is the file in a model folder and the options of the
command line, so a default is written here and nowhere else. Nothing here imports torch, so that
help can show every choice at once; tests compare the names with the tables that use them.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Literal, get_args

from dmte.errors import ConfigError

PARTS = ("text_text", "structure_structure", "structure_text", "text_structure")


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectiveWeights:
    """α, how much each part counts (section 5, parameter settings)."""

    text_text: float = 1.0
    """α_tt."""
    structure_structure: float = 1.0
    """α_ss."""
    structure_text: float = 0.3
    """α_st."""
    text_structure: float = 0.3
    """α_ts."""


Encoder = Literal["word-average", "bilstm", "spectral", "features"]
"""Names of ``text.ENCODERS``."""

FROZEN_ENCODERS = ("spectral", "features")
"""Encoders whose X is fixed before training."""

Transition = Literal["walk", "symmetric"]
"""Names of ``diffusion.transition.TRANSITIONS``."""

Half = Literal["both", "text", "structure"]
"""What of the vectors is compared."""

Way = Literal["tsne", "pca", "umap"]
"""How vectors get their places on a map."""

FEWEST_SCORED, MOST_STEPS = 8192, 50
"""Edges of a step and steps of an epoch, where neither is asked for."""

HIDDEN_SHARE = 0.2
"""Of the edges, hidden from P per step at most; the share that worked in trials."""

LARGEST_POWER = 4.0
"""Of lengths: above, vectors of hubs soon do not fit into numbers of four bytes."""

SPECTRAL_ONLY = ("letters", "word_weights")
"""What only the encoder spectral has a use for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What DMTE is and how it is trained; the defaults are the recommended recipe (docs/recipe.md).

    >>> settings = Settings(dim=64)
    >>> settings.hops, settings.half, settings.is_text_only, settings.has_frozen_encoder
    (4, 64, True, True)
    >>> Settings.from_dict(settings.to_dict()) == Settings().with_dim(64)
    True
    >>> Settings(loss="hinge")
    Traceback (most recent call last):
    ...
    dmte.errors.ConfigError: loss must be one of pointwise, ranking, not 'hinge'
    """

    encoder: str = "spectral"
    """How a text becomes a row of X: word-average (Eq. 2), bilstm (Eq. 4), or spectral, which is
    not the paper's: TF-IDF in its strongest directions, fixed before training. features are rows of
    numbers that come with the network, such as a sentence encoder's, fixed likewise."""
    dim: int | None = None
    """The width d of a vertex's vector. None lets held-back edges choose among 64, 128, 256 and
    512; only spectral texts alone can. The paper has 200, half text and half structure
    (section 5), and its text only keeps its half; spectral texts alone take all of it."""
    hop_weights: tuple[float, ...] = (1.0, 0.7, 0.5, 0.35)
    """The importance λ of hop 0, 1, 2, ..., one number per hop. H = 4 (section 5); the paper tunes
    λ per data set and prints none. For ``PAPER`` they are 1, 0.3, 0.1 as in the authors' released
    code, and 0.03; spectral texts start from those of a trial on Cora, and learn their own."""
    structure_hop_weights: tuple[float, ...] | None = None
    """The importance λ for the structure's diffusion map, if it is not the text's."""
    text_diffusion: bool = True
    """Whether V_t is the diffusion convolution of X; without it V_t = X (version i)."""
    transition: str = "symmetric"
    """What is diffused over: walk, the steps of a random walk (Definition 2), or symmetric, which
    keeps a share at every hop and hears less from hubs (see ``diffusion``)."""
    activation: str = "none"
    """What a hop goes through before hops are added up: tanh, or none, where the filters W start at
    λ, so that training starts from diffused texts."""
    mixing: bool = True
    """Whether V_t is multiplied by a learned square matrix that starts as the identity."""
    unit_rows: bool = True
    """Whether rows of V_t are divided by their length, so that a dot product is a cosine, but for
    what ``degree_power`` adds."""
    structure: bool = False
    """Whether there is a structure half, a learned row per vertex; without it v_i = v_i^t
    (version ii)."""
    structure_share: float | None = None
    """Share of a score that links alone have, beside texts: those of a structure half of random
    rows, diffused and not learned (see ``walk_half``). None lets held-back edges choose where dim
    is left open, and takes it only where that is a clear gain; 0 is no such half. The paper's is
    learned."""
    degree_power: float | None = None
    """What power of 1 + d / 3 the length of the vector of a vertex with d edges is: dot products
    then count how readily a vertex is linked, and cosines do not (see ``lengths``). None lets
    held-back edges choose; 0 is length 1. The paper has none."""
    min_count: int = 1
    """How often a word must occur to be learned; the paper keeps every word."""
    max_vocabulary: int | None = None
    """How many words are learned at most, the commonest first."""
    letters: bool | None = None
    """Whether spectral texts are read by groups of letters too, so that networks and networking
    meet; none is where half of the texts have fewer than 20 words. The paper reads words."""
    word_weights: bool | None = None
    """Whether it is learned how much every word of spectral texts counts, beginning with its
    rarity; none is where edges are held back and fewer than 1,000 of them. With more it takes time
    and gains nothing. The paper learns a vector per word."""
    word_dropout: float = 0.5
    """Share of the words that are left out of the texts an epoch learns from, afresh each epoch; 0
    in the paper. Features are not words, and stay."""

    objective: ObjectiveWeights = field(default_factory=ObjectiveWeights)
    """The weights α of the four parts: text-text, structure-structure, structure-text and
    text-structure (section 5)."""
    loss: str = "ranking"
    """What an edge is asked: pointwise, to be told apart from non-edges one by one (Eq. 13), or
    ranking, only to score above its negatives."""
    sharpness: float = 10.0
    """The factor τ of score differences in the ranking loss."""
    num_negatives: int = 5
    """Negatives per edge, K; 1 in the paper (section 5)."""
    noise_power: float = 0.0
    """Negatives are drawn in proportion to the out-degree to this power; 0.75 in the paper (section
    4.4). 0 draws all vertices alike; those without an edge too, unless there is a structure half,
    in which they have no row."""
    epochs: int = 40
    """Passes over the edges at most. The paper gives none; the authors' released code makes 200."""
    batch_size: int | None = None
    """Edges scored per step; none is 8,192, or a fiftieth of the edges where that is more. A step
    propagates the whole graph whatever it scores, so with a fixed number an epoch would take time
    in proportion to the square of the network. The paper gives no number."""
    learning_rate: float = 0.01
    """Adam's step size. The paper gives none; 0.003 for ``PAPER``."""
    mixing_learning_rate: float = 0.001
    """Adam's step size for the square matrix of ``mixing``."""
    word_learning_rate: float = 0.05
    """Adam's step size for the logarithm of the weights of words."""
    hide_supervised: bool = True
    """Whether a step takes the edges it scores out of P, so that it cannot read off the answer;
    a step then scores at most a fifth of the edges."""
    validation_fraction: float = 0.1
    """Share of the edges held back to stop early on; 0 to train all epochs on all edges."""
    folds: int | None = None
    """How often to train from the same start, each time holding other edges back; what was learned
    is averaged. None is three times where fewer than 1,000 edges are held back. Only spectral texts
    alone can be averaged; others are trained once, as in the paper."""
    validate_every: int = 1
    """Epochs between two looks at the held-back edges."""
    patience: int = 8
    """Looks without a better AUC before training stops."""

    def __post_init__(self) -> None:
        for name in SPECTRAL_ONLY:
            if not isinstance(getattr(self, name), bool | None):
                raise ConfigError(
                    f"{name} must be true, false or none, not {getattr(self, name)!r}"
                )
        self._check_model()
        self._check_training()

    def _check_model(self) -> None:
        _check_choice("encoder", self.encoder, get_args(Encoder))
        self._check_spectral_only()
        _check_choice("activation", self.activation, ("tanh", "none"))
        _check_choice("transition", self.transition, get_args(Transition))
        _check_choice("loss", self.loss, ("pointwise", "ranking"))
        if self.has_frozen_encoder and not (self.text_diffusion or self.mixing):
            raise ConfigError("nothing is learned of fixed texts without diffusion or mixing")
        multiple = 4 if self.encoder == "bilstm" else 2
        if self.dim is None:
            if not self.is_text_only:
                raise ConfigError("dim can be left open only with fixed texts and no structure")
        elif not _is_whole(self.dim) or self.dim < multiple or self.dim % multiple:
            raise ConfigError(
                f"dim must be a positive multiple of {multiple} with the {self.encoder} encoder, "
                f"not {self.dim!r}"
            )
        for name in ("hop_weights", "structure_hop_weights"):
            weights = getattr(self, name)
            if weights is not None and not _are_weights(weights):
                raise ConfigError(f"{name} must be numbers of at least 0, not all 0: {weights!r}")
        self._check_structure_share()
        self._check_degree_power()

    def _check_spectral_only(self) -> None:
        for name in SPECTRAL_ONLY:
            if getattr(self, name) and self.encoder != "spectral":
                raise ConfigError(
                    f"{name} must be false or left out with the encoder {self.encoder!r}; "
                    "only 'spectral' has a use for it"
                )

    def _check_structure_share(self) -> None:
        share = self.structure_share
        if share is None:
            return
        if not _is_number(share):
            raise ConfigError(f"structure_share must be a number or none, not {share!r}")
        _check_share("structure_share", share)
        self._refuse_unless_unit("structure_share")

    def _check_degree_power(self) -> None:
        power = self.degree_power
        if power is None:
            return
        if not _is_number(power) or not 0 <= power <= LARGEST_POWER:
            raise ConfigError(
                f"degree_power must be a number from 0 to {LARGEST_POWER:g} or none, not {power!r}"
            )
        self._refuse_unless_unit("degree_power")

    def _refuse_unless_unit(self, name: str) -> None:
        if getattr(self, name) and not self.supports_structure_share:
            raise ConfigError(
                f"{name} must be 0 unless vectors are fixed texts at length 1 "
                "(unit_rows) and there is no learned structure half"
            )

    def _check_training(self) -> None:
        counts = ("num_negatives", "epochs", "batch_size", "validate_every", "patience")
        for name in (*counts, "min_count", "max_vocabulary", "folds"):
            count = getattr(self, name)
            if count is None and name in ("batch_size", "max_vocabulary", "folds"):
                continue
            if not _is_whole(count) or count < 1:
                raise ConfigError(f"{name} must be a whole number of at least 1, not {count!r}")
        if (self.folds or 1) > 1 and not (self.is_text_only and self.validation_fraction):
            raise ConfigError(
                "folds must be 1 unless vectors are fixed texts alone and edges are held back"
            )
        self._check_numbers()

    def _check_numbers(self) -> None:
        rates = ("learning_rate", "mixing_learning_rate", "word_learning_rate")
        for name in (*rates, "sharpness", "validation_fraction", "noise_power", "word_dropout"):
            if not _is_number(getattr(self, name)):
                raise ConfigError(f"{name} must be a number, not {getattr(self, name)!r}")
        _check_share("validation_fraction", self.validation_fraction)
        _check_share("word_dropout", self.word_dropout)
        for name in (*rates, "sharpness"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ConfigError(f"{name} must be above 0, not {getattr(self, name)}")
        if not 0 <= self.noise_power < float("inf"):
            raise ConfigError(f"noise_power must be at least 0, not {self.noise_power}")
        if not _are_weights(tuple(getattr(self.objective, part) for part in PARTS)):
            raise ConfigError(
                f"the weights of the objective must be at least 0, not all 0: {self.objective}"
            )

    @property
    def hops(self) -> int:
        """H, the number of powers of P in use, P^0 included."""
        return len(self.hop_weights)

    def edges_per_step(self, num_edges: int) -> int:
        """Return how many of the edges of a network a step scores at most.

        >>> [Settings().edges_per_step(number) for number in (100, 50_000, 5_000_000)]
        [20, 8192, 100000]
        """
        size = self.batch_size or max(FEWEST_SCORED, math.ceil(num_edges / MOST_STEPS))
        return min(size, max(1, int(HIDDEN_SHARE * num_edges))) if self.hide_supervised else size

    @property
    def is_text_only(self) -> bool:
        """Whether all that is learned is of fixed texts, diffused."""
        return self.has_frozen_encoder and not self.structure

    @property
    def supports_structure_share(self) -> bool:
        """Whether links alone can have a share of a score, and degrees a part in lengths.

        >>> Settings().supports_structure_share
        True
        >>> Settings(structure=True, dim=64).supports_structure_share
        False
        """
        return self.is_text_only and self.unit_rows

    @property
    def has_frozen_encoder(self) -> bool:
        """Whether X is fixed before training."""
        return self.encoder in FROZEN_ENCODERS

    @property
    def half(self) -> int:
        """The width of the text half, and of the structure half: d_t = d_s = d / 2.

        Raises:
            ConfigError: The width has been left open, and nothing has chosen it yet.
        """
        if self.dim is None:
            raise ConfigError("dim is not chosen yet")
        return self.dim // self._num_halves

    @property
    def _num_halves(self) -> int:
        return 1 if self.is_text_only and not self.structure_share else 2

    def with_dim(self, dim: int) -> "Settings":
        """Return these settings with the width chosen."""
        return replace(self, dim=dim)

    def with_half(self, half: int) -> "Settings":
        """Return these settings with the width of the text half chosen.

        >>> Settings().with_half(64).dim, Settings(structure_share=0.5).with_half(64).dim
        (64, 128)
        """
        return self.with_dim(half * self._num_halves)

    def with_structure_share(self, share: float) -> "Settings":
        """Return these settings with the share chosen, and a text half as wide as it is.

        >>> chosen = Settings(dim=64).with_structure_share(0.5)
        >>> chosen.dim, chosen.half
        (128, 64)
        """
        return replace(self, structure_share=share).with_half(self.half)

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
        # What is missing was not there yet when they were written, and everything was the paper's.
        older = {
            setting.name: getattr(PAPER, setting.name)
            for setting in fields(cls)
            if setting.name not in plain
        }
        known = plain | older
        if known["encoder"] != "spectral":
            # Before they were refused they were stored as asked for, and changed nothing.
            known |= {name: False for name in SPECTRAL_ONLY if known[name] is True}
        return cls(**known)


def _are_weights(numbers: object) -> bool:
    """Return whether these are finite numbers of at least 0, not all 0."""
    return (
        isinstance(numbers, tuple | list)
        and all(_is_number(number) and math.isfinite(number) and number >= 0 for number in numbers)
        and any(numbers)
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check_share(name: str, value: float) -> None:
    if not 0 <= value < 1:
        raise ConfigError(f"{name} must be from 0 to below 1, not {value}")


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ConfigError(f"{name} must be one of {', '.join(choices)}, not {value!r}")


PAPER = Settings(
    encoder="word-average",
    dim=200,
    hop_weights=(1.0, 0.3, 0.1, 0.03),
    transition="walk",
    activation="tanh",
    mixing=False,
    unit_rows=False,
    structure=True,
    structure_share=0.0,
    degree_power=0.0,
    letters=False,
    word_weights=False,
    word_dropout=0.0,
    loss="pointwise",
    num_negatives=1,
    noise_power=0.75,
    epochs=200,
    learning_rate=0.003,
    # Of no use to it, and written out: a default that changes must not change here as well, or
    # results of the recommended recipe would seem to be those of the new one (see ``Job``).
    mixing_learning_rate=0.001,
    word_learning_rate=0.05,
    sharpness=10.0,
    hide_supervised=False,
    validation_fraction=0.0,
    folds=1,
    validate_every=5,
    patience=6,
)
"""The paper's word-average version."""

VARIANTS: Mapping[str, Settings] = MappingProxyType(
    {
        "no-diffusion": replace(PAPER, text_diffusion=False),
        "text-only": replace(PAPER, structure=False),
        # On held-back edges of Cora and HepTh AUC is best after 40 to 60 epochs of longer steps;
        # those of the word average take twice as many, and one of a Bi-LSTM takes a second.
        "bilstm": replace(PAPER, encoder="bilstm", learning_rate=0.01, epochs=50),
        "word-average": PAPER,
    }
)
"""The four versions of the paper (section 5), by the name the command line uses."""

RECIPES: Mapping[str, Settings] = MappingProxyType({"recommended": Settings(), "paper": PAPER})
"""What to train with, by the name the command line uses: ours, and the paper's."""
