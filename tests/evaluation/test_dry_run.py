"""Plans: sums of estimates, straight between the smallest and the largest share of edges."""

from dataclasses import replace

import pytest

from dmte.baselines import RandomVectors
from dmte.embedding.cost import Cost
from dmte.evaluation.dry_run import plan
from dmte.evaluation.jobs import Cell, link_cells
from dmte.network import TextualNetwork


@pytest.fixture(autouse=True)
def _costs_by_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let random vectors take a second and a byte per edge, of which half a second is kept."""
    monkeypatch.setattr(
        RandomVectors,
        "estimate",
        lambda _, network: Cost(
            len(network.edges), float(len(network.edges)), len(network.edges) / 2
        ),
    )


def cells(fractions: list[float], seeds: int) -> list[Cell]:
    return [*link_cells("", ["random"], fractions, ["strict"], seeds)]


def test_fits_are_added_up_between_the_smallest_and_the_largest(planted: TextualNetwork) -> None:
    wanted = cells([0.2, 0.5, 0.8], seeds=2)
    low, high = (
        len(cells([fraction], 1)[0].learned_from(planted).edges) for fraction in (0.2, 0.8)
    )
    (found,) = plan(wanted, planted, workers=3)
    assert (found.method, found.num_fits, found.memory_bytes) == ("random", 6, high)
    # Half of every fit, and the other half of the largest once in each of the three processes.
    in_all = 2 * (low + (low + high) / 2 + high)
    assert found.seconds == pytest.approx(in_all / 2 + 3 * high / 2)


def test_different_settings_are_estimated_apart(
    planted: TextualNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RandomVectors, "estimate", lambda self, _: Cost(self.dim, float(self.dim)))
    (cell,) = cells([0.5], seeds=1)
    wide = replace(cell, settings={"dim": 1000})
    (found,) = plan([cell, wide], planted, workers=1)
    assert (found.seconds, found.memory_bytes) == (1200, 1000)


def test_what_cannot_be_estimated_says_why(planted: TextualNetwork) -> None:
    lonely = planted.with_edges(planted.edges[:4])
    impossible = link_cells("", ["dmte-paper"], [0.01], ["strict"], 1)
    (found,) = plan(impossible, lonely, workers=1)
    assert found.problem
    assert found.seconds == 0
