"""A map: every vertex at a place in the plane, near ones similar by cosine.

    pca     the plane of the two largest variances of the unit vectors; exact, and quick for all
    tsne    keeps near vectors near, at the cost of large distances; starts from the plane of pca
    umap    likewise, and quicker; needs the extra umap

t-SNE and UMAP take long for many vertices: beyond a limit a sample is drawn, and said so.
Names are put where there is room (``naming``), one after the other; one for which there is none is
left out, and its color is still in the legend.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np
import torch
from jaxtyping import Float, Int
from sklearn.manifold import TSNE  # type: ignore[import-untyped]
from torch.nn.functional import normalize

from dmte.embedding.embedding import Embedding
from dmte.errors import ConfigError, warn
from dmte.network import TextualNetwork
from dmte.plotting.figure import COLORS, SHAPES, blank, refuse_unknown_kind, save_figure
from dmte.plotting.label_placement import Box, Free, Places, Ways, beside, rings, thickest
from dmte.runtime.optional import require
from dmte.runtime.seeding import generator_for
from dmte.settings import Half, Way

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

TITLES: Mapping[Way, str] = MappingProxyType({"tsne": "t-SNE", "pca": "PCA", "umap": "UMAP"})
LIMITS: Mapping[Way, int] = MappingProxyType({"tsne": 5_000, "umap": 50_000, "pca": 1_000_000})
"""Most vertices on a map; t-SNE took 36 s for its on one core, the others are not measured."""
NAMES = 30
"""Vertices that are named where there are no labels, or few vertices."""
FEW = 200
"""Vertices among which some are named beside their labels."""
CROWDED = 2_000  # Points; more of them are pixels even in SVG and PDF, which would be slow to open.
LONGEST = 28  # Letters of a name.
TRIES = 20  # Vertices that are looked at for every name; where all is full, more would not help.
MARGIN = 14  # Pixels of a frame and around it, both sides together.


class Drawn(NamedTuple):
    """What a map shows."""

    num_vertices: int
    """Those on the map; fewer than there are if a sample was drawn."""
    labels: dict[str, int]
    """How many vertices each label in color has, the commonest first."""
    others: int
    """How many further labels there are, whose vertices are grey."""
    names: list[str]
    """The names written beside a vertex."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Map:
    """How a map is made; ``draw`` makes it.

    >>> from tempfile import TemporaryDirectory
    >>> from dmte import Dmte, read_network
    >>> network = read_network("concepts")
    >>> embedding = Dmte(dim=64, epochs=1).fit(network).embedding_
    >>> plan = Map(by="pca", names=3)
    >>> with TemporaryDirectory() as folder:
    ...     drawn = plan.draw(network, embedding, f"{folder}/map.png")
    >>> drawn.num_vertices, len(drawn.labels), len(drawn.names)
    (432, 12, 3)
    >>> plan.flatten(embedding, np.arange(432)).shape
    (432, 2)
    """

    by: Way = "tsne"
    """How vectors become places: tsne, pca or umap."""
    seed: int = 0
    """The same seed draws the same map."""
    half: Half = "both"
    """What of the vectors is looked at."""
    names: int | None = None
    """How many vertices are named, the best linked first; by default some if nothing has labels."""
    limit: int | None = None
    """Most vertices on the map; by default what does not take long."""

    def __post_init__(self) -> None:
        if self.by not in get_args(Way):
            raise ConfigError(f"by must be one of {', '.join(get_args(Way))}, not {self.by!r}")
        for name, number, least in (("names", self.names, 0), ("limit", self.limit, 1)):
            if number is not None and number < least:
                raise ConfigError(f"{name} must be at least {least}, not {number}")

    def draw(
        self,
        network: TextualNetwork,
        embedding: Embedding,
        path: Path | str,
        *,
        replace: bool = False,
    ) -> Drawn:
        """Write the map of ``embedding`` to ``path``, a .png, .svg or .pdf.

        Raises:
            MissingExtraError: matplotlib or umap-learn is not installed.
            StorageError: The file exists and is not to be replaced, or cannot be written.
        """
        refuse_unknown_kind(Path(path))
        chosen = self._sample(len(embedding))
        places = self.flatten(embedding, chosen)
        figure = blank(10.0, _height(places))
        canvas = _Canvas(figure, places, _groups(network, chosen))
        canvas.title(self._title(len(embedding), len(chosen)))
        canvas.draw_points()
        canvas.settle()
        canvas.name_groups()
        # Among many, names of labels say more than those of some vertices.
        names_most = not network.labels or len(chosen) <= FEW
        wanted = (NAMES if names_most else 0) if self.names is None else self.names
        names = canvas.name_vertices(_by_degree(network, chosen), wanted)
        save_figure(figure, Path(path), replace=replace)
        in_color = {g.name: len(g.members) for g in canvas.groups if g.kind == "label"}
        return Drawn(len(chosen), in_color, len(network.classes) - len(in_color), names)

    def flatten(self, embedding: Embedding, chosen: Int[np.ndarray, " some"]) -> Places:
        """Return a place in the plane for each of the chosen rows."""
        rows = normalize(embedding.half(self.half)[torch.from_numpy(chosen)].double()).numpy()
        plane = principal_plane(rows)
        # Three points or fewer lie in a plane already, and vectors that do not differ at a point.
        if self.by == "pca" or len(rows) < 4 or not plane.any():
            return plane
        start = (plane / plane[:, 0].std()).astype(np.float32)
        return (_tsne if self.by == "tsne" else _umap)(rows, start, self.seed % 2**32)

    def _sample(self, num_vertices: int) -> Int[np.ndarray, " some"]:
        """Return which vertices are shown, all if they are not too many."""
        most = LIMITS[self.by] if self.limit is None else self.limit
        if num_vertices <= most:
            return np.arange(num_vertices)
        warn(
            f"the map shows {most:,} of {num_vertices:,} vertices, drawn at random, since "
            f"{TITLES[self.by]} takes long for all; set a limit for more, or use PCA"
            if self.limit is None
            else f"the map shows {most:,} of {num_vertices:,} vertices, drawn at random"
        )
        order = torch.randperm(num_vertices, generator=generator_for(self.seed, "map"))
        return np.sort(order[:most].numpy())

    def _title(self, num_vertices: int, num_shown: int) -> str:
        sampled = "" if num_shown == num_vertices else f"{num_shown:,} of "
        drawn = "" if num_shown == num_vertices else ", drawn at random"
        half = "" if self.half == "both" else f", {self.half} half"
        return (
            f"{sampled}{num_vertices:,} vertices{drawn}, near ones similar"
            f" ({TITLES[self.by]}{half})"
        )


