"""The released program's model: against plain loops, line by line and word by word."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from dmte.baselines.dmte_released import ReleasedDmte, ReleasedTrainer, padded_bag
from dmte.errors import ConfigError, TrainingError
from dmte.network import TextualNetwork
from dmte.runtime.seeding import generator_for
from dmte.text import tokenized

NETWORK = TextualNetwork(
    ids=tuple("abcdefg"),
    texts=("red fox", "red hen runs far away", "", "alone", "a fox runs", "red red fox far", "sea"),
    edges=torch.tensor([[0, 1], [1, 2], [2, 1], [0, 4], [4, 4], [0, 1], [5, 0], [6, 5]]),
    weights=torch.tensor([1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 7.0, 1.0]),
)
"""Vertex 3 has no edge, 1 and 2 are linked both ways, 0 and 1 twice, 4 to itself."""
SMALL = ReleasedDmte(dim=6, word_dim=4, max_words=4, epochs=3)
LINES = torch.tensor([0, 3, 5, 1, 4])
"""Vertex 0 is the first end of three of them, 1 and 4 are the second ends of two each."""


def trainer_of(method: ReleasedDmte = SMALL, network: TextualNetwork = NETWORK) -> ReleasedTrainer:
    return ReleasedTrainer(network, method, seed=0)


def ends_of(trainer: ReleasedTrainer, lines: Tensor = LINES) -> tuple[Tensor, Tensor]:
    """Return the ends of some lines, and a vertex in the place of each one's negative."""
    ends = trainer.edges[lines].T
    return ends, (ends.max(dim=0).values + 1) % len(trainer.members)


def transition(i: int, j: int) -> float:
    """Return P[i, j] of vertices as the trainer numbers them, which leaves out vertex 3."""
    members = [0, 1, 2, 4, 5, 6]
    lines = [(members.index(a), members.index(b)) for a, b in NETWORK.edges.tolist()]
    linked = {(a, b) for a, b in lines} | {(b, a) for a, b in lines}
    return ((i, j) in linked) / sum(one == i for one, _ in linked)


def text_of(trainer: ReleasedTrainer, vertex: int) -> Tensor:
    """Return a row of X, one word after the other and then the padding."""
    words = NETWORK.texts[int(trainer.members[vertex])].split()[:4]
    known = sorted({word for text in NETWORK.texts if text != "alone" for word in text.split()})
    total = torch.zeros(4)
    for word in words:
        total = total + trainer.words[known.index(word)]
    for _ in range(4 - len(words)):
        total = total + trainer.words[len(known)]
    return torch.tanh(total / 4)


def structure_of(trainer: ReleasedTrainer, vertex: int) -> Tensor:
    row: Tensor = trainer.structure[vertex]
    return row / row.norm() if float(row.detach().norm()) > 1 else row


def slow_rows(trainer: ReleasedTrainer, vertices: list[int], walkers: list[int]) -> list[Any]:
    """Return v^t, v^s and u^s of vertices that stand in the places of the ``walkers``."""
    texts = [text_of(trainer, vertex) for vertex in vertices]
    rows = [structure_of(trainer, vertex) for vertex in vertices]
    filters = trainer.filters.view(3, 4, 3)
    found = []
    for i, walker in enumerate(walkers):
        t, u = texts[i] @ filters[0], rows[i]
        for j, other in enumerate(walkers):
            p = transition(walker, other)
            t = t + 0.3 * p * texts[j] @ filters[1] + 0.1 * p**2 * texts[j] @ filters[2]
            u = u + 0.3 * p * rows[j] + 0.1 * p**2 * rows[j]
        found.append((t, rows[i], u))
    return found


def slow_halves(trainer: ReleasedTrainer, ends: Tensor, negatives: Tensor) -> list[list[Any]]:
    """Return the rows of the first ends, of the second ends, and of the negatives."""
    first, second = ends.tolist()
    others = slow_rows(trainer, negatives.tolist(), walkers=first)
    return [slow_rows(trainer, first, first), slow_rows(trainer, second, second), others]


def longer_rows(trainer: ReleasedTrainer) -> ReleasedTrainer:
    """Make some rows of E_s longer than 1, and P matter as much as the own text."""
    with torch.no_grad():
        trainer.structure[::2].mul_(4)
        trainer.words.mul_(3)
    return trainer


def test_the_halves_equal_plain_loops_over_the_lines_of_a_step() -> None:
    trainer = longer_rows(trainer_of())
    ends, negatives = ends_of(trainer)
    expected = [row for side in slow_halves(trainer, ends, negatives) for row in side]
    for found, slow in zip(
        trainer.halves(ends, negatives), zip(*expected, strict=True), strict=True
    ):
        torch.testing.assert_close(found, torch.stack(slow))


def test_without_negatives_the_halves_of_the_ends_are_the_same() -> None:
    trainer = longer_rows(trainer_of())
    ends, negatives = ends_of(trainer)
    for alone, beside in zip(
        trainer.halves(ends, negatives[:0]), trainer.halves(ends, negatives), strict=True
    ):
        torch.testing.assert_close(alone, beside[: ends.numel()])


