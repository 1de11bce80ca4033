"""Which column of a table means what: named by the user, or guessed when it is obvious.

A column that is named must be there. A guess takes the first of a short list of usual names,
whatever their case; an edge table of two or three columns needs no usual names at all.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType

from dmte.errors import NetworkError

VERTEX_GUESSES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "id": ("id", "vertex", "vertex_id", "node", "node_id", "key", "name"),
        "text": ("text", "abstract", "description", "content", "body", "summary"),
        "label": ("label", "labels", "class", "classes", "area", "group", "category", "categories"),
        "title": ("title", "headline"),
        "links": ("links", "references", "cites", "referenced_works"),
    }
)
"""The usual names of the columns of a vertex table, best first."""

END_GUESSES = (
    ("source", "target"),
    ("from", "to"),
    ("src", "dst"),
    ("citing", "cited"),
    ("source_id", "target_id"),
    ("from_id", "to_id"),
    ("head", "tail"),
    ("start", "end"),
)
"""The usual names of the two ends of an edge, which go together, best first."""

WEIGHT_GUESSES = ("weight", "weights")
"""The usual names of s_ij, best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The columns to read a network from; None: guess.

    >>> Columns(id="doi", text="abstract").label is None
    True
    """

    id: str | None = None
    """The id of a vertex."""
    text: str | None = None
    """The text of a vertex; when it is named, no title is put in front of it."""
    label: str | None = None
    """The labels of a vertex: none, one, or several."""
    title: str | None = None
    """The title of a vertex, put in front of its text."""
    links: str | None = None
    """The ids a vertex links to, instead of an edge table."""
    source: str | None = None
    """The id an edge starts from."""
    target: str | None = None
    """The id an edge leads to."""
    weight: str | None = None
    """The weight of an edge."""

    def check_tables(self, *, vertices: bool, edges: bool) -> None:
        """Refuse a named column whose table is not there.

        >>> Columns(text="abstract").check_tables(vertices=True, edges=False)

        Raises:
            NetworkError: A column is named for nothing, or there are two sources of edges.
        """
        for role in (entry.name for entry in fields(self)):
            name, kind = getattr(self, role), "vertex" if role in VERTEX_GUESSES else "edge"
            if name is not None and not (vertices if kind == "vertex" else edges):
                raise NetworkError(
                    f"the {role} column {name!r} belongs to the {kind} table, but there is none"
                )
        if edges and self.links is not None:
            raise NetworkError(
                f"both the links column {self.links!r} and an edge table are given; leave one out"
            )


GUESSED = Columns()
"""Every column guessed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VertexColumns:
    """What was found in a vertex table."""

    id: str
    text: str | None
    label: str | None
    title: str | None
    links: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeColumns:
    """What was found in an edge table."""

    source: str
    target: str
    weight: str | None
    by_place: bool = False
    """Whether an end was taken for where its column stands, not for its name."""


def find_vertex_columns(table: str, present: Iterable[str], columns: Columns) -> VertexColumns:
    """Return the columns of the vertex table called ``table``.

    >>> find_vertex_columns("papers.csv", ["ID", "Year", "Abstract"], Columns()).text
    'Abstract'

    Raises:
        NetworkError: A named column is not there, or no column is obviously the id.
    """
    present = list(present)
    found = {role: _named(table, role, present, columns) for role in VERTEX_GUESSES}
    guesses = {role: _guess(present, names) for role, names in VERTEX_GUESSES.items()}
    if found["text"] is not None:
        del guesses["title"]
    for role, guess in guesses.items():
        if found[role] is None and guess not in found.values():
            found[role] = guess
    name = found.pop("id")
    if name is None:
        raise NetworkError(
            f"{table} has no column that is obviously the id, only {listed(present)}; "
            "name one of them 'id', or say which it is"
        )
    return VertexColumns(id=name, **found)


def guess_column(present: Iterable[str], role: str) -> str | None:
    """Return the column of a vertex table that obviously has this role.

    >>> guess_column(["ID", "Year"], "id"), guess_column(["ID", "Year"], "text")
    ('ID', None)
    """
    return _guess(list(present), VERTEX_GUESSES[role])


def find_edge_columns(table: str, present: Iterable[str], columns: Columns) -> EdgeColumns:
    """Return the columns of the edge table called ``table``.

    >>> find_edge_columns("friends.csv", ["Year", "From", "To", "Weight"], Columns()).target
    'To'
    >>> find_edge_columns("friends.csv", ["her", "him"], Columns()).target
    'him'

    Raises:
        NetworkError: A named column is not there, or the ends are not obvious.
    """
    present = list(present)
    named = [_named(table, role, present, columns) for role in ("source", "target", "weight")]
    source, target, weight = named
    if weight is None:
        weight = _guess([name for name in present if name not in named], WEIGHT_GUESSES)
    for usual_source, usual_target in END_GUESSES:
        start = _guess(present, (usual_source,)) if source is None else source
        end = _guess(present, (usual_target,)) if target is None else target
        if start is not None and end is not None and start != end:
            return EdgeColumns(source=start, target=end, weight=weight)
    return _take_by_place(table, present, (source, target, weight))


def _take_by_place(
    table: str, present: list[str], known: tuple[str | None, str | None, str | None]
) -> EdgeColumns:
    """Return source and target in this order, as far as they are not known.

    A further column is a weight only by its name: it may as well be a year.
    """
    left = iter([name for name in present if name not in known])
    source, target = (next(left, None) if name is None else name for name in known[:2])
    weight = known[2]
    if source is None or target in (None, source) or len(present) not in (2, 3):
        raise NetworkError(
            f"{table} has no columns that are obviously the ends of an edge, only "
            f"{listed(present)}; name two of them 'source' and 'target', or say which they are"
        )
    return EdgeColumns(source=source, target=target, weight=weight, by_place=True)


def _named(table: str, role: str, present: list[str], columns: Columns) -> str | None:
    name: str | None = getattr(columns, role)
    if name is not None and name not in present:
        raise NetworkError(
            f"{table} has no column {name!r} to take the {role} from; it has {listed(present)}"
        )
    return name


def _guess(present: list[str], names: tuple[str, ...]) -> str | None:
    spelled = {_spelling(name): name for name in reversed(present)}
    return next((spelled[name] for name in names if name in spelled), None)


def _spelling(name: str) -> str:
    return name.strip().casefold().replace(" ", "_").replace("-", "_")


def listed(names: Iterable[str]) -> str:
    """Return the names of columns for an error, the first of many."""
    present = list(names)
    shown = ", ".join(repr(name[:40]) for name in present[:20]) or "no columns"
    return f"{shown} and {len(present) - 20} more" if len(present) > 20 else shown
