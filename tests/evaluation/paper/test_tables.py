"""The paper's rows as data: complete, loadable, and as they are printed."""

import re
from pathlib import Path

import pytest

from dmte.errors import StorageError
from dmte.evaluation import METHODS
from dmte.evaluation.paper.tables import PERCENTS, Experiment, _load, load_experiments
from dmte.network import DATASETS
from dmte.recipes import VARIANTS

PAPER = Path(__file__).parents[4] / "shared" / "paper" / "dmte.tex"
ROOT = Path(__file__).parents[3]


def test_every_file_is_a_row_and_named_after_it() -> None:
    files = sorted(path.stem for path in (ROOT / "experiments").glob("*.toml"))
    rows = sorted(f"_{row.method}_{row.network}" for row in load_experiments())
    assert len(rows) == 22
    assert sorted("_" + stem.split("_", 1)[1] for stem in files) == rows
    assert all(re.fullmatch(r"[a-z]+20\d\d_.+", stem) for stem in files)


@pytest.mark.parametrize("row", load_experiments(), ids=lambda row: f"{row.method}-{row.network}")
def test_a_row_is_complete(row: Experiment) -> None:
    assert tuple(row.printed) == PERCENTS
    assert all(50 < figure < 100 for figure in row.printed.values())
    assert row.network in DATASETS
    if row.variant is not None:
        assert METHODS[row.method].settings == VARIANTS[row.variant]  # type: ignore[attr-defined]


def printed_tables(tex: str) -> dict[tuple[int, str], list[float]]:
    """Return every row of Tables 1 and 2 with its nine figures, read from the source."""
    found = {}
    for number, label in ((1, "tab:cora"), (2, "tab:zhihu")):
        body = tex[tex.index(f"\\label{{{label}}}") :]
        body = body[: body.index("\\end{tabular}")]
        for line in body.splitlines():
            jobs = line.replace("\\hline", "").replace("\\\\", "").split("&")
            figures = [re.sub(r"\\textbf\{(.*)\}", r"\1", job.strip()) for job in jobs[1:]]
            if len(figures) == 9 and "\\%" not in line:
                found[number, jobs[0].strip()] = [float(figure) for figure in figures]
    return found


def test_the_figures_are_those_of_the_paper() -> None:
    if not PAPER.is_file():
        pytest.skip(f"the paper's source is not in {PAPER}")
    printed = printed_tables(PAPER.read_text("utf-8"))
    ours = {(row.table, row.row): list(row.printed.values()) for row in load_experiments()}
    assert ours == printed
    assert list(ours) == list(printed), "rows stand in the order of the paper"


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "row.toml"
    for content in ("not = toml = at all", "table = 1\n", "[printed]\nmany = 1.0\n"):
        path.write_text(content)
        with pytest.raises(StorageError, match=r"row\.toml is not a row of a table"):
            _load(path)
