"""Where models and classifiers compute: a device is picked or refused, and the number of threads is put back."""

import math
import os

import pytest
import torch

from seedvote.dialogue import devices
from seedvote.dialogue.engines import local
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
    monkeypatch.setattr(torch.cuda, "device_count", lambda: int(cuda))
    assert devices.pick_device("cpu").type == "cpu"
    assert devices.pick_device("auto").type == ("cuda" if cuda else "cpu")
    for name in ("tpu", "", *([] if cuda else ["cuda"])):
        with pytest.raises(InputError, match=f"Device '{name}' is not available here. Choose from: auto, cpu"):
            devices.pick_device(name)
    assert not cuda or str(devices.pick_device("cuda")) == "cuda"


def test_of_several_gpus_one_is_named_or_each_process_has_its_own(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    monkeypatch.delenv(devices.TURN, raising=False)
    assert str(devices.pick_device("cuda:2")) == "cuda:2" and str(devices.pick_device("cuda")) == "cuda"
    with pytest.raises(InputError, match="Choose from: auto, cpu, cuda, cuda:0, cuda:1, cuda:2"):
        devices.pick_device("cuda:3")
    for turn, own in (("0", "cuda:0"), ("4", "cuda:1")):
        monkeypatch.setenv(devices.TURN, turn)
        assert str(devices.pick_device("cuda")) == str(devices.pick_device("auto")) == own
        assert str(devices.pick_device("cuda:2")) == "cuda:2" and str(devices.pick_device("cpu")) == "cpu"
    assert devices.TURN == local.TURN


def test_deterministic_algorithms_are_asked_for_and_put_back(monkeypatch):
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    with devices.use_determinism(False):
        assert not torch.are_deterministic_algorithms_enabled() and "CUBLAS_WORKSPACE_CONFIG" not in os.environ
    with devices.use_determinism(True):
        assert torch.are_deterministic_algorithms_enabled() and os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
    assert not torch.are_deterministic_algorithms_enabled()


def test_on_cuda_nothing_is_rounded_to_eleven_bits():
    flags = torch.backends.cudnn, torch.backends.cuda.matmul
    before = [flag.allow_tf32 for flag in flags]
    try:
        for flag in flags:
            flag.allow_tf32 = True
        with devices.use_whole_float32(torch.device("cuda", 1)):
            assert not any(flag.allow_tf32 for flag in flags)
        assert all(flag.allow_tf32 for flag in flags)
        with devices.use_whole_float32(torch.device("cpu")):
            assert all(flag.allow_tf32 for flag in flags)
    finally:
        for flag, allowed in zip(flags, before, strict=True):
            flag.allow_tf32 = allowed
