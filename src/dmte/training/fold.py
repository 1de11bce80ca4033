"""One training on a split into training and validation edges.

An epoch drops some words and is divided into rounds. A round removes some edges from P, computes
the hop tables if X is fixed, and scores these edges in several steps (``training.rounds``).
Batches, negatives and dropped words depend only on the seed, the fold and the epoch, so all
processes of a group draw the same.
"""

from collections.abc import Generator, Iterator
from contextlib import nullcontext
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dmte.diffusion.random_projection import walk_features
from dmte.distributed.columns import ALL_COLUMNS
from dmte.distributed.group import SINGLE_PROCESS, ProcessGroup
from dmte.errors import TrainingError
from dmte.kernels.pair_scores import dot_products
from dmte.kernels.sparse import CompressedRows, SparseMatrix
from dmte.metrics import PairScores
from dmte.model.assemble import degrees, lengths
from dmte.model.build import build_model, structure_half
from dmte.network import TextualNetwork
from dmte.runtime.seeding import generator_for
from dmte.runtime.threads import Each, in_order, side_by_side
from dmte.settings import Settings
from dmte.text import EncoderInput, FrozenEncoder, LearnedWeights, SpectralWords
from dmte.training.batch_scores import Batch, BatchScorer
from dmte.training.edges import (
    StepSizes,
    SupervisedEdges,
    even_parts,
    sample_unlinked,
    step_sizes,
)
from dmte.training.negative_sampling import NegativeSampler
from dmte.training.objective import LOSSES, weighted_sum
from dmte.training.optimizer import optimizer_of, smaller_rates
from dmte.training.rounds import PropagatedTexts, TabulatedTexts, TextRows
from dmte.training.validation import (
    CRITERIA,
    Best,
    ValidationEdges,
    ValidationScores,
    score_validation,
)


