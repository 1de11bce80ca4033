"""What is printed: all of it passes here, so that nothing that was read controls the terminal.

Ids, texts, labels, names of files and answers of servers may hold characters that move the cursor,
set the title of the window or reverse the order of letters. While ``visible_output`` is active,
whatever writes to stdout or stderr, also a library or a traceback, shows them as escapes. rich
writes control characters of its own, to color and to redraw: its consoles come from ``console``,
which escapes the content only.

Output for programs stays as it is: JSON has escapes of its own, and ``write_exactly`` changes
nothing in a pipe or a file.
"""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.file_proxy import FileProxy
from rich.segment import Segment

from dmte.errors import visible


class VisibleStream:
    """A text stream that shows control characters as escapes."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write the text with its control characters as escapes."""
        return self.stream.write(visible(text))

    def writelines(self, lines: Iterable[str]) -> None:
        """Write every line."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class VisibleConsole(Console):
    """A console of rich that shows control characters of its content as escapes."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield the pieces of the content; those that control the terminal are rich's own."""
        for piece in super().render(renderable, options):
            yield piece if piece.control else piece._replace(text=visible(piece.text))


@contextmanager
def visible_output() -> Iterator[None]:
    """Show control characters as escapes, whatever prints to stdout and stderr in this block.

    It is needed again below a bar: rich redirects both, and would obey the control characters.
    """
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, VisibleStream(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def console(*, stderr: bool = False, **options: Any) -> VisibleConsole:
    """A console on stdout or stderr, without markup: ids may look like it."""
    stream = sys.stderr if stderr else sys.stdout
    plain: dict[str, Any] = {"markup": False, "emoji": False, "highlight": False}
    return VisibleConsole(file=_beneath(stream), **plain, **options)


def write_exactly(text: str) -> None:
    """Write data for programs to stdout; on a terminal, control characters become escapes."""
    if sys.stdout.isatty():
        sys.stdout.write(text.replace("\r\n", "\n"))
    else:
        _beneath(sys.stdout).write(text)


def _beneath(stream: TextIO) -> TextIO:
    """The stream of the process, below those that replace it."""
    while True:
        if isinstance(stream, VisibleStream):
            stream = stream.stream
        elif isinstance(stream, FileProxy):
            stream = cast(TextIO, stream.rich_proxied_file)
        else:
            return stream
