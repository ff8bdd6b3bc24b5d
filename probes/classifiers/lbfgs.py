"""Many small convex minimisations at once: limited-memory BFGS with every problem in a row of its own.

Each pass asks for the gradients of all problems that are still open, at one trial point each, so that the caller can
answer with one matrix product; a problem that has converged is dropped. A sample of the data guesses how far to go; the
gradient at the trial point then decides. Along a direction d a convex function has gone down if its slope
g(x + t d) . d is still negative, or has turned by less than half of the slope at the start; otherwise the step is cut
at the zero of the line through the two slopes.

Source: Nocedal and Wright, Numerical Optimization (2006), algorithm 7.4 (two-loop recursion), with a preconditioner
given by the caller.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

SHORTEST_STEP = 1e-3  # a step cut to this share meets nothing but rounding error
TRIALS = 4  # lengths tried on the sample before each pass


class Problems(Protocol):
    """The functions to minimise, a row each; `which` (P) numbers those asked for, one point (P x S) each."""

    def gradients(self, points: Tensor, which: Tensor) -> Tensor:
        """Their gradients (P x S)."""

    def values(self, points: Tensor, which: Tensor) -> Tensor:
        """Their values (P), in double precision."""

    def precondition(self, vectors: Tensor, which: Tensor) -> Tensor:
        """These vectors (P x S) times a guess of the inverse Hessian."""

    def bend(self, points: Tensor, directions: Tensor, which: Tensor) -> Callable[[Tensor], Tensor]:
        """How much the slopes (P) along these directions change, on a sample, after steps of the lengths (P) given."""


@dataclass(frozen=True, slots=True)
class Start:
    """Where to begin: points and gradients (P x S), and values (P)."""

    points: Tensor
    gradients: Tensor
    values: Tensor


@dataclass(frozen=True, slots=True)
class Minimum:
    """Where each problem stopped (P x S), and after how many passes (P)."""

    points: Tensor
    passes: Tensor


class Until(NamedTuple):
    """When a row is closed: the fall it expects, and half of its squared gradient, as shares of its value."""

    fall: float
    bound: float


@dataclass(slots=True)
class _Open:
    """The state of the problems that are still open, one row each; the next trial is at `share` of `length`."""

    problem: Tensor
    value: Tensor
    point: Tensor
    gradient: Tensor
    direction: Tensor
    slope: Tensor
    length: Tensor
    share: Tensor
    stretch: Tensor
    steps: list[Tensor]
    changes: list[Tensor]
    inverse: list[Tensor]

    def keep(self, rows: Tensor) -> None:
        """Drop every problem but these."""
        for field in fields(self):
            now = getattr(self, field.name)
            setattr(self, field.name, [past[rows] for past in now] if isinstance(now, list) else now[rows])


def minimise(problems: Problems, start: Start, *, until: Until, passes: int, memory: int = 20) -> Minimum:
    """Minimise every row's convex function.

    The fall that a row expects is half of g . H g, by the quadratic model that its steps made: it may be wrong. Half of
    |g|^2 is what a function with the penalty |w|^2 / 2 can fall at most. Values only fall, so an old value serves until
    it would close a row; only then is it computed anew.
    """
    count, one = len(start.points), torch.ones_like(start.points[:, 0])
    found = Minimum(start.points.clone(), torch.full((count,), passes))
    if not count:
        return found
    everyone = torch.arange(count, device=one.device)
    direction = -problems.precondition(start.gradients, everyone)
    here = _Open(
        everyone, start.values, start.points, start.gradients, direction, (start.gradients * direction).sum(1),
        one, one, one, [], [], [],
    )  # fmt: skip
    _aim(here, problems)
    for done in range(1, passes + 1):
        _close(here, found, problems, done, until)
        if not len(here.problem):
            return found
        _advance(here, problems, memory)
    found.points[here.problem] = here.point
    return found


def _close(here: _Open, found: Minimum, problems: Problems, done: int, until: Until) -> None:
    """Drop the problems that are near their minimum, and those that cannot go down, noting where they stand."""
    fall, bound = -here.slope / 2, here.gradient.square().sum(1) / 2
    stuck = ~(fall >= 0) | (here.share < SHORTEST_STEP)

    def ended() -> Tensor:
        small = (fall <= until.fall * here.value) & (bound <= until.bound * here.value)
        return stuck | (small & (here.share == 1))

    near = torch.nonzero(ended())[:, 0]
    if not len(near):
        return
    # A value costs a pass over the data, so it is computed only for problems that it might close.
    here.value[near] = problems.values(here.point[near], here.problem[near])
    finished = ended()
    found.passes[here.problem[finished].cpu()] = done
    found.points[here.problem] = here.point
    here.keep(torch.nonzero(~finished)[:, 0])


def _advance(here: _Open, problems: Problems, memory: int) -> None:
    """Take the trial step where the slope allows it, cut it where not; then turn to the next direction."""
    trial = (here.share * here.length)[:, None] * here.direction
    gradient = problems.gradients(here.point + trial, here.problem)
    slope = (gradient * here.direction).sum(1)
    taken = slope <= -here.slope / 2
    step = torch.where(taken[:, None], trial, 0.0)
    change = torch.where(taken[:, None], gradient - here.gradient, 0.0)
    here.point, here.gradient = here.point + step, here.gradient + change
    _remember(here, problems, step, change, memory)
    # Bounded, because the line through two slopes may point at almost nothing or almost the whole step.
    cut = (here.slope / (here.slope - slope)).clamp(0.1, 0.7)
    here.share = torch.where(taken, 1.0, here.share * cut)
    here.direction = torch.where(taken[:, None], _direction(here, problems), here.direction)
    here.slope = (here.gradient * here.direction).sum(1)
    _aim(here, problems)


def _remember(here: _Open, problems: Problems, step: Tensor, change: Tensor, memory: int) -> None:
    """Keep a step and the change of the gradient over it; zeros (a step not taken) leave their row as it is."""
    curvature = (step * change).sum(1)
    # Rounding can turn the curvature of a convex function negative; such a pair would spoil the direction.
    useful = curvature > 0
    # Clamped, because in single precision the length may underflow to zero where the curvature does not.
    length = (change * problems.precondition(change, here.problem)).sum(1).clamp_min(1e-30)
    here.stretch = torch.where(useful, curvature / length, here.stretch)
    here.steps, here.changes = [*here.steps, step][-memory:], [*here.changes, change][-memory:]
    here.inverse = [*here.inverse, torch.where(useful, 1 / curvature, 0.0)][-memory:]


def _direction(here: _Open, problems: Problems) -> Tensor:
    """The two-loop recursion; `stretch` is the inverse Hessian over the guess of it along the newest step."""
    heading = -here.gradient
    weights = []
    for step, change, rho in zip(reversed(here.steps), reversed(here.changes), reversed(here.inverse), strict=True):
        weight = rho * (step * heading).sum(1)
        heading = heading - weight[:, None] * change
        weights.append(weight)
    heading = problems.precondition(heading, here.problem) * here.stretch[:, None]
    for step, change, rho, weight in zip(here.steps, here.changes, here.inverse, reversed(weights), strict=True):
        heading = heading + (weight - rho * (change * heading).sum(1))[:, None] * step
    return heading


def _aim(here: _Open, problems: Problems) -> None:
    """For a new direction, guess the length at which the sample's slope is zero: false position, from 1 upwards."""
    bend = problems.bend(here.point, here.direction, here.problem)
    low, high = torch.zeros_like(here.slope), torch.ones_like(here.slope)
    below, above = here.slope, here.slope + bend(high)
    middle = high
    for _ in range(TRIALS):
        inside = above > 0
        middle = torch.where(inside, (low * above - high * below) / (above - below), 3 * high)
        at = here.slope + bend(middle)
        upper = at > 0
        low, below, high, above = (
            torch.where(inside, torch.where(upper, low, middle), high),
            torch.where(inside, torch.where(upper, below / 2, at), above),  # halved: or one end would never move
            torch.where(inside & ~upper, high, middle),
            torch.where(inside & ~upper, above / 2, at),
        )
    here.length = torch.where(here.share == 1, middle, here.length)
