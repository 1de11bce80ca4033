"""Folders of Markdown files: vaults and documentation sites."""

import errno
import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmte.errors import DmteWarning, NetworkError
from dmte.network.formats.read import read_network
from dmte.network.textual_network import TextualNetwork


@pytest.fixture(autouse=True)
def _empty_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, so that errors show a file's bare name."""
    monkeypatch.chdir(tmp_path)


def write(**notes: str | bytes) -> Path:
    """Make the folder ``vault``, with a file per argument; ``__`` is a slash."""
    for name, content in notes.items():
        path = Path("vault", *f"{name}.md".split("__"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return Path("vault")


def links(network: TextualNetwork) -> set[tuple[str, str]]:
    return {(network.ids[i], network.ids[j]) for i, j in network.edges.tolist()}


def refusal(folder: Path) -> str:
    with pytest.raises(NetworkError) as error:
        read_network(folder)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_vault_is_a_network() -> None:
    folder = write(
        start="---\ntags: [Home]\n---\nSee [[tree]], [[GRAPH|graphs]] and ![[pic.png]].",
        math__Tree="# Trees\nA [graph](Graph.md) without cycles. #math",
        math__Graph="Back to [the start](../start.md#top). #home",
    )
    network = read_network(folder, directed=True)
    assert network.ids == ("start", "math/Graph", "math/Tree")
    assert network.texts == (
        "start. See tree, graphs and .",
        "Graph. Back to the start. home",
        "Trees. A graph without cycles. math",
    )
    assert links(network) == {
        ("start", "math/Tree"),
        ("start", "math/Graph"),
        ("math/Tree", "math/Graph"),
        ("math/Graph", "start"),
    }
    assert network.labels == (frozenset({"Home"}), frozenset({"Home"}), frozenset({"math"}))


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("[g](guide/)", "guide/index"),
        ("[g](guide)", "guide/index"),
        ("[g](./guide/index.md)", "guide/index"),
        ("[g](/guide/setup)", "guide/setup"),
        ("[g](/vault/guide/setup.md)", "guide/setup"),
        ("[g](api/)", "api/README"),
        ("[g](api/README.md)", "api/README"),
        ("[g](guide/SETUP.md)", "guide/setup"),
        ("[[api]]", "api/README"),
        ("[[setup]]", "guide/setup"),
        ("[[guide/setup.md]]", "guide/setup"),
        ("[[./guide/setup]]", "guide/setup"),
        ("[[First steps]]", "guide/setup"),
        ("[g](setup.md)", "guide/setup"),
    ],
)
def test_a_link_is_found_by_place_folder_name_or_alias(link: str, target: str) -> None:
    folder = write(
        start=link,
        guide__index="a",
        guide__setup="---\naliases: First steps\n---\nb",
        api__README="c",
    )
    assert links(read_network(folder)) == {("start", target)}


def test_a_note_in_the_same_folder_takes_precedence() -> None:
    folder = write(a__start="[[twin]]", a__twin="x", b__twin="y")
    assert links(read_network(folder)) == {("a/start", "a/twin")}


def test_a_link_prefers_the_name_in_its_own_case() -> None:
    folder = write(start="[[x/Note]] [[x/note]]", x__Note="a", x__note="b")
    if len(list(Path("vault/x").iterdir())) == 2:  # as file systems go
        assert links(read_network(folder)) == {("start", "x/Note"), ("start", "x/note")}


def test_unresolved_links_are_counted_in_warnings() -> None:
    folder = write(
        start="[[twin]] [[gone]] [lost](../lost.md) [[b/twin]]", a__twin="x", b__twin="y"
    )
    with pytest.warns(DmteWarning) as given:
        assert links(read_network(folder)) == {("start", "b/twin")}
    assert [str(warning.message) for warning in given] == [
        "vault: links that do not lead to a note are ignored, 2 in all: gone in start, "
        "../lost.md in start",
        "vault: links that match several notes are ignored, 1 in all: twin in start",
    ]


def test_ids_stay_unique_if_only_suffixes_differ() -> None:
    folder = write(a="[[b]]", b="x")
    (folder / "a.markdown").write_text("[[b]]")
    assert read_network(folder).ids == ("a", "a.md", "b")


def test_hidden_folders_modules_and_models_are_skipped() -> None:
    folder = write(a="[[b]]", b="x")
    for name in (".obsidian", ".git", ".trash", "node_modules", "model"):
        (folder / name).mkdir()
        (folder / name / "note.md").write_text("x")
    for name in ("manifest.json", "vectors-0.safetensors"):
        (folder / "model" / name).touch()
    (folder / ".hidden.md").write_text("x")
    assert read_network(folder).ids == ("a", "b")


