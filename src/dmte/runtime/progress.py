"""How far a fit is, or the reading of a file, for whoever wants to know.

A method says so by walking over its steps with ``track``; it does not know who listens, if anybody.
"""

from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Step = TypeVar("Step")
Listener = Callable[[float], None]
"""Called with the share that is done, from 0 to 1."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def track(
    steps: Iterable[Step], *, part: int = 0, of: int = 1, total: int | None = None
) -> Iterator[Step]:
    """Yield the steps of a fit or a file, or of one of several parts of it that take about as long.

    A ``total`` is how many steps there are, where they are not to be held all at once.

    >>> with report_to(print):
    ...     for _ in track(range(2), part=1, of=2):
    ...         pass
    0.75
    1.0
    """
    count = total if total is not None else len(steps) if isinstance(steps, Sized) else 1
    for done, step in enumerate(steps, start=1):
        yield step
        reach((part + done / count) / of)


def reach(share: float) -> None:
    """Say which share is done, where there are no steps to count.

    >>> with report_to(print):
    ...     reach(0.25)
    0.25
    """
    listener = _listener.get()
    if listener is not None:
        listener(share)


def finish() -> None:
    """Say that a fit is done although steps are left, because more would not help."""
    reach(1.0)


@contextmanager
def report_to(listener: Listener) -> Iterator[None]:
    """Let ``listener`` know how far the fits within are."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
