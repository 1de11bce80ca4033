"""A folder of Markdown files that link to each other: a vault of notes, or a documentation site.

An id is the path of a file below the folder, without its suffix. A link by name leads to the file
of that name wherever it is, whatever the case of its letters, as in Obsidian: ``[[tree]]`` and
``[[math/tree]]`` find ``notes/math/Tree.md``. A link by place starts beside the file that it is in;
a folder stands for its ``index.md`` or ``README.md``. Where a name fits several files and none of
them beside the link, or none at all, there is no edge: these links are counted and told of.
"""

import os
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from posixpath import normpath

from dmte.errors import NetworkError, warn
from dmte.network.datasets import holds
from dmte.network.formats.markdown import Link, Note, parse_note
from dmte.network.formats.source import read_content
from dmte.network.formats.table import Table
from dmte.runtime.progress import track
from dmte.storage.folder import is_stored

SUFFIXES = (".md", ".markdown", ".mdx")
"""How the names of Markdown files end."""

FRONT_PAGES = ("index", "readme", "_index")
"""The files that a folder stands for, best first, in small letters."""

SKIPPED = frozenset({"node_modules", "__pycache__"})
"""Folders not looked into, besides models and hidden ones such as .obsidian, .git and .trash."""

SHOWN = 3  # links that lead nowhere, as examples in a warning


def read_notes(folder: Path, known: Sequence[str] = ()) -> Table:
    """Return a row per Markdown file below the folder: id, title, text, labels and links.

    Links may also lead to notes elsewhere of which the ids are ``known``.

    Raises:
        NetworkError: There is none, or a file or folder cannot be read; says which.
    """
    paths = list(find_notes(folder))
    if not paths:
        raise NetworkError(f"{folder} holds no Markdown file ({', '.join(SUFFIXES)})")
    notes = [parse_note(read_content(path).text()) for path in track(paths)]
    _warn_of_front_matter(paths, notes)
    ids = _ids([path.relative_to(folder) for path in paths])
    findable = list(dict.fromkeys([*ids, *known]))
    finder = LinkFinder(folder.resolve().name, findable, [note.aliases for note in notes])
    links = [
        [other for link in note.links if (other := finder.find(name, link)) is not None]
        for name, note in zip(ids, notes, strict=True)
    ]
    finder.tell(folder)
    return Table(
        name=str(folder),
        columns={
            "id": ids,
            "title": [_title(name, note, folder) for name, note in zip(ids, notes, strict=True)],
            "text": [note.text for note in notes],
            "labels": _spelled_alike([note.labels for note in notes]),
            "links": links,
        },
        place=lambda row: str(paths[row]),
    )


def _warn_of_front_matter(paths: Sequence[Path], notes: Sequence[Note]) -> None:
    bad = [
        f"{path}, {note.problem}" for path, note in zip(paths, notes, strict=True) if note.problem
    ]
    if bad:
        warn(f"{bad[0]}; front matter that is not valid YAML is left out, {len(bad):,} in all")


def find_notes(folder: Path) -> Iterator[Path]:
    """Yield the Markdown files below a folder, in the order of their names.

    Links of the file system to folders are not followed: they may lead in a circle, or out of it.

    Raises:
        NetworkError: A folder cannot be listed, or something with such a name is no file.
    """

    def refuse(error: OSError) -> None:
        raise NetworkError(f"{error.filename} cannot be listed: {error.strerror}") from None

    linked: list[Path] = []
    for place, folders, files in os.walk(folder, onerror=refuse):
        folders[:] = sorted(name for name in folders if not _is_skipped(Path(place) / name))
        linked += (Path(place) / name for name in folders if (Path(place) / name).is_symlink())
        for name in sorted(files):
            if name.startswith(".") or not name.lower().endswith(SUFFIXES):
                continue
            path = Path(place) / name
            if not path.is_file():
                raise NetworkError(
                    f"{path} is no file that can be read, perhaps a link to one that is gone; "
                    "delete it or rename it"
                )
            yield path
    if linked:
        warn(f"{linked[0]} is a link to a folder and not followed, as are all {len(linked)} such")


def _is_skipped(folder: Path) -> bool:
    return folder.name.startswith(".") or folder.name in SKIPPED or is_model(folder)


def is_model(folder: Path) -> bool:
    """Return whether a folder is one of our models, whose card is Markdown but no note."""
    return holds(lambda: is_stored(folder) and any(folder.glob("*.safetensors")))


def _ids(paths: Sequence[Path]) -> list[str]:
    """Return a path without its suffix for every file, or with it where that one is taken."""
    ids: dict[str, None] = {}
    for path in paths:
        # A name that is not UTF-8 is kept readable; macOS takes letters and their marks apart.
        name = unicodedata.normalize("NFC", os.fsencode(path.as_posix()).decode(errors="replace"))
        short = name[: len(name) - len(path.suffix)]
        chosen = name if short in ids else short
        if chosen in ids:
            raise NetworkError(f"two files are called {chosen!r} in Unicode; rename one of them")
        ids[chosen] = None
    return list(ids)


