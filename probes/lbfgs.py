"""Many small convex minimisations at once: limited-memory BFGS with every problem in a row of its own.

Each pass asks for the gradients of all problems that are still open, at one trial point each, so that the caller can
answer with one matrix product; a problem that has converged is dropped. The line search looks at gradients only: along
a direction d a convex function has gone down if its slope g(x + t d) . d is still negative, or has turned by less than
half of the slope at the start; otherwise the step is cut at the zero of the line through the two slopes.

Source: Nocedal and Wright, Numerical Optimization (2006), algorithm 7.4 (two-loop recursion), with a diagonal
preconditioner given by the caller.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

# Of points (P x S) and problem numbers (P): gradients (P x S), or values (P) in double precision.
Function = Callable[[Tensor, Tensor], Tensor]
SHORTEST = 1e-3  # a step cut to this share meets nothing but rounding error


@dataclass(frozen=True, slots=True)
class Minimum:
    """Where each problem stopped (P x S), after how many passes, and the fall in value it still expected (P)."""

    points: Tensor
    passes: Tensor
    expected_fall: Tensor


@dataclass(slots=True)
class _Open:
    """The state of the problems that are still open, one row each."""

    problem: Tensor
    scale: Tensor
    value: Tensor
    point: Tensor
    gradient: Tensor
    direction: Tensor
    slope: Tensor
    step: Tensor
    steps: list[Tensor]
    changes: list[Tensor]

    def keep(self, rows: Tensor) -> None:
        """Drop every problem but these."""
        for name in ("problem", "scale", "value", "point", "gradient", "direction", "slope", "step"):
            setattr(self, name, getattr(self, name)[rows])
        self.steps = [past[rows] for past in self.steps]
        self.changes = [past[rows] for past in self.changes]


def minimise(
    gradients: Function,
    values: Function,
    start: Tensor,
    scale: Tensor,
    *,
    tolerance: float,
    passes: int,
    memory: int = 10,
) -> Minimum:
    """Minimise every row's convex function from `start`; `scale` is a diagonal guess of the inverse Hessian.

    A row is closed when half of g . H g, the fall that a quadratic model expects, is below `tolerance` times its value.
    Values only fall, so an old value serves until it would close a row; only then is it computed anew.
    """
    count = len(start)
    rows = torch.arange(count, device=start.device)
    found = Minimum(start.clone(), torch.full((count,), passes), start.new_full((count,), torch.inf))
    gradient = gradients(start, rows)
    here = _Open(
        rows, scale, values(start, rows), start.clone(), gradient, direction := -scale * gradient,
        (gradient * direction).sum(1), start.new_ones(count), [], [],
    )  # fmt: skip
    for done in range(1, passes + 1):
        _close(here, found, values, done, tolerance)
        if not len(here.problem):
            break
        _advance(here, gradients(here.point + here.step[:, None] * here.direction, here.problem), memory)
    return found


def _close(here: _Open, found: Minimum, values: Function, done: int, tolerance: float) -> None:
    """Note where every problem stands; drop those that expect no further fall, and those that cannot go down."""
    fall = -here.slope / 2
    found.points[here.problem] = here.point
    found.expected_fall[here.problem] = torch.where(fall >= 0, fall, torch.inf)
    near = torch.nonzero((fall <= tolerance * here.value) & (here.step == 1))[:, 0]
    if len(near):
        here.value[near] = values(here.point[near], here.problem[near])
    stuck = ~(fall >= 0) | (here.step < SHORTEST)
    finished = stuck | ((fall <= tolerance * here.value) & (here.step == 1))
    found.passes[here.problem[finished].cpu()] = done
    if finished.any():
        here.keep(torch.nonzero(~finished)[:, 0])


def _advance(here: _Open, gradient: Tensor, memory: int) -> None:
    """Take the trial step where the slope allows it, cut it where not; then turn to the next direction."""
    slope = (gradient * here.direction).sum(1)
    taken = slope <= -here.slope / 2
    step = torch.where(taken, here.step, 0.0)[:, None] * here.direction
    change = torch.where(taken[:, None], gradient - here.gradient, 0.0)
    here.point = here.point + step
    here.gradient = here.gradient + change
    here.steps, here.changes = [*here.steps, step][-memory:], [*here.changes, change][-memory:]
    here.direction = torch.where(taken[:, None], _direction(here), here.direction)
    cut = (here.slope / (here.slope - slope)).clamp(0.1, 0.7)
    here.step = torch.where(taken, 1.0, here.step * cut)
    here.slope = (here.gradient * here.direction).sum(1)


def _direction(here: _Open) -> Tensor:
    """The two-loop recursion; a pair of zeros (a step not taken) leaves its row as it is."""
    heading = -here.gradient
    weights = []
    curvatures = [(step * change).sum(1) for step, change in zip(here.steps, here.changes, strict=True)]
    inverse = [torch.where(curvature > 0, 1 / curvature, 0.0) for curvature in curvatures]
    for step, change, rho in zip(reversed(here.steps), reversed(here.changes), reversed(inverse), strict=True):
        weight = rho * (step * heading).sum(1)
        heading = heading - weight[:, None] * change
        weights.append(weight)
    heading = here.scale * heading * _stretch(here, curvatures)[:, None]
    for step, change, rho, weight in zip(here.steps, here.changes, inverse, reversed(weights), strict=True):
        heading = heading + (weight - rho * (change * heading).sum(1))[:, None] * step
    return heading


def _stretch(here: _Open, curvatures: list[Tensor]) -> Tensor:
    """How much larger the inverse Hessian is than the diagonal guess along the newest step taken."""
    newest = torch.ones_like(here.step)
    for change, curvature in zip(here.changes, curvatures, strict=True):
        length = (change * here.scale * change).sum(1)
        newest = torch.where(curvature > 0, curvature / length.clamp_min(1e-30), newest)
    return newest
