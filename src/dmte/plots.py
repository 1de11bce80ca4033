"""Pictures: a map of an embedding in two dimensions, and figures over a range.

matplotlib is an extra, imported only when a picture is drawn.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from sklearn.manifold import TSNE  # type: ignore[import-untyped]
from torch import Tensor
from torch.nn.functional import normalize

from dmte.embedding import Embedding
from dmte.errors import MissingExtraError
from dmte.network import TextualNetwork

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Paul Tol's muted and vibrant schemes, made for color-blind eyes; shapes tell the rest.
COLORS = (
    *("#332288", "#88CCEE", "#44AA99", "#117733", "#999933", "#DDCC77"),
    *("#CC6677", "#882255", "#AA4499", "#EE7733", "#0077BB", "#555555"),
)
SHAPES = "osD^vP"


def flatten(embedding: Embedding, seed: int) -> Float[np.ndarray, "vertices 2"]:
    """Return a place in the plane for every vertex, near ones near (t-SNE on the cosine)."""
    rows: Tensor = normalize(embedding.vectors)
    perplexity = min(30.0, max(1.0, (len(embedding) - 1) / 3))
    places: Float[np.ndarray, "vertices 2"] = TSNE(
        init="pca", perplexity=perplexity, random_state=seed % 2**32
    ).fit_transform(rows.numpy())
    return places


def draw_map(network: TextualNetwork, embedding: Embedding, path: Path, seed: int) -> None:
    """Write a map of ``embedding``, labels in color and shape and named in place, to ``path``.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    figure, axes = _blank(9.0, 7.5)
    places = flatten(embedding, seed)
    for number, name in enumerate(network.classes or [""]):
        chosen = np.array([name in classes for classes in network.labels or ()], dtype=bool)
        _draw_class(axes, places[chosen] if network.labels else places, name, number)
    axes.set_axis_off()
    axes.set_title(f"{network.num_vertices:,} vertices, near ones similar", loc="left")
    figure.savefig(path)


@dataclass(frozen=True, slots=True)
class Line:
    """A figure over a range, with its spread."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    spread: Sequence[float]


def draw_lines(lines: Sequence[Line], axis_names: tuple[str, str], paths: Sequence[Path]) -> None:
    """Draw the lines, told apart by color and shape, with a bar for the spread, to every path.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    figure, axes = _blank(7.0, 4.5)
    for number, line in enumerate(lines):
        axes.errorbar(
            line.x,
            line.y,
            yerr=line.spread,
            label=line.name,
            color=COLORS[3 * number % len(COLORS)],
            marker=SHAPES[number % len(SHAPES)],
            capsize=2,
        )
    axes.set_xlabel(axis_names[0])
    axes.set_ylabel(axis_names[1])
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "dmte"}):  # So that the same results make the same file.
        for path in paths:
            figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def _blank(width: float, height: float) -> "tuple[Figure, Axes]":
    """Return an empty picture of this size in inches, outside of pyplot's global state.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as problem:
        raise MissingExtraError(
            "a picture needs matplotlib, which is not installed; pip install 'dmte[plots]'"
        ) from problem
    figure = Figure(figsize=(width, height), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def _draw_class(axes: "Axes", places: Float[np.ndarray, "some 2"], name: str, number: int) -> None:
    """Draw the vertices of one label and write its name where they are thickest."""
    color, shape = COLORS[number % len(COLORS)], SHAPES[number % len(SHAPES)]
    axes.scatter(places[:, 0], places[:, 1], s=22, c=color, marker=shape, linewidths=0, alpha=0.85)
    if name and len(places):
        axes.annotate(
            name,
            np.median(places, axis=0),
            ha="center",
            va="center",
            fontsize=10,
            bbox={"boxstyle": "round,pad=0.2", "fc": "white", "ec": color, "lw": 2, "alpha": 0.8},
        )