def samples_all_vertices(settings: Settings) -> bool:
    """Return whether negatives are drawn uniformly, including vertices without edges."""
    return settings.noise_power == 0 and not settings.structure


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
        unlinked = sample_unlinked(self.train, seed) if samples_all_vertices(settings) else None
        self.edges = SupervisedEdges.of(self.train, unlinked)
        columns = group if group.size > 1 else ALL_COLUMNS
        num_linked = len(self.edges.members)
        self.model = build_model(settings, vocabulary_size, num_linked, seed, columns).to(dtype)
        self.optimizer = optimizer_of(self.model, settings)
        self._features: Tensor | None = None
        """X during an epoch, if it is fixed."""
        self._validation_texts: TextRows | None = None
        """The rows of the validation pairs, if they are constant."""

    def start_from(self, encoder: FrozenEncoder[Any, Any]) -> None:
        """Use this frozen encoder, with word weights of this fold if they are learned."""
        self.model.encoder = (
            LearnedWeights(encoder)
            if self.settings.word_weights and isinstance(encoder, SpectralWords)
            else encoder
        )
        self.optimizer = optimizer_of(self.model, self.settings)

    def prepare_steps(self, texts: EncoderInput, prepared: Any) -> None:
        """Compute the tables that all steps share, once the model has its encoder.

        ``prepared`` holds the texts of all vertices, as the encoder prepared them.
        """
        once, model, members = self.group.share_on_host, self.model, self.edges.members
        self._all_texts, self._words = prepared, texts.select(members)
        if self.validation_edges is not None:
            whole = self.train.adjacency()
            self._whole_transition = once(model.transition_of(whole, self.dtype))
        self._all_words = prepared
        if len(members) < self.train.num_vertices:
            read = model.encoder.prepare(self._words)
            is_sparse = isinstance(read, SparseMatrix | CompressedRows)
            self._all_words = once(read) if is_sparse else read
        self._texts = self._all_words
        self.edges = once(self.edges)
        self._template = once(self.edges.template())
        if not self.settings.hide_supervised:
            self._transition = once(model.transition_of(self.edges.adjacency(), self.dtype))
        self.sampler = NegativeSampler(self._noise())
        self._scorer = BatchScorer(model, self._template, self.group, self.settings.half)

    def _noise(self) -> Float[Tensor, " members"]:
        """Return the probability of every member as a negative, up to a factor."""
        noise = self.edges.out_degrees() ** self.settings.noise_power
        is_linked = self.edges.are_linked()
        # The members without an edge represent all vertices without one.
        num_unlinked = self.train.num_vertices - int(is_linked.sum())
        noise[~is_linked] = num_unlinked / max(1, int((~is_linked).sum()))
        return noise

    @property
    def sizes(self) -> StepSizes:
        """Maximum numbers of edges of a step, a round and an epoch."""
        return step_sizes(self.settings, len(self.edges))

    @property
    def has_stopped(self) -> bool:
        """Whether early stopping has ended this fold."""
        return self.best.checks_without_improvement >= self.settings.patience

    @property
    def _learns_word_weights(self) -> bool:
        return isinstance(self.model.encoder, LearnedWeights)

    def train_epoch(self, epoch: int) -> Generator[None, None, Float[Tensor, " parts"]]:
        """Take a step per batch, yield after every round, and return the mean loss of every part.

        Raises:
            TrainingError: The loss or a parameter is no longer a finite number.
        """
        self.drop_words(epoch)
        order = torch.randperm(len(self.edges), generator=self._generator("order", epoch))
        negatives = self._generator("negatives", epoch)
        total, total_weight = torch.zeros(()), 0.0
        seen = epoch * self.sizes.epoch
        for hidden in even_parts(order[: self.sizes.epoch], self.sizes.round):
            if self.settings.decay:
                self.optimizer.scale = 1 - seen / (self.settings.epochs * self.sizes.epoch)
            seen += len(hidden)
            for parts, weight in self.train_round(hidden, negatives):
                self._check_finite(epoch, "the loss", is_finite=bool(parts.isfinite().all()))
                total, total_weight = total + parts * weight, total_weight + weight
            yield
        is_finite = all(bool(p.detach().isfinite().all()) for p in self.model.parameters())
        is_finite = not self.group.any(found=not is_finite)  # Columns differ between processes.
        self._check_finite(epoch, "a parameter", is_finite=is_finite)
        return total / total_weight

    def drop_words(self, epoch: int) -> None:
        """Apply the word dropout of an epoch to the texts."""
        encoder = self.model.encoder
        if share := self.settings.word_dropout:
            generator = self._generator("words", epoch)
            self._texts = encoder.drop_words(self._words, self._all_words, share, generator)
            self._features = None

    def train_round(
        self, hidden: Int[Tensor, " hidden"], generator: torch.Generator
    ) -> Iterator[tuple[Float[Tensor, " parts"], float]]:
        """Score the edges ``hidden`` in steps; yield the loss of every part and Σ s_ij of each."""
        kind = self.settings.transition
        transition = (
            self._template.transition(kind, without=hidden, dtype=self.dtype)
            if self.settings.hide_supervised
            else self._transition
        )
        batches = [self._batch(part, generator) for part in even_parts(hidden, self.sizes.batch)]
        scored = torch.cat([batch.ends() for batch in batches])
        texts = self._text_rows(self._texts, transition, scored)
        with side_by_side() if self._divides_steps else nullcontext(in_order) as each:
            for batch in batches:
                yield self.step(batch, texts, transition, each)
                if isinstance(texts, TabulatedTexts):
                    texts.detach()

    def _batch(self, numbers: Int[Tensor, " batch"], generator: torch.Generator) -> Batch:
        count = self.settings.num_negatives
        if self.settings.share_negatives:
            return Batch(self.edges.paired(numbers), self.sampler.draw_shared(count, generator))
        edges = self.edges.directed(numbers)
        return Batch(edges, self.sampler.draw(edges.source, edges.target, count, generator))

    def _text_rows(
        self, texts: Any, transition: SparseMatrix, vertices: Int[Tensor, " scored"]
    ) -> TextRows:
        """Return what the steps of a round read. The first one has a gradient for word weights."""
        if not self.settings.has_frozen_encoder:
            return PropagatedTexts(self.model, texts, transition)
        if self._features is None or self._learns_word_weights:
            self._features = self.model.text_features(texts)
        return TabulatedTexts.of(self.model, self._features, transition, vertices)

    @property
    def _divides_steps(self) -> bool:
        """Whether halves of a step are computed side by side."""
        return self.settings.is_text_only and self.group.size == 1

    def step(
        self, batch: Batch, texts: TextRows, transition: SparseMatrix, each: Each = in_order
    ) -> tuple[Float[Tensor, " parts"], float]:
        """Take a step of Adam on the edges of a batch; return the loss of every part and Σ s_ij.

        ``each`` computes the gradients of the halves of a large batch. They are halves with one
        thread too, so that the number of threads does not change the sum.
        """
        learns_texts = texts.learns
        total = self.edges.relative(batch.edges.weights, self.dtype).sum()

        def differentiate(part: Batch) -> Float[Tensor, " parts"]:
            scores = self._scorer.score(part, texts, transition)
            weights = self.edges.relative(self._scorer.share(part).edges.weights, self.dtype)
            parts = LOSSES[self.settings.loss](scores, weights, self.settings)
            # The share of a process may be empty.
            share = weights.sum() / total
            parts = parts * share if len(weights) else scores.positive.sum(dim=1)
            weighted_sum(parts, self.settings.objective).backward()
            return parts.detach()

        self.optimizer.zero_grad()
        # Gradients of word weights flow through the tables, which two halves would share.
        is_divided = self._divides_steps and not learns_texts
        losses = each(differentiate, batch.halves() if is_divided else [batch])
        self.group.add_gradients(self.model.shared_parameters(with_encoder=learns_texts))
        self.optimizer.step()
        parts = torch.stack(losses).sum(dim=0)
        return self.group.sum(parts) if self.model.mixes_columns else parts, float(total)

    def validate(self, epoch: int) -> None:
        """Score the validation edges, if there are any, and store the best parameters."""
        if self.validation_edges is None:
            return
        scores = self._score_validation(self.validation_edges)
        value, found = CRITERIA[self.settings.favor](scores), scores.auc()
        if value > self.best.value:
            self.best = Best(value, found, epoch, 0, found, self.parameters())
        else:
            self.best.checks_without_improvement += 1
            self.best.last_auc = found

    def _score_validation(self, validation: ValidationEdges) -> PairScores:
        """Return the scores of the validation edges, non-edges and candidates."""
        model = self.model
        texts = self._validation_texts or self._texts_of_pairs(validation.pairs())
        if isinstance(texts, TabulatedTexts) and not self._learns_word_weights:
            self._validation_texts = texts
        structure = structure_half(model, self.train.num_vertices, self.edges.members)
        return score_validation(validation, model, texts, structure, self.group)

    @torch.no_grad()
    def _texts_of_pairs(self, pairs: Int[Tensor, "pairs 2"]) -> TextRows:
        """Return rows of texts diffused over all training edges."""
        model, transition = self.model, self._whole_transition
        if not self.settings.has_frozen_encoder:
            return PropagatedTexts(model, self._all_texts, transition)
        features = model.text_features(self._all_texts)
        return TabulatedTexts.of(model, features, transition, pairs.flatten())

    def validation_scores(self, *, by_walks: bool) -> ValidationScores | None:
        """Return the scores of the validation pairs with the best parameters, if there are any.

        ``by_walks`` adds those of the random structure half. All processes of a group must call it.
        """
        validation = self.validation_edges
        if validation is None:
            return None
        self._features = None  # Makes room for the walks.
        current = self.parameters()
        self.model.load_state_dict(self.best_parameters(), strict=False)
        by_text = self._score_validation(validation)
        self.model.load_state_dict(current, strict=False)
        adjacency, walks = self.train.adjacency(), None
        pairs, candidates = validation.pairs(), validation.candidates
        if by_walks:
            rows = walk_features(adjacency, self.settings.half, self.seed, self.group, self.dtype)
            products = rows[candidates.ends] @ rows[candidates.vertices].T
            of_pairs = self.group.sum(dot_products(rows, pairs))
            walks = validation.scores(of_pairs, self.group.sum(products))
        found = torch.from_numpy(lengths(degrees(adjacency), 1.0))
        of_edges, of_non_edges = (
            found[some].prod(dim=1) for some in (validation.edges, validation.non_edges)
        )
        found = found.to(self.dtype)
        outer = torch.outer(found[candidates.ends], found[candidates.vertices])
        return ValidationScores(by_text, walks, PairScores(of_edges, of_non_edges, outer))

    def release_tables(self) -> None:
        """Free the tables that later steps would compute again."""
        self._features = self._validation_texts = None

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
                f"{smaller_rates(self.model, self.settings)} may help"
            )
