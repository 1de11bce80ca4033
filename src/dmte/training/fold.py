"""One training on a split into training and validation edges.

A step propagates the whole graph once, since a vertex's row serves many edges, and then scores a
large batch. Batches, negatives and dropped words depend only on the seed, the fold and the epoch,
so all processes of a group draw the same. Each process scores its own columns. After the scores
are summed, all processes have the same loss.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dmte.diffusion.random_projection import walk_features
from dmte.distributed.group import SINGLE_PROCESS, ProcessGroup
from dmte.errors import TrainingError
from dmte.kernels.adam import Adam
from dmte.kernels.pair_scores import dot_products
from dmte.kernels.sparse import SparseMatrix
from dmte.metrics import PairScores, auc
from dmte.model.assemble import combine_halves, degrees, length_products
from dmte.model.build import build_model, embed_halves
from dmte.model.diffusion_maps import DiffusionMaps
from dmte.network import TextualNetwork
from dmte.runtime.seeding import generator_for
from dmte.settings import Settings
from dmte.text import EncoderInput, FrozenEncoder, LearnedWeights, SpectralWords
from dmte.training.edges import SupervisedEdges, edges_per_step, sample_unlinked
from dmte.training.negative_sampling import NegativeSampler
from dmte.training.objective import LOSSES, Scores, score_edges, weighted_sum
from dmte.training.validation import Best, ValidationEdges

MAX_NEGATIVE_POOL = 4096
"""Number of vertices that the negatives of a step are drawn from, if all vertices may be drawn.
A step then computes fewer rows of a large network: on DBLP it takes half the time, with the same
AUC (97.8 on a fifth of the training edges, 55 %)."""

EMPHASIS = "encoder.emphasis"
"""Parameter name of the word weights."""

OWN_RATES: Mapping[str, str] = MappingProxyType(
    {"mixing.matrix": "mixing_learning_rate", EMPHASIS: "word_learning_rate"}
)
"""Settings with the step sizes of M and of the word weights; others use ``learning_rate``."""


def samples_all_vertices(settings: Settings) -> bool:
    """Return whether negatives are drawn uniformly, including vertices without edges."""
    return settings.noise_power == 0 and not settings.structure


class ValidationScores(NamedTuple):
    """Scores of the validation pairs."""

    text: PairScores
    """Text scores at the best validation epoch."""
    walks: PairScores | None
    """Scores of the random structure half, if requested."""
    lengths: PairScores
    """Products of the two lengths for a = 1 (see ``model.assemble``)."""


class Fold:
    """The model and the optimizer of one split into training and validation edges."""

    def __init__(
        self,
        split: tuple[TextualNetwork, ValidationEdges | None],
        vocabulary_size: int,
        settings: Settings,
        seed: int,
        number: int = 0,
        *,
        group: ProcessGroup = SINGLE_PROCESS,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.train, self.validation_edges = split
        self.settings, self.seed, self.number = settings, seed, number
        self.group, self.dtype = group, dtype
        self.best = Best()
        self._samples_all_vertices = samples_all_vertices(settings)
        self.edges = SupervisedEdges.of(
            self.train, sample_unlinked(self.train, seed) if self._samples_all_vertices else None
        )
        num_linked = len(self.edges.members)
        self.model = build_model(settings, vocabulary_size, num_linked, seed, group).to(dtype)
        self.optimizer = _optimizer_of(self.model, settings)

    def start_from(self, encoder: FrozenEncoder[Any]) -> None:
        """Use this frozen encoder, with word weights of this fold if they are learned."""
        self.model.encoder = (
            LearnedWeights(encoder)
            if self.settings.word_weights and isinstance(encoder, SpectralWords)
            else encoder
        )
        self.optimizer = _optimizer_of(self.model, self.settings)

    def prepare_steps(self, texts: EncoderInput, prepared: Any) -> None:
        """Compute the tables that all steps share, once the model has its encoder.

        ``prepared`` holds the texts of all vertices, as the encoder prepared them.
        """
        once = self.group.share_on_host
        self._all_texts, model = prepared, self.model
        if self.validation_edges is not None:
            whole = self.train.adjacency()
            self._whole_transition = once(model.transition_of(whole, self.dtype))
        self._words = texts.select(self.edges.members)
        read = model.encoder.prepare(self._words)
        self._texts = once(read) if isinstance(read, SparseMatrix) else read
        self.edges = once(self.edges)
        if self.settings.hide_supervised:
            self._entries = once(self.edges.template())
        else:
            self._transition = once(model.transition_of(self.edges.adjacency(), self.dtype))
        self.sampler = NegativeSampler(self._noise())

    def _noise(self) -> Float[Tensor, " members"]:
        """Return the probability of every member as a negative, up to a factor."""
        noise = self.edges.out_degrees() ** self.settings.noise_power
        is_linked = self.edges.are_linked()
        # The members without an edge represent all vertices without one.
        num_unlinked = self.train.num_vertices - int(is_linked.sum())
        noise[~is_linked] = num_unlinked / max(1, int((~is_linked).sum()))
        return noise

    @property
    def batch_size(self) -> int:
        """Maximum number of edges that a step scores."""
        return edges_per_step(self.settings, len(self.edges))

    @property
    def has_stopped(self) -> bool:
        """Whether early stopping has ended this fold."""
        return self.best.checks_without_improvement >= self.settings.patience

    def train_epoch(self, epoch: int) -> Float[Tensor, " parts"]:
        """Take a step per batch and return the mean loss of every part.

        Raises:
            TrainingError: The loss or a parameter is no longer a finite number.
        """
        self.drop_words(epoch)
        order = torch.randperm(len(self.edges), generator=self._generator("order", epoch))
        negatives = self._generator("negatives", epoch)
        total, total_weight = torch.zeros(()), 0.0
        for batch in order.split(self.batch_size):
            parts, weight = self.step(batch, negatives)
            self._check_finite(epoch, "the loss", is_finite=bool(parts.isfinite().all()))
            total, total_weight = total + parts * weight, total_weight + weight
        is_finite = all(bool(p.detach().isfinite().all()) for p in self.model.parameters())
        is_finite = not self.group.any(found=not is_finite)  # Columns differ between processes.
        self._check_finite(epoch, "a parameter", is_finite=is_finite)
        return total / total_weight

    def drop_words(self, epoch: int) -> None:
        """Apply the word dropout of an epoch to the texts."""
        if share := self.settings.word_dropout:
            words = self._words.dropout_words(share, self._generator("words", epoch))
            self._texts = self.model.encoder.prepare(words)

    def step(
        self, batch: Int[Tensor, " batch"], generator: torch.Generator
    ) -> tuple[Float[Tensor, " parts"], float]:
        """Take a step of Adam on the edges ``batch``; return the loss of every part and Σ s_ij."""
        settings, edges = self.settings, self.edges.directed(batch)
        if settings.hide_supervised:
            kind = settings.transition
            transition = self._entries.transition(kind, without=batch, dtype=self.dtype)
        else:
            transition = self._transition
        sampler = self.sampler
        if self._samples_all_vertices:
            sampler = sampler.among(MAX_NEGATIVE_POOL, generator)
        negatives = sampler.draw(edges.source, edges.target, settings.num_negatives, generator)
        scores = self._scores(transition, edges.source, edges.target, negatives)
        weights = self.edges.relative(edges.weights, self.dtype)
        parts = LOSSES[settings.loss](scores, weights, settings.sharpness)
        loss = weighted_sum(parts, settings.objective)
        self.optimizer.zero_grad()
        loss.backward()
        self.group.add_gradients(self.model.shared_parameters())
        self.optimizer.step()
        return parts.detach(), float(weights.sum())

    def _scores(
        self,
        transition: SparseMatrix,
        source: Int[Tensor, " batch"],
        target: Int[Tensor, " batch"],
        negatives: Int[Tensor, "batch negatives"],
    ) -> Scores:
        """Return the scores, summed over the columns of all processes."""
        rows, num_members = None, len(self.edges.members)
        if self.model.exchanges_rows or (
            self._samples_all_vertices and num_members > MAX_NEGATIVE_POOL
        ):
            ends = torch.cat([source.unsqueeze(1), target.unsqueeze(1), negatives], dim=1)
            rows, ends = _numbered(ends, num_members)
            source, target, negatives = ends[:, 0], ends[:, 1], ends[:, 2:]
        halves = self.model(self._texts, transition, rows)
        return score_edges(halves, source, target, negatives, self.group)

    def validate(self, epoch: int) -> None:
        """Score the validation edges, if there are any, and store the best parameters."""
        if self.validation_edges is None:
            return
        found = auc(*self._score_validation(self.validation_edges))
        if found > self.best.auc:
            self.best = Best(found, epoch, 0, found, self.parameters())
        else:
            self.best.checks_without_improvement += 1
            self.best.last_auc = found

    def _score_validation(self, validation: ValidationEdges) -> list[Float[Tensor, " pairs"]]:
        """Return the scores of the validation edges and non-edges."""
        scored = [validation.edges, validation.non_edges]
        # Usually few vertices occur in validation pairs; multiply only those by M.
        rows, numbers = _numbered(torch.cat(scored), self.train.num_vertices)
        text, structure = embed_halves(
            self.model, self._all_texts, self._whole_transition, self.edges.members, rows
        )
        vectors = combine_halves(text, structure)
        return [
            self.group.sum(dot_products(vectors, pairs))
            for pairs in numbers.split([len(pairs) for pairs in scored])
        ]

    def validation_scores(self, *, by_walks: bool) -> ValidationScores | None:
        """Return the scores of the validation pairs with the best parameters, if there are any.

        ``by_walks`` adds those of the random structure half. All processes of a group must call it.
        """
        validation = self.validation_edges
        if validation is None:
            return None
        current = self.parameters()
        self.model.load_state_dict(self.best_parameters(), strict=False)
        by_text = PairScores(*self._score_validation(validation))
        self.model.load_state_dict(current, strict=False)
        adjacency, walks = self.train.adjacency(), None
        pairs = (validation.edges, validation.non_edges)
        if by_walks:
            ends = walk_features(adjacency, self.settings.half, self.seed, self.group, self.dtype)
            walks = PairScores(*(self.group.sum(dot_products(ends, some)) for some in pairs))
        found = degrees(adjacency)
        lengths = PairScores(*(length_products(found, some) for some in pairs))
        return ValidationScores(by_text, walks, lengths)

    def best_parameters(self) -> dict[str, Tensor]:
        """Return the parameters of the best validation epoch, or copies of the current ones."""
        return self.best.parameters or self.parameters()

    def parameters(self) -> dict[str, Tensor]:
        """Return copies of all parameters by name."""
        return {name: p.detach().clone() for name, p in self.model.named_parameters()}

    def _generator(self, purpose: str, epoch: int) -> torch.Generator:
        of_fold = f" of fold {self.number}" if self.number else ""
        return generator_for(self.seed, purpose + of_fold, epoch)

    def _check_finite(self, epoch: int, what: str, *, is_finite: bool) -> None:
        if not is_finite:
            raise TrainingError(
                f"{what} was no longer a finite number in epoch {epoch + 1}; "
                f"{self._smaller_steps()} may help"
            )

    def _smaller_steps(self) -> str:
        """Suggest a smaller value of every step size, since NaN soon reaches all parameters."""
        used = {OWN_RATES.get(name, "learning_rate") for name, _ in self.model.named_parameters()}
        *most, last = (
            f"a {rate} below {getattr(self.settings, rate):g}"
            for rate in ("learning_rate", *OWN_RATES.values())
            if rate in used
        )
        return f"{', '.join(most)} or {last}" if most else last


def _numbered(
    vertices: Int[Tensor, "some more"], num_vertices: int
) -> tuple[Int[Tensor, " rows"], Int[Tensor, "some more"]]:
    """Return the distinct vertices, ascending, and the position of every vertex among them."""
    occurs = torch.zeros(num_vertices, dtype=torch.int64)
    occurs[vertices] = 1
    return occurs.nonzero().flatten(), (occurs.cumsum(0) - 1)[vertices]


def _optimizer_of(model: DiffusionMaps, settings: Settings) -> Adam:
    """Return Adam, with separate step sizes for M and the word weights."""
    parameters = dict(model.named_parameters())
    apart = {name: parameters.pop(name) for name in OWN_RATES if name in parameters}
    optimizer = Adam(parameters.values(), settings.learning_rate)
    for name, parameter in apart.items():
        optimizer.add([parameter], getattr(settings, OWN_RATES[name]))
    return optimizer
