"""Tasks that take turns on threads."""

from collections.abc import Iterator
from threading import Barrier, Lock

import pytest
import torch

from dmte.runtime.threads import run_in_turns, side_by_side


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
def test_three_tasks_on_two_threads_each_advance_in_their_own_order() -> None:
    seen: dict[str, list[int]] = {name: [] for name in "abc"}
    numbers, running, most, lock = set(), 0, 0, Lock()

    def task(name: str) -> Iterator[None]:
        nonlocal running, most
        for step in range(20):
            with lock:
                running += 1
                most = max(most, running)
            numbers.add(torch.get_num_threads())
            seen[name].append(step)
            with lock:
                running -= 1
            yield

    run_in_turns([task(name) for name in seen])
    assert seen == {name: list(range(20)) for name in "abc"}
    assert numbers == {1}
    assert most <= 2
    assert torch.get_num_threads() == 2


def test_the_task_that_has_waited_longest_is_next() -> None:
    seen: list[str] = []
    run_in_turns([map(seen.append, (f"{name}0", f"{name}1")) for name in "abc"])
    assert seen == ["a0", "b0", "c0", "a1", "b1", "c1"]


@pytest.mark.usefixtures("two_threads")
def test_an_error_in_a_task_reaches_the_caller() -> None:
    finished = []

    def fails() -> Iterator[None]:
        yield
        raise ValueError("in the second step")

    def succeeds() -> Iterator[None]:
        yield
        yield
        finished.append(True)

    with pytest.raises(ValueError, match="in the second step"):
        run_in_turns([succeeds(), fails(), succeeds()])
    assert finished == [True, True]
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_threads")
def test_without_tasks_nothing_happens() -> None:
    run_in_turns([])
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_threads")
def test_two_items_are_computed_at_once_with_one_thread_each() -> None:
    both = Barrier(2, timeout=60)

    def act(item: int) -> tuple[int, int]:
        both.wait()
        return item, torch.get_num_threads()

    with side_by_side() as each:
        assert each(act, [3, 4]) == [(3, 1), (4, 1)]
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("wrong", [0, 1])
def test_an_error_of_either_item_reaches_the_caller(wrong: int) -> None:
    with pytest.raises(ZeroDivisionError), side_by_side() as each:
        each(lambda item: 1 / item, [float(number != wrong) for number in range(2)])
    assert torch.get_num_threads() == 2
