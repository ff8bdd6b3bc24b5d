"""Where models and classifiers compute: a device is picked or refused, and the number of threads is put back."""

import math

import pytest
import torch

from seedvote.dialogue import devices
from seedvote.dialogue.errors import InputError


def test_threads_are_set_and_put_back():
    before = torch.get_num_threads()
    with devices.use_threads(before + 1):
        assert torch.get_num_threads() == before + 1
        with pytest.raises(ZeroDivisionError), devices.use_threads(1):
            math.fmod(1 / 0, 1)
        assert torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("cuda", [False, True])
def test_a_device_is_picked_or_refused(cuda, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    assert devices.pick_device("cpu").type == "cpu"
    assert devices.pick_device("auto").type == ("cuda" if cuda else "cpu")
    for name in ("tpu", "", *([] if cuda else ["cuda"])):
        with pytest.raises(InputError, match=f"Device '{name}' is not available here. Choose from: auto, cpu"):
            devices.pick_device(name)
    assert not cuda or str(devices.pick_device("cuda")) == "cuda"
