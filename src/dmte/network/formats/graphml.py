"""GraphML to a table of vertices and a table of edges.

Attributes become columns by their names. The parser is the standard library's expat; a document
type declaration is refused before anything in it is looked at, since entities that are made of
entities grow without bound and outer ones read other files.
"""

from dataclasses import dataclass, field
from xml.parsers import expat

from dmte.errors import NetworkError, warn
from dmte.network.formats.source import Content
from dmte.network.formats.table import LazyColumns, Table
from dmte.runtime.progress import track

CHUNK = 2**20


def read_graphml(content: Content) -> tuple[Table, Table]:
    """Return the vertices and the edges of a GraphML file.

    Raises:
        NetworkError: It is not well-formed, has a document type, or is no GraphML; says which line.
    """
    data, reader = content.text().encode(), _Reader(content.name)
    parser = reader.parser
    try:
        for begin in track(range(0, len(data), CHUNK)):
            parser.Parse(data[begin : begin + CHUNK])
        parser.Parse(b"", True)  # noqa: FBT003 - expat takes no keywords
    except expat.ExpatError as error:
        raise NetworkError(
            f"{content.name}, line {error.lineno}: not XML ({expat.ErrorString(error.code)}); "
            "the file is damaged, or no GraphML"
        ) from None
    if not reader.graphs:
        raise NetworkError(f"{content.name} holds no graph; GraphML has a <graph> in a <graphml>")
    if reader.directed:
        warn(
            f"{content.name} says that its edges are directed; they are read as undirected unless "
            "you ask for directed ones"
        )
    return (
        _table(content.name, reader.vertices, reader.defaults_of("node")),
        _table(content.name, reader.edges, reader.defaults_of("edge")),
    )


def _table(name: str, elements: "list[_Element]", defaults: dict[str, str]) -> Table:
    names = dict.fromkeys(column for element in elements for column in element.values)
    return Table(
        name=name,
        columns=LazyColumns(
            (names | defaults) if elements else (),
            lambda column: [
                element.values.get(column, defaults.get(column)) for element in elements
            ],
        ),
        place=lambda row: f"{name}, line {elements[row].line}",
    )


@dataclass(slots=True)
class _Element:
    """A vertex or an edge: where it stands, and what is known of it by attribute."""

    line: int
    values: dict[str, str]


@dataclass(slots=True)
class _Reader:
    """What has been read so far."""

    name: str
    parser: expat.XMLParserType = field(init=False)
    graphs: int = 0
    directed: bool = False
    vertices: list[_Element] = field(default_factory=list)
    edges: list[_Element] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)
    """The name of every attribute by its key."""
    defaults: dict[str, tuple[str, str]] = field(default_factory=dict)
    """What an attribute is where it is not given: for what, and its value."""
    open: list[_Element] = field(default_factory=list)
    key: tuple[str, str] | None = None
    words: list[str] | None = None

    def __post_init__(self) -> None:
        # The file is UTF-8, whatever its first line says.
        parser = self.parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        parser.StartElementHandler = self._begin
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._hear

    def defaults_of(self, kind: str) -> dict[str, str]:
        """Return what an attribute of vertices or edges is where it is not given, by its name."""
        return {
            self.attributes[key]: value
            for key, (meant_for, value) in self.defaults.items()
            if meant_for in (kind, "all")
        }

    def _refuse_doctype(self, *_: object) -> None:
        raise NetworkError(
            f"{self._place()}: a document type (DOCTYPE) may define entities and is refused; "
            "delete it, GraphML needs none"
        )

    def _place(self) -> str:
        return f"{self.name}, line {self.parser.CurrentLineNumber}"

    def _begin(self, tag: str, given: dict[str, str]) -> None:
        match tag.rpartition(":")[2]:
            case "graph":
                self.graphs += 1
                self.directed |= given.get("edgedefault") == "directed"
            case "key":
                key = self._needed(given, "id", "key")
                self.attributes[key] = given.get("attr.name", key)
                self.key = (key, given.get("for", "all"))
            case "node":
                values = {"id": self._needed(given, "id", "node")}
                self._open(self.vertices, values)
            case "edge":
                ends = {end: self._needed(given, end, "edge") for end in ("source", "target")}
                self._open(self.edges, ends)
            case "data":
                self.key = (self._needed(given, "key", "data"), "")
                self.words = []
            case "default":
                self.words = []
            case "hyperedge":
                raise NetworkError(
                    f"{self._place()}: hyperedges join several vertices at once, which an edge "
                    "here cannot; replace them by edges"
                )

    def _needed(self, given: dict[str, str], name: str, tag: str) -> str:
        if not given.get(name, "").strip():
            raise NetworkError(f"{self._place()}: the <{tag}> has no {name}; every one needs one")
        return given[name]

    def _open(self, elements: list[_Element], values: dict[str, str]) -> None:
        elements.append(_Element(self.parser.CurrentLineNumber, values))
        self.open.append(elements[-1])

    def _hear(self, words: str) -> None:
        if self.words is not None:
            self.words.append(words)

    def _end(self, tag: str) -> None:
        words = "".join(self.words or ())
        match tag.rpartition(":")[2]:
            case "node" | "edge":
                self.open.pop()
            case "data":
                if self.open and self.key is not None:
                    key = self.key[0]
                    self.open[-1].values.setdefault(self.attributes.get(key, key), words)
                self.words = None
            case "default":
                if self.key is not None:
                    self.defaults[self.key[0]] = (self.key[1], words)
                self.words = None
