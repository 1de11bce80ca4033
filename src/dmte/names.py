"""Names of vertices: where one stands, and which it might have been when there is none."""

from collections.abc import Mapping
from difflib import get_close_matches
from itertools import islice

from dmte.errors import UnknownVertexError


def find_position(positions: Mapping[str, int], name: str) -> int:
    """Return ``positions[name]``, or propose names that come close.

    Raises:
        UnknownVertexError: The name is not there.
    """
    if name in positions:
        return positions[name]
    # Comparing takes long for long names and for many; the hint is not worth a wait.
    known = {other[:80].casefold(): other[:80] for other in islice(positions, 20_000)}
    wanted = str(name)[:80].casefold()
    # A note in a folder is named by its path, and thought of by its last part.
    inside = [other for other in known if other.endswith(f"/{wanted}")]
    close = inside[:3] or get_close_matches(wanted, known, n=3)
    hint = f"; did you mean {' or '.join(repr(known[match]) for match in close)}?" if close else ""
    raise UnknownVertexError(f"there is no vertex {name!r}{hint}")
