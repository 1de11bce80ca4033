"""Progress of a fit or of reading a file, without a dependency on its display.

Code that does the work iterates over its steps with ``track``. A display registers a listener with
``report_to``; without one, nothing is reported.
"""

from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Step = TypeVar("Step")
Listener = Callable[[float], None]
"""Called with the finished fraction, from 0 to 1."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def track(
    steps: Iterable[Step], *, part: int = 0, of: int = 1, total: int | None = None
) -> Iterator[Step]:
    """Yield the steps and report the progress after each.

    Args:
        steps: The steps of the whole, or of one of several parts of similar duration.
        part: Number of this part, from 0.
        of: Number of parts.
        total: Number of steps, needed if ``steps`` has no length.

    >>> with report_to(print):
    ...     for _ in track(range(2), part=1, of=2):
    ...         pass
    0.75
    1.0
    """
    count = total if total is not None else len(steps) if isinstance(steps, Sized) else 1
    for done, step in enumerate(steps, start=1):
        yield step
        report((part + done / count) / of)


def report(fraction: float) -> None:
    """Report the finished fraction directly, without counting steps.

    >>> with report_to(print):
    ...     report(0.25)
    0.25
    """
    listener = _listener.get()
    if listener is not None:
        listener(fraction)


def finish() -> None:
    """Report completion before the last step, as after early stopping."""
    report(1.0)


@contextmanager
def report_to(listener: Listener) -> Iterator[None]:
    """Send the progress of the code in this block to ``listener``."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
