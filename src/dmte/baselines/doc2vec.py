"""Doc2vec (Le and Mikolov 2014): the text alone, as a vector that predicts its words.

A text has a vector d and a word a context vector c. Every word w of every text i adds to the
objective, which is maximized (PV-DBOW, the distributed bag of words, with negative sampling),

    log σ(d_i · c_w) + K E_{n ~ P_n} log σ(-d_i · c_n)        P_n(w) ∝ count_w^{3/4}

In every pass over the texts a word of frequency f is kept with probability √(t / f) at most 1
(Mikolov et al. 2013), as frequent words say little. Every vector is divided by its length, so a
dot product is a cosine, by which Lau and Baldwin (2016) compare.

Le and Mikolov put PV-DM, which predicts a word from the words around it and d, beside it; Lau and
Baldwin find PV-DBOW alone the better of the two and PV-DM to need far more passes, so there is none
here. Nor are vectors of words learned along with d by skip-gram, as the latter do. The words of
neighboring texts share their negatives: M are drawn and each counts K / M per word, so the
expectation is the same. As in ``skipgram``, gradients are added up and scaled by AdaGrad.

An empty text has the zero vector. Edges and labels are not looked at: a vertex without edges has a
vector like any other.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize

from dmte.baselines.skipgram import (
    AdagradTable,
    Noise,
    require_positive,
    small_vectors,
    split_pass,
)
from dmte.embedding.embedding import Embedding
from dmte.network import TextualNetwork
from dmte.runtime.memory import keep_freed_memory
from dmte.runtime.progress import track
from dmte.runtime.seeding import generator_for
from dmte.text import TokenizedTexts, tokenized

CHUNK = 2048  # Words whose rows stay in the cache together.
NUM_DRAWS = 256
"""Negatives, M, that the words of a chunk share."""


class TextGradients(NamedTuple):
    """How the objective of some words grows with the vectors it is made of."""

    inputs: Float[Tensor, "texts dim"]
    contexts: Float[Tensor, "words dim"]
    negatives: Float[Tensor, "draws dim"]


def text_gradients(
    inputs: Float[Tensor, "texts dim"],
    contexts: Float[Tensor, "words dim"],
    negatives: Float[Tensor, "draws dim"],
    owners: Int[Tensor, " words"],
    num_negatives: int,
) -> TextGradients:
    """Return the gradients of Σ_w (log σ(d_i · c_w) + K/M Σ_n log σ(-d_i · c_n)), i = owners_w."""
    repeated = inputs.index_select(0, owners)
    attraction = (repeated * contexts).sum(dim=1, keepdim=True).neg_().sigmoid_()
    num_words = torch.bincount(owners, minlength=len(inputs)).unsqueeze(1)
    repulsion = (inputs @ negatives.T).sigmoid_().mul_(-num_negatives / len(negatives) * num_words)
    of_inputs = (repulsion @ negatives).index_add_(0, owners, attraction * contexts)
    return TextGradients(of_inputs, repeated.mul_(attraction), repulsion.T @ inputs)


def kept_probabilities(
    counts: Int[Tensor, " words"], subsampling: float
) -> Float[Tensor, " words"]:
    """Return √(t / f) of every word, at most 1.

    A word that occurs once is always kept: t is at least one over the number of words in all
    texts, since the words of a few short texts all have a large frequency.

    >>> kept_probabilities(torch.tensor([1, 4, 95]), subsampling=0.01).tolist()[:2]
    [1.0, 0.5]
    """
    frequencies = counts / counts.sum().clamp(min=1)
    threshold = max(subsampling, 1 / max(int(counts.sum()), 1))
    return (threshold / frequencies).sqrt_().clamp_(max=1.0)


class TextReader:
    """The context vectors and the noise of words, which rows of a table learn to predict."""

    def __init__(
        self,
        texts: TokenizedTexts,
        rows: Int[Tensor, " texts"],
        inputs: AdagradTable,
        *,
        num_negatives: int,
        subsampling: float,
    ) -> None:
        """Let row ``rows[i]`` of ``inputs`` predict the words of text i."""
        keep_freed_memory()
        counts = torch.bincount(texts.tokens, minlength=texts.vocabulary_size)
        self._texts, self._rows, self._inputs = texts, rows, inputs
        self._num_negatives = num_negatives
        self._kept = kept_probabilities(counts, subsampling)
        self._noise = Noise(counts)
        dim = inputs.values.shape[1]
        self._contexts = AdagradTable(torch.zeros(texts.vocabulary_size, dim))

    def words_per_pass(self) -> float:
        """Return how many words are kept in one pass over the texts, on average."""
        return float(self._kept[self._texts.tokens].sum(dtype=torch.float64))

    def draw_order(self, generator: torch.Generator) -> Int[Tensor, " texts"]:
        """Return the numbers of all texts in a new order."""
        return torch.randperm(len(self._texts), generator=generator)

    def collect(
        self, which: Int[Tensor, " some"], generator: torch.Generator, weight: float = 1.0
    ) -> None:
        """Add up the gradients of the texts ``which``, whose objective counts ``weight``."""
        texts = self._texts.select(which)
        is_kept = torch.rand(len(texts.tokens), generator=generator) < self._kept[texts.tokens]
        words = texts.tokens[is_kept]
        owners = torch.arange(len(which)).repeat_interleave(texts.lengths())[is_kept]
        rows = self._rows[which]
        for some, of in zip(words.split(CHUNK), owners.split(CHUNK), strict=True):
            if len(some):
                first, last = int(of[0]), int(of[-1])
                self._collect_chunk(some, of - first, rows[first : last + 1], generator, weight)

    def climb(self, rate: float) -> None:
        """Update the context vectors; the table that predicts is its owner's to update."""
        self._contexts.climb(rate)

    def _collect_chunk(
        self,
        words: Int[Tensor, " words"],
        owners: Int[Tensor, " words"],
        rows: Int[Tensor, " texts"],
        generator: torch.Generator,
        weight: float,
    ) -> None:
        drawn = self._noise.draw(NUM_DRAWS, generator)
        gradients = text_gradients(
            self._inputs.values.index_select(0, rows),
            self._contexts.values.index_select(0, words),
            self._contexts.values.index_select(0, drawn),
            owners,
            self._num_negatives,
        )
        self._inputs.collect(rows, gradients.inputs, weight)
        self._contexts.collect(words, gradients.contexts, weight)
        self._contexts.collect(drawn, gradients.negatives, weight)


