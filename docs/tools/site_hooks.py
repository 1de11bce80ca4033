"""MkDocs hooks: pages from outside ``docs/``, and links to files of the repository.

Pages are written for a reader of the repository: they link to the README, to source files and to
results. On the site, the pages in ``REPOSITORY_PAGES`` are pages as well, and every other linked
file becomes a page that shows its text. So every link works without a public repository.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import File, Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
REPOSITORY_PAGES = {
    "README.md": "index.md",
    "docs/README.md": "contents.md",
    "benchmarks/README.md": "benchmarks.md",
    "experiments/README.md": "experiments.md",
    "CONTRIBUTING.md": "contributing.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
}
"""Pages outside the folder that MkDocs reads, with their place on the site."""
LANGUAGES = {
    ".py": "python",
    ".pyi": "python",
    ".json": "json",
    ".toml": "toml",
    ".md": "markdown",
    ".cff": "yaml",
}
"""Languages of the files that are shown as pages, by suffix."""
MAX_LINES = 600
"""Longest file that is shown in full: every module is shorter, stored results are longer."""
NOT_SEARCHED = "---\nsearch:\n  exclude: true\n---\n\n"

LINK = re.compile(r"^```.*?^```|`[^`\n]+`|\]\(([^):\s]+)\)", re.DOTALL | re.MULTILINE)


def on_files(files: "Files", config: "MkDocsConfig") -> "Files":
    """Add the pages from outside ``docs/`` and a page for every other linked file."""
    from mkdocs.structure.files import File

    for path, place in REPOSITORY_PAGES.items():
        text = (ROOT / path).read_text("utf-8")
        files.append(File.generated(config, place, content=text))
    linked = sorted({path for file in files.documentation_pages() for path in _linked_from(file)})
    for path in _with_members(linked):
        # A link to a file that does not exist stays broken, so that a strict build refuses it.
        if (ROOT / path).exists() and (place := site_path(path)) not in files.src_uris:
            files.append(_shown_file(path, place, config))
    return files


def on_page_markdown(markdown: str, page: "Page", config: "MkDocsConfig", files: "Files") -> str:
    """Rewrite the links of a page from places in the repository to places on the site."""
    del config, files
    return rewrite_links(markdown, page.file.src_uri)


def rewrite_links(markdown: str, place: str) -> str:
    """Rewrite the links of the page at ``place`` on the site.

    >>> rewrite_links("[P](../src/dmte/diffusion/transition.py)", "method.md")
    '[P](source/src/dmte/diffusion/transition.py.md)'
    >>> rewrite_links("[verbs](../README.md#verbs)", "verbs/info.md")
    '[verbs](../contents.md#verbs)'
    """
    source = repository_path(place)
    if source is None:
        return markdown

    def rewritten(found: re.Match[str]) -> str:
        if found[1] is None:  # Code.
            return found[0]
        path, mark, heading = found[1].partition("#")
        if not path:
            return found[0]
        target = site_path(posixpath.normpath(posixpath.join(posixpath.dirname(source), path)))
        return f"]({posixpath.relpath(target, posixpath.dirname(place) or '.')}{mark}{heading})"

    return LINK.sub(rewritten, markdown)


def repository_path(place: str) -> str | None:
    """Return the repository's file behind a page of the site; shown files have links of theirs.

    >>> repository_path("verbs/info.md"), repository_path("index.md")
    ('docs/verbs/info.md', 'README.md')
    """
    if place.startswith("source/"):
        return None
    sources = {page: path for path, page in REPOSITORY_PAGES.items()}
    return sources.get(place, f"docs/{place}")


def site_path(path: str) -> str:
    """Return the place on the site of a file or folder of the repository.

    >>> site_path("docs/images/data-flow.svg"), site_path("experiments")
    ('images/data-flow.svg', 'source/experiments.md')
    """
    if path in REPOSITORY_PAGES:
        return REPOSITORY_PAGES[path]
    inside = path.removeprefix("docs/")
    if inside != path and (ROOT / path).is_file():
        return inside
    is_text = (ROOT / path).is_dir() or PurePosixPath(path).suffix in LANGUAGES
    return f"source/{path}.md" if is_text else f"source/{path}"


def shown_page(path: str) -> str:
    """Return the page that shows a file of the repository, or lists a folder."""
    body = _listing(path) if (ROOT / path).is_dir() else _text(path)
    return (
        f"---\nsearch:\n  exclude: true\n---\n\n# {PurePosixPath(path).name}\n\n`{path}`\n\n{body}"
    )


def _linked_from(file: "File") -> Iterator[str]:
    source = repository_path(file.src_uri)
    for found in LINK.finditer(file.content_string):
        path = (found[1] or "").partition("#")[0]
        if source is not None and path:
            yield posixpath.normpath(posixpath.join(posixpath.dirname(source), path))


def _with_members(paths: Iterable[str]) -> Iterator[str]:
    """Yield the paths, and the files of those that are folders."""
    found: dict[str, None] = {}
    for path in paths:
        found[path] = None
        if (ROOT / path).is_dir():
            found |= dict.fromkeys(_members(path))
    yield from found


def _members(folder: str) -> list[str]:
    files = sorted(file for file in (ROOT / folder).iterdir() if file.suffix in LANGUAGES)
    return [file.relative_to(ROOT).as_posix() for file in files]


def _listing(folder: str) -> str:
    start = posixpath.dirname(site_path(folder))
    links = ((path, posixpath.relpath(site_path(path), start)) for path in _members(folder))
    return "\n".join(f"- [{posixpath.basename(path)}]({place})" for path, place in links)


def _text(path: str) -> str:
    lines = (ROOT / path).read_text("utf-8").splitlines()
    note = f"The first {MAX_LINES} of {len(lines):,} lines:\n\n" if len(lines) > MAX_LINES else ""
    shown = "\n".join(lines[:MAX_LINES])
    return f"{note}``````{LANGUAGES[PurePosixPath(path).suffix]}\n{shown}\n``````\n"


def _shown_file(path: str, place: str, config: "MkDocsConfig") -> "File":
    from mkdocs.structure.files import File

    if place.endswith(".md"):
        return File.generated(config, place, content=shown_page(path))
    return File.generated(config, place, abs_src_path=str(ROOT / path))
