"""Help from docstrings of fields: every first sentence is short."""

import pytest

from dmte.cli.field_docs import fields_of, first_sentence
from dmte.cli.settings_options import _option_type
from dmte.network import Columns
from dmte.settings import Loss, Settings


@pytest.mark.parametrize("kind", [Settings, Columns])
def test_every_field_has_a_first_sentence_that_fits_into_help(kind: type) -> None:
    for field in fields_of(kind):
        sentence = first_sentence(field.doc)
        assert sentence.endswith("."), field.name
        assert len(sentence) <= 100, field.name


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (bool | None, bool),
        (int | None, int),
        (float, float),
        (Loss, Loss),
        (tuple[float, ...], str),
        (tuple[float, ...] | None, str),
    ],
)
def test_an_option_has_the_type_of_its_setting(hint: object, expected: object) -> None:
    assert _option_type(hint) == expected
