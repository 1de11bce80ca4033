"""Progress is reported to the listener within its block only."""

import pytest

from dmte.runtime.progress import finish, report_to, track


def test_every_step_is_yielded_and_reported_once() -> None:
    heard: list[float] = []
    with report_to(heard.append):
        seen = list(track("abcd"))
    assert seen == ["a", "b", "c", "d"]
    assert heard == [0.25, 0.5, 0.75, 1.0]


def test_parts_follow_each_other_up_to_one() -> None:
    heard: list[float] = []
    with report_to(heard.append):
        for part in range(3):
            list(track(range(2), part=part, of=3))
    assert heard == pytest.approx([1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6, 1])


def test_nothing_is_reported_outside_the_block_even_after_an_error() -> None:
    heard: list[float] = []
    with pytest.raises(ValueError, match="stop"), report_to(heard.append):
        raise ValueError("stop")
    list(track(range(3)))
    assert heard == []


def test_a_fit_may_be_done_before_its_last_step() -> None:
    heard: list[float] = []
    with report_to(heard.append):
        for step in track(range(4)):
            if step == 2:
                finish()
                break
    assert heard == [0.25, 0.5, 1.0]


def test_an_empty_iterable_reports_nothing() -> None:
    heard: list[float] = []
    with report_to(heard.append):
        assert list(track([])) == []
    assert heard == []
