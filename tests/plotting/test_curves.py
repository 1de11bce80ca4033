"""Line charts: reproducible files, training curves, result curves, invalid results."""

import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest

from dmte.errors import ConfigError, MissingExtraError, StorageError
from dmte.model.history import EpochRecord, outcome
from dmte.plotting.curves import (
    draw_results,
    draw_training,
    read_result_file,
    result_panels,
    training_panels,
)
from dmte.plotting.figure import Line, Panel, draw_lines, draw_panels


def row(method: str, share: float, mean: float, *, seeds: int = 3, **more: Any) -> dict[str, Any]:
    values = [mean] * seeds
    figure = {"mean": mean, "std": 0.01, "interval": None, "values": values}
    figure |= {"interval": [mean - 0.02, mean + 0.2]} if seeds > 1 else {}
    return {
        "method": method,
        "settings": {},
        "protocol": "strict",
        "train_fraction": share,
        "score": "dot",
        "auc": figure,
    } | more


NETWORK = {"vertices": 4, "edges": 3}


@pytest.mark.medium
def test_the_same_lines_make_the_same_file(tmp_path: Path) -> None:
    lines = [
        Line("first", x=[1.0, 2.0], y=[3.0, 4.0], spread=[0.1, 0.0]),
        Line("second", x=[1.0, 2.0], y=[4.0, 3.0], spread=[0.0, 0.2]),
    ]
    for name in ("one", "two"):
        draw_lines(lines, ("across", "up"), [tmp_path / f"{name}.png", tmp_path / f"{name}.svg"])
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert "<svg" in (tmp_path / "one.svg").read_text()


@pytest.mark.medium
@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_the_same_panels_make_the_same_file(ending: str, tmp_path: Path) -> None:
    panel = Panel(
        "", ("x", "y"), [Line("a", [1.0, 2.0], [3.0, 4.0], band=[(2.0, 4.0), (3.0, 5.0)])]
    )
    paths = [tmp_path / f"{name}.{ending}" for name in ("one", "two")]
    for path in paths:
        draw_panels([panel], path, title="t", replace=False)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_a_method_is_a_line_with_its_interval_in_percent() -> None:
    rows = [row("b", 0.5, 0.9), row("a", 0.5, 0.8), row("a", 0.15, 0.7), row("b", 0.15, 0.6)]
    rows += [row("a", 0.5, 0.1, score="cosine")]
    (panel,) = result_panels({"network": NETWORK, "results": rows})
    assert [line.name for line in panel.lines] == ["b", "a"]  # best first
    assert panel.lines[1].x == [15, 50]
    assert panel.lines[1].y == pytest.approx([70, 80])
    assert panel.lines[0].band[1] == pytest.approx((88, 100))  # clipped to 100 %
    assert panel.axis_names == ("edges trained on, %", "AUC, %")


@pytest.mark.parametrize(
    ("seeds", "note"),
    [
        (1, "one seed"),
        (2, "mean of 2 seeds, too few for 95 % intervals"),
        (3, "mean of 3 seeds, 95 % intervals"),
    ],
)
def test_few_seeds_have_no_band_and_the_title_counts_them(
    seeds: int, note: str, tmp_path: Path
) -> None:
    results = {
        "network": NETWORK,
        "results": [row("a", share, 0.8, seeds=seeds) for share in (0.2, 0.5)],
    }
    (panel,) = result_panels(results)
    assert bool(panel.lines[0].band) == (seeds > 2)
    draw_results(results, tmp_path / "auc.svg")
    assert f"<!-- 4 vertices, 3 edges; {note} -->" in (tmp_path / "auc.svg").read_text()


def test_the_legend_counts_seeds_if_methods_differ() -> None:
    rows = [row("a", 0.2, 0.8, seeds=10), row("a", 0.5, 0.8, seeds=2), row("b", 0.2, 0.7, seeds=1)]
    (panel,) = result_panels({"network": NETWORK, "results": rows})
    assert [line.name for line in panel.lines] == ["a (2 to 10)", "b (1)"]
    low, high = panel.lines[0].band[1]
    assert math.isnan(low)
    assert math.isnan(high)


