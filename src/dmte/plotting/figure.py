"""How pictures look: colors, shapes and files that are the same every time; figures over a range.

Nothing is told by color alone: every line and every class has a shape of its own, so that a picture
also says what it does in grey. matplotlib is an extra, imported only when a picture is drawn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dmte.errors import StorageError
from dmte.runtime.optional import require
from dmte.storage.atomic_file import new_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Paul Tol's muted and vibrant schemes, made for color-blind eyes; shapes tell the rest.
COLORS = (
    *("#332288", "#88CCEE", "#44AA99", "#117733", "#999933", "#DDCC77"),
    *("#CC6677", "#882255", "#AA4499", "#EE7733", "#0077BB", "#555555"),
)
SHAPES = "osD^vPX*<>dp"
DASHES = ("solid", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)))
GREY = "#BBBBBB"
MOST_NAMED_INSIDE = 6  # Lines; the names of more would cover them.
MOST_MARKED = 40  # Points of a line; beyond, their shapes would run together.

METADATA: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        ".png": {"Software": None},
        ".svg": {"Date": None},
        ".pdf": {"CreationDate": None},
    }
)
"""The kinds of pictures by their ending, and what a file leaves out to be the same each time."""


@dataclass(frozen=True, slots=True)
class Line:
    """A figure over a range, with its spread."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    spread: Sequence[float] = ()
    """How far a bar reaches up and down at every point; none without any."""
    band: Sequence[tuple[float, float]] = ()
    """From where to where a band reaches at every point; none without any."""
    seeds: tuple[int, int] = (1, 1)
    """Over how many seeds a point is at least and at most."""
    is_ring: bool = False
    """Whether it is drawn as rings around the points of another line."""


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines over one range."""

    title: str
    axis_names: tuple[str, str]
    lines: Sequence[Line]
    faint: Sequence[Line] = ()
    """Lines in the background, grey and without a name."""


def draw_lines(lines: Sequence[Line], axis_names: tuple[str, str], paths: Sequence[Path]) -> None:
    """Draw the lines, told apart by color and shape, with a bar for the spread, to every path.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    figure = blank(7.0, 4.5)
    axes = figure.add_subplot()
    for number, line in enumerate(lines):
        axes.errorbar(
            line.x,
            line.y,
            yerr=line.spread,
            label=line.name,
            color=_color(number),
            marker=SHAPES[(number + number // len(COLORS)) % len(SHAPES)],
            capsize=2,
        )
    _finish_axes(axes, axis_names)
    if len(lines) > MOST_NAMED_INSIDE:
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    else:
        axes.legend(frameon=False)
    for path in paths:
        save_figure(figure, path, replace=True)


def draw_panels(
    panels: Sequence[Panel], path: Path, *, title: str = "", below: bool = False, replace: bool
) -> None:
    """Draw the panels beside or below one another, with one legend that covers none of them.

    Raises:
        MissingExtraError: matplotlib is not installed.
        StorageError: The picture cannot be written.
    """
    across, down = (1, len(panels)) if below else (len(panels), 1)
    figure = blank(4.4 * across + 3.0, 2.4 * down + 2.0)
    grid = figure.subplots(down, across, squeeze=False, sharex=below, sharey=not below)
    names = list(dict.fromkeys(line.name for panel in panels for line in panel.lines))
    for axes, panel in zip(grid.flat, panels, strict=True):
        for line in panel.faint:
            axes.plot(line.x, line.y, color=GREY, linewidth=0.8, zorder=1)
        for line in panel.lines:
            _draw_line(axes, line, names.index(line.name))
        axes.set_title(panel.title, loc="left", fontsize=10)
        _finish_axes(axes, panel.axis_names)
        axes.label_outer()
    _legend(figure, list(grid.flat), len(panels[0].faint))
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    save_figure(figure, path, replace=replace)


def _color(number: int) -> str:
    """Return the color of a line, far from those of the lines before and after it."""
    return COLORS[3 * number % len(COLORS) + (3 * number // len(COLORS)) % 3]


def _draw_line(axes: "Axes", line: Line, number: int) -> None:
    """Draw a line and its band; a band over a single point is a bar."""
    color = _color(number)
    if line.is_ring:
        axes.scatter(line.x, line.y, s=140, fc="none", ec=color, linewidths=1.5, label=line.name)
        return
    crowded = len(line.x) > MOST_MARKED
    axes.plot(
        line.x,
        line.y,
        label=line.name,
        color=color,
        marker=None if crowded else SHAPES[number % len(SHAPES)],
        markersize=5,
        linewidth=1.5,
        linestyle=DASHES[number % len(DASHES)],
    )
    if not line.band:
        return
    low, high = zip(*line.band, strict=True)
    if len(line.x) == 1:
        axes.vlines(line.x, low, high, color=color, alpha=0.5, linewidth=3)
    axes.fill_between(line.x, low, high, color=color, alpha=0.15, linewidth=0)


def _finish_axes(axes: "Axes", names: tuple[str, str]) -> None:
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[1])
    axes.spines[["top", "right"]].set_visible(False)


def _legend(figure: "Figure", all_axes: "Sequence[Axes]", num_faint: int) -> None:
    """Name every line once, outside of the panels, and say how many are in the background."""
    from matplotlib.lines import Line2D

    handles = {
        label: handle
        for axes in all_axes
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    if num_faint:
        handles[f"{num_faint} more"] = Line2D([], [], color=GREY, linewidth=0.8)
    if len(handles) > 1:
        figure.legend(
            handles.values(), handles.keys(), loc="outside right upper", frameon=False, fontsize=9
        )


def blank(width: float, height: float) -> "Figure":
    """Return an empty picture of this size in inches, outside of pyplot's global state.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    require("matplotlib", extra="plots", purpose="a picture")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def refuse_unknown_kind(path: Path) -> str:
    """Return what the file ends in, if pictures of this kind can be written.

    Raises:
        StorageError: They cannot.
    """
    ending = path.suffix.lower()
    if ending not in METADATA:
        raise StorageError(f"{path} must end in {', '.join(METADATA)} to be a picture")
    return ending


def save_figure(figure: "Figure", path: Path, *, replace: bool) -> None:
    """Write a picture as its name ends; the same picture makes the same file.

    Raises:
        StorageError: It ends in something else, exists or cannot be written.
    """
    from matplotlib import rc_context

    ending = refuse_unknown_kind(path)
    with (
        # The elements of an SVG get the same names every time, and a PDF can be searched.
        rc_context({"svg.hashsalt": "dmte", "pdf.fonttype": 42}),
        new_file(path, replace=replace) as file,
    ):
        figure.savefig(file, format=ending[1:], metadata=dict(METADATA[ending]))
