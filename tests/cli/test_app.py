"""The command line, run as its users run it."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from torch import Tensor

from dmte.cli.app import VERBS, main
from dmte.cli.verbs.reproduce import GROUPS
from dmte.embedding.embedding import Embedding
from dmte.embedding.export import FORMATS
from dmte.embedding.export_formats import SUFFIXES
from dmte.evaluation.paper.targets import TARGETS
from dmte.network import read_network
from dmte.plotting import map as maps
from dmte.plotting.figure import METADATA
from dmte.storage.codec import decode_json
from dmte.storage.folder import read_parts
from dmte.training.fold import Fold

Run = Callable[..., subprocess.CompletedProcess[str]]


def error_line(done: subprocess.CompletedProcess[str]) -> str:
    """The single line of a user's mistake."""
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith("dmte: ")
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


@pytest.mark.slow
def test_the_demo_prints_scores_and_neighbors_and_draws_a_map(dmte: Run, cli_folder: Path) -> None:
    done = dmte("demo", "--json", "--quiet")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    result = json.loads(done.stdout)
    jsonschema = pytest.importorskip("jsonschema", reason="needs jsonschema, as make setup does")
    schema = Path(__file__).parents[2] / "docs" / "schemas" / "demo.json"
    jsonschema.validate(result, json.loads(schema.read_text("utf-8")))
    auc = result["auc"]
    assert auc["dmte"] > auc["tfidf"] > 0.6
    assert auc["dmte"] > auc["adamic-adar"] > 0.6
    assert len(result["neighbors"]) == 3
    assert all(len(rows) == 5 for rows in result["neighbors"].values())
    picture = (cli_folder / result["map"]).read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(Embedding.load(cli_folder / result["model"])) == 432


def test_help_names_every_verb_and_every_setting(dmte: Run, inside: Run) -> None:
    verbs = dmte("--help").stdout
    assert all(verb in verbs for verb in VERBS)
    options = inside("train", "--help", COLUMNS="200").stdout
    for option in ("--hop-weights", "--epochs", "--resume", "--no-text-diffusion", "--variant"):
        assert option in options


def test_info_describes_a_trained_model(dmte: Run, concepts_model: Path) -> None:
    facts = json.loads(dmte("info", str(concepts_model), "--json").stdout)
    assert facts["vertices"] == 432
    assert facts["dim"] == 64
    assert facts["seed"] == 0
    assert facts["fingerprint"] == read_network("concepts").fingerprint()


@pytest.mark.medium
def test_training_prints_a_json_summary(inside: Run) -> None:
    done = inside(
        *("train", "concepts", "--out", "stopped", "--dim", "16", "--json", "--quiet"),
        *("--hop-weights", "1,0.5", "--validation-fraction", "0.1", "--epochs", "10"),
    )
    assert done.stderr == ""
    summary = json.loads(done.stdout)
    assert summary["settings"]["hop_weights"] == [1.0, 0.5]
    assert summary["epochs"] == 10
    assert 0.4 < summary["validation_auc"] <= 1


@pytest.mark.medium
def test_a_model_with_random_walks_is_summarized_and_explained(inside: Run) -> None:
    given = ("--dim", "16", "--epochs", "1", "--structure-share", "0.3", "--quiet")
    done = inside("train", "concepts", "--out", "walked", *given)
    assert "links count for 30 % of a score" in done.stdout
    why = inside("explain", "walked", "b-tree", "red-black-tree").stdout
    assert "structure, random walks along links" in why
    found = json.loads(inside("explain", "walked", "b-tree", "red-black-tree", "--json").stdout)
    assert sum(found["halves"].values()) == pytest.approx(found["score"], abs=1e-5)
    assert "--structure-share" in inside("train", "--help", COLUMNS="200").stdout


def test_progress_goes_to_stderr_and_the_result_to_stdout(dmte: Run) -> None:
    done = dmte("train", "concepts", "--out", "seen", "--dim", "16", "--epochs", "3")
    assert done.stdout.splitlines()[-1] == "model in seen"
    assert "432 vertices" in done.stdout


