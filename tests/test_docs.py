"""The documentation: its code runs and its links lead somewhere."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from dmte.cli.app import VERBS
from dmte.evaluation.paper.results import Row, find_row, read_results
from dmte.evaluation.paper.tables import load_experiments
from dmte.recipes import PAPER
from run_pages import make_files

ROOT = Path(__file__).parents[1]
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *(ROOT / folder / "README.md" for folder in ("benchmarks", "experiments")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "verbs").glob("*.md")),
    *sorted((ROOT / "docs" / "how-to").glob("*.md")),
]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks_of(page: Path, kind: str) -> list[str]:
    text = page.read_text("utf-8")
    return re.findall(rf"^```{kind}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def with_python() -> Iterator[Any]:
    """Pages with Python: what a newcomer runs first is medium, all else is slow."""
    for page in PAGES:
        if blocks_of(page, "python"):
            is_first = name_of(page) in ("README.md", "docs/quick-start.md")
            marks = pytest.mark.medium if is_first else pytest.mark.slow
            yield pytest.param(page, marks=marks, id=name_of(page))


@pytest.mark.parametrize("page", list(with_python()))
def test_the_python_on_a_page_runs_from_top_to_bottom(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = blocks_of(page, "python")
    for files in blocks_of(page, "sh"):  # What the page reads.
        make_files(files, tmp_path)
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks))
    monkeypatch.chdir(tmp_path)
    run_path(str(script), run_name="__main__")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_links_on_a_page_lead_somewhere(page: Path) -> None:
    missing = [link for link in links_of(page) if not leads_somewhere(page, link)]
    assert not missing


def links_of(page: Path) -> list[str]:
    """Return the links of a page to other files of ours; what stands in code is none."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"\]\(([^):]+)\)", re.sub(r"`[^`\n]+`", "code", text))


def leads_somewhere(page: Path, link: str) -> bool:
    """Tell whether there is such a file and, if a part of it is named, such a heading."""
    place, _, part = link.partition("#")
    target = page.parent / place if place else page
    if not part or not target.is_file():
        return target.exists()
    headings = re.findall(r"^#+ (.+)$", target.read_text("utf-8"), flags=re.MULTILINE)
    return part in {re.sub(r"[^\w -]", "", text).lower().replace(" ", "-") for text in headings}


@pytest.mark.parametrize("verb", ["train", "plot"])
def test_the_files_of_a_model_are_called_as_the_pages_say(
    verb: str, trained_on_concepts: Path
) -> None:
    page = (ROOT / "docs" / "verbs" / f"{verb}.md").read_text("utf-8")
    named = re.findall(r"`((?:config|history|manifest)[^`]*\.json)`", page)
    assert named
    assert all(list(trained_on_concepts.glob(name)) for name in named)


def test_the_readme_names_every_verb() -> None:
    readme = (ROOT / "README.md").read_text()
    for verb in VERBS:
        assert f"dmte {verb}" in readme or f"make {verb}" in readme


def test_every_verb_has_a_page() -> None:
    pages = {page.stem for page in (ROOT / "docs" / "verbs").glob("*.md")}
    assert pages == set(VERBS)


def test_every_page_is_in_the_index() -> None:
    index = ROOT / "docs" / "README.md"
    listed = {Path(os.path.normpath(index.parent / link)) for link in links_of(index)}
    pages = set((ROOT / "docs").rglob("*.md")) - {index}
    assert not sorted(map(name_of, pages - listed))


def test_every_file_named_in_the_table_of_changes_exists() -> None:
    page = (ROOT / "docs" / "extending.md").read_text("utf-8")
    rows = re.findall(r"^\| (?!change |---)(.+?) \| (.+?) \| (.+?) \|$", page, flags=re.MULTILINE)
    named = [path for _, files, _ in rows for path in re.findall(r"`(.+?)`", files)]
    assert len(rows) == 12
    assert all(path.startswith("src/dmte/") for path in named)
    # The new module itself is to be made: its folder must exist.
    assert not [path for path in named if not (ROOT / path.partition("<name>")[0]).exists()]


def test_every_table_named_in_the_table_of_changes_is_defined_in_a_file_of_its_row() -> None:
    page = (ROOT / "docs" / "extending.md").read_text("utf-8")
    rows = re.findall(r"^\| .+? \| (`src.+?) \| (.+?) \|$", page, flags=re.MULTILINE)
    missing, checked = [], 0
    for files, work in rows:
        paths = [ROOT / path for path in re.findall(r"`(.+?)`", files)]
        code = "\n".join(path.read_text("utf-8") for path in paths if path.is_file())
        for name in re.findall(r"`([A-Z_]{2,})`", work):
            checked += 1
            if not re.search(rf"^{name}\b.*=", code, flags=re.MULTILINE):
                missing.append(name)
    assert checked >= 8
    assert not missing


def test_the_figures_in_the_readme_are_those_of_the_results() -> None:
    """Each row: ours by the strict protocol at 15 and 55 %, published and printed at 55 %."""
    rows = read_results(ROOT / "experiments" / "results")["cora-links"].rows
    printed = {row.method: row.printed for row in load_experiments() if row.network == "cora"}
    readme = (ROOT / "README.md").read_text()
    table = readme[readme.index("## How it compares") : readme.index("## How it works")]
    shown = re.findall(r"^\| `([a-z0-9-]+)` \|(.*)\|$", table, flags=re.MULTILINE)
    assert len(shown) >= 6
    for method, figures in shown:
        expected = []
        for protocol, percent in (("strict", 15), ("strict", 55), ("published", 55)):
            row = find_row(rows, method, protocol, percent)
            expected.append("" if row is None else f"{100 * row.main.mean:.1f}")
        expected.append(str(printed[method][55]) if method in printed else "")
        assert [figure.strip() for figure in figures.split("|")] == expected, method


def test_the_reasons_in_the_readme_quote_the_table() -> None:
    readme = (ROOT / "README.md").read_text()
    table = dict(re.findall(r"^\| `([a-z0-9-]+)` \| ([\d.]+) \|", readme, flags=re.MULTILINE))
    reasons = readme[readme.index("| instead of") : readme.index("AUC is the probability")]
    for method in ("dmte", "sentence-diffused", "sentence", "node2vec"):
        assert table[method] in reasons, method


def test_the_figures_of_the_recipe_with_features_are_those_of_their_file() -> None:
    """By the strict protocol at 15, 55 and 95 %, and by how much they are ahead of all else."""
    page = " ".join((ROOT / "docs" / "recipe.md").read_text("utf-8").split())
    figures = r"reached ([\d.]+), ([\d.]+) and ([\d.]+) \(\[dblp_features\.json\]"
    (claimed,) = re.findall(figures, page)
    stored = json.loads((ROOT / "experiments" / "dblp_features.json").read_text())["results"]
    rows = [Row.from_dict(row) for row in stored]
    found = [find_row(rows, "dmte", "strict", percent) for percent in (15, 55, 95)]
    assert [f"{100 * row.main.mean:.1f}" for row in found if row] == [*claimed]
    (leads,) = re.findall(r"the best there is here, by ([\d.]+), ([\d.]+) and (\d\.\d)", page)
    others = read_results(ROOT / "experiments" / "results")["dblp-links"].rows
    for row, lead in zip(found, leads, strict=True):
        assert row is not None
        best = max(other.main.mean for other in others if other.percent == row.percent)
        assert f"{100 * (row.main.mean - best):.1f}" == lead


def test_the_step_size_of_the_paper_s_recipe_won_as_often_as_is_said() -> None:
    page = " ".join((ROOT / "docs" / "method.md").read_text("utf-8").split())
    said = (
        r"([\d.]+) is the step size with the best AUC after (\d+) epochs in (\w+) of (\w+) trials"
    )
    ((step, epoch, wins, trials),) = re.findall(said, page)
    aucs: dict[str, dict[float, float]] = {}
    for cell, curve in json.loads((ROOT / "experiments" / "step_size.json").read_text()).items():
        trial, _, size = cell.rpartition(" ")
        aucs.setdefault(trial, {})[float(size)] = curve[epoch]
    best = [max(sizes, key=lambda size: sizes[size]) for sizes in aucs.values()]
    words = ("none", "one", "two", "three", "four", "five", "six")
    assert (words[best.count(float(step))], words[len(best)]) == (wins, trials)
    assert (float(step), int(epoch)) == (PAPER.learning_rate, PAPER.epochs)


def test_the_tables_of_the_benchmarks_are_those_of_their_files() -> None:
    with_tables = run_path(str(ROOT / "benchmarks" / "measuring.py"))["with_tables"]
    page = (ROOT / "benchmarks" / "README.md").read_text("utf-8")
    assert with_tables(page) == page, "run: python benchmarks/measuring.py"