# ── Places ──


def principal_plane(rows: Float[np.ndarray, "vertices dim"]) -> Places:
    """Return X̄ [q_1 q_2], the centered rows along their two directions of largest variance.

    q_1 and q_2 are eigenvectors of X̄ᵀ X̄, turned so that their largest entry is positive.

    >>> principal_plane(np.array([[0.0, 0.0], [0.0, 4.0]])).tolist()
    [[-2.0, 0.0], [2.0, 0.0]]
    """
    centered = rows - rows.mean(axis=0)
    _, directions = np.linalg.eigh(centered.T @ centered)
    two = directions[:, ::-1][:, :2]
    largest = np.abs(two).argmax(axis=0)
    two = two * np.sign(two[largest, np.arange(two.shape[1])])
    places: Places = np.zeros((len(rows), 2))
    places[:, : two.shape[1]] = centered @ two
    return np.where(np.abs(places) < 1e-12, 0.0, places)


def _tsne(rows: Float[np.ndarray, "vertices dim"], start: Places, seed: int) -> Places:
    perplexity = min(30.0, (len(rows) - 1) / 3)
    model = TSNE(init=1e-4 * start, perplexity=perplexity, random_state=seed)
    places: Places = model.fit_transform(rows.astype(np.float32))
    return places.astype(np.float64)


def _umap(rows: Float[np.ndarray, "vertices dim"], start: Places, seed: int) -> Places:
    umap = require("umap", extra="umap", purpose="a map by UMAP", package="umap-learn")
    neighbors = min(15, len(rows) - 1)
    model = umap.UMAP(n_neighbors=neighbors, init=start, random_state=seed, n_jobs=1)
    return np.asarray(model.fit_transform(rows.astype(np.float32)), dtype=np.float64)


# ── Who is shown how ──


class _Group(NamedTuple):
    """Vertices that are drawn alike."""

    name: str
    kind: Literal["label", "others", "unlabelled", "all"]
    members: Int[np.ndarray, " some"]
    color: str
    shape: str

    @property
    def title(self) -> str:
        """What the legend calls it."""
        return f"{shorten(self.name)} ({len(self.members):,})"


def _groups(network: TextualNetwork, chosen: Int[np.ndarray, " some"]) -> list[_Group]:
    """Return the commonest labels in color, the others in grey; rows are those of ``chosen``.

    A vertex with several labels is shown in the commonest of them.
    """
    if not network.labels:
        return [_Group("", "all", np.arange(len(chosen)), COLORS[10], "o")]
    counts = Counter(name for classes in network.labels for name in classes)
    order = sorted(counts, key=lambda name: (-counts[name], name))
    rank = {name: position for position, name in enumerate(order)}
    own = [min((rank[c] for c in network.labels[vertex]), default=-1) for vertex in chosen]
    first = np.array(own, dtype=np.int64)
    groups = []
    if len(unlabelled := np.flatnonzero(first < 0)):
        groups.append(_Group("no label", "unlabelled", unlabelled, "#DDDDDD", "."))
    if (more := len(order) - len(COLORS)) > 0:
        rest = np.flatnonzero(first >= len(COLORS))
        groups.append(_Group(f"{more:,} other labels", "others", rest, "#AAAAAA", "."))
    for number, name in enumerate(order[: len(COLORS)]):
        # Whoever has a label may be shown in a commoner one of theirs.
        if len(members := np.flatnonzero(first == number)):
            groups.append(_Group(name, "label", members, COLORS[number], SHAPES[number]))
    return groups


