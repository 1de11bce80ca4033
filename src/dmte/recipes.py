"""Settings by name: the recommended recipe, the paper's, and the paper's four versions."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from dmte.settings import Settings

PAPER = Settings(
    encoder="word-average",
    dim=200,
    hop_weights=(1.0, 0.3, 0.1, 0.03),
    transition="walk",
    activation="tanh",
    mixing=False,
    unit_rows=False,
    structure=True,
    structure_share=0.0,
    degree_power=0.0,
    max_vocabulary=None,
    letters=False,
    word_weights=False,
    word_dropout=0.0,
    loss="pointwise",
    num_negatives=1,
    share_negatives=False,
    noise_power=0.75,
    epochs=200,
    learning_rate=0.003,
    decay=False,
    # Without effect here, but written out: if a default of the recommended recipe changes, these
    # must not change with it, or its older results would be taken for the new ones (see ``Job``).
    mixing_learning_rate=0.001,
    word_learning_rate=0.05,
    sharpness=10.0,
    softmax_weight=0.0,
    hide_supervised=False,
    validation_fraction=0.0,
    folds=1,
    validate_every=5,
    patience=6,
    favor="auc",
)
"""The paper's word-average version."""

VARIANTS: Mapping[str, Settings] = MappingProxyType(
    {
        "no-diffusion": replace(PAPER, text_diffusion=False),
        "text-only": replace(PAPER, structure=False),
        # Validation AUC on Cora and HepTh is best after 40 to 60 epochs with this step size. The
        # word average's takes twice as many, and an epoch of a Bi-LSTM takes a second.
        "bilstm": replace(PAPER, encoder="bilstm", learning_rate=0.01, epochs=50),
        "word-average": PAPER,
    }
)
"""The four versions of the paper (section 5), by their names on the command line."""

RECIPES: Mapping[str, Settings] = MappingProxyType({"recommended": Settings(), "paper": PAPER})
"""Our recommended settings and the paper's, by their names on the command line."""

FROM_FEATURES: Mapping[str, Any] = MappingProxyType({"encoder": "features"})
"""Changes to a recipe that reads features of the vertices in place of texts."""
