"""Adam (Kingma and Ba 2015): running means of gradients, with a step size per parameter entry.

With g the gradient of a parameter θ at step t, β₁ = 0.9, β₂ = 0.999 and ε = 10⁻⁸:

    m ← β₁ m + (1 − β₁) g
    v ← β₂ v + (1 − β₂) g²
    θ ← θ − rate · m / (1 − β₁ᵗ) / (√(v / (1 − β₂ᵗ)) + ε)

The step is torch's fused kernel. Only the class that holds the state is ours, because the first
``torch.optim.Adam`` of a process imports torch's compiler. dmte does not use the compiler, and the
import takes 1.8 s, as long as importing torch itself.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.optim.adam import adam

State = dict[str, Tensor]


@dataclass(slots=True)
class Group:
    """Parameters that share a step size."""

    parameters: list[nn.Parameter]
    rate: float


class Adam:
    """The optimizer: the running means of every parameter, and the step.

    >>> slope = nn.Parameter(torch.tensor([1.0, -1.0]))
    >>> optimizer = Adam([slope], rate=0.25)
    >>> (slope**2).sum().backward()
    >>> optimizer.step()
    >>> [round(number, 3) for number in slope.tolist()]
    [0.75, -0.75]
    """

    def __init__(self, parameters: Iterable[nn.Parameter], rate: float) -> None:
        self.groups = [Group(list(parameters), rate)]
        self.scale = 1.0
        """Factor of all step sizes."""
        self.state: defaultdict[nn.Parameter, State] = defaultdict(dict)

    def add(self, parameters: Iterable[nn.Parameter], rate: float) -> None:
        """Add parameters with their own step size."""
        self.groups.append(Group(list(parameters), rate))

    def zero_grad(self) -> None:
        """Clear the gradients."""
        for group in self.groups:
            for parameter in group.parameters:
                parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Update every parameter that has a gradient."""
        for group in self.groups:
            updated = [(one, one.grad) for one in group.parameters if one.grad is not None]
            states = [self._state_of(parameter) for parameter, _ in updated]
            adam(
                [parameter for parameter, _ in updated],
                [gradient for _, gradient in updated],
                [state["exp_avg"] for state in states],
                [state["exp_avg_sq"] for state in states],
                [],
                [state["step"] for state in states],
                fused=True,
                amsgrad=False,
                beta1=0.9,
                beta2=0.999,
                lr=group.rate * self.scale,
                weight_decay=0.0,
                eps=1e-8,
                maximize=False,
            )

    def _state_of(self, parameter: nn.Parameter) -> State:
        """Return t, m and v of a parameter under torch's names; create them at its first step."""
        state = self.state[parameter]
        if not state:
            state["step"] = torch.zeros(())
            state["exp_avg"] = torch.zeros_like(parameter)
            state["exp_avg_sq"] = torch.zeros_like(parameter)
        return state
