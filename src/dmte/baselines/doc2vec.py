"""Doc2vec (Le and Mikolov 2014): a vector per text that predicts its words.

A text has a vector d and a word a context vector c. Every word w of every text i adds to the
objective, which is maximized (PV-DBOW, the distributed bag of words, with negative sampling),

    log σ(d_i · c_w) + K E_{n ~ P_n} log σ(-d_i · c_n)        P_n(w) ∝ count_w^{3/4}

Every pass keeps a word of frequency f with probability min(1, √(t / f)) (Mikolov et al. 2013).
Every vector is divided by its length, so a dot product is a cosine, as Lau and Baldwin (2016)
compare.

There is no PV-DM, which Le and Mikolov combine with PV-DBOW: Lau and Baldwin find it worse and in
need of far more passes. Word vectors are not trained along with d, unlike theirs. Neighboring texts
share M negatives, each weighted K / M, so the expectation is the same. As in ``skipgram``,
gradients are summed and scaled by AdaGrad.

An empty text has the zero vector. Edges and labels are not used.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize

from dmte.baselines.skipgram import (
    AdagradTable,
    Gradients,
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

CHUNK = 2048  # Words whose rows fit in the cache.
NUM_DRAWS = 256
"""Negatives, M, that the words of a chunk share."""


def text_gradients(
    inputs: Float[Tensor, "texts dim"],
    contexts: Float[Tensor, "words dim"],
    negatives: Float[Tensor, "draws dim"],
    owners: Int[Tensor, " words"],
    num_negatives: int,
) -> Gradients:
    """Return the gradients of Σ_w (log σ(d_i · c_w) + K/M Σ_n log σ(-d_i · c_n)), i = owners_w."""
    repeated = inputs.index_select(0, owners)
    attraction = (repeated * contexts).sum(dim=1, keepdim=True).neg_().sigmoid_()
    num_words = torch.bincount(owners, minlength=len(inputs)).unsqueeze(1)
    repulsion = (inputs @ negatives.T).sigmoid_().mul_(-num_negatives / len(negatives) * num_words)
    by_inputs = (repulsion @ negatives).index_add_(0, owners, attraction * contexts)
    return Gradients(by_inputs, repeated.mul_(attraction), repulsion.T @ inputs)


def kept_probabilities(
    counts: Int[Tensor, " words"], subsampling: float
) -> Float[Tensor, " words"]:
    """Return min(1, √(t / f)) of every word.

    t is at least one over the number of all words, so a word that occurs once is always kept.

    >>> kept_probabilities(torch.tensor([1, 4, 95]), subsampling=0.01).tolist()[:2]
    [1.0, 0.5]
    """
    frequencies = counts / counts.sum().clamp(min=1)
    threshold = max(subsampling, 1 / max(int(counts.sum()), 1))
    return (threshold / frequencies).sqrt_().clamp_(max=1.0)


class TextReader:
    """Context vectors and noise of words; rows of ``inputs`` learn to predict them."""

    def __init__(
        self,
        texts: TokenizedTexts,
        rows: Int[Tensor, " texts"],
        inputs: AdagradTable,
        *,
        num_negatives: int,
        subsampling: float,
    ) -> None:
        """Row ``rows[i]`` of ``inputs`` predicts the words of text i."""
        keep_freed_memory()
        counts = torch.bincount(texts.tokens, minlength=texts.vocabulary_size)
        self._texts, self._rows, self._inputs = texts, rows, inputs
        self._num_negatives = num_negatives
        self._kept = kept_probabilities(counts, subsampling)
        self._noise = Noise(counts)
        dim = inputs.values.shape[1]
        self._contexts = AdagradTable(torch.zeros(texts.vocabulary_size, dim))

    def words_per_pass(self) -> float:
        """Return the expected number of words kept in one pass."""
        return float(self._kept[self._texts.tokens].sum(dtype=torch.float64))

    def draw_order(self, generator: torch.Generator) -> Int[Tensor, " texts"]:
        """Shuffle the numbers of all texts."""
        return torch.randperm(len(self._texts), generator=generator)

    def collect(
        self, which: Int[Tensor, " some"], generator: torch.Generator, weight: float = 1.0
    ) -> None:
        """Add the gradients of the texts ``which``, times ``weight``."""
        texts = self._texts.select(which)
        is_kept = torch.rand(len(texts.tokens), generator=generator) < self._kept[texts.tokens]
        words = texts.tokens[is_kept]
        owners = torch.arange(len(which)).repeat_interleave(texts.lengths())[is_kept]
        rows = self._rows[which]
        for some, texts_of in zip(words.split(CHUNK), owners.split(CHUNK), strict=True):
            if len(some):
                first, last = int(texts_of[0]), int(texts_of[-1])
                own = rows[first : last + 1]
                self._collect_chunk(some, texts_of - first, own, generator, weight)

    def climb(self, rate: float) -> None:
        """Update the context vectors, but not ``inputs``."""
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
    """t: words of a higher frequency are subsampled. Lau and Baldwin have 1e-5, which in Cora's
    200,000 words drops words that occur three times or more. On edges held out from the training
    edges of Cora's split 100 the AUC was 82.1 after 100 epochs with 1e-5, 84.3 after 20 with
    1e-3."""
    epochs: int = 40
    """Passes over the texts; Lau and Baldwin have 20 for long texts and 400 for short ones. On the
    same edges the AUC was 84.3, 86.3 and 85.4 after 20, 40 and 80."""
    learning_rate: float = 0.05
    """AdaGrad's initial step size, decayed linearly to zero; as DeepWalk's. On the same edges
    doubling it was worse (83.1)."""

    def __post_init__(self) -> None:
        require_positive(self, "dim", "num_negatives", "subsampling", "epochs", "learning_rate")

    def fit(self, network: TextualNetwork, seed: int) -> Embedding:
        """Read the texts; the same seed gives the same vectors."""
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
        for epoch in track(range(self.epochs)):
            generator = generator_for(seed, "doc2vec words", epoch)
            batches = split_pass(reader.draw_order(generator))
            for step, batch in enumerate(batches):
                reader.collect(batch, generator)
                rate = self.learning_rate * (1 - (epoch + step / len(batches)) / self.epochs)
                inputs.climb(rate)
                reader.climb(rate)
        return Embedding(network.ids, normalize(inputs.values), text_dim=self.dim)
