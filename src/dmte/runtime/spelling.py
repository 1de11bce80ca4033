"""Lookup of names, and suggestions for misspelled ones."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import islice

from dmte.errors import UnknownVertexError

LONGEST, MOST = 80, 20_000
"""Characters of a name, and number of names, that are compared; more would be slow."""


def find_position(positions: Mapping[str, int], name: str) -> int:
    """Position of a name.

    Raises:
        UnknownVertexError: The name is unknown; the message suggests close names.
    """
    if name in positions:
        return positions[name]
    raise UnknownVertexError(unknown_id_message(name, positions))


def unknown_id_message(name: str, known: Iterable[str]) -> str:
    """Error message for an unknown id, with up to three close ids.

    >>> unknown_id_message("tree", ["math/Tree", "math/Graph"]), unknown_id_message("tree", [])
    ("there is no vertex 'tree'; did you mean 'math/Tree'?", "there is no vertex 'tree'")
    """
    # The id of a note is its path; users often write only the last part.
    ending = f"/{_folded(str(name))}"
    compared = list(islice(known, MOST))
    same_ending = [other for other in compared if _folded(other).endswith(ending)]
    close = [repr(other[:LONGEST]) for other in same_ending[:3] or close_names(str(name), compared)]
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    return f"there is no vertex {name!r}{hint}"


def close_names(wanted: str, known: Iterable[str], most: int = 3) -> list[str]:
    """Names similar to ``wanted``, ignoring case, the closest first; never ``wanted`` itself.

    >>> close_names("CORA", ["concepts", "cora", "CORA"])
    ['cora']
    """
    folded = {_folded(other): other for other in islice(known, MOST) if other != wanted}
    return [folded[match] for match in get_close_matches(_folded(wanted), folded, n=most)]


def propose(wanted: str, known: Iterable[str]) -> str:
    """Hint for an error message: the close names, or all names if none is close.

    >>> propose("Tfid", ["tfidf", "random"]), propose("cake", ["tfidf", "random"])
    ('did you mean tfidf?', 'there are tfidf, random')
    """
    everything = list(known)
    close = close_names(wanted, everything)
    return f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(everything)}"


def _folded(name: str) -> str:
    return name[:LONGEST].casefold()
