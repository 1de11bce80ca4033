"""The style of pictures, line charts, and reproducible picture files.

Every line and every class has its own shape as well as its own color, so pictures are readable in
grey. matplotlib is an optional extra and is imported only for drawing.

Names come from networks and files. Drawing functions are decorated with ``as_plain_text``: names
are drawn letter by letter, never read as mathematics or TeX. ``caption`` puts a name on one line,
and ``draw_legend`` shows every name, also one that matplotlib would take for an internal one.
"""

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dmte.errors import StorageError
from dmte.runtime.formatting import one_line
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
MAX_ENTRY_LENGTH, MAX_TITLE_LENGTH = 60, 100  # Characters.
MAX_ENTRY_SHARE = 0.5  # Of the width of the figure; a wider legend would squeeze the axes.
BLANK = '""'
"""A name without visible letters."""

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


@contextmanager
def as_plain_text() -> Iterator[None]:
    """Draw text as it is, without warnings of letters that the font lacks or that stack up.

    A letter that the font lacks is drawn as a box.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    matplotlib = require("matplotlib", extra="plots", purpose="a picture")
    text = {"text.parse_math": False, "text.usetex": False}
    with matplotlib.rc_context(text), warnings.catch_warnings():
        for known in (r"Glyph \d+ .* missing from", "constrained_layout not applied"):
            warnings.filterwarnings("ignore", known, UserWarning)
        yield


def caption(name: str, most: int) -> str:
    r"""A name on one line of at most ``most`` characters, and never blank.

    >>> caption("a name that\n is too long", 12), caption(" ", 12)
    ('a name that…', '""')
    """
    line = one_line(name[: 10 * most]) or BLANK  # A text may have a million letters.
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def draw_legend(
    owner: "Axes | Figure", names: Collection[str], drawn: Collection[Any], **options: Any
) -> None:
    """Draw a legend with the names of what was drawn."""
    # Named afterwards, because matplotlib leaves out names that begin with an underscore.
    legend: Any = owner.legend([*drawn], [BLANK] * len(names), frameon=False, **options)
    most = MAX_ENTRY_SHARE * legend.figure.bbox.width
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(caption(name, MAX_ENTRY_LENGTH))
        while (width := text.get_window_extent().width) > most:  # Some letters are wide.
            shown = text.get_text()
            text.set_text(shown[: int(len(shown) * most / width) - 1].rstrip() + "…")


@as_plain_text()
def draw_lines(lines: Sequence[Line], axis_names: tuple[str, str], paths: Sequence[Path]) -> None:
    """Draw lines with error bars, and write the picture to every path.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    figure = new_figure(7.0, 4.5)
    axes = figure.add_subplot()
    drawn = [
        axes.errorbar(
            line.x,
            line.y,
            yerr=line.spread,
            color=_color(number),
            marker=SHAPES[(number + number // len(COLORS)) % len(SHAPES)],
            capsize=2,
        )
        for number, line in enumerate(lines)
    ]
    _finish_axes(axes, axis_names)
    is_long = len(lines) > MAX_LINES_WITH_INNER_LEGEND
    beside: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
    names = [line.name for line in lines]
    draw_legend(axes, names, drawn, **(beside if is_long else {}))
    for path in paths:
        save_figure(figure, path, replace=True)


@as_plain_text()
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
    entries: dict[str, Any] = {}
    for axes, panel in zip(grid.flat, panels, strict=True):
        for line in panel.faint:
            axes.plot(line.x, line.y, color=GREY, linewidth=0.8, zorder=1)
        for line in panel.lines:
            entries[line.name] = _draw_line(axes, line, names.index(line.name))
        axes.set_title(one_line(panel.title)[:MAX_ENTRY_LENGTH], loc="left", fontsize=10)
        _finish_axes(axes, panel.axis_names)
        axes.label_outer()
    if num_faint := len(panels[0].faint):
        entries[f"{num_faint} more"] = grid.flat[0].plot([], [], color=GREY, linewidth=0.8)[0]
    if len(entries) > 1:
        draw_legend(figure, entries, entries.values(), loc="outside right upper", fontsize=9)
    if title:
        figure.suptitle(caption(title, MAX_TITLE_LENGTH), x=0.01, ha="left", fontsize=11)
    save_figure(figure, path, replace=replace)


def _color(number: int) -> str:
    """Return the color of a line, distinct from those of the adjacent lines."""
    return COLORS[3 * number % len(COLORS) + (3 * number // len(COLORS)) % 3]


def _draw_line(axes: "Axes", line: Line, number: int) -> Any:
    """Draw a line and its band, and return the line; the band of a single point is a bar."""
    color = _color(number)
    if line.is_ring:
        return axes.scatter(line.x, line.y, s=140, fc="none", ec=color, linewidths=1.5)
    is_crowded = len(line.x) > MAX_MARKERS
    (drawn,) = axes.plot(
        line.x,
        line.y,
        color=color,
        marker=None if is_crowded else SHAPES[number % len(SHAPES)],
        markersize=5,
        linewidth=1.5,
        linestyle=DASHES[number % len(DASHES)],
    )
    if line.band:
        low, high = zip(*line.band, strict=True)
        if len(line.x) == 1:
            axes.vlines(line.x, low, high, color=color, alpha=0.5, linewidth=3)
        axes.fill_between(line.x, low, high, color=color, alpha=0.15, linewidth=0)
    return drawn


def _finish_axes(axes: "Axes", names: tuple[str, str]) -> None:
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[1])
    axes.spines[["top", "right"]].set_visible(False)


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
