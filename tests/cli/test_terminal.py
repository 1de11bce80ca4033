"""Nothing that was read controls the terminal: not ids, texts, labels, file names or servers."""

import io
import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from dmte.cli.app import VERBS
from dmte.cli.network_options import reading_bar
from dmte.cli.progress import bar_on_stderr, description_column, spinner
from dmte.cli.terminal import _beneath, console, visible_output, write_exactly
from dmte.errors import DmteWarning, NetworkError, visible, warn
from dmte.network import read_network
from dmte.settings import Settings
from dmte.training.method import DmteMethod

Run = Callable[..., subprocess.CompletedProcess[str]]
SOURCE = Path(__file__).parents[2] / "src" / "dmte" / "cli"
EVIL = "\x1b]0;x\x07\x1b[31m\x9b\u202e[bold]"
"""It sets the title of a window, colors, reverses the order of letters, and is markup of rich."""
SHOWN = r"\x1b]0;x\x07\x1b[31m\x9b\u202e[bold]"
CONTROLS = re.compile(r"[^\n\t -~\xa0-\uffff]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
IDS = [f"{name}{EVIL}" for name in "abcdef"]
TEXTS = ["red fox den", "red hen nest", "fox den", "hen nest", "moon shines", "sun shines"]
RECORDS = [
    {
        "id": name,
        "text": f"{EVIL}{text}{EVIL}",
        "links": [IDS[(number + 1) % 6]],
        "label": [f"{'xy'[number % 2]}{EVIL}"] if number < 4 else [],
    }
    for number, (name, text) in enumerate(zip(IDS, TEXTS, strict=True))
]
MANY = [
    {
        "id": f"{number}{EVIL}",
        "text": TEXTS[number % 6],
        "links": [f"{(number + step) % 60}{EVIL}" for step in range(1, 9)],
    }
    for number in range(60)
]
FILE, LARGE, MODEL = f"net{EVIL}.jsonl", f"large{EVIL}.jsonl", f"model{EVIL}"


@pytest.fixture(scope="module", autouse=True)
def _files(cli_folder: Path) -> None:
    for name, records in ((FILE, RECORDS), (LARGE, MANY)):
        (cli_folder / name).write_text("".join(f"{json.dumps(record)}\n" for record in records))
    trained = DmteMethod(Settings(dim=4, epochs=1)).train(read_network(cli_folder / FILE), seed=0)
    trained.save(cli_folder / MODEL)
    (cli_folder / "new.jsonl").write_text(
        json.dumps({"id": f"new{EVIL}", "text": f"red fox {EVIL}"})
        + "\n"
        + json.dumps({"id": f"lone{EVIL}", "text": EVIL})
    )
    (cli_folder / "more.csv").write_text(f"source,target\n{IDS[0]},{IDS[2]}\n")


def assert_harmless(done: subprocess.CompletedProcess[str]) -> None:
    found = CONTROLS.search(done.stdout + done.stderr)
    assert found is None, (done.stdout + done.stderr)[max(found.start() - 60, 0) :][:120]


ANSWERS = [
    ("info", FILE),
    ("info", MODEL),
    ("train", FILE, "--out", f"out{EVIL}", "--epochs", "1", "--dim", "4"),
    ("similar", MODEL, "--vertex", IDS[0]),
    ("similar", MODEL, "--text", f"fox{EVIL}", "-k", "9"),
    ("similar", MODEL, "--vertex", IDS[0], "--label", f"x{EVIL}"),
    ("suggest", MODEL),
    ("suggest", MODEL, "--vertex", IDS[1]),
    ("explain", MODEL, IDS[0], IDS[2]),
    ("classify", MODEL),
    ("embed", MODEL, "new.jsonl", "--similar", "2"),
    ("embed", MODEL, "new.jsonl", "--out", f"vectors{EVIL}.csv"),
    ("plot", MODEL, "--out", f"map{EVIL}.png", "--by", "pca"),
    ("export", MODEL, "--out", f"vectors{EVIL}.npz"),
    ("export", MODEL, "--out", f"vectors{EVIL}", "--format", "projector"),
    ("evaluate", "links", FILE, "--methods", "tfidf", "--seeds", "1", "--dry-run"),
    ("datasets", "list"),
]


LONG = ("tune", LARGE, "--out", f"tuned{EVIL}.toml", "--trials", "1", "--splits", "1")


@pytest.mark.parametrize(
    "arguments",
    [*ANSWERS, pytest.param(LONG, marks=pytest.mark.slow)],
    ids=lambda given: visible(" ".join(given)),
)
@pytest.mark.medium
def test_no_answer_holds_control_characters(inside: Run, arguments: tuple[str, ...]) -> None:
    done = inside(*arguments, DMTE_DATA=f"data{EVIL}")
    assert done.returncode == 0, done.stderr
    assert_harmless(done)


MISTAKES: Mapping[str, tuple[tuple[str, ...], Mapping[str, str]]] = {
    "a verb": ((f"trai{EVIL}",), {}),
    "an option": (("info", f"--{EVIL}"), {}),
    "a value": (("train", FILE, "--out", "m", "--dim", f"3{EVIL}"), {}),
    "a setting": (("train", FILE, "--out", "m", "--hop-weights", EVIL), {}),
    "a data set": (("datasets", "path", f"cora{EVIL}"), {}),
    "a target": (("reproduce", f"hops{EVIL}"), {}),
    "a folder of results": (("reproduce", "report", "--out", EVIL), {}),
    "a folder of the demo": (("demo", "--out", FILE), {}),
    "a file that is missing": (("info", f"no{EVIL}.csv"), {}),
    "a format": (("info", FILE, "--format", EVIL), {}),
    "a column": (("info", FILE, "--id-column", EVIL), {}),
    "a model that is missing": (("suggest", EVIL), {}),
    "a vertex": (("similar", MODEL, "--vertex", f"aa{EVIL}"), {}),
    "a label": (("similar", MODEL, "--vertex", IDS[0], "--label", EVIL), {}),
    "two vertices": (("explain", MODEL, IDS[0], f"aa{EVIL}"), {}),
    "known vertices": (("embed", MODEL, FILE, "--similar", "1"), {}),
    "a network to tune": (("tune", FILE, "--out", f"tuned{EVIL}.toml"), {}),
    "a linked vertex": (
        ("embed", MODEL, "new.csv", "--edges", "e.csv", "--similar", "1"),
        {"new.csv": "id,text\nw,red\n", "e.csv": f"source,target\nw,aa{EVIL}\n"},
    ),
    "a picture": (("plot", MODEL, "--out", f"map{EVIL}"), {}),
    "a picture that exists": (("plot", MODEL, "--out", f"a{EVIL}.png"), {f"a{EVIL}.png": ""}),
    "a method of results": (
        ("plot", "r.json", "--out", "r.png", "--methods", "dmte"),
        {"r.json": json.dumps({"results": [{"method": EVIL, "auc": 1, "train_fraction": 0.5}]})},
    ),
    "a format of vectors": (("export", MODEL, "--out", f"v.{EVIL}"), {}),
    "methods": (("evaluate", "links", FILE, "--methods", EVIL), {}),
    "an id given twice": (
        ("info", f"x{EVIL}.csv"),
        {f"x{EVIL}.csv": f"id,text\na{EVIL},b\na{EVIL},c\n"},
    ),
    "a head of a table": (("info", "x.csv"), {"x.csv": f"p{EVIL},p{EVIL}\na,b\n"}),
    "a weight": (
        ("info", "--vertices", "v.csv", "--edges", "e.csv"),
        {"v.csv": "id,text\na,b\n", "e.csv": f"source,target,weight\na,a,{EVIL}\n"},
    ),
    "JSON": (("info", "x.jsonl"), {"x.jsonl": f'{{"id": "a", "links": {{"{EVIL}": 1}}}}\n'}),
    "BibTeX": (("info", "x.bib"), {"x.bib": f"@a{{k{EVIL}, title={{b}}}}\n" * 2}),
    "GraphML": (
        ("info", "x.graphml"),
        {"x.graphml": "<graphml><graph><node id='\x9b\u202e'/><node id='\x9b\u202e'/></graph>"},
    ),
    "an edge list": (("info", "x.edgelist"), {"x.edgelist": f"a b\n{EVIL} c d e f\n"}),
    "settings": (
        ("train", FILE, "--out", "m", "--settings", "s.json"),
        {"s.json": json.dumps({EVIL: 1, "dim": EVIL})},
    ),
    "a key of settings": (
        ("train", FILE, "--out", "m", "--settings", "s.toml"),
        {"s.toml": f'"\u202e\x9b" = "{visible(EVIL)}"'},
    ),
    "a manifest": (
        ("suggest", "foreign"),
        {"foreign/manifest.json": json.dumps({"format": EVIL, "parts": {EVIL: {}}})},
    ),
    "a folder of somebody": (("train", FILE, "--out", "other"), {f"other/{EVIL}": ""}),
    "labels": (("classify", MODEL, "--labels", "l.csv"), {"l.csv": f"id,label\nw{EVIL},x\n"}),
    "an empty table": (("classify", MODEL, "--labels", f"l{EVIL}.csv"), {f"l{EVIL}.csv": ""}),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_no_error_holds_control_characters(inside: Run, cli_folder: Path, name: str) -> None:
    arguments, files = MISTAKES[name]
    for path, content in files.items():
        (cli_folder / path).parent.mkdir(exist_ok=True)
        (cli_folder / path).write_text(content)
    done = inside(*arguments)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("dmte: ")
    assert_harmless(done)


def test_every_verb_is_among_the_answers_and_mistakes() -> None:
    tried = [arguments[0] for arguments in [*ANSWERS, *(given for given, _ in MISTAKES.values())]]
    assert set(VERBS) <= set(tried)


def test_a_link_between_notes_is_shown_with_its_control_characters_as_escapes(
    inside: Run, cli_folder: Path
) -> None:
    notes = cli_folder / f"notes{EVIL}"
    notes.mkdir()
    (notes / f"a{EVIL}.md").write_text(f"---\ntags: [\u202ex]\n---\nred [[{EVIL}gone]] [[b]]")
    (notes / "b.md").write_text(f"fox [[c|{EVIL}]] [x](\x9bgone.md)")
    (notes / "c.md").write_text(f"---\ntitle: {EVIL}\n---\nden")
    done = inside("train", notes.name, "--out", "of-notes", "--epochs", "1")
    assert "do not lead to a note" in done.stderr
    assert r"\x9b" in done.stderr
    assert_harmless(done)
    assert_harmless(inside("info", notes.name))


def test_json_and_csv_hold_the_exact_strings_in_a_pipe(inside: Run) -> None:
    asked = ("similar", MODEL, "--vertex", IDS[0], "-k", "5")
    network = read_network(FILE)
    found = json.loads(inside(*asked, "--json").stdout)["neighbors"]
    assert {row["text"] for row in found} == set(network.texts[1:])
    assert sorted(row["id"] for row in found) == IDS[1:]
    assert EVIL in inside(*asked, "--csv").stdout


def test_exact_output_becomes_visible_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with visible_output():
        write_exactly(f"{EVIL}\r\n")
        monkeypatch.setattr(_beneath(sys.stdout), "isatty", lambda: True)
        write_exactly(f"{EVIL}\r\n")
    assert capsys.readouterr().out == f"{EVIL}\r\n{SHOWN}\n"


def test_whatever_prints_is_shown_with_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    with visible_output():
        sys.stdout.write(f"{EVIL}\n\tsecond line\n")
        sys.stderr.write(EVIL)
        sys.stdout.writelines([EVIL, "\n"])
    sys.stdout.write(EVIL)
    assert capsys.readouterr() == (f"{SHOWN}\n\tsecond line\n{SHOWN}\n{EVIL}", SHOWN)


def test_a_traceback_is_shown_with_escapes(inside: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError(EVIL)

    monkeypatch.setattr("dmte.network.formats.read.read_network", fail)
    done = inside("info", FILE)
    assert done.returncode == 1
    assert f"ZeroDivisionError: {SHOWN}" in done.stderr
    assert_harmless(done)


def drawn_by_a_bar() -> None:
    with bar_on_stderr(description_column(), quiet=False) as bar:
        bar.add_task(EVIL, total=2)
        bar.refresh()
        sys.stderr.write(f"beside {EVIL}\n")
        console(stderr=True).print(EVIL)


def drawn_by_a_spinner() -> None:
    with spinner(EVIL, quiet=False):
        sys.stderr.write(f"beside {EVIL}\n")


def drawn_while_reading() -> None:
    with reading_bar(console(stderr=True), quiet=False) as show:
        show(0.5)
        sys.stderr.write(f"beside {EVIL}\n")


@pytest.mark.parametrize("draw", [drawn_by_a_bar, drawn_by_a_spinner, drawn_while_reading])
def test_what_is_printed_beside_a_bar_shows_escapes(
    draw: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes stderr for a terminal.
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("dmte.cli.network_options.PATIENCE", -1)
    screen = io.StringIO()
    with monkeypatch.context() as changed:
        changed.setattr(sys, "stderr", screen)
        with visible_output():
            draw()
    drawn = screen.getvalue()
    assert f"beside {SHOWN}" in drawn
    assert "\x1b[" in drawn  # rich's own
    for part in ("\x1b]", "\x07", "\x1b[31m", "\x9b", "\u202e"):
        assert part not in drawn


def test_errors_and_warnings_of_the_library_show_escapes() -> None:
    assert str(NetworkError(f"{EVIL} is missing")) == f"{SHOWN} is missing"
    with pytest.warns(DmteWarning) as given:
        warn(EVIL)
    assert str(given[0].message) == SHOWN
    with pytest.raises(NetworkError) as raised:
        read_network(f"no{EVIL}/where")
    assert not CONTROLS.search(str(raised.value))


def test_every_control_character_is_visible_and_every_letter_stays() -> None:
    bidirectional = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
    for number in {*range(0x20), *range(0x7F, 0xA0), *bidirectional} - {*map(ord, "\n\t")}:
        assert visible(chr(number)).isprintable()
        assert visible(f"a{chr(number)}b").encode("ascii").decode("unicode_escape")[1] == chr(
            number
        )
    letters = "aä中\u05d0\U0001f469\u200d\U0001f52c\n\t\\\u00a0"  # A ZWJ joins two of them to one.
    assert visible(letters) == letters
    assert visible(visible(EVIL)) == visible(EVIL)
    visible("\udcff").encode()


def test_only_one_module_prints_to_a_terminal_in_another_way() -> None:
    ways = ("Console(", "__stdout__", "__stderr__", "stdout.write", "stderr.write", ".buffer")
    for path in SOURCE.rglob("*.py"):
        code = path.read_text("utf-8")
        found = [way for way in ways if way in code]
        assert path.name == "terminal.py" or not found, (path, found)


@pytest.mark.medium
def test_a_process_prints_no_control_characters(dmte: Run) -> None:
    done = dmte("train", FILE, "--out", f"again{EVIL}", "--epochs", "1", "--dim", "4")
    assert done.returncode == 0
    assert_harmless(done)
    assert_harmless(dmte("similar", f"again{EVIL}", "--vertex", f"aa{EVIL}"))
