"""The command line as it was given, for a verb that gives it to other processes."""

from contextvars import ContextVar

LINE: ContextVar[tuple[str, ...]] = ContextVar("LINE", default=())
"""The arguments after ``dmte``."""
