"""The map: a picture that shows what it should."""

from pathlib import Path

import pytest
import torch
from matplotlib.image import imread

from dmte.embedding import Embedding
from dmte.network.synthetic import PlantedTopics
from dmte.plots import Line, draw_lines, draw_map, flatten


@pytest.mark.parametrize("num_vertices", [3, 40])
def test_a_map_is_drawn_for_small_and_larger_networks(num_vertices: int, tmp_path: Path) -> None:
    generator = torch.Generator().manual_seed(0)
    network = PlantedTopics(num_vertices=num_vertices, num_topics=1).draw(generator)
    vectors = torch.randn(num_vertices, 6, generator=generator)
    path = tmp_path / "map.png"
    draw_map(network, Embedding(network.ids, vectors, 3), path, seed=0)
    picture = imread(path)
    assert picture.shape[:2] == (1125, 1350)
    assert picture[..., :3].std() > 0.01


def test_near_vectors_stay_near() -> None:
    generator = torch.Generator().manual_seed(0)
    centers = torch.eye(3).repeat_interleave(20, dim=0)
    vectors = centers + 0.05 * torch.randn(60, 3, generator=generator)
    places = torch.from_numpy(flatten(Embedding(tuple(map(str, range(60))), vectors, 3), seed=0))
    distances = torch.cdist(places, places)
    same = torch.arange(60).unsqueeze(0) // 20 == torch.arange(60).unsqueeze(1) // 20
    nearest = distances.fill_diagonal_(torch.inf).argmin(dim=1)
    assert same[torch.arange(60), nearest].all()


def test_the_same_seed_draws_the_same_map() -> None:
    vectors = torch.randn(30, 4, generator=torch.Generator().manual_seed(0))
    embedding = Embedding(tuple(map(str, range(30))), vectors, 2)
    assert (flatten(embedding, seed=1) == flatten(embedding, seed=1)).all()


def test_lines_are_drawn_the_same_every_time(tmp_path: Path) -> None:
    lines = [
        Line("first", x=[1.0, 2.0], y=[3.0, 4.0], spread=[0.1, 0.0]),
        Line("second", x=[1.0, 2.0], y=[4.0, 3.0], spread=[0.0, 0.2]),
    ]
    for name in ("one", "two"):
        draw_lines(lines, ("across", "up"), [tmp_path / f"{name}.png", tmp_path / f"{name}.svg"])
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert "<svg" in (tmp_path / "one.svg").read_text()