def test_the_loss_and_its_gradients_equal_plain_loops() -> None:
    trainer = longer_rows(trainer_of())
    ends, negatives = ends_of(trainer)
    first, second, other = slow_halves(trainer, ends, negatives)
    slow = torch.zeros(())
    for at in range(len(LINES)):
        t_n, s_n, _ = other[at]
        for (t_a, _, u_a), (t_b, s_b, _) in (
            (first[at], second[at]),
            (second[at], first[at]),
        ):
            for weight, given, linked, unlinked in (
                (0.7, t_a, t_b, t_n),
                (1.0, u_a, s_b, s_n),
                (0.1, u_a, t_b, t_n),
                (0.1, t_a, s_b, s_n),
            ):
                gain = torch.log(1 / (1 + torch.exp(-given @ linked)) + 0.001)
                gain = gain + torch.log(1 / (1 + torch.exp(given @ unlinked)) + 0.001)
                slow = slow - weight * gain
    fast = trainer.loss(ends, negatives)
    torch.testing.assert_close(fast, slow)
    ours = torch.autograd.grad(fast, trainer.parameters)
    theirs = torch.autograd.grad(slow, trainer.parameters)
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_p_is_that_of_the_lines_of_a_step_with_a_row_per_occurrence() -> None:
    trainer = trainer_of()
    ends, _ = ends_of(trainer)
    size = len(LINES)
    plain, squared = (
        power @ torch.eye(3 * size) for power in trainer.powers(ends, with_negatives=True)
    )
    expected = torch.zeros(3 * size, 3 * size)
    for block, side in enumerate([ends[0], ends[1], ends[0]]):
        for row, i in enumerate(side.tolist()):
            for column, j in enumerate(side.tolist()):
                expected[block * size + row, block * size + column] = transition(i, j)
    torch.testing.assert_close(plain, expected)
    torch.testing.assert_close(squared, expected**2)
    own = plain[:size, :size]
    assert torch.equal(own[0], own[1])  # Both are vertex 0.
    assert torch.equal(own[:, 0], own[:, 1])
    assert plain[:size, size : 2 * size].count_nonzero() == 0


def test_the_pad_word_is_learned_and_fills_up_short_texts_only() -> None:
    _, texts = tokenized(["red fox", "red red red fox fox", ""])
    bag = padded_bag(texts, max_words=4).toarray()
    assert bag.sum(axis=1).tolist() == [1, 1, 1]
    assert bag[:, -1].tolist() == [0.5, 0, 1]
    trainer = trainer_of()
    ends, negatives = ends_of(trainer)
    trainer.loss(ends, negatives).backward()
    assert trainer.words.grad is not None
    assert bool(trainer.words.grad[-1].all())


def test_words_beyond_the_limit_are_not_read() -> None:
    longer = replace(NETWORK, texts=[f"{text} far" if text else "" for text in NETWORK.texts])
    for max_words, is_same in ((1, True), (2, False)):
        method = replace(SMALL, max_words=max_words)
        vectors = [method.fit(network, 0).vectors for network in (longer, NETWORK)]
        assert torch.equal(*vectors) == is_same


def test_a_vertex_is_the_mean_over_the_lines_it_is_an_end_of() -> None:
    """Eight lines in batches of three, the last filled up with the first line."""
    trainer = trainer_of(replace(SMALL, batch_size=3))
    order = torch.cat(trainer.last_batches())
    assert torch.equal(order[:8].sort().values, torch.arange(8))
    assert order[8:].tolist() == order[:1].tolist()
    assert torch.equal(order[:6], torch.cat(trainer.batches(SMALL.epochs - 1)))
    met: dict[int, list[Tensor]] = {vertex: [] for vertex in range(6)}
    for batch in order.split(3):
        for side in trainer.edges[batch].T.tolist():
            for vertex, (t, s, _) in zip(side, slow_rows(trainer, side, side), strict=True):
                met[vertex].append(torch.cat([t, s]))
    expected = torch.stack([torch.stack(rows).mean(dim=0) for rows in met.values()])
    torch.testing.assert_close(trainer.result().vectors[trainer.members], expected.detach())


def test_a_vertex_without_edges_has_the_zero_vector() -> None:
    vectors = SMALL.fit(NETWORK, 0).vectors
    assert vectors[3].count_nonzero() == 0
    assert bool(vectors[torch.arange(7) != 3].any(dim=1).all())


def test_an_epoch_leaves_out_what_does_not_fill_a_batch() -> None:
    trainer = trainer_of(replace(SMALL, batch_size=3))
    epochs = [trainer.batches(epoch) for epoch in range(20)]
    assert {tuple(map(len, batches)) for batches in epochs} == {(3, 3)}
    assert len({line for batches in epochs for line in torch.cat(batches).tolist()}) == 8
    (everything,) = trainer_of().batches(0)
    assert torch.equal(everything.sort().values, torch.arange(8))
    assert len(trainer_of().last_batches()) == 1


def test_lines_are_counted_as_they_were_given() -> None:
    degrees = torch.tensor([4, 4, 2, 3, 2, 1], dtype=torch.float64)
    torch.testing.assert_close(trainer_of()._sampler.noise, degrees**0.75)


def test_weights_and_directions_do_not_count() -> None:
    plain = SMALL.fit(NETWORK, 0).vectors
    assert torch.equal(SMALL.fit(NETWORK.with_edges(NETWORK.edges), 0).vectors, plain)
    assert torch.equal(SMALL.fit(replace(NETWORK, directed=True), 0).vectors, plain)


def test_the_loss_falls() -> None:
    trainer = trainer_of(replace(SMALL, learning_rate=0.01))
    losses = [trainer.step(torch.arange(8), generator_for(0, "same")) for _ in range(30)]
    assert losses[-1] < 0.9 * losses[0]


def test_a_negative_needs_a_third_vertex() -> None:
    with pytest.raises(TrainingError, match="only 2 vertices have an edge"):
        SMALL.fit(NETWORK.with_edges(NETWORK.edges[:1]), 0)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("dim", 3),
        ("dim", 0),
        ("word_dim", 0),
        ("max_words", 0),
        ("hop_weights", ()),
        ("epochs", 0),
        ("batch_size", 0),
        ("learning_rate", -1.0),
    ],
)
def test_an_invalid_setting_raises_with_its_name(setting: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=setting):
        replace(SMALL, **{setting: value})
