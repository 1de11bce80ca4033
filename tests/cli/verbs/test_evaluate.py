"""``dmte evaluate`` and ``dmte reproduce``, run as their users run them."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dmte.cli import main
from dmte.cli import reproduce_job as reproducing
from dmte.cli.score_tables import hidden_edges, side_by_side
from dmte.cli.verbs.evaluate import numbers
from dmte.cli.verbs.reproduce import GROUPS
from dmte.evaluation.jobs import Job
from dmte.evaluation.paper.targets import TARGETS, journal_of
from dmte.metrics import LINK_METRICS
from dmte.network import TextualNetwork, read_folder, write_folder
from dmte.network.datasets import DATASETS, DataFile, blob_id
from dmte.network.synthetic import PlantedTopics
from dmte.training.method import DmteMethod

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of data sets in which a planted network goes by the name of hepth."""
    folder = tmp_path_factory.mktemp("data")
    drawn = PlantedTopics(num_vertices=120).draw(torch.Generator().manual_seed(1))
    numbered = TextualNetwork(ids=tuple(map(str, range(120))), texts=drawn.texts, edges=drawn.edges)
    write_folder(numbered, folder / "hepth")
    return folder


@pytest.fixture
def published(data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same folder, with the planted network as the published HepTh."""
    hepth = DATASETS["hepth"]
    paths = [data / "hepth" / file.name for file in hepth.files]
    files = tuple(DataFile(path.name, blob_id(path), path.stat().st_size) for path in paths)
    known = {**DATASETS, "hepth": replace(hepth, files=files)}
    monkeypatch.setattr("dmte.network.datasets.DATASETS", known)
    return data


@pytest.fixture
def alone(inside: Run, data: Path) -> Run:
    """The command line in this process, with these data sets and without worker processes."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return inside(*arguments, "--workers", "1", DMTE_DATA=str(data))

    return run


def made_up(job: Job) -> dict[str, Any]:
    """A result of the job without a fit."""
    figures = dict.fromkeys(LINK_METRICS, 0.9 if job.method == "dmte" else 0.8)
    costs = {"fit_seconds": 1.0, "peak_mb": 1}
    leaks = {"hidden_edges": 9, "self_loops": 0, "trained_on": 0}
    return {"scores": {"dot": figures}} | costs | leaks


@pytest.mark.slow
def test_links_are_evaluated_in_json_as_documented(dmte: Run) -> None:
    done = dmte(
        *("evaluate", "links", "concepts", "--methods", "tfidf,random", "--seeds", "2"),
        *("--train-fraction", ".3,.6", "--json", "--quiet"),
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    report = json.loads(done.stdout)
    assert report["network"]["vertices"] == 432
    assert report["protocol"] == "strict"
    assert report["seeds"] == [0, 1]
    rows = report["results"]
    assert {(row["method"], row["train_fraction"], row["score"]) for row in rows} == {
        (method, fraction, score)
        for fraction in (0.3, 0.6)
        for method, score in (("tfidf", "own"), ("random", "dot"), ("random", "cosine"))
    }
    for row in rows:
        for figure in ("auc", "average_precision", "mrr", "hits_at_10"):
            assert len(row[figure]["values"]) == 2
            low, high = row[figure]["interval"]
            assert low <= row[figure]["mean"] <= high
        assert row["fit_seconds"] >= 0
    tfidf = [row["auc"]["mean"] for row in rows if row["method"] == "tfidf"]
    assert all(0.7 < auc < 1 for auc in tfidf)


@pytest.mark.slow
def test_links_and_classes_are_printed_as_tables(alone: Run) -> None:
    done = alone(
        *("evaluate", "links", "hepth", "--methods", "tfidf", "--seeds", "1"),
        *("--protocol", "published"),
    )
    assert done.returncode == 0, done.stderr
    assert "50 % trained on" in done.stdout
    assert "1/1  tfidf, 50 % published, seed 0" in done.stderr
    header, row = done.stdout.splitlines()[-2:]
    assert header.split()[:3] == ["method", "score", "AUC"]
    assert row.split()[:2] == ["tfidf", "own"]
    done = alone("evaluate", "classes", "concepts", "--methods", "tfidf", "--seeds", "2", "--quiet")
    assert done.returncode == 0, done.stderr
    beside, *each = done.stdout.split("% of the labelled vertices trained on")
    assert len(each) == 4
    heads, row = beside.splitlines()[4:6]
    assert heads.split() == [
        "method",
        "10",
        "%",
        "±",
        "30",
        "%",
        "±",
        "50",
        "%",
        "±",
        "70",
        "%",
        "±",
    ]
    first_of_each = [part.splitlines()[3].split()[1:3] for part in each]
    assert row.split() == ["tfidf", *chain(*first_of_each)]
    assert "10 % of the labelled vertices trained on" in done.stdout


@pytest.mark.medium
def test_a_repeated_fraction_counts_once(inside: Run) -> None:
    assert numbers("--train-fraction", "0.5,0.3,0.50") == [0.5, 0.3]
    asked = ("--methods", "tfidf,tfidf", "--seeds", "2", "--dry-run", "--json")
    for verb_and_shares in (
        ("links", "concepts", "--train-fraction", "0.5,0.50"),
        ("classes", "concepts", "--label-fraction", "0.5,0.50"),
    ):
        done = inside("evaluate", *verb_and_shares, *asked)
        assert done.returncode == 0, done.stderr
        assert [row["num_fits"] for row in json.loads(done.stdout)["plan"]] == [2]


def test_every_fraction_is_checked_before_the_first_fit(
    inside: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dmte.cli.verbs.evaluate._run", lambda *_, **__: pytest.fail("fitted"))
    asked = ("--methods", "tridnr-labels", "--label-fraction", "0.5,0.0001")
    done = inside("evaluate", "classes", "concepts", *asked)
    assert done.returncode == 2
    assert "cannot be split with 0.0001" in done.stderr


def test_fractions_side_by_side_keep_their_order_and_gaps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def row(method: str, share: float, mean: float) -> dict[str, Any]:
        return {"method": method, "train_fraction": share, "auc": {"mean": mean, "std": 0.01}}

    rows = [row("tfidf", 0.5, 0.9), row("tfidf", 0.15, 0.8), row("lsa", 0.5, 0.7)]
    wide = side_by_side(rows, "auc", [0.15, 0.5])
    assert [line.split() for line in wide.splitlines()] == [
        ["method", "15", "%", "±", "50", "%", "±"],
        ["tfidf", "80.0", "1.0", "90.0", "1.0"],
        ["lsa", "70.0", "1.0"],
    ]
    assert wide.splitlines()[1].index("90.0") == wide.splitlines()[2].index("70.0")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("dmte.cli.score_tables.terminal_width", lambda: 30)
    first, second = side_by_side(rows, "auc", [0.15, 0.5]).split("\n\n")
    assert first.splitlines()[1].split() == ["tfidf", "80.0", "1.0"]
    assert second.splitlines()[1].split() == ["tfidf", "90.0", "1.0"]


def test_leaks_and_unscored_edges_are_counted() -> None:
    row = {"hidden_edges": 1558.0, "self_loops": 120.0, "trained_on": 58.4}
    leaks = (
        "; of the 1,558 hidden lines that are scored, 120 are self-loops and 58 are also "
        "trained on, mostly reversed"
    )
    limit = "; 1,558 of 2,000 hidden edges are scored"
    assert hidden_edges([row]) == leaks
    assert hidden_edges([row | {"unscored_edges": 442.0}]) == limit + leaks
    clean = row | {"self_loops": 0.0, "trained_on": 0.0}
    assert hidden_edges([clean | {"unscored_edges": 442.0}]) == limit
    assert hidden_edges([clean]) == ""


@pytest.mark.medium
def test_a_method_that_does_not_fit_is_left_out_and_others_go_on(
    inside: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DmteMethod, "memory_bytes", lambda *_: 10**15)
    line = ("evaluate", "links", "concepts", "--seeds", "1", "--workers", "1")
    done = inside(*line, "--methods", "dmte,tfidf", "--json")
    assert done.returncode == 0, done.stderr
    assert [row["method"] for row in json.loads(done.stdout)["results"]] == ["tfidf"]
    (left_out,) = [line for line in done.stderr.splitlines() if "left out" in line]
    assert left_out.startswith("dmte: left out, it needs about 1000000.")
    done = inside(*line, "--methods", "dmte")
    assert done.returncode == 2
    assert "no method could be fitted; the lines above state the reasons" in done.stderr


@pytest.mark.slow
def test_dmte_learns_from_features_and_others_from_texts(
    dmte: Run, inside: Run, cli_folder: Path
) -> None:
    rows = torch.randn(432, 8, generator=torch.Generator().manual_seed(0))
    np.save(cli_folder / "rows.npy", rows.numpy())
    asked = ("--methods", "dmte-paper,tfidf", "--seeds", "1", "--features", "rows.npy")
    done = dmte("evaluate", "links", "concepts", *asked, "--workers", "1", "--quiet")
    assert done.returncode == 0, done.stderr
    _, readers, *_, ours, same, theirs = done.stdout.splitlines()
    assert readers == "dmte-paper learned from rows.npy"
    assert ours.split()[:2] == ["dmte-paper", "dot"]
    assert same.split()[:2] == ["dmte-paper", "cosine"]
    assert 80 < float(theirs.split()[2]) < 90  # As without the features.
    done = inside("evaluate", "classes", "concepts", *asked, "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    planned = {row["method"] for row in json.loads(done.stdout)["plan"]}
    assert planned == {"dmte-paper", "tfidf"}


@pytest.mark.slow
@pytest.mark.usefixtures("published")
def test_a_reproduction_resumes_where_it_stopped(alone: Run, inside: Run, tmp_path: Path) -> None:
    command = (
        *("reproduce", "hepth-links", "--quick", "--methods", "tfidf,adamic-adar"),
        *("--out", str(tmp_path)),
    )
    first = alone(*command)
    assert first.returncode == 0, first.stderr
    assert "hepth-links: 24 fits to make, 0 done before" in first.stderr
    jobs = tmp_path / "hepth-links" / "cells.jsonl"
    lines = jobs.read_text().splitlines(keepends=True)
    assert len(lines) == 24
    jobs.write_text("".join(lines[:20]) + lines[20][:40])
    again = alone(*command)
    assert again.returncode == 0, again.stderr
    assert "hepth-links: 4 fits to make, 20 done before" in again.stderr
    kept = jobs.read_text().splitlines(keepends=True)
    assert kept[:20] == lines[:20]

    def figures(line: str) -> str:
        entry = json.loads(line)
        return json.dumps([entry["cell"], entry["result"]["scores"]])

    assert sorted(map(figures, kept)) == sorted(map(figures, lines))
    assert "\n| TF-IDF | " in (tmp_path / "hepth-links" / "table.md").read_text()
    results = json.loads((tmp_path / "hepth-links" / "results.json").read_text())
    assert results["seeds"] == [0, 1]
    table = tmp_path / "hepth-links" / "table.md"
    written = table.read_text()
    table.unlink()
    anew = alone("reproduce", "hepth-links", "--seeds", "0", "--out", str(tmp_path))
    assert anew.returncode == 0, anew.stderr
    assert "0 fits to make" in anew.stderr
    assert table.read_text() == written
    report = inside("reproduce", "report", "--out", str(tmp_path))
    assert report.returncode == 0, report.stderr
    page = (tmp_path / "reproduction.md").read_text()
    assert "## Link prediction on HepTh" in page
    elsewhere = tmp_path / "pages" / "of" / "mine.md"
    report = inside("reproduce", "report", "--out", str(tmp_path), "--page", str(elsewhere))
    assert report.returncode == 0, report.stderr
    assert elsewhere.read_text() == page


@pytest.mark.medium
@pytest.mark.parametrize("asked", [(), ("--seeds", "0"), ("--dry-run",)], ids=" ".join)
@pytest.mark.parametrize("target", ["hepth-links", "recipe", "all"])
def test_a_reproduction_requires_the_published_files(
    target: str, asked: tuple[str, ...], published: Path, inside: Run, tmp_path: Path
) -> None:
    folder = shutil.copytree(published, tmp_path / "data")
    graph = folder / "hepth" / "graph.txt"
    graph.write_bytes(graph.read_bytes()[:-20])
    out = tmp_path / "out"
    done = inside("reproduce", target, *asked, "--out", str(out), DMTE_DATA=str(folder))
    assert (done.returncode, done.stdout, out.exists()) == (2, "", False)
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"dmte: {graph}: not the published file")
    assert "'dmte datasets download hepth'" in line


@pytest.mark.medium
def test_a_dry_run_counts_the_fits_and_makes_none(
    published: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("DMTE_DATA", str(published))
    monkeypatch.setattr("dmte.evaluation.parallel.run_jobs", None)

    def run(*arguments: str) -> str:
        with pytest.raises(SystemExit) as stopped:
            main([*arguments, "--dry-run"])
        assert stopped.value.code == 0
        return capsys.readouterr().out

    links = run("evaluate", "links", "hepth", "--methods", "tfidf,random")
    assert [line.split() for line in links.splitlines()[3:5]] == [
        ["tfidf", "50", "%", "strict", "10"],
        ["random", "50", "%", "strict", "10"],
    ]
    assert links.endswith("20 fits. Nothing was fitted.\n")
    report = json.loads(run("evaluate", "classes", "concepts", "--methods", "lsa", "--json"))
    (planned,) = report["plan"]
    assert (planned["method"], planned["num_fits"]) == ("lsa", 10)
    assert planned["recorded_seconds"] is None
    labels = run("evaluate", "classes", "concepts", "--methods", "tridnr-labels", "--seeds", "1")
    assert "4 fits" in labels
    out = tmp_path / "out"
    table = run("reproduce", "hepth-links", "--methods", "tfidf", "--quick", "--out", str(out))
    assert "12 fits" in table
    assert "recorded" not in table
    assert not out.exists()
    target = TARGETS["hepth-links"]
    journal, jobs = journal_of(out, target), target.jobs(read_folder(published / "hepth"))
    done = next(job for job in jobs if job.method == "tfidf")
    with journal.growing():
        journal.add(done, {**made_up(done), "fit_seconds": 77.7})
    table = run("reproduce", "hepth-links", "--methods", "tfidf", "--quick", "--out", str(out))
    assert "11 fits" in table
    assert [line.split()[-1] for line in table.splitlines() if done.condition in line] == ["77.7"]
    monkeypatch.delenv("DMTE_SENTENCE_MODEL", raising=False)
    some = ("--methods", "sentence,tfidf", "--quick", "--out", str(out), "--dry-run")
    with pytest.raises(SystemExit):
        main(["reproduce", "hepth-links", *some])
    said = capsys.readouterr()
    assert "sentence: left out, no sentence encoder was given" in said.err
    assert "11 fits" in said.out


@pytest.mark.usefixtures("published")
@pytest.mark.parametrize("asked", [(), ("--dry-run",)], ids=" ".join)
def test_methods_that_cannot_run_fail_with_the_reason(
    asked: tuple[str, ...], alone: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DMTE_SENTENCE_MODEL", raising=False)
    methods = ("--methods", "sentence,sentence-diffused")
    done = alone("reproduce", "hepth-links", *methods, "--out", str(tmp_path / "out"), *asked)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("dmte: sentence, sentence-diffused cannot run here: no sentence encoder")
    assert not (tmp_path / "out").exists()


@pytest.mark.medium
@pytest.mark.usefixtures("published")
def test_a_second_run_into_the_same_folder_fails_but_readers_work(
    alone: Run, data: Path, inside: Run, tmp_path: Path
) -> None:
    target = TARGETS["hepth-links"]
    journal = journal_of(tmp_path, target)
    asked = ("reproduce", target.name, "--methods", "tfidf", "--out", str(tmp_path))
    with journal.growing():
        first = next(c for c in target.jobs(read_folder(data / "hepth")) if c.method == "tfidf")
        journal.add(first, made_up(first))
        half = journal.path.read_bytes() + b'{"cell":'
        journal.path.write_bytes(half)
        done = alone(*asked)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"dmte: another run adds to {journal.path}; wait")
        assert done.stderr.count("\n") == 1
        assert alone(*asked, "--dry-run").returncode == 0
        assert "\n| TF-IDF | " in alone(*asked, "--seeds", "0").stdout
        assert inside("reproduce", "report", "--out", str(tmp_path)).returncode == 0
        assert journal.path.read_bytes() == half


@pytest.mark.medium
@pytest.mark.usefixtures("published")
def test_stored_results_of_a_method_that_cannot_run_are_shown(
    alone: Run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DMTE_SENTENCE_MODEL", raising=False)
    target = TARGETS["hepth-links"]
    first = next(
        job for job in target.jobs(read_folder(data / "hepth")) if job.method == "sentence"
    )
    journal_of(tmp_path, target).add(first, made_up(first))
    done = alone("reproduce", "hepth-links", "--methods", "sentence", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "sentence: left out, no sentence encoder was given" in done.stderr
    assert "\n| sentence encoder | " in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", "links", "concepts", "--methods", "deepwalking"], "no method 'deepwalking'"),
        (["evaluate", "links", "concepts", "--methods", ""], "give at least one method"),
        (["evaluate", "classes", "concepts", "--methods", " ,"], "give at least one method"),
        (["evaluate", "links", "concepts", "--methods", "DMTE"], "did you mean dmte?"),
        (["evaluate", "links", "concepts", "--train-fraction", "55"], "between 0 and 1, not 55"),
        (["evaluate", "links", "concepts", "--train-fraction", "half"], "not 'half'"),
        (["evaluate", "links", "concepts", "--protocol", "loose"], "'strict', 'published'"),
        (
            ["evaluate", "links", "concepts", "--protocol", "every-edge"],
            "'every-edge' is not one of 'strict', 'published'",
        ),
        (["evaluate", "links", "concepts", "--seeds", "0"], "seeds must be at least 1"),
        (["evaluate", "links", "concepts", "--workers", "0"], "workers must be at least 1"),
        (["evaluate", "links"], "name a network"),
        (["evaluate", "classes", "hepth", "--methods", "tfidf"], "has no labels"),
        (["evaluate", "classes", "concepts", "--methods", "adamic-adar"], "has no vectors"),
        (["evaluate", "links", "concepts", "--methods", "tridnr-labels"], "use tridnr"),
        (["reproduce", "table-9"], "there is no target 'table-9'"),
        (["reproduce", "Cora-Link"], "did you mean cora-links"),
        (["reproduce", "zhihu-links"], "data.txt"),
        (["reproduce", "report", "--out", "empty"], "empty holds no results"),
        (["reproduce", "hepth-links", "--methods", ""], "give at least one method"),
        (["reproduce", "hepth-links", "--seeds", "-2"], "at least 1, or 0 to fit nothing"),
        (["reproduce", "case-study", "--methods", "adamic-adar"], "it has dmte-paper"),
        (["reproduce", "sensitivity", "--quick"], "leave out --quick"),
        (["reproduce", "hepth-links", "--page", "page.md"], "does not take --page"),
        (["reproduce", "report", "--methods", "foo"], "does not take --methods"),
        (["reproduce", "report", "--quick", "--seeds", "0"], "does not take --seeds or --quick"),
        (["reproduce", "hepth-links", "--methods", "tf"], "no method 'tf'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_gets_one_helpful_line(
    arguments: list[str],
    message: str,
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DMTE_DATA", str(data))
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    out, error = capsys.readouterr()
    assert stopped.value.code == 2
    assert out == ""
    assert error.startswith("dmte: ")
    assert error.count("\n") == 1
    assert message in error


@pytest.mark.medium
@pytest.mark.usefixtures("published")
def test_the_group_recipe_prints_the_tables_of_its_targets(
    alone: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(jobs: Sequence[Job], *_: Any, **__: Any) -> Iterator[tuple[Job, dict[str, Any]]]:
        for job in jobs:
            yield job, made_up(job)

    monkeypatch.setattr(reproducing, "run_with_progress", run)
    done = alone(
        *("reproduce", "recipe", "--quick", "--methods", "dmte,tfidf", "--seeds", "1"),
        *("--out", str(tmp_path)),
    )
    assert done.returncode == 0, done.stderr
    headings = [line for line in done.stdout.splitlines() if line.startswith("#")]
    assert headings == ["## Link prediction on HepTh"]
    assert "| dmte | 90.0 |  |  |  | 90.0 |" in done.stdout
    assert (
        done.stdout
        == (tmp_path / "hepth-links" / "table.md").read_text().replace("# Link", "## Link") + "\n"
    )


def test_help_shows_the_targets_and_their_groups() -> None:
    assert set(GROUPS["all"]) == set(TARGETS)
    assert all(
        group in target.groups
        for group in GROUPS
        if group != "all"
        for target in map(TARGETS.get, GROUPS[group])
        if target
    )


@pytest.mark.slow
@pytest.mark.usefixtures("published")
def test_the_group_all_reports_missing_data_sets(alone: Run, tmp_path: Path) -> None:
    done = alone(
        *("reproduce", "all", "--quick", "--methods", "random", "--seeds", "1", "--quiet"),
        *("--out", str(tmp_path)),
    )
    assert done.returncode == 0, done.stderr
    left_out = "cora-links, hops, cora-classes, training-edges, released, sensitivity: left out"
    assert left_out in done.stderr
    assert "dmte datasets download cora" in done.stderr
    assert "## Link prediction on HepTh" in done.stdout
