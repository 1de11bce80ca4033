"""Shapes: what fits passes, and what does not is named by its place."""

from typing import Any

import pytest

from dmte.evaluation.paper.shapes import RESULTS, Each, Shape, is_number, is_share, misfit

SHAPE: Shape = {"rows": Each({"auc": is_share}), "seconds": is_number}
CLASSES = {"scores": {"0.5": {"macro_f1": 0.1, "micro_f1": 1}}, "fit_seconds": 1, "peak_mb": None}


def test_what_has_the_shape_and_more_fits() -> None:
    assert misfit({"rows": [{"auc": 1, "more": 2}], "seconds": 3.5, "more": None}, SHAPE) is None
    assert misfit({"rows": {"any name": {"auc": 0.5}}, "seconds": 0}, SHAPE) is None


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (None, "everything"),
        ([], "everything"),
        ({"rows": [], "seconds": 1}, "rows"),
        ({"rows": "auc", "seconds": 1}, "rows"),
        ({"rows": [{"auc": 1}, {}], "seconds": 1}, "rows.1.auc"),
        ({"rows": [{"auc": 1.5}], "seconds": 1}, "rows.0.auc"),
        ({"rows": [{"auc": True}], "seconds": 1}, "rows.0.auc"),
        ({"rows": [{"auc": float("nan")}], "seconds": 1}, "rows.0.auc"),
        ({"rows": [{"auc": 1}], "seconds": float("inf")}, "seconds"),
        ({"rows": [{"auc": 1}]}, "seconds"),
    ],
)
def test_what_differs_is_named_by_its_place(value: Any, place: str) -> None:
    assert misfit(value, SHAPE) == place


def test_scores_of_classes_are_by_shares() -> None:
    assert misfit(CLASSES, RESULTS["ClassCell"]) is None
    named = {**CLASSES, "scores": {"half": CLASSES["scores"]["0.5"]}}  # type: ignore[index]
    assert misfit(named, RESULTS["ClassCell"]) == "scores"
