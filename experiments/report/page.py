"""Write ``docs/reproduction.md`` from the commentary beside this file and the measured figures.

The commentary addresses a figure as in ``${auc:cora-links:strict:dmte:55}``. A figure that was not
measured is an error.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import fmean
from string import Template
from types import MappingProxyType

from standings import standings_table

from dmte.evaluation.jobs import EVERY_EDGE
from dmte.evaluation.paper.page import section, shown, table
from dmte.evaluation.paper.results import Results, Row, find_row, read_results
from dmte.evaluation.paper.tables import PERCENTS, printed_figures
from dmte.evaluation.paper.targets import TARGETS

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "experiments" / "results"
PAGE = ROOT / "docs" / "reproduction.md"
COMMENTARY = Path(__file__).with_name("commentary.md.tmpl")
PAPERS, PROGRAM = "dmte-paper", "dmte-released"


class Commentary(Template):
    """Markdown whose ``${...}`` are addresses of figures."""

    braceidpattern = r"[a-z][a-z0-9:_-]*"


class Figures(Mapping[str, str]):
    """Measured figures by their addresses."""

    def __init__(self, everything: Mapping[str, Results]) -> None:
        self.everything = everything

    def __getitem__(self, address: str) -> str:
        """Return a figure or table.

        Raises:
            KeyError: The figure was not measured, or the address is unknown.
        """
        kind, *place = address.split(":")
        try:
            return KINDS[kind](self, *place)
        except (KeyError, TypeError, ValueError) as problem:
            raise KeyError(f"there is no figure {address!r}") from problem

    def __iter__(self) -> Iterator[str]:
        return iter(KINDS)

    def __len__(self) -> int:
        return len(KINDS)

    def row(self, target: str, protocol: str, method: str, percent: str) -> Row:
        """Find the row of a method scored by dot product or its own score.

        Raises:
            KeyError: The row was not measured.
        """
        found = find_row(self.everything[target].rows, method, protocol, int(percent))
        if found is None:
            raise KeyError(method)
        return found

    def auc(self, *place: str) -> str:
        """Return a mean AUC."""
        return shown(self.row(*place).main, with_spread=False)

    def range(self, *place: str) -> str:
        """Return the smallest and the largest AUC over seeds."""
        values = [100 * value for value in self.row(*place).main.values]
        return f"{min(values):.1f} to {max(values):.1f}"

    def gap(self, method: str, percent: str) -> str:
        """Return our AUC minus the paper's on Cora, by the published protocol."""
        row = self.row("cora-links", "published", method, percent)
        return f"{100 * row.main.mean - printed_figures('cora', method)[row.percent]:+z.1f}"

    def printed(self, method: str, percent: str) -> str:
        """Return a printed AUC for Cora."""
        return f"{printed_figures('cora', method)[int(percent)]:.1f}"

    def share(self, count: str, *place: str) -> str:
        """Return the percentage of hidden edges that leak."""
        counts = self.row(*place).counts
        return f"{100 * counts[count] / counts['hidden_edges']:.0f}"

    def hidden(self, *place: str) -> str:
        """Return the number of hidden edges."""
        return f"{self.row(*place).counts['hidden_edges']:,.0f}"

    def hops(self, hops: str, percent: str) -> str:
        """Return an AUC of Figure 4, by the published protocol."""
        settings = TARGETS["hops"].variants[int(hops) - 1].settings
        rows = self.everything["hops"].rows
        row = find_row(rows, PAPERS, "published", int(percent), settings)
        if row is None:
            raise KeyError(hops)
        return shown(row.main)

    def best_setting(self, percent: str) -> str:
        """Return the best AUC of the settings that the paper does not print."""
        rows = [row for row in self.everything["sensitivity"].rows if row.scored_by != "cosine"]
        return f"{100 * max(row.main.mean for row in rows if row.percent == int(percent)):.1f}"

    def rank(self, place: str) -> str:
        """Return our rank of a paper in Table 3."""
        case = self.everything["case-study"].case_study
        if case is None:
            raise KeyError(place)
        return f"{case.printed[int(place) - 1].rank:,}"

    def tables(self, name: str) -> str:
        """Return the tables of a target, or a table of the report."""
        made = {"recipe": standings_table, "every-edge": every_edge_table}
        if name in made:
            return made[name](self.everything).rstrip()
        return section(self.everything[name]).rstrip()


def every_edge_table(everything: Mapping[str, Results]) -> str:
    """Compare AUC on hidden edges and on every edge, for ours and the authors' program."""
    found = Figures(everything)
    rows = [
        ["DMTE (WAvg) as printed", *(found.printed(PAPERS, str(one)) for one in PERCENTS)],
        *(
            [name, *(found.auc(target, protocol, method, str(one)) for one in PERCENTS)]
            for name, target, protocol, method in (
                ("ours, hidden edges", "cora-links", "published", PAPERS),
                ("ours, every edge", "training-edges", EVERY_EDGE, PAPERS),
                ("the authors' program, hidden edges", "released", "published", PROGRAM),
                ("the authors' program, every edge", "released", EVERY_EDGE, PROGRAM),
            )
        ),
        ["ours: every edge minus hidden edges", *(_lift(found, str(one)) for one in PERCENTS)],
    ]
    return table(["AUC, Cora", *(f"{one} %" for one in PERCENTS)], rows)


def _lift(figures: Figures, percent: str) -> str:
    """Return the mean gain by scoring training edges, on the seeds that both have."""
    every = figures.row("training-edges", EVERY_EDGE, PAPERS, percent).main.values
    hidden = figures.row("cora-links", "published", PAPERS, percent).main.values
    return f"{100 * fmean(a - b for a, b in zip(every, hidden, strict=False)):+.1f}"


def render(everything: Mapping[str, Results]) -> str:
    """Return the page.

    Raises:
        KeyError: A figure in the commentary was not measured.
    """
    return Commentary(COMMENTARY.read_text("utf-8")).substitute(Figures(everything))


KINDS: Mapping[str, Callable[..., str]] = MappingProxyType(
    {
        "auc": Figures.auc,
        "best-setting": Figures.best_setting,
        "gap": Figures.gap,
        "hidden": Figures.hidden,
        "hops": Figures.hops,
        "printed": Figures.printed,
        "range": Figures.range,
        "rank": Figures.rank,
        "share": Figures.share,
        "table": Figures.tables,
    }
)
"""Kinds of figures, by the first part of their addresses."""

if __name__ == "__main__":
    PAGE.write_text(render(read_results(RESULTS)), "utf-8")
    print(PAGE.relative_to(ROOT))
