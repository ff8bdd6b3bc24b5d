"""Adam (Kingma and Ba 2015), for whatever is trained here: models, discriminators, dual encoders, probes.

It is torch.optim.Adam to the bit, without that class: its first step loads torch's compiler, which nothing here uses,
and that is 1.5 s of processor time in every process that trains.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.optim.adam import adam

BETAS, EPSILON = (0.9, 0.999), 1e-8  # the paper's


class Adam:
    """Both moments of every weight, and how many steps it has made; by one kernel for all weights where `fused`."""

    def __init__(self, parts: Iterable[Tensor], rate: float, *, decay: float = 0.0, fused: bool | None = None) -> None:
        self.parts, self.rate, self.decay, self.fused = list(parts), rate, decay, fused
        self.moments = {name: [torch.zeros_like(part) for part in self.parts] for name in ("exp_avg", "exp_avg_sq")}
        self.steps = [torch.zeros((), device=part.device) for part in self.parts]

    def forget_gradients(self) -> None:
        """Before each backward pass."""
        for part in self.parts:
            part.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Move every weight that has a gradient."""
        moved = [number for number, part in enumerate(self.parts) if part.grad is not None]
        first, second = ([moments[number] for number in moved] for moments in self.moments.values())
        adam(
            [self.parts[number] for number in moved],
            [grad for part in self.parts if (grad := part.grad) is not None],
            first,
            second,
            [],
            [self.steps[number] for number in moved],
            fused=self.fused,
            amsgrad=False,
            maximize=False,
            weight_decay=self.decay,
            lr=self.rate,
            beta1=BETAS[0],
            beta2=BETAS[1],
            eps=EPSILON,
        )

    def tensors(self) -> dict[str, Tensor]:
        """Both moments by name and number of the weight, to be saved."""
        return {f"{name}.{number}": part for name, parts in self.moments.items() for number, part in enumerate(parts)}

    def restore(self, tensors: dict[str, Tensor], steps: int) -> None:
        """Go on from saved moments; every weight has made the same number of steps."""
        for name, part in self.tensors().items():
            part.copy_(tensors[name])
        for step in self.steps:
            step.fill_(steps)
