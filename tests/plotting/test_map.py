"""Maps: projections, samples, colors, and labels that do not overlap."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.image import imread

from dmte.embedding.embedding import Embedding
from dmte.errors import ConfigError, DmteWarning, MissingExtraError, StorageError
from dmte.network import TextualNetwork
from dmte.network.synthetic import PlantedTopics
from dmte.plotting.label_placement import densest_point
from dmte.plotting.map import Map, principal_plane
from dmte.settings import Projection


def embedding_of(vectors: torch.Tensor) -> Embedding:
    return Embedding(tuple(map(str, range(len(vectors)))), vectors, vectors.shape[1])


def noise(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def labelled(labels: list[set[str]]) -> TextualNetwork:
    names = tuple(f"v{number}" for number in range(len(labels)))
    edges = torch.tensor([[0, 1], [0, 2]])
    return TextualNetwork(ids=names, texts=names, edges=edges, labels=tuple(map(frozenset, labels)))


@pytest.mark.medium
@pytest.mark.parametrize("num_vertices", [1, 2, 3, 4, 40])
@pytest.mark.parametrize("by", ["tsne", "pca"])
def test_a_map_is_drawn_for_networks_of_any_size(
    num_vertices: int, by: Projection, tmp_path: Path
) -> None:
    edges = torch.zeros(0, 2, dtype=torch.int64)
    ids = tuple(f"name {number}" for number in range(num_vertices))
    network = TextualNetwork(ids=ids, texts=ids, edges=edges)
    drawn = Map(by=by).draw(network, Embedding(ids, noise(num_vertices, 6), 6), tmp_path / "m.png")
    assert drawn.num_vertices == num_vertices
    assert drawn.names
    assert imread(tmp_path / "m.png")[..., :3].std() > 0.01


def test_a_map_of_identical_vectors_is_drawn(tmp_path: Path) -> None:
    network = labelled([{"a"}] * 9)
    Map().draw(network, Embedding(network.ids, torch.ones(9, 3), 3), tmp_path / "m.png")
    assert (tmp_path / "m.png").is_file()


def test_near_vectors_stay_near() -> None:
    centers = torch.eye(3).repeat_interleave(20, dim=0)
    embedding = embedding_of(centers + 0.05 * noise(60, 3))
    places = torch.from_numpy(Map().flatten(embedding, np.arange(60)))
    distances = torch.cdist(places, places)
    same = torch.arange(60).unsqueeze(0) // 20 == torch.arange(60).unsqueeze(1) // 20
    nearest = distances.fill_diagonal_(torch.inf).argmin(dim=1)
    assert same[torch.arange(60), nearest].all()


def test_pca_preserves_the_distances_of_planar_vectors() -> None:
    flat = noise(10, 2) @ noise(2, 7)
    places = torch.from_numpy(principal_plane(flat.double().numpy()))
    expected = torch.cdist(flat.double(), flat.double())
    torch.testing.assert_close(torch.cdist(places, places), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.medium
@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_the_same_seed_draws_the_same_file(ending: str, tmp_path: Path) -> None:
    network = PlantedTopics(num_vertices=40).draw(torch.Generator().manual_seed(0))
    embedding = Embedding(network.ids, noise(40, 5), 5)
    paths = [tmp_path / f"{name}.{ending}" for name in ("one", "two")]
    for path in paths:
        Map(by="tsne", names=5, seed=1).draw(network, embedding, path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_drawing_a_sample_warns(tmp_path: Path) -> None:
    network = labelled([{"a"}, set(), {"b"}, {"a", "b"}, {"a"}])
    embedding = Embedding(network.ids, noise(5, 3), 3)
    with pytest.warns(DmteWarning, match="shows 3 of 5 vertices, drawn at random"):
        drawn = Map(limit=3).draw(network, embedding, tmp_path / "m.png")
    assert drawn.num_vertices == 3


@pytest.mark.medium
def test_the_most_frequent_labels_are_in_color_and_the_others_counted(tmp_path: Path) -> None:
    labels = [{f"class {number}"} for number in range(15)] + [{"class 14"}, {"class 13"}, set()]
    network = labelled(labels)
    drawn = Map(by="pca").draw(network, Embedding(network.ids, noise(18, 4), 4), tmp_path / "m.svg")
    assert len(drawn.labels) == 12
    assert list(drawn.labels)[:2] == ["class 13", "class 14"]
    assert drawn.others == 3


def test_many_points_are_rasterized_in_vector_formats(tmp_path: Path) -> None:
    network = labelled([{"a"}] * 2001)
    embedding = Embedding(network.ids, noise(2001, 2), 2)
    Map(by="pca").draw(network, embedding, tmp_path / "m.svg")
    assert "<image" in (tmp_path / "m.svg").read_text()
    assert (tmp_path / "m.svg").stat().st_size < 300_000


def test_the_densest_point_is_in_the_larger_cluster() -> None:
    points = np.concatenate([np.zeros((10, 2)), 9 + np.arange(12).reshape(6, 2)])
    assert densest_point(points).tolist() == [0, 0]


@pytest.mark.medium
def test_labels_do_not_overlap_or_leave_the_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    num_labels: list[int] = []
    from matplotlib.figure import Figure

    def check(figure: Figure, *_: object, **__: object) -> None:
        boxes = [text.get_window_extent() for text in figure.texts]
        num_labels.append(len(boxes))
        picture = figure.bbox
        for at, box in enumerate(boxes):
            assert picture.x0 <= box.x0
            assert box.x1 <= picture.x1
            assert not any(box.overlaps(other) for other in boxes[:at])
        # A name is next to the ring around its vertex, also after drawing.
        figure.draw_without_rendering()
        (axes,) = figure.axes
        for text, ring in zip(figure.texts[-40:], axes.collections[-40:], strict=True):
            (place,) = axes.transData.transform(np.asarray(ring.get_offsets()))
            near = text.get_window_extent().padded(20)
            assert near.contains(*place)

    monkeypatch.setattr("dmte.plotting.map.save_figure", check)
    names = [f"a rather long name {number % 12}" for number in range(300)]
    network = labelled([{name} for name in names])
    embedding = Embedding(network.ids, noise(300, 3), 3)
    drawn = Map(by="pca", names=40).draw(network, embedding, tmp_path / "m.png")
    assert len(drawn.names) == 40
    assert num_labels[0] >= 45


def test_without_umap_the_error_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "umap", None)
    network = labelled([{"a"}] * 5)
    embedding = Embedding(network.ids, noise(5, 2), 2)
    with pytest.raises(MissingExtraError, match=r"needs umap-learn.*dmte\[umap\]"):
        Map(by="umap").draw(network, embedding, tmp_path / "m.png")


@pytest.mark.slow  # numba compiles.
def test_umap_keeps_near_vectors_near() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Warnings of its dependencies.
        pytest.importorskip("umap", reason="needs the extra umap")
        centers = torch.eye(3).repeat_interleave(20, dim=0)
        places = Map(by="umap").flatten(embedding_of(centers + 0.05 * noise(60, 3)), np.arange(60))
    assert np.isfinite(places).all()
    hearts = places.reshape(3, 20, 2).mean(axis=1)
    nearest = ((places[:, None] - hearts) ** 2).sum(axis=2).argmin(axis=1)
    assert (nearest == np.arange(60) // 20).all()


def test_an_invalid_setting_or_file_type_raises(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="names must be at least 0"):
        Map(names=-1)
    network = labelled([{"a"}] * 3)
    embedding = Embedding(network.ids, noise(3, 2), 2)
    with pytest.raises(StorageError, match=r"must end in \.png, \.svg, \.pdf"):
        Map().draw(network, embedding, tmp_path / "m.gif")
    (tmp_path / "m.png").write_text("mine")
    with pytest.raises(StorageError, match="exists already"):
        Map().draw(network, embedding, tmp_path / "m.png")
    assert (tmp_path / "m.png").read_text() == "mine"
