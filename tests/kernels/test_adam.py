"""Adam: equal to torch's to the bit, without importing torch's compiler."""

import subprocess
import sys

import pytest
import torch
from torch import nn

from dmte.kernels.adam import Adam


@pytest.mark.medium
def test_steps_equal_those_of_torch() -> None:
    generator = torch.Generator().manual_seed(3)
    start = [torch.randn(size, generator=generator) for size in ((4, 3), (5,), (2,))]
    ours, theirs = ([nn.Parameter(one.clone()) for one in start] for _ in range(2))
    optimizer = Adam(ours[:1], rate=0.1)
    optimizer.add(ours[1:], rate=0.02)
    groups = [{"params": theirs[:1], "lr": 0.1}, {"params": theirs[1:], "lr": 0.02}]
    expected = torch.optim.Adam(groups, fused=True)
    for step in range(4):
        for one, other in zip(ours[: 2 + step // 2], theirs, strict=False):
            one.grad = torch.randn(one.shape, generator=generator)
            other.grad = one.grad.clone()
        optimizer.step()
        expected.step()
        optimizer.zero_grad()
        expected.zero_grad()
    for one, other in zip(ours, theirs, strict=True):
        assert torch.equal(one, other)
        assert one.grad is None
        for name, value in expected.state[other].items():
            assert torch.equal(optimizer.state[one][name], value)


@pytest.mark.medium
def test_training_imports_neither_the_compiler_nor_scikit_learn() -> None:
    code = """
import sys
from dmte.training.method import DmteMethod
from dmte.network import read_network
from dmte.settings import Settings
DmteMethod(Settings(dim=8, epochs=1)).train(read_network("concepts"), seed=0)
assert not {"torch._dynamo", "sklearn"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
