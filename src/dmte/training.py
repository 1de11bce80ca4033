"""Training (section 4.4): Adam on batches of edges.

Every step propagates the whole graph once, since a vertex's row serves many edges, and then scores
a large batch. The loop is a generator of reports: the caller prints, saves and stops. Batches and
negatives are a pure function of the seed and the epoch, so a resumed run ends in the same bits.
"""

import time
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dmte.allocator import keep_freed_memory
from dmte.config import Settings
from dmte.errors import TrainingError
from dmte.history import EpochRecord
from dmte.model import DiffusionMaps
from dmte.network import TextualNetwork
from dmte.objective import PARTS, part_losses, ranking_losses, score_edges, weighted_sum
from dmte.randomness import generator_for
from dmte.ranking import auc
from dmte.sampling import NegativeSampler
from dmte.supervision import SupervisedEdges, hold_back
from dmte.text import Vocabulary
from dmte.trained import TrainedModel, build_model, embed_network
from dmte.width import spectral_start

FEWEST_HELD_BACK = 8  # Edges by which to tell whether learning from diffused texts helps.
HIDDEN_SHARE = 0.2  # Of the edges, hidden from P per step; the share that worked in trials.


@dataclass(frozen=True, slots=True)
class EpochReport:
    """What happened in one pass over the edges."""

    epoch: int
    """Counted from 1."""
    loss: float
    """Σ α L, averaged over the epoch's edges."""
    parts: Mapping[str, float]
    """The loss of each part of the objective, before α."""
    num_edges: int
    seconds: float
    validation_auc: float | None
    """On the held-back edges, in the epochs that looked at them."""


@dataclass(slots=True)
class Best:
    """The best look at the held-back edges so far."""

    auc: float = 0.0
    epoch: int = 0
    looks_since: int = 0
    parameters: dict[str, Tensor] | None = None


