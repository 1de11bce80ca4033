"""What an evaluation will take, before anything is fitted.

Every method is asked for its estimate at the smallest and at the largest share of the edges that it
is to learn from; between them its cost is taken to grow evenly.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from dmte.embedding.cost import Cost
from dmte.errors import DmteError
from dmte.evaluation.jobs import Cell
from dmte.network import TextualNetwork


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What the fits of one method take on one thread."""

    method: str
    num_fits: int
    seconds: float
    """Of all of them, one after the other."""
    memory_bytes: int
    """Of the largest one, on top of what a process takes with Python, torch and the network."""
    problem: str | None = None
    """Why it cannot be estimated, if it cannot."""

    @property
    def seconds_a_fit(self) -> float:
        """The mean time of a fit."""
        return self.seconds / self.num_fits


def plan(cells: Iterable[Cell], network: TextualNetwork, workers: int) -> list[Planned]:
    """Return what the cells take, method by method in the order they come."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.method, []).append(cell)
    with _one_thread():
        return [_plan_method(group, network, workers) for group in groups.values()]


def _plan_method(cells: Sequence[Cell], network: TextualNetwork, workers: int) -> Planned:
    seconds, memory_bytes = 0.0, 0
    try:
        for group in _by_settings(cells):
            costs = _costs(group, network)
            kept = max(cost.kept_seconds for cost in costs)
            seconds += sum(cost.seconds - cost.kept_seconds for cost in costs)
            seconds += kept * min(workers, len(group))
            memory_bytes = max(memory_bytes, *(cost.memory_bytes for cost in costs))
    except DmteError as problem:
        return Planned(
            method=cells[0].method,
            num_fits=len(cells),
            seconds=0.0,
            memory_bytes=0,
            problem=str(problem),
        )
    return Planned(
        method=cells[0].method, num_fits=len(cells), seconds=seconds, memory_bytes=memory_bytes
    )


def _by_settings(cells: Sequence[Cell]) -> list[list[Cell]]:
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(repr(cell.settings), []).append(cell)
    return list(groups.values())


def _costs(cells: Sequence[Cell], network: TextualNetwork) -> list[Cost]:
    """Return the cost of every cell, from those of the smallest and the largest."""
    ordered = sorted(cells, key=lambda cell: cell.share_of_edges)
    low, high = ordered[0].share_of_edges, ordered[-1].share_of_edges
    most = _estimate(ordered[-1], network)
    least = _estimate(ordered[0], network) if low < high else most
    parts = ((cell.share_of_edges - low) / ((high - low) or 1.0) for cell in cells)
    return [
        Cost(
            round(least.memory_bytes + part * (most.memory_bytes - least.memory_bytes)),
            least.seconds + part * (most.seconds - least.seconds),
            least.kept_seconds + part * (most.kept_seconds - least.kept_seconds),
        )
        for part in parts
    ]


def _estimate(cell: Cell, network: TextualNetwork) -> Cost:
    return cell.method_for(network).estimate(cell.learned_from(network))


@contextmanager
def _one_thread() -> Iterator[None]:
    """Estimate as a worker fits."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(threads)
