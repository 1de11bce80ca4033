"""Read GraphML as a table of vertices and a table of edges.

Attributes become columns by their names. The parser is the standard library's expat. A document
type declaration is rejected before its content is parsed: nested entities can expand without
bound, and external ones read other files.
"""

from dataclasses import dataclass, field
from xml.parsers import expat

from dmte.errors import NetworkError, warn
from dmte.network.formats.source import Source
from dmte.network.formats.table import LazyColumns, Table
from dmte.runtime.progress import track

CHUNK = 2**20


def read_graphml(source: Source) -> tuple[Table, Table]:
    """Read the vertices and the edges of a GraphML file.

    Raises:
        NetworkError: The file is not well-formed, has a document type, or is not GraphML.
    """
    data, reader = source.text().encode(), _Reader(source.name)
    parser = reader.parser
    try:
        for begin in track(range(0, len(data), CHUNK)):
            parser.Parse(data[begin : begin + CHUNK])
        parser.Parse(b"", True)  # noqa: FBT003 - expat takes no keywords
    except expat.ExpatError as error:
        raise NetworkError(
            f"{source.name}, line {error.lineno}: not XML ({expat.ErrorString(error.code)}); "
            "the file is damaged, or is not GraphML"
        ) from None
    if not reader.graphs:
        raise NetworkError(f"{source.name} holds no graph; GraphML has a <graph> in a <graphml>")
    if reader.directed:
        warn(
            f"{source.name} declares its edges directed, but they are read as undirected; use "
            "--directed to keep their direction"
        )
    return (
        _table(source.name, reader.vertices, reader.defaults_of("node")),
        _table(source.name, reader.edges, reader.defaults_of("edge")),
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
    """A vertex or an edge: its line, and its values by attribute."""

    line: int
    values: dict[str, str]


@dataclass(slots=True)
class _Reader:
    """Handlers of the parser, and the elements read so far."""

    name: str
    parser: expat.XMLParserType = field(init=False)
    graphs: int = 0
    directed: bool = False
    vertices: list[_Element] = field(default_factory=list)
    edges: list[_Element] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)
    """The name of every attribute by its key."""
    defaults: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Default of an attribute by its key: the kind of element, and the value."""
    open: list[_Element] = field(default_factory=list)
    key: tuple[str, str] | None = None
    words: list[str] | None = None

    def __post_init__(self) -> None:
        # The file is UTF-8, whatever its first line says.
        parser = self.parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._reject_doctype
        parser.StartElementHandler = self._begin
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._collect

    def defaults_of(self, kind: str) -> dict[str, str]:
        """Defaults of the attributes of vertices ("node") or edges ("edge"), by name."""
        return {
            self.attributes[key]: value
            for key, (meant_for, value) in self.defaults.items()
            if meant_for in (kind, "all")
        }

    def _reject_doctype(self, *_: object) -> None:
        raise NetworkError(
            f"{self._place()}: a document type (DOCTYPE) is not allowed, because it may "
            "define entities; delete it, GraphML does not need it"
        )

    def _place(self) -> str:
        return f"{self.name}, line {self.parser.CurrentLineNumber}"

    def _begin(self, tag: str, given: dict[str, str]) -> None:
        match tag.rpartition(":")[2]:
            case "graph":
                self.graphs += 1
                self.directed |= given.get("edgedefault") == "directed"
            case "key":
                key = self._required(given, "id", "key")
                self.attributes[key] = given.get("attr.name", key)
                self.key = (key, given.get("for", "all"))
            case "node":
                values = {"id": self._required(given, "id", "node")}
                self._open(self.vertices, values)
            case "edge":
                ends = {end: self._required(given, end, "edge") for end in ("source", "target")}
                self._open(self.edges, ends)
            case "data":
                self.key = (self._required(given, "key", "data"), "")
                self.words = []
            case "default":
                self.words = []
            case "hyperedge":
                raise NetworkError(
                    f"{self._place()}: hyperedges are not supported, because an edge joins two "
                    "vertices; replace them by edges"
                )

    def _required(self, given: dict[str, str], name: str, tag: str) -> str:
        if not given.get(name, "").strip():
            raise NetworkError(f"{self._place()}: the <{tag}> has no {name}; it is required")
        return given[name]

    def _open(self, elements: list[_Element], values: dict[str, str]) -> None:
        elements.append(_Element(self.parser.CurrentLineNumber, values))
        self.open.append(elements[-1])

    def _collect(self, words: str) -> None:
        if self.words is not None:
            self.words.append(words)

    def _text(self) -> str:
        return "".join(self.words or ())

    def _end(self, tag: str) -> None:
        match tag.rpartition(":")[2]:
            case "node" | "edge":
                self.open.pop()
            case "data":
                if self.open and self.key is not None:
                    key = self.key[0]
                    self.open[-1].values.setdefault(self.attributes.get(key, key), self._text())
                self.words = None
            case "default":
                if self.key is not None:
                    self.defaults[self.key[0]] = (self.key[1], self._text())
                self.words = None