def test_a_circle_of_symbolic_links_is_not_followed() -> None:
    folder = write(a="[[b]]", b="x")
    (folder / "again").symlink_to("../vault", target_is_directory=True)
    with pytest.warns(
        DmteWarning, match="symbolic links to folders are not followed, 1 in all: vault/again"
    ):
        assert read_network(folder).ids == ("a", "b")
    (folder / "c.md").symlink_to("c.md")
    assert refusal(folder).startswith("vault/c.md is not a readable file")


def test_a_pipe_with_the_name_of_a_note_raises_without_waiting() -> None:
    folder = write(a="x")
    os.mkfifo(folder / "pipe.md")
    assert refusal(folder).startswith("vault/pipe.md is not a readable file")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfea\0", "vault/bad.md is UTF-16; convert it to UTF-8"),
        (b"na\xefve", "vault/bad.md, line 1: byte 2 is 0xef, which is not UTF-8; convert the file"),
        (b"a\n\0", "vault/bad.md, line 2: byte 2 is NUL, which text cannot contain"),
        (b"PK\x03\x04\xff", "vault/bad.md looks like a zip file"),
    ],
)
def test_a_file_that_is_not_text_raises_with_its_name(content: bytes, message: str) -> None:
    assert refusal(write(a="x", bad=content)).startswith(message)


def test_a_folder_that_cannot_be_listed_raises_with_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = write(a="x", locked__b="y")
    listing = os.scandir

    def scandir(place: str) -> object:
        if place.endswith("locked"):  # Permissions would not keep root out.
            raise PermissionError(errno.EACCES, "Permission denied", place)
        return listing(place)

    monkeypatch.setattr(os, "scandir", scandir)
    assert refusal(folder) == "vault/locked cannot be listed: Permission denied"


def test_data_and_graph_files_take_precedence_over_notes() -> None:
    folder = write(a="[[b]]", b="x")
    (folder / "data.txt").write_text("one\ntwo\n")
    assert read_network(folder).ids == ("a", "b")
    (folder / "graph.txt").write_text("0 1\n")
    assert read_network(folder).texts == ("one", "two")


def test_one_of_the_two_files_raises_with_the_missing_one() -> None:
    Path("half").mkdir()
    Path("half/data.txt").write_text("one\n")
    assert refusal(Path("half")).startswith(
        "half does not contain graph.txt; it needs data.txt with"
    )


PIECES = rb"""[[a]] [[b| ]] [x]( a.md) ` ``` --- tags:[ ] # #t <!-- %% [x]:a.md [^1] \\ ../ &#"""
pieces = st.sampled_from([*PIECES.split(), b"\n", b" ", b"\n```\n", b"---\n", b"\xff", b"\0"])


@pytest.mark.medium
@pytest.mark.filterwarnings("ignore::dmte.errors.DmteWarning")
@given(contents=st.lists(st.lists(pieces, max_size=12).map(b"".join), min_size=1, max_size=3))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_any_notes_give_a_network_or_a_network_error(
    contents: list[bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp() / "any-notes"
    folder.mkdir(exist_ok=True)
    for name, content in zip("abc", [*contents, b"", b""], strict=False):
        (folder / f"{name}.md").write_bytes(content)
    with suppress(NetworkError):
        assert read_network(folder).num_vertices == 3


def test_links_find_known_notes_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "new.md").write_text("A [[Tree]] and a [graph](math/graph.md), not a [[bush]].")
    with pytest.warns(DmteWarning, match="bush in new"):
        network = read_network(tmp_path, known=["math/tree", "math/graph", "math/set"])
    assert network.ids == ("new", "math/tree", "math/graph")
    assert network.edges.tolist() == [[0, 1], [0, 2]]


def test_front_matter_that_is_not_valid_yaml_is_named_and_the_rest_is_read() -> None:
    folder = write(a="---\ntitle: A: b\n---\n# Trees\n[[b]]", b="---\ntags: [\n---\n", c="fine")
    with pytest.warns(DmteWarning) as caught:
        network = read_network(folder)
    assert str(caught[0].message) == (
        "vault/a.md, line 2: mapping values are not allowed in this context; "
        "front matter that is not valid YAML is left out, 2 in all"
    )
    assert network.texts[0] == "Trees. b"
    assert len(network.edges) == 1
