"""Pictures, completion and tracebacks from the command line."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]
RESULTS = Path(__file__).parents[3] / "experiments" / "results" / "hepth-links" / "results.json"


def answer(run: Run, *arguments: str) -> str:
    done = run(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.usefixtures("concepts_model")
def test_a_map_shows_every_vertex_and_names_a_few(dmte: Run, inside: Run, cli_folder: Path) -> None:
    words = ("plot", "model", "--by", "pca", "--names", "7", "--out", "map.svg", "--json")
    found = json.loads(answer(dmte, *words))
    assert (found["picture"], found["shown"], len(found["names"])) == ("map.svg", 432, 7)
    assert len(found["labels"]) == 12
    assert (cli_folder / "map.svg").read_text("utf-8").startswith("<?xml")
    refused = inside(*words)
    assert refused.returncode == 2
    assert "map.svg exists already" in refused.stderr


@pytest.mark.medium
@pytest.mark.usefixtures("concepts_model")
def test_a_training_and_results_are_drawn(inside: Run, cli_folder: Path) -> None:
    assert answer(inside, "plot", "model", "--what", "training", "--out", "t.pdf") == "t.pdf\n"
    assert answer(inside, "plot", str(RESULTS), "--measure", "mrr", "--out", "r.png") == "r.png\n"
    assert (cli_folder / "t.pdf").read_bytes().startswith(b"%PDF")
    assert (cli_folder / "r.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("concepts_model")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plot", "model"], "--out FILE"),
        (["plot", "model", "--out", "map.gif"], "map.gif must end in .png, .svg, .pdf"),
        (["plot", "model", "--out", "map.png", "--by", "mds"], "'tsne', 'pca', 'umap'"),
        (["plot", "model", "--out", "map.png", "--names", "-1"], "names must be at least 0"),
        (["plot", "nowhere", "--out", "map.png"], "nowhere does not exist"),
        (["plot", "nowhere.json", "--out", "map.png"], "nowhere.json does not exist"),
        (["plot", "model/README.md", "--out", "map.png"], "is not a result file"),
        (["plot", "model", "--half", "structure", "--out", "map.png"], "no structure half"),
    ],
)
def test_a_mistake_is_one_line(
    inside: Run, arguments: list[str], message: str, cli_folder: Path
) -> None:
    done = inside(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr
    assert not (cli_folder / "map.png").exists()
