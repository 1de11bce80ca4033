"""The style of pictures, line charts, and reproducible picture files.

Every line and every class has its own shape as well as its own color, so pictures are readable in
grey. matplotlib is an optional extra and is imported only for drawing.
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

# Paul Tol's muted and vibrant schemes, which are safe for color blindness.
COLORS = (
    *("#332288", "#88CCEE", "#44AA99", "#117733", "#999933", "#DDCC77"),
    *("#CC6677", "#882255", "#AA4499", "#EE7733", "#0077BB", "#555555"),
)
SHAPES = "osD^vPX*<>dp"
DASHES = ("solid", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)))
GREY = "#BBBBBB"
MAX_LINES_WITH_INNER_LEGEND = 6  # A longer legend would cover the lines.
MAX_MARKERS = 40  # Points of a line with markers; more markers would overlap.

METADATA: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        ".png": {"Software": None},
        ".svg": {"Date": None},
        ".pdf": {"CreationDate": None},
    }
)
"""File types, with the metadata to omit so that the same picture gives the same file."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a chart, with error bars or a band."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    spread: Sequence[float] = ()
    """Half the length of the error bar at every point; empty without bars."""
    band: Sequence[tuple[float, float]] = ()
    """Lower and upper end of the band at every point; empty without a band."""
    seeds: tuple[int, int] = (1, 1)
    """Minimum and maximum number of seeds behind a point."""
    is_ring: bool = False
    """Draw rings around the points instead of a line."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes with its lines."""

    title: str
    axis_names: tuple[str, str]
    lines: Sequence[Line]
    faint: Sequence[Line] = ()
    """Grey background lines, without legend entries."""


def draw_lines(lines: Sequence[Line], axis_names: tuple[str, str], paths: Sequence[Path]) -> None:
    """Draw lines with error bars, and write the picture to every path.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    figure = new_figure(7.0, 4.5)
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
    if len(lines) > MAX_LINES_WITH_INNER_LEGEND:
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    else:
        axes.legend(frameon=False)
    for path in paths:
        save_figure(figure, path, replace=True)


def draw_panels(
    panels: Sequence[Panel], path: Path, *, title: str = "", below: bool = False, replace: bool
) -> None:
    """Draw panels side by side, or below one another, with one legend outside of them.

    Raises:
        MissingExtraError: matplotlib is not installed.
        StorageError: The picture cannot be written.
    """
    across, down = (1, len(panels)) if below else (len(panels), 1)
    figure = new_figure(4.4 * across + 3.0, 2.4 * down + 2.0)
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
    """Return the color of a line, distinct from those of the adjacent lines."""
    return COLORS[3 * number % len(COLORS) + (3 * number // len(COLORS)) % 3]


def _draw_line(axes: "Axes", line: Line, number: int) -> None:
    """Draw a line and its band; the band of a single point is a bar."""
    color = _color(number)
    if line.is_ring:
        axes.scatter(line.x, line.y, s=140, fc="none", ec=color, linewidths=1.5, label=line.name)
        return
    is_crowded = len(line.x) > MAX_MARKERS
    axes.plot(
        line.x,
        line.y,
        label=line.name,
        color=color,
        marker=None if is_crowded else SHAPES[number % len(SHAPES)],
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
    """Draw one legend for all panels, with the number of background lines."""
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


def new_figure(width: float, height: float) -> "Figure":
    """Create an empty figure, with its size in inches, without pyplot's global state.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    require("matplotlib", extra="plots", purpose="a picture")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def check_file_type(path: Path) -> str:
    """Return the suffix of ``path`` in lower case.

    Raises:
        StorageError: The suffix is not one of ``METADATA``.
    """
    ending = path.suffix.lower()
    if ending not in METADATA:
        raise StorageError(f"{path} must end in {', '.join(METADATA)}")
    return ending


def save_figure(figure: "Figure", path: Path, *, replace: bool) -> None:
    """Write a picture in the format of its suffix; the same picture gives the same file.

    Raises:
        StorageError: The file type is unknown, the file exists and ``replace`` is false, or it
            cannot be written.
    """
    from matplotlib import rc_context

    ending = check_file_type(path)
    with (
        # Fixed ids in SVG files; searchable text in PDF files.
        rc_context({"svg.hashsalt": "dmte", "pdf.fonttype": 42}),
        new_file(path, replace=replace) as file,
    ):
        figure.savefig(file, format=ending[1:], metadata=dict(METADATA[ending]))
