"""Names that someone gave: where one stands, and which it might have been when there is none."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import islice

from dmte.errors import UnknownVertexError

LONGEST, MOST = 80, 20_000
"""Comparing takes long for long names and for many; the hint is not worth a wait."""


def find_position(positions: Mapping[str, int], name: str) -> int:
    """Return ``positions[name]``, or propose names that come close.

    Raises:
        UnknownVertexError: The name is not there.
    """
    if name in positions:
        return positions[name]
    # A note in a folder is named by its path, and thought of by its last part.
    ending = f"/{_folded(str(name))}"
    inside = [other for other in islice(positions, MOST) if _folded(other).endswith(ending)]
    close = [repr(other[:LONGEST]) for other in inside[:3] or close_names(str(name), positions)]
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    raise UnknownVertexError(f"there is no vertex {name!r}{hint}")


def close_names(wanted: str, known: Iterable[str], most: int = 3) -> list[str]:
    """Return the names that come close to ``wanted``, whatever their case, the closest first.

    What was not accepted is no proposal, so ``wanted`` itself is never among them.

    >>> close_names("CORA", ["concepts", "cora", "CORA"])
    ['cora']
    """
    folded = {_folded(other): other for other in islice(known, MOST) if other != wanted}
    return [folded[match] for match in get_close_matches(_folded(wanted), folded, n=most)]


def propose(wanted: str, known: Iterable[str]) -> str:
    """Return a question with the names that come close, or all of them where none does.

    >>> propose("Tfid", ["tfidf", "random"]), propose("cake", ["tfidf", "random"])
    ('did you mean tfidf?', 'there are tfidf, random')
    """
    everything = list(known)
    close = close_names(wanted, everything)
    return f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(everything)}"


def _folded(name: str) -> str:
    return name[:LONGEST].casefold()
