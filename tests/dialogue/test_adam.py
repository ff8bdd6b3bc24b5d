"""Adam moves weights as torch's own does, and loads no compiler for it."""

import subprocess
import sys

import pytest
import torch

from seedvote.dialogue.adam import Adam
from tests.house.doc_blocks import ROOT

SHAPES = [(7, 5), (5,), (3, 4), ()]


def weights():
    draw = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=draw).requires_grad_() for shape in SHAPES]


def give_gradients(parts, number):
    """Of very different sizes; the last weight has none at first."""
    draw = torch.Generator().manual_seed(number)
    for place, part in enumerate(parts):
        found = torch.randn(part.shape, generator=draw) * 10.0 ** (place * 3 - 6)
        part.grad = found if place < 3 or number > 4 else None


def moved(parts, optimizer, numbers):
    for number in numbers:
        give_gradients(parts, number)
        optimizer.step()
    return parts


@pytest.mark.parametrize("fused", [None, True])
@pytest.mark.parametrize("decay", [0.0, 0.01])
def test_it_moves_weights_to_the_bit_as_torchs_own_does(fused, decay):
    ours, theirs = weights(), weights()
    moved(ours, Adam(ours, 0.004, decay=decay, fused=fused), range(30))
    moved(theirs, torch.optim.Adam(theirs, 0.004, weight_decay=decay, fused=fused), range(30))
    assert all(map(torch.equal, ours, theirs))
    assert not any(map(torch.equal, ours, weights()))


def test_whoever_goes_on_from_saved_moments_moves_as_if_never_stopped():
    whole, broken = weights(), weights()
    moved(whole, Adam(whole, 0.004), range(5, 25))
    before = Adam(broken, 0.004)
    moved(broken, before, range(5, 15))
    after = Adam(broken, 0.004)
    after.restore({name: part.clone() for name, part in before.tensors().items()}, 10)
    moved(broken, after, range(15, 25))
    assert all(map(torch.equal, whole, broken))


def test_without_gradients_nothing_moves():
    parts = weights()
    optimizer = Adam(parts, 0.004)
    give_gradients(parts, 0)
    optimizer.forget_gradients()
    optimizer.step()
    assert all(map(torch.equal, parts, weights()))


SCRIPT = """
import sys
import torch
from seedvote.dialogue.adam import Adam
part = torch.ones(3, requires_grad=True)
for optimizer in (Adam([part], 0.1), Adam([part], 0.1, decay=0.01, fused=True)):
    optimizer.forget_gradients()
    torch.autograd.backward(part.square().sum())
    optimizer.step()
assert part.max() < 0.9, part
assert "torch._dynamo" not in sys.modules
"""


@pytest.mark.slow
def test_training_does_not_load_torchs_compiler():
    subprocess.run([sys.executable, "-c", SCRIPT], cwd=ROOT, check=True)
