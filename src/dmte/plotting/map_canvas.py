"""Drawing a map with matplotlib: points, a legend, and labels where there is room."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from jaxtyping import Int

from dmte.plotting.figure import caption, draw_legend
from dmte.plotting.label_placement import (
    Box,
    Candidates,
    FreeSpace,
    Places,
    beside,
    densest_point,
    rings,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

MAX_VECTOR_POINTS = 2_000  # More points are rasterized in SVG and PDF, which would open slowly.
MAX_NAME_LENGTH = 28
TRIES = 20  # Vertices tried per name; on a full map, more would not help.
MARGIN = 14  # Pixels of a frame and the space around it, both sides together.


class Group(NamedTuple):
    """Vertices drawn in the same color and shape."""

    name: str
    kind: Literal["label", "others", "unlabelled", "all"]
    members: Int[np.ndarray, " some"]
    color: str
    shape: str

    @property
    def title(self) -> str:
        """Text of the legend entry."""
        return f"{caption(self.name, MAX_NAME_LENGTH)} ({len(self.members):,})"


class Canvas:
    """A map being drawn; call ``freeze_layout`` before the methods that place labels."""

    def __init__(self, figure: "Figure", places: Places, groups: Sequence[Group]) -> None:
        self.figure, self.places, self.groups = figure, places, groups
        self.axes: Axes = figure.add_subplot()
        self._taken: list[Box] = []
        self._points: Places = places

    def title(self, text: str) -> None:
        """Write the title above the map."""
        self.axes.set_title(text, loc="left", fontsize=11)

    def draw_points(self) -> None:
        """Draw the points, smaller ones if there are many, and the legend."""
        count = len(self.places)
        size = float(np.clip(22 * np.sqrt(432 / count), 1.5, 36))
        for group in self.groups:
            is_grey = group.kind in ("others", "unlabelled")
            x, y = self.places[group.members].T
            self.axes.scatter(
                x,
                y,
                s=size,
                c=group.color,
                marker=group.shape,
                edgecolors="none" if is_grey else "#222222",
                linewidths=0 if count > MAX_VECTOR_POINTS else 0.3,
                rasterized=count > MAX_VECTOR_POINTS,
            )
        self.axes.set_axis_off()
        self.axes.set_aspect("equal", adjustable="datalim")
        self.axes.margins(0.04)
        if self.groups[0].kind != "all":
            self._draw_legend()

    def _draw_legend(self) -> None:
        from matplotlib.lines import Line2D

        in_order = sorted(self.groups, key=lambda group: group.kind != "label")
        points = [
            Line2D([], [], color=group.color, marker=group.shape, linestyle="", markersize=6)
            for group in in_order
        ]
        titles = [group.title for group in in_order]
        style = {"loc": "outside right upper", "fontsize": 9, "labelspacing": 0.7}
        draw_legend(self.figure, titles, points, **style)

    def freeze_layout(self) -> None:
        """Compute the layout and fix it, so that positions in pixels stay valid."""
        self.figure.draw_without_rendering()
        self.figure.set_layout_engine("none")
        # Later drawing must not change the view.
        self.axes.set_xlim(self.axes.get_xlim())
        self.axes.set_ylim(self.axes.get_ylim())
        self.axes.set_aspect("auto")
        self._points = self.axes.transData.transform(self.places)

    def label_groups(self) -> None:
        """Write the name of every label where its vertices are densest, most frequent first."""
        for group in self.groups:
            if group.kind == "label":
                # The box is translucent, so that points below it stay visible.
                box = {"boxstyle": "round,pad=0.2", "fc": "#FFFFFFB0", "ec": group.color, "lw": 1.8}
                text = self.figure.text(
                    *(0, 0, caption(group.name, MAX_NAME_LENGTH)),
                    fontsize=9,
                    ha="center",
                    va="center",
                    bbox=box,
                )
                self._place(text, densest_point(self._points[group.members]), rings)

    def label_vertices(self, candidates: Iterator[tuple[int, str]], wanted: int) -> list[str]:
        """Write up to ``wanted`` names beside their vertices, if there is room; return them."""
        from matplotlib.patheffects import withStroke

        named: list[str] = []
        most = max(3, len(self.places) // 2_000)  # Points a name may cover.
        for row, name in islice(candidates, TRIES * wanted):
            if len(named) == wanted:
                break
            text = self.figure.text(0, 0, name, fontsize=7, ha="center", va="center")
            text.set_path_effects([withStroke(linewidth=2, foreground="white")])
            if self._place(text, self._points[row], beside, most):
                named.append(name)
                x, y = self.places[row]
                self.axes.scatter(x, y, s=30, fc="none", ec="black", linewidths=0.8)
        return named

    def _place(
        self, text: "Text", anchor: np.ndarray, candidates: Candidates, most: int = 10**9
    ) -> bool:
        """Move a text to its best position, or remove it if there is no room; return success."""
        extent = text.get_window_extent()
        # matplotlib measures the frame only when drawing, so its size is added here.
        size = np.array([extent.width, extent.height]) + (MARGIN if text.get_bbox_patch() else 4)
        bounds = Box(*map(float, self.axes.get_window_extent().extents))
        space = FreeSpace(bounds, self._points, self._taken)
        found = space.best_position(anchor, size, candidates, most)
        if found is None:
            text.remove()
            return False
        center, box = found
        self._taken.append(box)
        text.set_position(tuple(self.figure.transFigure.inverted().transform(center)))
        return True