def _by_degree(
    network: TextualNetwork, chosen: Int[np.ndarray, " some"]
) -> Iterator[tuple[int, str]]:
    """Yield the chosen vertices, the best linked first: their row on the map and their name."""
    degrees = np.diff(network.adjacency().indptr)[chosen]
    for row in np.argsort(-degrees, kind="stable").tolist():
        yield row, vertex_name(network, int(chosen[row]))


def vertex_name(network: TextualNetwork, vertex: int) -> str:
    """Return the id of a vertex, or the beginning of its text where the id is a mere number."""
    name = network.ids[vertex]
    return shorten(network.texts[vertex] if name.isdigit() and network.texts[vertex] else name)


def shorten(name: str) -> str:
    """Return the name on one line that is not too long.

    >>> shorten("a name that nobody would want to read on a map")
    'a name that nobody would wa…'
    """
    line = " ".join(name.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1].rstrip() + "…"


# ── Drawing ──


class _Canvas:
    """A map while it is drawn; names are placed in pixels, when all else stands still."""

    def __init__(self, figure: "Figure", places: Places, groups: Sequence[_Group]) -> None:
        self.figure, self.places, self.groups = figure, places, groups
        self.axes: Axes = figure.add_subplot()
        self._taken: list[Box] = []
        self._points: Places = places

    def title(self, text: str) -> None:
        self.axes.set_title(text, loc="left", fontsize=11)

    def draw_points(self) -> None:
        """Draw the points and a legend beside them; the more points the smaller."""
        count = len(self.places)
        size = float(np.clip(22 * np.sqrt(432 / count), 1.5, 36))
        for group in self.groups:
            quiet = group.kind in ("others", "unlabelled")
            x, y = self.places[group.members].T
            self.axes.scatter(
                x,
                y,
                s=size,
                c=group.color,
                marker=group.shape,
                edgecolors="none" if quiet else "#222222",
                linewidths=0 if count > CROWDED else 0.3,
                rasterized=count > CROWDED,
                label=group.title,
            )
        self.axes.set_axis_off()
        self.axes.set_aspect("equal", adjustable="datalim")
        self.axes.margins(0.04)
        if self.groups[0].kind != "all":
            self._draw_legend()

    def _draw_legend(self) -> None:
        from matplotlib.lines import Line2D

        handles = [
            Line2D([], [], color=g.color, marker=g.shape, linestyle="", markersize=6, label=g.title)
            for g in sorted(self.groups, key=lambda g: g.kind != "label")
        ]
        self.figure.legend(
            handles=handles, loc="outside right upper", frameon=False, fontsize=9, labelspacing=0.7
        )

    def settle(self) -> None:
        """Let the layout be done, and then left alone: from here on pixels count."""
        self.figure.draw_without_rendering()
        self.figure.set_layout_engine("none")
        # Whatever is drawn from now on must not move the view.
        self.axes.set_xlim(self.axes.get_xlim())
        self.axes.set_ylim(self.axes.get_ylim())
        self.axes.set_aspect("auto")
        self._points = self.axes.transData.transform(self.places)

    def name_groups(self) -> None:
        """Write the name of every label where its vertices are thickest, the commonest first."""
        for group in self.groups:
            if group.kind == "label":
                # What lies below shows through.
                box = {"boxstyle": "round,pad=0.2", "fc": "#FFFFFFB0", "ec": group.color, "lw": 1.8}
                text = self.figure.text(
                    0, 0, shorten(group.name), fontsize=9, ha="center", va="center", bbox=box
                )
                self._place(text, thickest(self._points[group.members]), rings)

    def name_vertices(self, candidates: Iterator[tuple[int, str]], wanted: int) -> list[str]:
        """Write names beside vertices until so many have found room; return them."""
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

    def _place(self, text: "Text", anchor: np.ndarray, ways: Ways, most: int = 10**9) -> bool:
        """Put a name at the place that covers the fewest points, or remove it if there is none."""
        extent = text.get_window_extent()
        # A frame is measured only when it is drawn, which is too late.
        size = np.array([extent.width, extent.height]) + (MARGIN if text.get_bbox_patch() else 4)
        bounds = Box(*map(float, self.axes.get_window_extent().extents))
        free = Free(bounds, self._points, self._taken)
        found = free.best_place(anchor, size, ways, most)
        if found is None:
            text.remove()
            return False
        center, box = found
        self._taken.append(box)
        text.set_position(tuple(self.figure.transFigure.inverted().transform(center)))
        return True


def _height(places: Places) -> float:
    """Return how high a picture ten inches wide is to be, so that little of it stays blank."""
    width, height = np.ptp(places, axis=0)
    return float(np.clip(0.7 + 8.0 * height / max(width, 1e-9), 4.5, 8.5))
