"""Adam with the step size of every parameter."""

from collections.abc import Mapping
from types import MappingProxyType

from dmte.kernels.adam import Adam
from dmte.model.diffusion_maps import DiffusionMaps
from dmte.settings import Settings

EMPHASIS = "encoder.emphasis"
"""Parameter name of the word weights."""

OWN_RATES: Mapping[str, str] = MappingProxyType(
    {"mixing.matrix": "mixing_learning_rate", EMPHASIS: "word_learning_rate"}
)
"""Settings with the step sizes of M and of the word weights; others use ``learning_rate``."""


def optimizer_of(model: DiffusionMaps, settings: Settings) -> Adam:
    """Return Adam, with separate step sizes for M and the word weights."""
    parameters = dict(model.named_parameters())
    apart = {name: parameters.pop(name) for name in OWN_RATES if name in parameters}
    optimizer = Adam(parameters.values(), settings.learning_rate)
    for name, parameter in apart.items():
        optimizer.add([parameter], getattr(settings, OWN_RATES[name]))
    return optimizer


def smaller_rates(model: DiffusionMaps, settings: Settings) -> str:
    """Suggest a smaller value of every step size in use, since NaN soon reaches all parameters."""
    used = {OWN_RATES.get(name, "learning_rate") for name, _ in model.named_parameters()}
    *most, last = (
        f"a {rate} below {getattr(settings, rate):g}"
        for rate in ("learning_rate", *OWN_RATES.values())
        if rate in used
    )
    return f"{', '.join(most)} or {last}" if most else last