class TrainingRun:
    """One training of one network: the model, its optimizer, and how far it is."""

    def __init__(self, network: TextualNetwork, settings: Settings, seed: int) -> None:
        keep_freed_memory()
        self.network, self.asked_for, self.seed = network, settings, seed
        self.epoch = 0
        self.best = Best()
        self.history: list[EpochRecord] = []
        self._learns = not settings.is_all_text or _can_judge(network, settings)
        fraction = settings.validation_fraction if self._learns else 0.0
        self._train, self._held_back = hold_back(network, fraction, seed)
        self._edges = SupervisedEdges.of(self._train)
        self.vocabulary = Vocabulary.of(
            network.texts, min_count=settings.min_count, max_size=settings.max_vocabulary
        )
        self._tokens = self.vocabulary.encode(network.texts)
        if settings.encoder == "spectral":
            start = spectral_start(settings, self._train, self._held_back, self._tokens, seed)
            settings = settings.with_dim(start.dim) if settings.is_all_text else settings
        self.settings = settings
        self.model = build_model(settings, len(self.vocabulary), len(self._edges.linked), seed)
        if settings.encoder == "spectral":
            self.model.encoder = start
        self.optimizer = torch.optim.Adam(
            _with_step_sizes(self.model, settings), lr=settings.learning_rate, fused=True
        )
        if self._learns:
            self._prepare_steps()

    def _prepare_steps(self) -> None:
        self._texts = self.model.encoder.prepare(self._tokens.select(self._edges.linked))
        self._transition = self._edges.transition()
        self._sampler = NegativeSampler(self._edges.out_degrees(), self.settings.noise_power)

    @property
    def num_edges(self) -> int:
        """How many distinct edges are learned from."""
        return len(self._edges)

    @property
    def num_linked(self) -> int:
        """How many vertices have one of these edges."""
        return len(self._edges.linked)

    @property
    def batch_size(self) -> int:
        """How many edges a step scores at most."""
        if not self.settings.hide_supervised:
            return self.settings.batch_size
        return min(self.settings.batch_size, max(1, int(HIDDEN_SHARE * self.num_edges)))

    @property
    def is_done(self) -> bool:
        """Whether all epochs are done or the held-back edges say to stop."""
        stopped = self._held_back is not None and self.best.looks_since >= self.settings.patience
        return not self._learns or stopped or self.epoch >= self.settings.epochs

    def epochs(self) -> Iterator[EpochReport]:
        """Train, one epoch per report, until ``is_done``.

        Raises:
            TrainingError: The loss or a parameter is no longer a finite number.
        """
        if self.epoch == 0:
            start = self._look()  # What training starts from may be the best there is.
            if start is not None:
                self.history.append(EpochRecord(0, None, {}, start))
        while not self.is_done:
            started = time.perf_counter()
            parts = self._train_epoch()
            self._check_finite("a parameter", *self.model.parameters())
            self.epoch += 1
            validation_auc = self._validate()
            loss = float(weighted_sum(parts, self.settings.objective))
            record = EpochRecord(
                epoch=self.epoch,
                loss=loss,
                parts=dict(zip(PARTS, parts.tolist(), strict=False)),
                validation_auc=validation_auc,
            )
            self.history.append(record)
            yield EpochReport(
                epoch=record.epoch,
                loss=loss,
                parts=record.parts,
                num_edges=self.num_edges,
                seconds=time.perf_counter() - started,
                validation_auc=validation_auc,
            )

    def result(self) -> TrainedModel:
        """Return the model as it stands, or as it was at its best on the held-back edges."""
        model = deepcopy(self.model)
        if self.best.parameters is not None:
            model.load_state_dict(self.best.parameters)
        embedding = embed_network(model, self.network, self._tokens, self._edges.linked)
        return TrainedModel(
            self.settings,
            self.seed,
            self.network,
            self.vocabulary,
            model,
            embedding,
            tuple(self.history),
        )

    def _train_epoch(self) -> Float[Tensor, " parts"]:
        """Make a step per batch; return the epoch's loss of every part."""
        order = torch.randperm(
            len(self._edges), generator=generator_for(self.seed, "order", self.epoch)
        )
        negatives = generator_for(self.seed, "negatives", self.epoch)
        total, total_weight = torch.zeros(()), 0.0
        for batch in order.split(self.batch_size):
            parts, weight = self.step(batch, negatives)
            total, total_weight = total + parts * weight, total_weight + weight
        return total / total_weight

    def step(
        self, batch: Int[Tensor, " batch"], generator: torch.Generator
    ) -> tuple[Float[Tensor, " parts"], float]:
        """Make one step of Adam on the edges ``batch``; return every part's loss and Σ s_ij."""
        settings, edges = self.settings, self._edges.directed(batch)
        hides = settings.hide_supervised
        transition = self._edges.transition(without=batch) if hides else self._transition
        negatives = self._sampler.draw(
            edges.source, edges.target, settings.num_negatives, generator
        )
        halves = self.model(self._texts, transition)
        scores = score_edges(halves, edges.source, edges.target, negatives)
        if settings.loss == "ranking":
            parts = ranking_losses(scores, edges.weights, settings.sharpness)
        else:
            parts = part_losses(scores, edges.weights)
        loss = weighted_sum(parts, settings.objective)
        self._check_finite("the loss", loss)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return parts.detach(), float(edges.weights.sum())

    def _check_finite(self, what: str, *values: Tensor) -> None:
        if not all(bool(torch.isfinite(value.detach()).all()) for value in values):
            raise TrainingError(
                f"{what} was no longer a finite number in epoch {self.epoch + 1}; "
                f"a learning_rate below {self.settings.learning_rate:g} may help"
            )

    def _validate(self) -> float | None:
        """Return the AUC on the held-back edges when it is time to look, and keep the best."""
        if self.epoch % self.settings.validate_every:
            return None
        found = self._look()
        self.best.looks_since += self.best.epoch != self.epoch
        return found

    def _look(self) -> float | None:
        """Return the AUC on the held-back edges, if there are any, and keep the best."""
        if self._held_back is None:
            return None
        embedding = embed_network(self.model, self._train, self._tokens, self._edges.linked)
        held_back = self._held_back
        found = auc(embedding.score(held_back.edges), embedding.score(held_back.non_edges))
        if found > self.best.auc:
            parameters = {name: p.clone() for name, p in self.model.state_dict().items()}
            self.best = Best(found, self.epoch, 0, parameters)
        return found


def _can_judge(network: TextualNetwork, settings: Settings) -> bool:
    """Return whether enough edges can be held back to tell whether learning helps.

    Where they cannot, vectors that start from diffused texts are left as they start.
    """
    held_back = settings.validation_fraction * len(network.distinct_edges()[0])
    return settings.validation_fraction == 0 or held_back >= FEWEST_HELD_BACK


def _with_step_sizes(model: DiffusionMaps, settings: Settings) -> list[dict[str, Any]]:
    """Return the parameters with their step sizes: the square map's is its own."""
    mixing = list(model.mixing.parameters()) if model.mixing is not None else []
    known = {id(parameter) for parameter in mixing}
    others = [parameter for parameter in model.parameters() if id(parameter) not in known]
    groups: list[dict[str, Any]] = [
        {"params": others},
        {"params": mixing, "lr": settings.mixing_learning_rate},
    ]
    return [group for group in groups if group["params"]]
