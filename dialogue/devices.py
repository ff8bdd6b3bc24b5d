"""Where a model computes, and with how many threads.

`auto` is CUDA where there is one. The number of threads is put back after `with threads`.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator

import torch

from seedvote.dialogue.errors import InputError

TURN = "SEEDVOTE_GPU_TURN"  # set in a process that works next to others: which of several GPUs is its own


def pick_device(name: str) -> torch.device:
    """The device of that name, or a sentence; of several GPUs `cuda` and `auto` take the one of this process."""
    many = torch.cuda.device_count() if torch.cuda.is_available() else 0
    names = ["auto", "cpu", *(["cuda"] if many else []), *(f"cuda:{n}" for n in range(many))]
    if name not in names:
        raise InputError(f"Device {name!r} is not available here. Choose from: {', '.join(names)}.")
    if name == "auto":
        name = "cuda" if many else "cpu"
    if name == "cuda" and many > 1 and TURN in os.environ:
        name = f"cuda:{int(os.environ[TURN]) % many}"
    return torch.device(name)


def pick_precision(name: str, device: torch.device) -> str:
    """`auto` is bf16 on CUDA where the device has it, else float32; the other names stand for themselves."""
    if name != "auto":
        return name
    return "bf16" if device.type == "cuda" and torch.cuda.is_bf16_supported() else "float32"


@functools.cache
def lstms_take_bf16(device: str) -> bool:
    """Whether LSTMs learn in bf16 on this kind of device.

    Not on CUDA: under autocast cuDNN's compute in float16, without a scaled loss. On a CPU it is tried, since the
    library behind them has bf16 for some processors only.
    """
    if device != "cpu":
        return False
    weights = [torch.zeros(8, 2, requires_grad=True), torch.zeros(8, 2), torch.zeros(8), torch.zeros(8)]
    state = (torch.zeros(1, 1, 2), torch.zeros(1, 1, 2))
    try:
        with torch.autocast("cpu", torch.bfloat16):
            outputs, _, _ = torch.lstm(torch.zeros(1, 3, 2), state, weights, True, 1, 0.0, True, False, True)
        torch.autograd.backward(outputs.float().sum())
    except RuntimeError:
        return False
    return True


@contextlib.contextmanager
def use_determinism(wanted: bool) -> Iterator[None]:
    """Compute by algorithms that give the same bits again where `wanted`; torch refuses what it has none for.

    On CUDA alone this costs time. A library of it reads its variable when it is first used, so it stays set.
    """
    if not wanted:
        yield
        return
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)


@contextlib.contextmanager
def use_whole_float32(device: torch.device) -> Iterator[None]:
    """Compute in all 24 bits of float32: on CUDA, LSTMs take 11 of them where nobody says otherwise."""
    if device.type != "cuda":
        yield
        return
    before = torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32 = before


@contextlib.contextmanager
def use_threads(number: int) -> Iterator[None]:
    """Compute with so many threads, then with as many as before: their number moves the last bits."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
