"""The documentation: its code runs and its links lead somewhere."""

import re
from pathlib import Path
from runpy import run_path

import pytest

from dmte.cli import VERBS
from dmte.evaluation.document import find_row
from dmte.evaluation.experiments import load_experiments
from dmte.evaluation.reproduction import read_results

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / folder / "README.md" for folder in (".", "benchmarks", "experiments")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "verbs").glob("*.md")),
    *sorted((ROOT / "docs" / "how-to").glob("*.md")),
]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_python_on_a_page_runs_from_top_to_bottom(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    if not blocks:
        pytest.skip("no Python on this page")
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks))
    monkeypatch.chdir(tmp_path)
    run_path(str(script), run_name="__main__")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_links_on_a_page_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", page.read_text())
    missing = [link for link in links if not (page.parent / link).exists()]
    assert not missing


def test_the_readme_names_every_verb() -> None:
    readme = (ROOT / "README.md").read_text()
    for verb in VERBS:
        assert f"dmte {verb}" in readme or f"make {verb}" in readme


def test_the_figures_in_the_readme_are_those_of_the_results() -> None:
    """Each row: what the paper prints, ours published and strict, at 15 and at 55 %."""
    rows = read_results(ROOT / "experiments" / "results")["cora-links"]["rows"]
    printed = {row.method: row.printed for row in load_experiments() if row.network == "cora"}
    readme = (ROOT / "README.md").read_text()
    table = readme[readme.index("## How it compares") : readme.index("## How it works")]
    shown = re.findall(r"^\| `([a-z-]+)` \|(.*)\|$", table, flags=re.MULTILINE)
    assert len(shown) >= 6
    for method, figures in shown:
        expected = []
        for percent in (15, 55):
            expected.append(str(printed[method][percent]) if method in printed else "")
            for protocol in ("published", "strict"):
                row = find_row(rows, method, protocol, percent)
                expected.append("" if row is None else f"{100 * row['auc']['mean']:.1f}")
        assert [figure.strip() for figure in figures.split("|")] == expected, method
