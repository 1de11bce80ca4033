"""CANE: the attention and its gradients against plain loops, and what a reader expects of it."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from dmte.baselines.cane.attention import CELLS, blocks_of_pairs
from dmte.baselines.cane.method import Cane, CaneTrainer
from dmte.baselines.cane.model import ContextAwareTexts
from dmte.embedding.embedding import Embedding
from dmte.errors import ConfigError
from dmte.network import TextualNetwork
from dmte.network.synthetic import PlantedTopics
from dmte.runtime.seeding import generator_for
from dmte.settings import PARTS
from dmte.text import TokenizedTexts

TEXTS = [[0, 1, 2, 3], [2], [], [4, 0, 4, 1, 1, 3, 2], [3, 3]]


def tokenized(texts: list[list[int]]) -> TokenizedTexts:
    lengths = torch.tensor([0] + [len(text) for text in texts])
    tokens = torch.tensor([token for text in texts for token in text], dtype=torch.int64)
    return TokenizedTexts(tokens, lengths.cumsum(0), "abcde")


def small_model(window: int = 3, *, is_symmetric: bool = False) -> ContextAwareTexts:
    generator = torch.Generator().manual_seed(1)
    model = ContextAwareTexts(5, 4, window, generator, is_symmetric=is_symmetric)
    return model.double()


def convolved(model: ContextAwareTexts, text: list[int]) -> list[Tensor]:
    """Return the columns of P, one word and one word of its window at a time."""
    by_offset = model.filters.split(4, dim=1)
    columns = []
    for at in range(len(text)):
        total = torch.zeros(4, dtype=torch.float64)
        for number, matrix in enumerate(by_offset):
            seen = at + number - (model.window - 1) // 2
            if 0 <= seen < len(text):
                total = total + model.words[text[seen]] @ matrix
        columns.append(torch.tanh(total))
    return columns


def softmax(values: list[Tensor]) -> list[Tensor]:
    total = torch.stack([value.exp() for value in values]).sum()
    return [value.exp() / total for value in values]


def attended(model: ContextAwareTexts, left: list[int], right: list[int]) -> tuple[Tensor, Tensor]:
    """Return u_t(v) and v_t(u), one entry of F at a time."""
    matrix: Tensor = model.attention
    if model.is_symmetric:
        matrix = (matrix + matrix.T) / 2
    p, q = convolved(model, left), convolved(model, right)
    zero = torch.zeros(4, dtype=torch.float64)
    f = [[torch.tanh(x @ matrix @ y) for y in q] for x in p]
    nothing = torch.zeros((), dtype=torch.float64)
    rows = [sum(f[i], nothing) / max(len(q), 1) for i in range(len(p))]
    columns = [sum((row[j] for row in f), nothing) / max(len(p), 1) for j in range(len(q))]
    u = sum((share * x for share, x in zip(softmax(rows), p, strict=True)), zero) if p else zero
    v = sum((share * y for share, y in zip(softmax(columns), q, strict=True)), zero) if q else zero
    return u, v


ALL_PAIRS = torch.cartesian_prod(torch.arange(5), torch.arange(5))


@pytest.mark.medium
@pytest.mark.parametrize("is_symmetric", [False, True])
@pytest.mark.parametrize("window", [1, 2, 3])
def test_texts_of_pairs_and_their_gradients_equal_plain_loops(
    window: int, *, is_symmetric: bool
) -> None:
    model = small_model(window, is_symmetric=is_symmetric)
    expected = [attended(model, TEXTS[i], TEXTS[j]) for i, j in ALL_PAIRS.tolist()]
    found = model(tokenized(TEXTS), ALL_PAIRS)
    weights = torch.randn(2, 25, 4, generator=torch.Generator().manual_seed(2)).double()
    wanted = torch.stack([torch.stack(side) for side in zip(*expected, strict=True)])
    torch.testing.assert_close(torch.stack(found), wanted)
    parameters = list(model.parameters())
    ours = torch.autograd.grad((torch.stack(found) * weights).sum(), parameters)
    theirs = torch.autograd.grad((wanted * weights).sum(), parameters)
    torch.testing.assert_close(ours, theirs)


def test_the_order_of_a_pair_turns_its_texts_when_edges_have_no_direction() -> None:
    model = small_model(is_symmetric=True)
    pairs = ALL_PAIRS[ALL_PAIRS[:, 0] != ALL_PAIRS[:, 1]]
    left, right = model(tokenized(TEXTS), pairs)
    turned_left, turned_right = model(tokenized(TEXTS), pairs.flip(1))
    assert torch.equal(left, turned_right)
    assert torch.equal(right, turned_left)


def test_every_pair_is_in_one_block_of_bounded_size() -> None:
    generator = torch.Generator().manual_seed(3)
    left, right = torch.randint(1, 301, (2, 500), generator=generator)
    blocks = list(blocks_of_pairs(left, right))
    assert torch.equal(torch.cat(blocks).sort().values, torch.arange(500))
    for block in blocks:
        assert len(block) == 1 or len(block) * int(left[block].max() * right[block].max()) <= CELLS


EDGES = torch.tensor([[0, 1], [1, 2], [0, 3], [3, 3], [2, 3]])
NETWORK = TextualNetwork(
    ids=tuple("abcdef"),
    texts=("red fox", "red hen runs", "", "a fox runs far", "red fox", ""),
    edges=EDGES,
    weights=torch.tensor([1.0, 2.0, 0.5, 1.0, 3.0]),
)
SMALL = Cane(dim=8, epochs=2, num_negatives=2)


@pytest.mark.medium
@pytest.mark.parametrize("directed", [False, True])
def test_the_loss_is_the_four_parts_edge_by_edge(*, directed: bool) -> None:
    network = replace(NETWORK, directed=directed)
    trainer = CaneTrainer(network, SMALL, seed=0)
    edges = trainer.edges.directed(torch.arange(5))
    negatives = trainer._sampler.draw(
        edges.source, edges.target, 2, generator_for(0, "negatives")
    ).tolist()
    vectors = trainer.structure()

    def scores(given: int, predicted: int) -> tuple[Tensor, ...]:
        text, other = trainer.model(trainer.linked_tokens, torch.tensor([[given, predicted]]))
        u, v = vectors[given], vectors[predicted]
        return text[0] @ other[0], u @ v, text[0] @ v, u @ other[0]

    total = torch.zeros(())
    alphas = [getattr(SMALL.objective, part) for part in PARTS]
    for at, weight in enumerate(edges.weights.float()):
        u, v = int(edges.source[at]), int(edges.target[at])
        for part, alpha in enumerate(alphas):
            gain = torch.sigmoid(scores(u, v)[part]).log()
            for z in negatives[at]:
                gain = gain + torch.sigmoid(-scores(u, z)[part]).log()
            total = total - alpha * weight * gain
    found = trainer.loss(torch.arange(5), generator_for(0, "negatives"))
    torch.testing.assert_close(found, total / edges.weights.float().sum())


def test_a_pair_is_scored_by_its_own_texts_and_the_structure() -> None:
    fitted = SMALL.fit(NETWORK, 0)
    texts = fitted.model(fitted.tokens, torch.tensor([[0, 1]]))
    left, right = (torch.cat([text[0], fitted.structure[at]]) for at, text in enumerate(texts))
    pair = torch.tensor([[0, 1]])
    torch.testing.assert_close(fitted.score(pair)[0], left @ right)
    cosine = left @ right / (left.norm() * right.norm())
    torch.testing.assert_close(fitted.score(pair, by="cosine")[0], cosine)
    assert len(fitted.score(pair[:0])) == 0


def test_a_vertex_is_the_mean_of_its_texts_towards_its_neighbors() -> None:
    fitted = SMALL.fit(NETWORK, 0)
    towards, _ = fitted.model(fitted.tokens, torch.tensor([[3, 0], [3, 3], [3, 2]]))
    torch.testing.assert_close(fitted.text[3], towards.mean(dim=0))


def test_without_edges_a_vertex_reads_its_own_text_and_has_no_structure() -> None:
    fitted = SMALL.fit(NETWORK, 0)
    own, _ = fitted.model(fitted.tokens, torch.tensor([[4, 4]]))
    torch.testing.assert_close(fitted.text[4], own[0])
    assert not fitted.structure[4].any()
    assert not fitted["f"].any()


def test_what_is_stored_is_one_vector_per_vertex(tmp_path: object) -> None:
    fitted = SMALL.fit(NETWORK, 0)
    fitted.save(f"{tmp_path}/cane")
    assert torch.equal(Embedding.load(f"{tmp_path}/cane").vectors, fitted.vectors)


def test_the_loss_falls() -> None:
    trainer = CaneTrainer(NETWORK, SMALL, seed=0)
    losses = [trainer.step(torch.arange(5), generator_for(0, "same")) for _ in range(30)]
    assert losses[-1] < 0.95 * losses[0]
    assert all(math.isfinite(loss) for loss in losses)


@pytest.mark.parametrize("wrong", [{"dim": 3}, {"window": 0}, {"learning_rate": -1.0}])
def test_invalid_settings_raise(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        Cane(**wrong)  # type: ignore[arg-type]


def test_a_pass_over_few_edges_makes_three_steps() -> None:
    network = PlantedTopics(num_vertices=40).draw(torch.Generator().manual_seed(0))
    trainer = CaneTrainer(network, Cane(dim=4), seed=0)
    edges = len(trainer.edges)
    for size, steps in ((1024, 3), (edges, 3), (edges // 2, 3), (edges // 4 + 1, 4)):
        trainer.method = Cane(dim=4, batch_size=size)
        batches = trainer.batches(0)
        assert len(batches) == steps
        assert torch.cat(batches).sort().values.tolist() == list(range(edges))