def test_a_method_with_several_settings_has_several_lines() -> None:
    rows = [row("a", 0.5, 0.8, settings={"hop_weights": [1.0, 0.3]}), row("a", 0.5, 0.7)]
    (panel,) = result_panels({"network": NETWORK, "rows": rows})
    assert {line.name for line in panel.lines} == {"a, hop_weights 1 0.3", "a, "}


def test_the_best_of_many_methods_are_in_color() -> None:
    rows = [row(f"m{number}", 0.5, number / 100) for number in range(20)]
    (panel,) = result_panels({"network": NETWORK, "results": rows})
    assert len(panel.lines) == 12
    assert min(line.y[0] for line in panel.lines) > max(line.y[0] for line in panel.faint)


@pytest.mark.medium
def test_the_committed_results_can_be_drawn(tmp_path: Path) -> None:
    folder = Path(__file__).parents[2] / "experiments" / "results"
    for target in ("cora-links", "dblp-classes"):
        path = folder / target / "results.json"
        draw_results(read_result_file(path), tmp_path / f"{target}.png")
    with pytest.raises(ConfigError, match="must have train_fraction or label_fraction"):
        draw_results(read_result_file(folder / "case-study" / "results.json"), tmp_path / "c.png")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe", "not JSON"),
        (b"{", "not JSON"),
        (b"[]", "contain results"),
        (b"{}", "contain results"),
    ],
)
def test_an_invalid_result_file_raises(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "results.json").write_bytes(content)
    with pytest.raises(StorageError, match=message):
        read_result_file(tmp_path / "results.json")


def test_an_unknown_method_or_measure_raises(tmp_path: Path) -> None:
    results = json.loads(json.dumps({"network": NETWORK, "results": [row("a", 0.5, 0.8)]}))
    with pytest.raises(ConfigError, match="methods must be among a, not 'b'"):
        draw_results(results, tmp_path / "x.png", methods=["b"])
    with pytest.raises(ConfigError, match="measure must be one of auc, not 'mrr'"):
        draw_results(results, tmp_path / "x.png", measure="mrr")


def test_training_panels_show_the_loss_and_the_best_epoch() -> None:
    history = [
        EpochRecord(0, None, {}, 0.9),
        EpochRecord(1, 0.5, {"text_text": 0.5}, 0.95),
        EpochRecord(2, 0.4, {"text_text": 0.4}, 0.94),
    ]
    loss, auc = training_panels(history)
    assert [line.name for line in loss.lines] == ["loss"]
    assert loss.lines[0].y == [0.5, 0.4]
    assert auc.lines[0].y == pytest.approx([90, 95, 94])
    assert auc.lines[1].x == [1]
    assert auc.lines[1].y == pytest.approx([95])
    assert auc.lines[1].name == "95.0, best after epoch 1"
    assert outcome(history) == "AUC 95.0 on validation edges, best after epoch 1"


def test_each_of_several_trainings_has_a_ring_at_its_best_epoch() -> None:
    history = [
        EpochRecord(0, None, {}, 0.8, (0.9, 0.7)),
        EpochRecord(1, 0.5, {"text_text": 0.5}, 0.8, (0.8, 0.8)),
    ]
    _, auc = training_panels(history)
    assert auc.lines[1].x == [0, 1]
    assert auc.lines[1].y == pytest.approx([90, 80])
    assert auc.lines[1].name == "85.0, best after epochs 0 (the start) and 1"
    assert [line.y for line in auc.faint] == [[90, 80], [70, 80]]
    assert outcome(history).startswith("AUC 85.0 on validation edges, mean of 2 trainings, best")


def test_a_training_without_improvement_is_best_at_the_start() -> None:
    history = [EpochRecord(0, None, {}, 0.9), EpochRecord(1, 0.5, {"text_text": 0.5}, 0.8)]
    assert training_panels(history)[1].lines[1].name == "90.0, best at the start"
    assert "best at the start: training did not help" in outcome(history)
    assert outcome([]) == (
        "nothing was learned, because there were too few edges, or too few pairs without an edge, "
        "for validation; texts are only diffused"
    )


def test_a_model_that_was_not_trained_raises(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="too few pairs without an edge"):
        draw_training([], tmp_path / "x.png")


def test_without_matplotlib_the_error_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"needs matplotlib.*dmte\[plots\]"):
        draw_lines([], ("x", "y"), [tmp_path / "x.png"])