@pytest.mark.medium
def test_an_interrupted_run_says_how_to_resume_and_resumes(inside: Run, cli_folder: Path) -> None:
    common = ("train", "concepts", "--recipe", "paper", "--dim", "16", "--checkpoint-every", "5")
    process = subprocess.Popen(
        [sys.executable, "-m", "dmte", *common, "--out", "cut", "--epochs", "100000"],
        cwd=cli_folder,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (cli_folder / "cut.checkpoint" / "manifest.json").exists():
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=300)
    assert process.returncode == 130
    assert error.startswith("dmte: interrupted after ")
    assert error.endswith("continue from the last checkpoint with --resume\n")
    kept = decode_json(read_parts(cli_folder / "cut.checkpoint")["position.json"])["epoch"]
    assert kept % 5 == 0
    epochs = str(kept + 5)
    done = inside(*common, "--out", "cut", "--resume", "--epochs", epochs, "--json", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    summary = json.loads(done.stdout)
    assert (summary["resumed_after_epoch"], summary["epochs"]) == (kept, kept + 5)


@pytest.mark.medium
def test_with_the_defaults_a_run_can_be_resumed_after_its_first_epoch(
    inside: Run, cli_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_epoch = Fold.train_epoch

    def stop_in_the_second(fold: Fold, epoch: int) -> Generator[None, None, Tensor]:
        if epoch == 1:
            raise KeyboardInterrupt
        return (yield from train_epoch(fold, epoch))

    with monkeypatch.context() as changed:
        changed.setattr(Fold, "train_epoch", stop_in_the_second)
        stopped = inside("train", "concepts", "--out", "early", "--epochs", "2")
    assert stopped.returncode == 130
    assert stopped.stderr == (
        "dmte: interrupted after 1 of 2 epochs; continue from the last checkpoint with --resume\n"
    )
    # The step sizes of the first epoch depended on the number of epochs.
    other = inside("train", "concepts", "--out", "early", "--resume", "--epochs", "3")
    assert other.returncode == 2
    assert (
        "belongs to another run (epochs was 2, is 3); resume with the same values" in other.stderr
    )
    done = inside("train", "concepts", "--out", "early", "--resume", "--epochs", "2")
    assert "1 epochs in" in done.stdout
    assert "resumed after epoch 1" in done.stdout
    assert not (cli_folder / "early.checkpoint").exists()


@pytest.mark.medium
def test_neither_the_package_nor_help_loads_torch() -> None:
    code = """
import io, sys
from contextlib import redirect_stdout
import dmte
from dmte.cli.app import VERBS, main
for line in [[], *([verb] for verb in VERBS), ["evaluate", "links"], ["evaluate", "classes"]]:
    with redirect_stdout(io.StringIO()) as shown:
        try:
            main([*line, "--help"])
        except SystemExit:
            assert "--help" in shown.getvalue()
    assert not {"torch", "numpy", "pyarrow", "sklearn"} & set(sys.modules), line
dmte.Settings
assert "torch" not in sys.modules
dmte.TrainedModel
assert "torch" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.medium
def test_training_loads_no_slow_modules_that_it_does_not_use(tmp_path: Path) -> None:
    code = """
import sys
from dmte.cli import main
try:
    main([*"train concepts --epochs 1 --checkpoint-every 0 --quiet --out".split(), sys.argv[1]])
except SystemExit as done:
    assert not done.code
assert not {"pandas", "pyarrow.compute", "narwhals", "sklearn"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "model")], check=True)


