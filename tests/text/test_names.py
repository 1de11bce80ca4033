"""Former names of the module of texts."""

from typing import Any

import pytest

from dmte import text


@pytest.mark.parametrize(
    ("former", "kind"),
    [("FixedTexts", text.FrozenEncoder), ("FrozenFeatures", text.PrecomputedFeatures)],
)
def test_former_names_warn(former: str, kind: type[Any]) -> None:
    with pytest.warns(DeprecationWarning, match=f"{former} is now {kind.__name__}"):
        assert getattr(text, former) is kind
    with pytest.raises(AttributeError, match="no attribute 'Frozen'"):
        _ = text.Frozen
