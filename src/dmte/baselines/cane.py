"""CANE, context-aware network embedding (Tu, Liu, Liu and Sun 2017).

A vertex has a structure vector u_s and, towards every other vertex, another text vector. A text of
m words becomes m columns P by a convolution over windows of l words, beyond whose ends there is
nothing; the columns P and Q of two texts then say which words matter to each other:

    F = tanh(Pᵀ A Q)           a = softmax of the means of F's rows, b = of its columns
    u_t(v) = P a               v_t(u) = Q b

Four parts predict v given u along every edge, weighted by ρ and by s_uv, by negative sampling:

    text_text             log σ(v_t(u) · u_t(v)) + Σ_z log σ(-z_t(u) · u_t(z))
    structure_structure   log σ(v_s · u_s)       + Σ_z log σ(-z_s · u_s)
    structure_text        log σ(v_s · u_t(v))    + Σ_z log σ(-z_s · u_t(z))
    text_structure        log σ(v_t(u) · u_s)    + Σ_z log σ(-z_t(u) · u_s)

with K negatives z ~ d_z^{3/4}. A pair scores u_t(v) · v_t(u) + u_s · v_s. Where a vertex must have
one vector, as in classification, its text vectors towards its neighbors are averaged.

As in the authors' released code, and unlike the paper, P = tanh of the convolution, which has no
bias, and structure vectors longer than 1 are scaled to length 1. Unlike that code,

- an edge of an undirected network is learned in both directions, and A is symmetric there, so
  that one F serves both and the order of a pair does not change its score;
- the text of u is read towards z when z is scored, as any pair's is after training; there it is
  read towards v. Its fourth part also takes z's text in place of u's, here z_s in place of v_s;
- l is 3, not 2, and padding takes no part; there every text has 300 words, most of them padding;
- pairs are scored by their own text vectors; there by one vector per vertex, in the version read
  its structure vector alone;
- C and A start smaller and move in smaller steps than the tables (see ``shared_learning_rate``);
  with A near zero all words matter alike at first.

A word's vector is multiplied by C once per step, however often the word occurs, and the products
are gathered; pairs of similar lengths go through the attention together, few enough for the cache.
Per step only the texts of the batch are convolved, so that memory is bounded by the batch. Cora
at 55 % takes 106 s of one processor and 1.3 GB, an epoch of DBLP (from 12 steps) 11 s and 0.3 GB.

A vertex without edges has a zero structure vector and reads its own text for context; an empty
text has a zero text vector, towards which every word of another matters alike.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import normalize, pad

from dmte.adam import Adam
from dmte.allocator import keep_freed_memory
from dmte.baselines.skipgram import require_positive
from dmte.cost import FLOAT_BYTES, Cost, fastest_seconds
from dmte.embedding import Embedding, Similarity
from dmte.errors import ConfigError
from dmte.network import TextualNetwork
from dmte.objective import ObjectiveWeights, Scores, part_losses, weighted_sum
from dmte.progress import track
from dmte.randomness import STANDARD_DEVIATION, generator_for, truncated_gaussian
from dmte.sampling import NOISE_POWER, NegativeSampler
from dmte.supervision import SupervisedEdges
from dmte.text import TokenizedTexts, Vocabulary

CELLS = 1 << 18
"""Numbers of F computed together: 1 MB, which stays in the cache."""
LENGTH_RATIO = 1.2  # Between the longest and the shortest left text of a block.
PAIRS_AT_ONCE = 2048  # Scored together; their texts are convolved first.


class PairTexts(NamedTuple):
    """The text vectors of both vertices of some pairs, each towards the other."""

    left: Float[Tensor, "pairs dim"]
    right: Float[Tensor, "pairs dim"]


def mutual_attention(
    left: Float[Tensor, "pairs left_words dim"],
    projected: Float[Tensor, "pairs left_words dim"],
    right: Float[Tensor, "pairs right_words dim"],
    left_lengths: Int[Tensor, " pairs"],
    right_lengths: Int[Tensor, " pairs"],
) -> PairTexts:
    """Return P a and Q b of pairs with words P, projected words Aᵀ P and words Q.

    Padding is zero, so that F is zero there and only its number must not be counted.
    """
    correlation = torch.tanh(torch.bmm(projected, right.transpose(1, 2)))
    left_importance = correlation.sum(dim=2) / right_lengths.unsqueeze(1)
    right_importance = correlation.sum(dim=1) / left_lengths.unsqueeze(1)
    return PairTexts(
        _weighted_sum_of_words(left, left_importance, left_lengths),
        _weighted_sum_of_words(right, right_importance, right_lengths),
    )


def _weighted_sum_of_words(
    words: Float[Tensor, "pairs words dim"],
    importance: Float[Tensor, "pairs words"],
    lengths: Int[Tensor, " pairs"],
) -> Float[Tensor, "pairs dim"]:
    is_padding = torch.arange(words.shape[1]) >= lengths.unsqueeze(1)
    shares = importance.masked_fill(is_padding, -math.inf).softmax(dim=1)
    return torch.bmm(shares.unsqueeze(1), words).squeeze(1)


def blocks_of_pairs(
    left_lengths: Int[Tensor, " pairs"], right_lengths: Int[Tensor, " pairs"]
) -> Iterator[Int[Tensor, " block"]]:
    """Yield every pair in a block of similar lengths, at most ``CELLS`` numbers of F if padded."""
    kind = (left_lengths.double().log() / math.log(LENGTH_RATIO)).floor().long()
    order = (kind * (int(right_lengths.max()) + 1) + right_lengths).argsort(
        descending=True, stable=True
    )
    _, counts = kind[order].unique_consecutive(return_counts=True)
    for alike in order.split(counts.tolist()):
        most_left, start = int(left_lengths[alike].max()), 0
        while start < len(alike):
            size = max(1, CELLS // (most_left * int(right_lengths[alike[start]])))
            yield alike[start : start + size]
            start += size


class _Block(NamedTuple):
    """What the backward pass needs of a block: where its words come from, and its own graph."""

    pairs: Int[Tensor, " block"]
    left_places: Int[Tensor, " left_places"]
    right_places: Int[Tensor, " right_places"]
    gathered: tuple[Tensor, ...]
    texts: PairTexts


class _Attend(torch.autograd.Function):
    """The text vectors of pairs, from the words of all their texts.

    Left to autograd, every block would make a gradient of the size of the whole table; here the
    blocks' gradients are added to one.
    """

    @staticmethod
    def forward(
        ctx: Any,
        words: Float[Tensor, "words dim"],
        projected: Float[Tensor, "words dim"],
        offsets: Int[Tensor, " texts_and_one"],
        pairs: Int[Tensor, "pairs 2"],
    ) -> tuple[Float[Tensor, "pairs dim"], Float[Tensor, "pairs dim"]]:
        needs_gradient = any(ctx.needs_input_grad)
        # A last row of zeros is the padding; an empty text is one word of padding.
        words, projected = (pad(table.detach(), (0, 0, 0, 1)) for table in (words, projected))
        lengths = offsets.diff().clamp(min=1)
        left, right = words.new_empty(2, len(pairs), words.shape[1]).unbind()
        ctx.shape, ctx.blocks = words.shape, []
        for block in blocks_of_pairs(lengths[pairs[:, 0]], lengths[pairs[:, 1]]):
            sides = pairs[block].unbind(1)
            places = [_places(offsets, side) for side in sides]
            gathered = tuple(
                table.index_select(0, at.flatten()).view(*at.shape, -1)
                for table, at in ((words, places[0]), (projected, places[0]), (words, places[1]))
            )
            with torch.set_grad_enabled(needs_gradient):
                for table in gathered:
                    table.requires_grad_(needs_gradient)
                texts = mutual_attention(*gathered, *(lengths[side] for side in sides))
            left[block], right[block] = (side.detach() for side in texts)
            if needs_gradient:
                left_places, right_places = (at.flatten() for at in places)
                ctx.blocks.append(_Block(block, left_places, right_places, gathered, texts))
        return left, right

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, left: Float[Tensor, "pairs dim"], right: Float[Tensor, "pairs dim"]
    ) -> tuple[Tensor, Tensor, None, None]:
        words, projected = left.new_zeros(2, *ctx.shape).unbind()
        while ctx.blocks:  # Each is freed once it is done.
            block = ctx.blocks.pop()
            gradients = torch.autograd.grad(
                block.texts, block.gathered, (left[block.pairs], right[block.pairs])
            )
            of_left, of_projected, of_right = (gradient.flatten(0, 1) for gradient in gradients)
            words.index_add_(0, block.left_places, of_left)
            words.index_add_(0, block.right_places, of_right)
            projected.index_add_(0, block.left_places, of_projected)
        return words[:-1], projected[:-1], None, None


def _places(
    offsets: Int[Tensor, " texts_and_one"], texts: Int[Tensor, " block"]
) -> Int[Tensor, "block positions"]:
    """Return where the words of some texts stand, padded with the number of all words."""
    starts, ends = offsets[texts].unsqueeze(1), offsets[texts + 1].unsqueeze(1)
    places = starts + torch.arange(max(1, int((ends - starts).max())))
    return torch.where(places < ends, places, int(offsets[-1]))


class ContextAwareTexts(nn.Module):
    """Pairs of texts to pairs of vectors: the convolution and the attention."""

    def __init__(
        self,
        vocabulary_size: int,
        dim: int,
        window: int,
        generator: torch.Generator,
        *,
        is_symmetric: bool,
    ) -> None:
        super().__init__()
        self.words = truncated_gaussian(vocabulary_size, dim, generator)
        self.filters = _shared_matrix(dim, window * dim, 1 / math.sqrt(window * dim), generator)
        self.attention = _shared_matrix(dim, dim, 1 / dim, generator)
        self.window = window
        self.is_symmetric = is_symmetric

    def forward(self, texts: TokenizedTexts, pairs: Int[Tensor, "pairs 2"]) -> PairTexts:
        """Return the text vectors of pairs of texts; only texts that occur are looked at."""
        if not self.is_symmetric:
            return self._attend(texts, pairs)
        keys = pairs.min(dim=1).values * len(texts) + pairs.max(dim=1).values
        distinct, which = keys.unique(return_inverse=True)
        low, high = self._attend(
            texts, torch.stack([distinct // len(texts), distinct % len(texts)], dim=1)
        )
        low, high = low.index_select(0, which), high.index_select(0, which)
        is_turned = (pairs[:, 0] > pairs[:, 1]).unsqueeze(1)
        return PairTexts(torch.where(is_turned, high, low), torch.where(is_turned, low, high))

    def convolve(self, texts: TokenizedTexts) -> Float[Tensor, "words dim"]:
        """Return P of every text, one after the other: tanh(Σ_o C_o w_{i+o}) at every word i."""
        dim = self.words.shape[1]
        used, tokens = texts.tokens.unique(return_inverse=True)
        # C_o w of every word and o; the last word is none, beyond the ends of a text.
        products = pad(self.words[used] @ self.filters, (0, 0, 0, 1)).view(-1, dim)
        lengths = texts.lengths()
        place = torch.arange(len(tokens)) - texts.offsets[:-1].repeat_interleave(lengths)
        length = lengths.repeat_interleave(lengths)
        total = products.new_zeros(len(tokens), dim)
        for number in range(self.window):
            shift = number - (self.window - 1) // 2
            is_inside = (place + shift >= 0) & (place + shift < length)
            seen = torch.where(is_inside, tokens.roll(-shift), len(used))
            total = total + products.index_select(0, seen * self.window + number)
        return torch.tanh(total)

    def _attend(self, texts: TokenizedTexts, pairs: Int[Tensor, "pairs 2"]) -> PairTexts:
        occurring, places = pairs.unique(return_inverse=True)
        chosen = texts.select(occurring)
        words = self.convolve(chosen)
        matrix = (self.attention + self.attention.T) / 2 if self.is_symmetric else self.attention
        found = _Attend.apply(words, words @ matrix, chosen.offsets, places)  # type: ignore[no-untyped-call]
        return PairTexts(*found)


def _shared_matrix(
    num_rows: int, num_columns: int, deviation: float, generator: torch.Generator
) -> Float[nn.Parameter, "rows columns"]:
    table = truncated_gaussian(num_rows, num_columns, generator)
    return nn.Parameter(table.detach() * (deviation / STANDARD_DEVIATION))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ContextAwareEmbedding(Embedding):
    """One vector per vertex to search and classify by, and for every pair its own two to score by.

    What ``save`` stores is the one vector per vertex.
    """

    model: ContextAwareTexts
    tokens: TokenizedTexts

    def score(
        self, pairs: Int[Tensor, "pairs 2"], by: Similarity = "dot"
    ) -> Float[Tensor, " pairs"]:
        """Return the dot product, or the cosine, of u_t(v) ⊕ u_s and v_t(u) ⊕ v_s.

        Raises:
            ConfigError: ``by`` is neither dot nor cosine.
        """
        if by not in get_args(Similarity):
            raise ConfigError(f"by must be dot or cosine, not {by!r}")
        return self.scores(pairs)[by]

    def scores(self, pairs: Int[Tensor, "pairs 2"]) -> dict[Similarity, Float[Tensor, " pairs"]]:
        """Return the scores of pairs by dot product and by cosine, their texts read once."""
        blocks = [self._scores(block) for block in pairs.split(PAIRS_AT_ONCE) if len(block)]
        both = torch.cat(blocks, dim=1) if blocks else self.vectors.new_zeros(2, 0)
        return {"dot": both[0], "cosine": both[1]}

    def _scores(self, pairs: Int[Tensor, "pairs 2"]) -> Float[Tensor, "2 pairs"]:
        with torch.no_grad():
            texts = self.model(self.tokens, pairs)
        left, right = (
            torch.cat([text, self.structure[side]], dim=1)
            for text, side in zip(texts, pairs.T, strict=True)
        )
        dot = (left * right).sum(dim=1)
        cosine = (normalize(left) * normalize(right)).sum(dim=1)
        return torch.stack([dot, cosine])


def average_texts(
    model: ContextAwareTexts, texts: TokenizedTexts, contexts: Int[Tensor, "pairs 2"]
) -> Float[Tensor, "texts dim"]:
    """Return the mean of every text's vectors in ``contexts``; zero where it is in none."""
    totals = torch.zeros(len(texts), model.words.shape[1])
    counts = torch.zeros(len(texts))
    for pairs in contexts.split(PAIRS_AT_ONCE):
        with torch.no_grad():
            left, right = model(texts, pairs)
        source, target = pairs.T
        proper = source != target
        vertices = torch.cat([source, target[proper]])
        totals.index_add_(0, vertices, torch.cat([left, right[proper]]))
        counts.index_add_(0, vertices, torch.ones(len(vertices)))
    return totals / counts.clamp(min=1).unsqueeze(1)