def test_the_end_of_the_program_does_not_wait_for_the_garbage_collector() -> None:
    code = """
import gc, sys
from dmte.__main__ import main
sys.argv = ["dmte", "--version"]
try:
    main()
except SystemExit:
    assert gc.get_freeze_count() > 0
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_help_repeats_the_values_of_the_modules_it_does_not_load(inside: Run) -> None:
    assert set(GROUPS["all"]) == set(TARGETS)
    assert set(SUFFIXES.values()) == set(FORMATS)
    said = " ".join(inside("plot", "--help").stdout.split())
    named, most = maps.DEFAULT_NAMES, maps.MAX_NAMED_BY_DEFAULT
    assert f"{named} without labels or of at most {most} vertices" in said
    assert f"{maps.LIMITS['tsne']:,} for tsne and {maps.LIMITS['umap']:,} for umap" in said
    assert ", ".join(METADATA) in said


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([verb, "--help"])
    assert stopped.value.code == 0
    assert f" {verb} [OPTIONS]" in capsys.readouterr().out


def test_similar_finds_the_same_vertices_as_the_library(dmte: Run, concepts_model: Path) -> None:
    found = json.loads(
        dmte("similar", str(concepts_model), "--vertex", "b-tree", "-k", "4", "--json").stdout
    )
    expected = Embedding.load(concepts_model).most_similar("b-tree", k=4)
    assert [row["id"] for row in found["neighbors"]] == [neighbor.id for neighbor in expected]
    network = read_network("concepts")
    links = {
        network.ids[other]
        for edge in network.edges.tolist()
        for other in edge
        if network.position("b-tree") in edge
    }
    assert all(row["linked"] == (row["id"] in links) for row in found["neighbors"])


def test_similar_accepts_any_text(inside: Run, concepts_model: Path) -> None:
    done = inside(
        "similar", str(concepts_model), "--text", "neural network layers trained by gradients"
    )
    assert done.returncode == 0
    assert done.stdout.startswith("Query: neural network layers")
    assert max(len(line) for line in done.stdout.splitlines()) <= 90
    assert any(word in done.stdout for word in ("backpropagation", "neural-network", "batch"))


def test_info_counts_the_parts_of_a_network(inside: Run, cli_folder: Path) -> None:
    (cli_folder / "v.csv").write_text("id,text\na,red fox\nb,\nc,red hen\nd,alone\n")
    (cli_folder / "e.csv").write_text("source,target\na,b\nb,a\nc,c\nb,c\n")
    facts = json.loads(inside("info", "--vertices", "v.csv", "--edges", "e.csv", "--json").stdout)
    assert facts["vertices"] == 4
    assert facts["edges"] == 4
    assert facts["self_loops"] == 1
    assert facts["repeated_edges"] == 1
    assert facts["isolated_vertices"] == 1
    assert facts["empty_texts"] == 1
    assert facts["words"] == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trian"], "trian"),
        (["train", "concepts"], "--out"),
        (["train", "--out", "x"], "name a network"),
        (["train", "nowhere", "--out", "x"], "nowhere"),
        (["train", "concepts", "--vertices", "v.csv", "--out", "x"], "cannot be combined"),
        (["train", "concepts", "--out", "x", "--dim", "7"], "dim must be"),
        (["train", "concepts", "--out", "x", "--dim", "wide"], "--dim"),
        (["train", "concepts", "--out", "x", "--hop-weights", "1;2"], "1;2"),
        (["train", "concepts", "--out", "x", "--variant", "best"], "variant must be one of"),
        (["train", "concepts", "--out", "x", "--threads", "0"], "threads must be at least 1"),
        (["train", "concepts", "--out", "x", "--objective", "1,2"], "objective takes 4 numbers"),
        (["train", "concepts", "--out", "x", "--resume"], "x.checkpoint"),
        (["train", "concepts", "--out", "model/README.md"], "README.md is a file"),
        (["info", "missing-folder"], "missing-folder"),
        (["similar", "missing-folder", "--vertex", "a"], "missing-folder"),
        (["similar", "model"], "--vertex ID or --text"),
        (["similar", "model", "--vertex", "b-tre"], "did you mean 'b-tree'"),
        (["similar", "model", "--vertex", "b-tree", "-k", "0"], "k must be at least 1"),
        (["similar", "model", "--text", "zzzz"], "no word of 'zzzz'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
@pytest.mark.usefixtures("concepts_model")
def test_a_mistake_gets_one_helpful_line(inside: Run, arguments: list[str], message: str) -> None:
    assert message in error_line(inside(*arguments))


def test_a_mistake_ends_the_process_with_code_2(dmte: Run) -> None:
    done = dmte("similar", "nowhere", "--vertex", "a")
    assert "nowhere" in error_line(done)


def test_a_folder_of_the_user_fails_before_training(inside: Run, cli_folder: Path) -> None:
    precious = cli_folder / "documents"
    precious.mkdir()
    (precious / "letter.txt").write_text("dear")
    done = inside("train", "concepts", "--out", "documents", "--epochs", "1000000", "--quiet")
    assert "documents" in error_line(done)
    assert [path.name for path in precious.iterdir()] == ["letter.txt"]
