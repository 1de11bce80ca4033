"""Options that name a network, and errors of reading it."""

import gzip
import io
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from rich.console import Console

from dmte.cli import main
from dmte.cli.network_options import NetworkSource, reading_bar
from dmte.evaluation.parallel import handing_over
from dmte.network import TextualNetwork, read_network

NETWORK_VERBS = (["train"], ["info"], ["evaluate", "links"], ["evaluate", "classes"])


@pytest.fixture(autouse=True)
def _empty_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, so that errors show a file's bare name."""
    monkeypatch.chdir(tmp_path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    return (int(stopped.value.code or 0), *capsys.readouterr())


def pipe(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


@pytest.mark.parametrize("verb", NETWORK_VERBS, ids=" ".join)
def test_every_verb_that_reads_a_network_takes_the_same_options(
    verb: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = run(capsys, *verb, "--help")
    roles = ("id", "text", "title", "label", "links", "source", "target", "weight")
    options = {f"--{role}-column" for role in roles} | {"--format", "--vertices", "--edges"}
    assert options <= set(re.findall(r"--[a-z-]+", out))


def test_columns_are_named_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    Path("v.csv").write_text("doi,words,kind,head\na,red fox,x,Fox\nb,den,y,\nc,oak,y,\n")
    Path("e.csv").write_text("year,one,two,how\n1,a,b,2\n2,b,c,3\n")
    code, out, _ = run(
        capsys,
        *("info", "--vertices", "v.csv", "--edges", "e.csv", "--json"),
        *("--id-column", "doi", "--text-column", "words", "--label-column", "kind"),
        *("--title-column", "head", "--source-column", "one", "--target-column", "two"),
        *("--weight-column", "how"),
    )
    facts = json.loads(out)
    assert (code, facts["vertices"], facts["edges"], facts["labels"]) == (0, 3, 2, 2)
    code, out, err = run(capsys, "info", "v.csv", "--id-column", "isbn")
    assert (code, out) == (2, "")
    assert err.startswith("dmte: v.csv has no column 'isbn' for the id; it has 'doi', ")


def test_training_on_a_vault_prints_each_warning_on_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("notes").mkdir()
    for name, text in {"a": "red [[b]] [[gone]]", "b": "fox [[c]]", "c": "den [[a]]"}.items():
        Path("notes", f"{name}.md").write_text(text)
    code, out, err = run(capsys, "train", "./notes", "--out", "model", "--epochs", "2")
    assert (code, out.splitlines()[-1]) == (0, "model in model")
    assert err == (
        "dmte: warning: notes: links that do not lead to a note are ignored, 1 in all: gone in a\n"
    )


def test_standard_input_is_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe(monkeypatch, '{"id": "a", "text": "red fox", "links": ["b"]}\n{"id": "b", "text": "x"}\n')
    code, out, err = run(capsys, "info", "-", "--json")
    assert (code, json.loads(out)["edges"], err) == (0, 1, "")
    Path("e.csv").write_text("source,target\na,b\n")
    pipe(monkeypatch, "id\ttext\na\tred fox\nb\tden\n")
    code, out, _ = run(
        capsys, "info", "--vertices", "-", "--edges", "e.csv", "--format", "tsv", "--json"
    )
    assert (code, json.loads(out)["edges"]) == (0, 1)
    code, _, err = run(capsys, "info", "--vertices", "-", "--edges", "-")
    assert (code, err.count("\n")) == (2, 1)
    assert "only one table can come from standard input" in err


@pytest.mark.medium
def test_a_network_from_a_pipe_is_evaluated(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    network = read_network("concepts")
    rows = [
        {"id": name, "text": text} for name, text in zip(network.ids, network.texts, strict=True)
    ]
    pairs = [[network.ids[i] for i in pair] for pair in network.edges.tolist()]
    pipe(monkeypatch, "".join(f"{one}\t{other}\n" for one, other in pairs))
    Path("v.jsonl.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    code, out, err = run(
        capsys,
        *("evaluate", "links", "--vertices", "v.jsonl.gz", "--edges", "-", "--format", "edgelist"),
        *("--methods", "tfidf", "--seeds", "2", "--workers", "1", "--json", "--quiet"),
    )
    assert (code, err) == (0, "")
    assert json.loads(out)["network"]["edges"] == len(pairs)


def test_a_worker_receives_the_same_network(planted: TextualNetwork) -> None:
    weighted = planted.with_edges(planted.edges, torch.rand(len(planted.edges)).double() + 1)
    for network in (planted, weighted):
        assert handing_over(network)().fingerprint() == network.fingerprint()


def test_texts_may_be_missing_if_features_are_given(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("e.csv").write_text("source,target\na,b\nb,c\n")
    np.save("rows.npy", np.eye(3))
    code, _, err = run(capsys, "train", "e.csv", "--out", "m", "--features", "rows.npy")
    assert (code, err) == (0, "")
    code, _, err = run(capsys, "train", "e.csv", "--out", "n", "--recipe", "paper", "--epochs", "1")
    assert code == 0
    assert err.startswith("dmte: warning: e.csv has no texts for its 3 vertices: only the paper's")


def test_info_warns_about_doubtful_input(capsys: pytest.CaptureFixture[str]) -> None:
    Path("e.csv").write_text("source,target\na,a\nB,b\nb,b\n")
    code, out, err = run(capsys, "info", "e.csv", "--json")
    facts = json.loads(out)
    assert (code, err) == (0, "")
    assert facts["degree_quantiles"]["50 %"] == 1
    assert facts["degree_histogram"][1] == {"from": 1, "to": 1, "vertices": 2}
    assert [doubt.split(";")[0].split(":")[0] for doubt in facts["warnings"]] == [
        "e.csv has no texts for its 3 vertices",
        "the ids 'B' and 'b' differ only in case or spaces (1 such pair)",
        "67 % (2) of the edges are self-loops",
    ]
    code, out, err = run(capsys, "info", "e.csv")
    assert (code, err) == (0, "")
    assert out.count("\nwarning: ") == 3
    assert re.search(r"^  degree 1 +#+ 2$", out, flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.csv.gz", b"\x1f\x8b\x08", "x.csv.gz is a truncated gzip file"),
        ("x.csv.zst", b"nope", "x.csv.zst is not a zstd file, or is damaged"),
        ("x.parquet", b"PAR1junk", "x.parquet is not a Parquet file, or is damaged"),
        ("x.json", b"[" * 100_000, "x.json: a number is too long or lists are nested too deeply"),
        ("x.bib", b"@a{k, t={", "x.bib, line 1: the entry that begins with '@a{k,' lacks"),
        ("x.graphml", b"<!DOCTYPE a><a/>", "x.graphml, line 1: a document type (DOCTYPE)"),
        ("x.csv", b"id;text\n1;2\n", "x.csv, line 1: the columns are separated by semicolons"),
        ("x.csv", "id,text\n".encode("utf-16"), "x.csv is UTF-16; convert it to UTF-8"),
        ("x.csv", b"id,text\na ,b\n a,c\n", "x.csv, line 3: the id 'a' is already used by x.csv"),
        ("x.jsonl", b'{"id": "a\0"}', "x.jsonl, line 1: byte 9 is NUL, which text cannot contain"),
        ("x.edgelist", b"a b\na b c d\n", "x.edgelist, line 2: found 4 fields where 2 are"),
        ("x/readme.txt", b"", "x holds neither data.txt and graph.txt nor Markdown files"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.startswith("x") else "",
)
def test_bad_input_gets_one_helpful_line(
    name: str, content: bytes, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(name)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    code, out, err = run(capsys, "info", str(path if path.parent == Path() else path.parent))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"dmte: {message}")


@pytest.mark.parametrize(("terminal", "quiet"), [(True, False), (True, True), (False, False)])
def test_a_bar_is_shown_on_a_terminal_when_reading_takes_long(
    terminal: bool,  # noqa: FBT001
    quiet: bool,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dmte.cli.network_options.PATIENCE", 0.0)
    written = io.StringIO()
    console = Console(file=written, force_terminal=terminal)
    with reading_bar(console, quiet=quiet) as show:
        for step in range(101):
            show(step / 100)
    assert ("reading" in written.getvalue()) == (terminal and not quiet)
    assert terminal or written.getvalue() == ""


def test_quick_reading_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    Path("v.csv").write_text("id,text,links\na,x,b\nb,y,\n")
    NetworkSource(network="v.csv").open()
    assert capsys.readouterr().err == ""