def _title(name: str, note: Note, folder: Path) -> str:
    """Return the title of a note, or else the name of its file, or of the folder it stands for."""
    if note.title:
        return note.title
    *folders, last = name.split("/")
    if last.lower() in FRONT_PAGES:
        last = folders[-1] if folders else folder.resolve().name
    return last


def _spelled_alike(labels: Iterable[Sequence[str]]) -> list[list[str]]:
    """Return the labels, each in the spelling in which it comes first: #Tree is #tree."""
    spelling: dict[str, str] = {}
    return [
        list(dict.fromkeys(spelling.setdefault(name.casefold(), name) for name in names))
        for names in labels
    ]


@dataclass(slots=True)
class LinkFinder:
    """Finds the notes that links lead to, and counts those that lead nowhere.

    >>> finder = LinkFinder("vault", ["start", "math/Tree", "math/Graph"], [])
    >>> finder.find("start", Link("tree", wiki=True))
    'math/Tree'
    >>> finder.find("math/Tree", Link("../start.md", wiki=False))
    'start'
    >>> finder.find("start", Link("forest", wiki=True)), finder.missing
    (None, ['forest in start'])
    """

    root: str
    """The name of the folder, with which a link from its top may begin."""
    ids: Sequence[str]
    aliases: Sequence[Sequence[str]]
    missing: list[str] = field(default_factory=list)
    ambiguous: list[str] = field(default_factory=list)
    _by_path: dict[str, list[str]] = field(default_factory=dict)
    _by_folder: dict[str, list[str]] = field(default_factory=dict)
    _by_name: dict[str, list[str]] = field(default_factory=dict)
    _by_alias: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.ids:
            path = _folded(name)
            self._by_path.setdefault(path, []).append(name)
            self._by_name.setdefault(path.rpartition("/")[2], []).append(name)
        for page in FRONT_PAGES:
            for name in self._by_name.get(page, ()):
                folder = _path("", _folded(name).rpartition("/")[0])
                self._by_folder.setdefault(folder, [name])
        for name, others in zip(self.ids, self.aliases, strict=False):
            for other in others:
                self._by_alias.setdefault(_folded(other), []).append(name)

    def find(self, name: str, link: Link) -> str | None:
        """Return the note that a link in the note ``name`` leads to, or None and count it."""
        found = next(filter(None, self._candidates(name, link)), [])
        exact = [other for other in found if other.endswith(_without_suffix(link.target))]
        found = exact if len(exact) == 1 else found
        if len(found) == 1:
            return found[0]
        if found:
            self.ambiguous.append(f"{link.target} in {name}")
        elif not _is_attachment(link.target):
            self.missing.append(f"{link.target} in {name}")
        return None

    def _candidates(self, name: str, link: Link) -> Iterator[list[str]]:
        """Yield the notes that a link may mean, those that it means first in the beginning."""
        target = _folded(_without_suffix(link.target))
        beside, top = _path(name.rpartition("/")[0], target), _path("", target)
        if link.wiki and not target.startswith("."):
            yield self._by_path.get(top, [])
            yield self._by_path.get(beside, [])
        else:
            below = _path("", target.lstrip("/").removeprefix(f"{_folded(self.root)}/"))
            for path in (beside, top, below):
                yield self._by_path.get(path, [])
                yield self._by_folder.get(path, [])
        yield from self._ending_in(target.strip("/"))
        yield self._by_alias.get(target, [])

    def _ending_in(self, target: str) -> Iterator[list[str]]:
        """Yield the notes whose path ends in this one, then the front pages of such folders."""
        for path in (target, *(f"{target}/{page}" for page in FRONT_PAGES)):
            named = self._by_name.get(path.rpartition("/")[2], [])
            yield [name for name in named if f"/{_folded(name)}".endswith(f"/{path}")]

    def tell(self, folder: Path) -> None:
        """Warn of the links that lead nowhere."""
        for links, what in (
            (self.missing, "to what is no note here"),
            (self.ambiguous, "that could lead to several notes of the same name"),
        ):
            if links:
                shown = ", ".join(link[:80] for link in links[:SHOWN])
                warn(
                    f"{folder}: links {what} are left out, {len(links):,} in all: {shown}"
                    f"{', ...' if len(links) > SHOWN else ''}"
                )


def _path(beside: str, target: str) -> str:
    """Return the place that a target means beside another, in the spelling of comparisons.

    >>> _path("math/sets", "../tree"), _path("math", "/tree"), _path("", "")
    ('math/tree', 'tree', '.')
    """
    start = "" if target.startswith("/") else _folded(beside)
    return normpath(str(PurePosixPath(start) / target.lstrip("/")))


def _folded(path: str) -> str:
    """Return what paths are compared by."""
    return unicodedata.normalize("NFC", path.replace("\\", "/")).casefold()


def _without_suffix(target: str) -> str:
    suffix = next((suffix for suffix in SUFFIXES if target.lower().endswith(suffix)), "")
    return target[: len(target) - len(suffix)]


def _is_attachment(target: str) -> bool:
    """Return whether a link leads to a picture or another file that is no note."""
    suffix = PurePosixPath(target).suffix
    return suffix[1:].isalnum() and suffix.lower() not in SUFFIXES