def neighbors_as_contexts(network: TextualNetwork) -> Int[Tensor, "pairs 2"]:
    """Return who is read towards whom: the ends of every edge, a vertex without any and itself."""
    edges, _ = network.distinct_edges()
    is_alone = torch.ones(network.num_vertices, dtype=torch.bool)
    is_alone[edges.flatten()] = False
    return torch.cat([edges, is_alone.nonzero().expand(-1, 2)])


def first_words(texts: TokenizedTexts, max_words: int) -> TokenizedTexts:
    """Return the texts cut after ``max_words``."""
    lengths = texts.lengths()
    place = torch.arange(len(texts.tokens)) - texts.offsets[:-1].repeat_interleave(lengths)
    offsets = pad(lengths.clamp(max=max_words).cumsum(0), (1, 0))
    return TokenizedTexts(texts.tokens[place < max_words], offsets, texts.vocabulary_size)


class CaneTrainer:
    """The parameters while they are learned."""

    def __init__(self, network: TextualNetwork, method: "Cane", seed: int) -> None:
        keep_freed_memory()
        self.network, self.method, self.seed = network, method, seed
        self.edges = SupervisedEdges.of(network)
        self._sampler = NegativeSampler(self.edges.out_degrees() ** NOISE_POWER)
        tokens = Vocabulary.of(network.texts).encode(network.texts)
        self.tokens = first_words(tokens, method.max_words)
        self.linked_tokens = self.tokens.select(self.edges.members)
        generator = generator_for(seed, "cane start")
        self.model = ContextAwareTexts(
            tokens.vocabulary_size,
            method.half,
            method.window,
            generator,
            is_symmetric=not network.directed,
        )
        self._structure = truncated_gaussian(len(self.edges.members), method.half, generator)
        shared = [self.model.filters, self.model.attention]
        self._optimizer = Adam([self.model.words, self._structure], method.learning_rate)
        self._optimizer.add(shared, method.shared_learning_rate)

    def parameters(self) -> list[nn.Parameter]:
        """Return everything that is learned."""
        return [*self.model.parameters(), self._structure]

    def structure(self) -> Float[Tensor, "linked half"]:
        """Return u_s of the linked vertices, scaled to length 1 where it is longer."""
        lengths = torch.linalg.vector_norm(self._structure, dim=1, keepdim=True)
        scaled: Tensor = self._structure / lengths.clamp(min=1.0)
        return scaled

    def batches(self, epoch: int) -> tuple[Int[Tensor, " batch"], ...]:
        """Return the edges of an epoch in a new order."""
        generator = generator_for(self.seed, "cane order", epoch)
        order = torch.randperm(len(self.edges), generator=generator)
        batches: tuple[Tensor, ...] = order.split(self.method.batch_size)
        return batches

    def step(self, batch: Int[Tensor, " batch"], generator: torch.Generator) -> float:
        """Make one step of Adam on the edges ``batch``; return its loss."""
        loss = self.loss(batch, generator)
        self._optimizer.zero_grad()
        loss.backward()
        self._optimizer.step()
        return float(loss.detach())

    def loss(self, batch: Int[Tensor, " batch"], generator: torch.Generator) -> Float[Tensor, ""]:
        """Return Σ ρ L of the edges ``batch``, with fresh negatives."""
        edges = self.edges.directed(batch)
        negatives = self._sampler.draw(
            edges.source, edges.target, self.method.num_negatives, generator
        )
        predicted = torch.cat([edges.target.unsqueeze(1), negatives], dim=1)
        given = edges.source.unsqueeze(1).expand_as(predicted)
        pairs = torch.stack([given.flatten(), predicted.flatten()], dim=1)
        by_part = self.score_parts(pairs).unflatten(1, predicted.shape)
        parts = part_losses(
            Scores(by_part[:, :, 0], by_part[:, :, 1:]), self.edges.relative(edges.weights)
        )
        return weighted_sum(parts, self.method.objective)

    def score_parts(self, pairs: Int[Tensor, "pairs 2"]) -> Float[Tensor, "4 pairs"]:
        """Return the scores of the four parts, of pairs (given, predicted)."""
        given_text, predicted_text = self.model(self.linked_tokens, pairs)
        structure = self.structure()
        given, predicted = (structure.index_select(0, side) for side in pairs.T)
        products = (
            predicted_text * given_text,
            predicted * given,
            predicted * given_text,
            predicted_text * given,
        )
        return torch.stack([product.sum(dim=1) for product in products])

    def result(self) -> ContextAwareEmbedding:
        """Return what was learned; the model itself, which must not be trained on."""
        texts = average_texts(self.model, self.tokens, neighbors_as_contexts(self.network))
        structure = torch.zeros_like(texts)
        structure[self.edges.members] = self.structure().detach()
        vectors = torch.cat([texts, structure], dim=1)
        half = self.method.half
        return ContextAwareEmbedding(self.network.ids, vectors, half, self.model, self.tokens)


