"""Where a model computes: `auto` takes CUDA where it is at hand."""

from __future__ import annotations

import torch

from dialogue.errors import InputError


def pick_device(name: str) -> torch.device:
    """The device of that name, or a sentence."""
    cuda = torch.cuda.is_available()
    if name == "auto":
        return torch.device("cuda" if cuda else "cpu")
    if name not in ("cpu", "cuda") or (name == "cuda" and not cuda):
        raise InputError(f"Device {name!r} is not at hand here. Legal: auto, cpu" + (", cuda." if cuda else "."))
    return torch.device(name)
