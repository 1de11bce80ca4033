"""Names in pictures: any text is drawn as it is, without a warning, and shown in the legend."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import pytest
import torch
from matplotlib.figure import Figure
from matplotlib.legend import Legend

from dmte.embedding.embedding import Embedding
from dmte.network import TextualNetwork
from dmte.plotting.curves import draw_results
from dmte.plotting.figure import BLANK, Line, Panel, caption, draw_lines, draw_panels
from dmte.plotting.map import Map

NAMES = [
    r"$\frac{1}$",
    "$",
    "$x$ and $y_1",
    r"\$a$b$",
    "%",
    "_hidden",
    "_nolegend_",
    "",
    " \n",
    "\x1b[31m\x00\x07",
    "two\nlines\r\n",
    "\u202eback",
    "中文字",
    "\U0001f469\u200d\U0001f52c",
    "\ud800",
    "]]>--&<svg/>",
    "\ufffe\uffff",
    "m" * 10_000,
    "中" * 10_000,
    "a" + "\u0301" * 1_000,
    "\ufdfd" * 60,
]


def drawn_texts(path: Path) -> list[str]:
    """The texts of an SVG file, which matplotlib writes as comments beside their shapes."""
    content = path.read_text("utf-8")
    ElementTree.fromstring(content)
    return [text.strip() for text in re.findall("<!--(.*?)-->", content, re.DOTALL)]


@pytest.fixture(params=["svg", "png", "pdf"])
def picture(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / f"picture.{request.param}"


@pytest.fixture
def legends(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The entries of every legend in a picture that is written."""
    found: list[list[str]] = []
    savefig = Figure.savefig

    def save(figure: Figure, *given: Any, **options: Any) -> None:
        shown = figure.findobj(Legend)
        found.extend([text.get_text() for text in legend.get_texts()] for legend in shown)
        savefig(figure, *given, **options)

    monkeypatch.setattr(Figure, "savefig", save)
    return found


def assert_shown(entries: list[str], names: list[str]) -> None:
    """Every name has an entry, and a long or wide one is cut."""
    for entry, name in zip(entries, names, strict=True):
        whole = caption(name, 60)
        assert entry == whole or (entry.endswith("…") and whole.startswith(entry[:-1]))
        assert len(entry) == len(whole) or len(entry) > 10


def network_of(labels: list[str]) -> tuple[TextualNetwork, Embedding]:
    """Two vertices per label, with ids like the labels."""
    ids = tuple(f"{label}{copy}" for copy in "12" for label in labels)
    network = TextualNetwork(
        ids=ids,
        texts=ids,
        edges=torch.tensor([[0, 1]]),
        labels=tuple(frozenset([label]) for label in (*labels, *labels)),
    )
    vectors = torch.randn(len(ids), 4, generator=torch.Generator().manual_seed(0))
    return network, Embedding(ids, vectors, 4)


@pytest.mark.medium
def test_any_label_and_id_is_drawn_on_a_map(picture: Path, legends: list[list[str]]) -> None:
    for names in (NAMES[:12], NAMES[12:]):
        network, embedding = network_of(names)
        Map(by="pca", names=60).draw(network, embedding, picture, replace=True)
        (entries,) = legends
        assert sorted(entries) == sorted(f"{caption(name, 28)} (2)" for name in names)
        legends.clear()
        if picture.suffix == ".svg":
            texts = drawn_texts(picture)
            assert set(texts) >= {*entries} - {"]]>--&<svg/> (2)"}


@pytest.mark.medium
def test_any_method_and_title_is_drawn_in_panels(picture: Path, legends: list[list[str]]) -> None:
    lines = [Line(name, [0.0, 1.0], [number, 1.0]) for number, name in enumerate(NAMES)]
    panels = [Panel(name, ("x", "y"), lines, lines[3:5]) for name in NAMES[:8]]
    draw_panels(panels, picture, title=NAMES[0], replace=True)
    (entries,) = legends
    assert_shown(entries, [*NAMES, "2 more"])


@pytest.mark.medium
@pytest.mark.parametrize("title", NAMES, ids=lambda name: ascii(name)[:20])
def test_any_title_is_drawn(title: str, tmp_path: Path) -> None:
    panel = Panel(title, ("x", "y"), [Line("a", [0.0], [0.0])])
    draw_panels([panel], tmp_path / "p.svg", title=title, replace=False)


@pytest.mark.medium
def test_any_line_of_a_figure_is_drawn(picture: Path, legends: list[list[str]]) -> None:
    for names in (NAMES[:5], NAMES):
        legends.clear()
        lines = [Line(name, [0.0, 1.0], [0.0, 1.0], spread=[0.1, 0.1]) for name in names]
        draw_lines(lines, ("$x$", "$y"), [picture])
        (entries,) = legends
        assert_shown(entries, names)


def test_mathematics_is_text_even_if_the_users_style_says_otherwise(tmp_path: Path) -> None:
    panel = Panel("", ("x", "y"), [Line(r"$\frac{1}$", [0.0], [0.0]), Line("$b$", [0.0], [1.0])])
    with mpl.rc_context({"text.usetex": True, "text.parse_math": True}):
        draw_panels([panel], tmp_path / "p.svg", title="$c$", replace=False)
        assert mpl.rcParams["text.usetex"]
    assert {r"$\frac{1}$", "$b$", "$c$"} <= set(drawn_texts(tmp_path / "p.svg"))


def test_results_of_others_are_drawn(tmp_path: Path) -> None:
    figure = {"mean": 0.5, "std": None, "interval": None, "values": [0.5]}
    row = {"settings": {"$a$": r"$\frac"}, "train_fraction": 0.5, "score": "dot", "auc": figure}
    rows = [row | {"method": name, "protocol": r"$\frac{"} for name in ("_a", r"$\frac{1}$")]
    network = {"vertices": 2, "edges": 1}
    results = {"title": r"$\sqrt", "network": network, "results": rows}
    draw_results(results, tmp_path / "r.svg")
    texts = drawn_texts(tmp_path / "r.svg")
    assert {"_a", r"$\frac{1}$", r"$\frac{ protocol"} <= set(texts)
    assert any(text.startswith(r"$\sqrt; ") for text in texts)


@pytest.mark.parametrize("name", NAMES)
def test_a_caption_is_one_short_line_of_visible_letters(name: str) -> None:
    shown = caption(name, 20)
    assert 0 < len(shown) <= 20
    assert shown.isprintable()
    assert shown == shown.strip()


def test_a_blank_name_is_shown_as_blank() -> None:
    assert {caption(name, 20) for name in ("", " ", "\n", "\u200b", "\x00")} == {BLANK}