@dataclass(frozen=True, slots=True, kw_only=True)
class Doc2Vec:
    """Vectors of texts that predict their words (Le and Mikolov 2014)."""

    dim: int = 200
    """The width of a vector; DMTE's paper compares all methods at 200, Lau and Baldwin (2016)
    have 300."""
    num_negatives: int = 5
    """Negatives per word, K (Lau and Baldwin 2016)."""
    subsampling: float = 1e-3
    """t: words of a higher frequency are thinned out. Lau and Baldwin have 1e-5, which in the
    200,000 words of Cora thins out all that occur more than twice. On edges held back from the
    training edges of Cora's split 100 the AUC was 82.1 after 100 epochs with 1e-5 and 84.3 after 20
    with 1e-3."""
    epochs: int = 40
    """Passes over the texts; Lau and Baldwin have 20 for long texts and 400 for short ones. On the
    same edges the AUC was 84.3, 86.3 and 85.4 after 20, 40 and 80."""
    learning_rate: float = 0.05
    """Where AdaGrad's step size starts, to fall to zero linearly; as DeepWalk's. On the same edges
    twice as much did worse (83.1)."""

    def __post_init__(self) -> None:
        for name in ("dim", "num_negatives", "subsampling", "epochs", "learning_rate"):
            require_positive(name, getattr(self, name))

    def fit(self, network: TextualNetwork, seed: int) -> Embedding:
        """Read the texts; the same seed gives the same vectors."""
        inputs, reader = self._start(network, seed)
        for epoch in track(range(self.epochs)):
            generator = generator_for(seed, "doc2vec words", epoch)
            batches = split_pass(reader.draw_order(generator))
            for step, batch in enumerate(batches):
                reader.collect(batch, generator)
                rate = self.learning_rate * (1 - (epoch + step / len(batches)) / self.epochs)
                inputs.climb(rate)
                reader.climb(rate)
        return Embedding(network.ids, normalize(inputs.values), text_dim=self.dim)

    def _start(self, network: TextualNetwork, seed: int) -> tuple[AdagradTable, TextReader]:
        _, texts = tokenized(network.texts)
        start = small_vectors(len(texts), self.dim, generator_for(seed, "doc2vec start"))
        inputs = AdagradTable(start * (texts.lengths() > 0).unsqueeze(1))
        reader = TextReader(
            texts,
            torch.arange(len(texts)),
            inputs,
            num_negatives=self.num_negatives,
            subsampling=self.subsampling,
        )
        return inputs, reader
