"""Maps: a two-dimensional projection of the vectors in which near vertices are similar by cosine.

    pca     the two principal components of the unit vectors; exact, and fast for any size
    tsne    preserves neighborhoods but not large distances; initialized with pca
    umap    like tsne, but faster; needs the extra umap

t-SNE and UMAP are slow for many vertices. Above a limit, a random sample is drawn, with a warning.
Labels are placed one after the other where there is room (``label_placement``). A label without
room is omitted; its color is in the legend.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, get_args

import numpy as np
import torch
from jaxtyping import Float, Int
from sklearn.manifold import TSNE  # type: ignore[import-untyped]
from torch.nn.functional import normalize

from dmte.embedding.embedding import Embedding
from dmte.errors import ConfigError, warn
from dmte.network import TextualNetwork
from dmte.plotting.figure import (
    COLORS,
    SHAPES,
    as_plain_text,
    caption,
    check_file_type,
    new_figure,
    save_figure,
)
from dmte.plotting.label_placement import Places
from dmte.plotting.map_canvas import MAX_NAME_LENGTH, Canvas, Group
from dmte.runtime.optional import require
from dmte.runtime.seeding import generator_for
from dmte.settings import Half, Projection

TITLES: Mapping[Projection, str] = MappingProxyType({"tsne": "t-SNE", "pca": "PCA", "umap": "UMAP"})
LIMITS: Mapping[Projection, int] = MappingProxyType(
    {"tsne": 5_000, "umap": 50_000, "pca": 1_000_000}
)
"""Maximum number of vertices on a map. t-SNE takes 36 s for 5,000 on one core; the others are not
measured."""
DEFAULT_NAMES = 30
"""Vertices named by default if there are no labels or few vertices."""
MAX_NAMED_BY_DEFAULT = 200
"""Number of vertices up to which vertices are named beside their labels."""


class Drawn(NamedTuple):
    """The content of a map."""

    num_vertices: int
    """Number of vertices on the map; below that of the network if a sample was drawn."""
    labels: dict[str, int]
    """Number of vertices with each colored label, most frequent first."""
    others: int
    """Number of other labels, whose vertices are grey."""
    names: list[str]
    """Names written beside vertices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Map:
    """Settings of a map; ``draw`` writes it to a file.

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

    by: Projection = "tsne"
    """Projection: tsne, pca or umap."""
    seed: int = 0
    """The same seed draws the same map."""
    half: Half = "both"
    """The half of the vectors to project."""
    names: int | None = None
    """Number of vertices to name, highest degree first. None names up to 30 if there are no labels
    or at most 200 vertices, else 0."""
    limit: int | None = None
    """Maximum number of vertices on the map; None uses a limit per projection."""

    def __post_init__(self) -> None:
        if self.by not in get_args(Projection):
            known = ", ".join(get_args(Projection))
            raise ConfigError(f"by must be one of {known}, not {self.by!r}")
        for name, number, least in (("names", self.names, 0), ("limit", self.limit, 1)):
            if number is not None and number < least:
                raise ConfigError(f"{name} must be at least {least}, not {number}")

    @as_plain_text()
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
            StorageError: The file type is unknown, the file exists and ``replace`` is false, or it
                cannot be written.
        """
        check_file_type(Path(path))
        chosen = self._sample(len(embedding))
        places = self.flatten(embedding, chosen)
        figure = new_figure(10.0, _height(places))
        canvas = Canvas(figure, places, _groups(network, chosen))
        canvas.title(self._title(len(embedding), len(chosen)))
        canvas.draw_points()
        canvas.freeze_layout()
        canvas.label_groups()
        # On a large map, names of labels are more useful than those of a few vertices.
        names_some = not network.labels or len(chosen) <= MAX_NAMED_BY_DEFAULT
        wanted = (DEFAULT_NAMES if names_some else 0) if self.names is None else self.names
        names = canvas.label_vertices(_by_degree(network, chosen), wanted)
        save_figure(figure, Path(path), replace=replace)
        in_color = {g.name: len(g.members) for g in canvas.groups if g.kind == "label"}
        return Drawn(len(chosen), in_color, len(network.classes) - len(in_color), names)

    def flatten(self, embedding: Embedding, chosen: Int[np.ndarray, " some"]) -> Places:
        """Project the chosen rows to the plane."""
        rows = normalize(embedding.half(self.half)[torch.from_numpy(chosen)].double()).numpy()
        plane = principal_plane(rows)
        # Up to three points are already planar; identical vectors have no neighborhoods.
        if self.by == "pca" or len(rows) < 4 or not plane.any():
            return plane
        start = (plane / plane[:, 0].std()).astype(np.float32)
        return (_tsne if self.by == "tsne" else _umap)(rows, start, self.seed % 2**32)

    def _sample(self, num_vertices: int) -> Int[np.ndarray, " some"]:
        """Return the vertices to show: all, or a random sample above the limit."""
        most = LIMITS[self.by] if self.limit is None else self.limit
        if num_vertices <= most:
            return np.arange(num_vertices)
        warn(
            f"the map shows {most:,} of {num_vertices:,} vertices, drawn at random, because "
            f"{TITLES[self.by]} is slow for all; set a limit for more, or use PCA"
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


# ── Projections ──


def principal_plane(rows: Float[np.ndarray, "vertices dim"]) -> Places:
    """Return X̄ [q_1 q_2], the two principal components of the rows; X̄ is X centered.

    q_1 and q_2 are eigenvectors of X̄ᵀ X̄, signed so that their largest entry is positive.

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


# ── Groups and names ──


def _groups(network: TextualNetwork, chosen: Int[np.ndarray, " some"]) -> list[Group]:
    """Group the chosen vertices by label: the most frequent in color, the others in grey.

    A vertex with several labels belongs to the most frequent one.
    """
    if not network.labels:
        return [Group("", "all", np.arange(len(chosen)), COLORS[10], "o")]
    counts = Counter(name for classes in network.labels for name in classes)
    order = sorted(counts, key=lambda name: (-counts[name], name))
    rank = {name: position for position, name in enumerate(order)}
    own = [min((rank[c] for c in network.labels[vertex]), default=-1) for vertex in chosen]
    first = np.array(own, dtype=np.int64)
    groups = []
    if len(unlabelled := np.flatnonzero(first < 0)):
        groups.append(Group("no label", "unlabelled", unlabelled, "#DDDDDD", "."))
    if (more := len(order) - len(COLORS)) > 0:
        rest = np.flatnonzero(first >= len(COLORS))
        groups.append(Group(f"{more:,} other labels", "others", rest, "#AAAAAA", "."))
    for number, name in enumerate(order[: len(COLORS)]):
        # All vertices of a label may belong to a more frequent one.
        if len(members := np.flatnonzero(first == number)):
            groups.append(Group(name, "label", members, COLORS[number], SHAPES[number]))
    return groups


def _by_degree(
    network: TextualNetwork, chosen: Int[np.ndarray, " some"]
) -> Iterator[tuple[int, str]]:
    """Yield the row and the name of the chosen vertices, highest degree first."""
    degrees = np.diff(network.adjacency().indptr)[chosen]
    for row in np.argsort(-degrees, kind="stable").tolist():
        yield row, vertex_name(network, int(chosen[row]))


def vertex_name(network: TextualNetwork, vertex: int) -> str:
    """Return the id of a vertex, or the start of its text if the id is a number."""
    name = network.ids[vertex]
    shown = network.texts[vertex] if name.isdigit() and network.texts[vertex] else name
    return caption(shown, MAX_NAME_LENGTH)


def _height(places: Places) -> float:
    """Return the height of a picture ten inches wide that fits the points."""
    width, height = np.ptp(places, axis=0)
    return float(np.clip(0.7 + 8.0 * height / max(width, 1e-9), 4.5, 8.5))