def _published_weights() -> ObjectiveWeights:
    return ObjectiveWeights(
        text_text=0.7, structure_structure=1.0, structure_text=0.1, text_structure=0.1
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cane:
    """Structure vectors, and text vectors that depend on who is looked at (Tu et al. 2017)."""

    dim: int = 200
    """The width of a vector, half of it text and half structure (Tu et al. 2017)."""
    window: int = 3
    """Words that the convolution sees at once, l; the released code has 2."""
    max_words: int = 300
    """Words of a text that are read, as in the released code."""
    objective: ObjectiveWeights = field(default_factory=_published_weights)
    """ρ, how much each part counts. These stand in an earlier version of the released
    code, for no network in particular; a later one takes them as arguments (0.3 for all but
    text_text, which is 1, in its example for Zhihu)."""
    num_negatives: int = 1
    """Negatives per edge and direction, K (Tu et al. 2017)."""
    epochs: int = 24
    """Passes over the edges, in both directions. The released code makes 200 in one direction; here
    the AUC on held-back edges (see ``shared_learning_rate``) was 89.4, 90.6, 92.0 and 91.9 after
    8, 16, 24 and 32."""
    batch_size: int = 1024
    """Edges per step, each in both directions. The released code has 64; 256 and 24 passes gave
    91.3 in place of 92.0 on the held-back edges, with an A that started larger."""
    learning_rate: float = 0.01
    """Adam's step size for the vectors of words and vertices; the released code has 0.001 and
    makes over a hundred times the steps."""
    shared_learning_rate: float = 0.0003
    """Adam's step size for C and A, which the released code moves like the vectors. With texts the
    plain means of P and 48 steps on 1024 edges, C learned this slowly gave 93.0, not at all 92.9,
    and as fast as the words 90.4: the AUC on 321 edges held back from the training edges of Cora's
    split 0 (published, 55 %), one seed, on which every choice here was made."""

    def __post_init__(self) -> None:
        counts = ("window", "max_words", "num_negatives", "epochs", "batch_size")
        for name in (*counts, "learning_rate", "shared_learning_rate"):
            require_positive(name, getattr(self, name))
        if self.dim < 2 or self.dim % 2:
            raise ConfigError(f"dim must be even, half for text, and at least 2, not {self.dim}")

    @property
    def half(self) -> int:
        """The width of a text vector, and of a structure vector."""
        return self.dim // 2

    def fit(self, network: TextualNetwork, seed: int) -> ContextAwareEmbedding:
        """Learn from the edges; the same seed gives the same vectors.

        Raises:
            TrainingError: Fewer than three vertices have an edge.
        """
        trainer = CaneTrainer(network, self, seed)
        batches = [(epoch, b) for epoch in range(self.epochs) for b in trainer.batches(epoch)]
        for number, (_, batch) in enumerate(track(batches)):
            trainer.step(batch, generator_for(seed, "cane negatives", number))
        return trainer.result()

    def estimate(self, network: TextualNetwork) -> Cost:
        """Return what ``fit`` takes here, from a step and from some pairs that are only read.

        Raises:
            TrainingError: Fewer than three vertices have an edge.
        """
        trainer = CaneTrainer(network, self, seed=0)
        batch, pairs = trainer.batches(0)[0], neighbors_as_contexts(network)
        some = pairs[torch.randperm(len(pairs), generator=generator_for(0, "estimate"))]
        some = some[:PAIRS_AT_ONCE]
        step = fastest_seconds(lambda: trainer.step(batch, generator_for(0, "estimate")))
        reading = fastest_seconds(lambda: average_texts(trainer.model, trainer.tokens, some))
        seconds = step * self.epochs * len(trainer.edges) / len(batch) + reading * len(pairs) / len(
            some
        )
        return Cost(_memory_bytes(trainer, len(batch)), seconds)


def _memory_bytes(trainer: CaneTrainer, batch: int) -> int:
    """Return the bytes of the parameters, the words, and what a step keeps for its backward pass.

    Lengths are those of the text that a random end of an edge has, which is how they are drawn.
    """
    method, lengths = trainer.method, trainer.linked_tokens.lengths().clamp(min=1).double()
    degrees = trainer.edges.out_degrees()
    length = float((lengths * degrees).sum() / degrees.sum())
    directions = 1 if trainer.network.directed else 2
    pairs = batch * (1 + directions * method.num_negatives)
    texts = min(2 * pairs, len(lengths))
    values_gradients_and_moments = 4 * sum(p.numel() for p in trainer.parameters())
    gathered, tables = 3 * pairs * length, (6 + method.window) * texts * length
    of_step = method.half * (gathered + tables) + 2 * pairs * length**2
    of_words = 8 * 4 * len(trainer.tokens.tokens)
    of_result = 3 * method.dim * trainer.network.num_vertices
    numbers = values_gradients_and_moments + max(of_step, of_result)
    return round(FLOAT_BYTES * numbers + of_words)
