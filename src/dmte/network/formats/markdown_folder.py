"""Read a folder of linked Markdown files: a vault of notes, or a documentation site.

An id is the path of a file below the folder, without its suffix. A wiki link finds a file by its
name in any folder, ignoring case, as in Obsidian: ``[[tree]]`` and ``[[math/tree]]`` find
``notes/math/Tree.md``. Other links are relative to the folder of their file; a link to a folder
leads to its ``index.md`` or ``README.md``. A link without a match, or with several matches none of
which is in the same folder, is ignored; a warning counts these links.
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
from dmte.network.formats.source import open_source
from dmte.network.formats.table import Table
from dmte.runtime.progress import track
from dmte.storage.folder import is_stored

SUFFIXES = (".md", ".markdown", ".mdx")
"""Suffixes of Markdown files."""

FRONT_PAGES = ("index", "readme", "_index")
"""Files that a link to a folder leads to, best first, in lower case."""

SKIPPED = frozenset({"node_modules", "__pycache__"})
"""Folders that are skipped, besides models and hidden folders such as .obsidian and .git."""

SHOWN = 3  # Examples of unresolved links in a warning.


def read_notes(folder: Path, known: Sequence[str] = ()) -> Table:
    """Read a row per Markdown file below the folder: id, title, text, labels and links.

    Links may also lead to the ``known`` ids of notes elsewhere.

    Raises:
        NetworkError: The folder has no Markdown file, or a file or folder cannot be read.
    """
    paths = list(find_notes(folder))
    if not paths:
        raise NetworkError(f"{folder} does not contain a Markdown file ({', '.join(SUFFIXES)})")
    notes = [parse_note(open_source(path).text()) for path in track(paths)]
    _warn_of_front_matter(paths, notes)
    ids = _ids([path.relative_to(folder) for path in paths])
    findable = list(dict.fromkeys([*ids, *known]))
    finder = LinkFinder(folder.resolve().name, findable, [note.aliases for note in notes])
    links = [
        [other for link in note.links if (other := finder.find(name, link)) is not None]
        for name, note in zip(ids, notes, strict=True)
    ]
    finder.warn_of_unresolved(folder)
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

    Symbolic links to folders are not followed: they may lead in a circle, or outside the folder.

    Raises:
        NetworkError: A folder cannot be listed, or a path with a Markdown suffix is not a file.
    """

    def fail(error: OSError) -> None:
        raise NetworkError(f"{error.filename} cannot be listed: {error.strerror}") from None

    linked: list[Path] = []
    for place, folders, files in os.walk(folder, onerror=fail):
        folders[:] = sorted(name for name in folders if not _is_skipped(Path(place) / name))
        linked += (Path(place) / name for name in folders if (Path(place) / name).is_symlink())
        for name in sorted(files):
            if name.startswith(".") or not name.lower().endswith(SUFFIXES):
                continue
            path = Path(place) / name
            if not path.is_file():
                raise NetworkError(
                    f"{path} is not a readable file, maybe a broken link; delete or rename it"
                )
            yield path
    if linked:
        warn(f"symbolic links to folders are not followed, {len(linked):,} in all: {linked[0]}")


def _is_skipped(folder: Path) -> bool:
    return folder.name.startswith(".") or folder.name in SKIPPED or is_model(folder)


def is_model(folder: Path) -> bool:
    """Whether a folder holds a model, whose card is a Markdown file but not a note."""
    return holds(lambda: is_stored(folder) and any(folder.glob("*.safetensors")))


def _ids(paths: Sequence[Path]) -> list[str]:
    """Path of every file without its suffix, or with it if the short path is already used."""
    ids: dict[str, None] = {}
    for path in paths:
        # Replace bytes that are not UTF-8. macOS stores letters and their marks separately.
        name = unicodedata.normalize("NFC", os.fsencode(path.as_posix()).decode(errors="replace"))
        short = name[: len(name) - len(path.suffix)]
        chosen = name if short in ids else short
        if chosen in ids:
            raise NetworkError(f"two files have the name {chosen!r} in Unicode; rename one of them")
        ids[chosen] = None
    return list(ids)


def _title(name: str, note: Note, folder: Path) -> str:
    """Title of a note, or the name of its file, or of the folder if it is its front page."""
    if note.title:
        return note.title
    *folders, last = name.split("/")
    if last.lower() in FRONT_PAGES:
        last = folders[-1] if folders else folder.resolve().name
    return last


def _spelled_alike(labels: Iterable[Sequence[str]]) -> list[list[str]]:
    """Labels in the spelling of their first occurrence, ignoring case: #Tree equals #tree."""
    spelling: dict[str, str] = {}
    return [
        list(dict.fromkeys(spelling.setdefault(name.casefold(), name) for name in names))
        for names in labels
    ]


@dataclass(slots=True)
class LinkFinder:
    """Resolves links to notes, and collects the links that have no match or several.

    >>> finder = LinkFinder("vault", ["start", "math/Tree", "math/Graph"], [])
    >>> finder.find("start", Link("tree", wiki=True))
    'math/Tree'
    >>> finder.find("math/Tree", Link("../start.md", wiki=False))
    'start'
    >>> finder.find("start", Link("forest", wiki=True)), finder.missing
    (None, ['forest in start'])
    """

    root: str
    """Name of the folder, with which a link from its top may begin."""
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
        """Resolve a link in the note ``name``; if that fails, record it and return ``None``."""
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
        """Yield lists of notes that match a link, the best first."""
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
        """Yield the notes whose path ends in this one, then the front pages of folders that do."""
        for path in (target, *(f"{target}/{page}" for page in FRONT_PAGES)):
            named = self._by_name.get(path.rpartition("/")[2], [])
            yield [name for name in named if f"/{_folded(name)}".endswith(f"/{path}")]

    def warn_of_unresolved(self, folder: Path) -> None:
        """Warn about links without a match or with several."""
        for links, problem in (
            (self.missing, "do not lead to a note"),
            (self.ambiguous, "match several notes"),
        ):
            if links:
                shown = ", ".join(link[:80] for link in links[:SHOWN])
                warn(
                    f"{folder}: links that {problem} are ignored, {len(links):,} in all: {shown}"
                    f"{', ...' if len(links) > SHOWN else ''}"
                )


def _path(beside: str, target: str) -> str:
    """Path of a target relative to a folder, folded for comparison.

    >>> _path("math/sets", "../tree"), _path("math", "/tree"), _path("", "")
    ('math/tree', 'tree', '.')
    """
    start = "" if target.startswith("/") else _folded(beside)
    return normpath(str(PurePosixPath(start) / target.lstrip("/")))


def _folded(path: str) -> str:
    """Path in NFC and lower case, for comparison."""
    return unicodedata.normalize("NFC", path.replace("\\", "/")).casefold()


def _without_suffix(target: str) -> str:
    suffix = next((suffix for suffix in SUFFIXES if target.lower().endswith(suffix)), "")
    return target[: len(target) - len(suffix)]


def _is_attachment(target: str) -> bool:
    """Whether a link leads to a picture or another file that is not a note."""
    suffix = PurePosixPath(target).suffix
    return suffix[1:].isalnum() and suffix.lower() not in SUFFIXES
