"""Where the classifiers compute, and with how many threads.

`auto` is CUDA where there is one. The number of threads is put back after `with threads`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

from seedvote.dialogue.errors import InputError

# Both functions have a twin in generation/devices.py: packages import the leaf alone, and the leaf knows no torch.
# tests/house/test_twins.py holds each pair equal.


def pick_device(name: str) -> str:
    """The device of that name, `auto` being CUDA where it is at hand; or a sentence."""
    legal = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)
    if name not in ("auto", *legal):
        raise InputError(f"Device {name!r} is not available here. Choose from: {', '.join(('auto', *legal))}.")
    return legal[-1] if name == "auto" else name


@contextlib.contextmanager
def threads(number: int) -> Iterator[None]:
    """Compute with so many threads, then with as many as before: their number moves the last bits."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
