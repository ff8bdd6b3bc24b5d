"""Many small convex minimisations at once: limited-memory BFGS with every problem in a row of its own.

Each pass asks for the gradients of all problems that are still open, at one trial point each, so that the caller can
answer with one matrix product; a problem that has converged is dropped. In the first passes a sample of the data
guesses how far to go; the gradient at the trial point then decides. Along a direction d a convex function has gone down
if its slope g(x + t d) . d is still negative, or has turned by less than half of the slope at the start; otherwise the
step is cut at the zero of the line through the two slopes.

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
TRIALS = 4  # lengths tried on the sample before a pass
GUESSED = 8  # passes with a guess, which takes a fifth of a pass; after them a length of 1 is good


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
    is_near: Tensor  # was the value computed near the minimum, so that it hardly falls any more?
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

    def keep_rows(self, rows: Tensor) -> None:
        """Drop every problem but these."""
        for field in fields(self):
            now = getattr(self, field.name)
            setattr(self, field.name, [past[rows] for past in now] if isinstance(now, list) else now[rows])


def minimise_rows(
    problems: Problems, start: Start, *, until: Until, passes: int, guessed: int = GUESSED, memory: int = 20
) -> Minimum:
    """Minimise every row's convex function.

    The fall that a row expects is half of g . H g, by the quadratic model that its steps made: it may be wrong. Half of
    |g|^2 is what a function with the penalty |w|^2 / 2 can fall at most. Values only fall, so an old value serves until
    it would close a row. Only then is it computed anew, and once, because it hardly falls from there.
    """
    count, ones = len(start.points), torch.ones_like(start.points[:, 0])
    minimum = Minimum(start.points.clone(), torch.full((count,), passes))
    if not count:
        return minimum
    everyone = torch.arange(count, device=ones.device)
    direction = -problems.precondition(start.gradients, everyone)
    state = _Open(
        everyone,
        start.values,
        torch.zeros_like(everyone, dtype=torch.bool),
        start.points,
        start.gradients,
        direction,
        (start.gradients * direction).sum(1),
        ones,
        ones,
        ones,
        [],
        [],
        [],
    )
    for done in range(1, passes + 1):
        _close_finished(state, minimum, problems, done, until)
        if not len(state.problem):
            return minimum
        length = _guess_length(state, problems) if done <= guessed else torch.ones_like(state.length)
        state.length = torch.where(state.share == 1, length, state.length)
        _take_step(state, problems, memory)
    minimum.points[state.problem] = state.point
    return minimum


def _close_finished(state: _Open, minimum: Minimum, problems: Problems, done: int, until: Until) -> None:
    """Drop the problems that are near their minimum, and those that cannot go down, noting where they stand."""
    fall, bound = -state.slope / 2, state.gradient.square().sum(1) / 2
    stuck = ~(fall >= 0) | (state.share < SHORTEST_STEP)

    def ended() -> Tensor:
        small = (fall <= until.fall * state.value) & (bound <= until.bound * state.value)
        return stuck | (small & (state.share == 1))

    near = torch.nonzero(ended() & ~state.is_near)[:, 0]
    if len(near):
        # A value costs a pass over the data, so it is computed only for problems that it might close.
        state.value[near] = problems.values(state.point[near], state.problem[near])
        state.is_near[near] = True
    finished = ended()
    if not bool(finished.any()):
        return
    minimum.passes[state.problem[finished].cpu()] = done
    minimum.points[state.problem] = state.point
    state.keep_rows(torch.nonzero(~finished)[:, 0])


def _take_step(state: _Open, problems: Problems, memory: int) -> None:
    """Take the trial step where the slope allows it, cut it where not; then turn to the next direction."""
    trial = (state.share * state.length)[:, None] * state.direction
    gradient = problems.gradients(state.point + trial, state.problem)
    slope = (gradient * state.direction).sum(1)
    taken = slope <= -state.slope / 2
    step = torch.where(taken[:, None], trial, 0.0)
    change = torch.where(taken[:, None], gradient - state.gradient, 0.0)
    state.point, state.gradient = state.point + step, state.gradient + change
    _remember_step(state, problems, step, change, memory)
    # Bounded, because the line through two slopes may point at almost nothing or almost the whole step.
    cut = (state.slope / (state.slope - slope)).clamp(0.1, 0.7)
    state.share = torch.where(taken, 1.0, state.share * cut)
    state.direction = torch.where(taken[:, None], _find_direction(state, problems), state.direction)
    state.slope = (state.gradient * state.direction).sum(1)


def _remember_step(state: _Open, problems: Problems, step: Tensor, change: Tensor, memory: int) -> None:
    """Keep a step and the change of the gradient over it; zeros (a step not taken) leave their row as it is."""
    curvature = (step * change).sum(1)
    # Rounding can turn the curvature of a convex function negative; such a pair would spoil the direction.
    useful = curvature > 0
    # Clamped, because in single precision the length may underflow to zero where the curvature does not.
    length = (change * problems.precondition(change, state.problem)).sum(1).clamp_min(1e-30)
    state.stretch = torch.where(useful, curvature / length, state.stretch)
    state.steps, state.changes = [*state.steps, step][-memory:], [*state.changes, change][-memory:]
    state.inverse = [*state.inverse, torch.where(useful, 1 / curvature, 0.0)][-memory:]


def _find_direction(state: _Open, problems: Problems) -> Tensor:
    """The two-loop recursion; `stretch` is the inverse Hessian over the guess of it along the newest step."""
    heading = -state.gradient
    weights = []
    for step, change, rho in zip(reversed(state.steps), reversed(state.changes), reversed(state.inverse), strict=True):
        weight = rho * (step * heading).sum(1)
        heading = heading - weight[:, None] * change
        weights.append(weight)
    heading = problems.precondition(heading, state.problem) * state.stretch[:, None]
    for step, change, rho, weight in zip(state.steps, state.changes, state.inverse, reversed(weights), strict=True):
        heading = heading + (weight - rho * (change * heading).sum(1))[:, None] * step
    return heading


def _guess_length(state: _Open, problems: Problems) -> Tensor:
    """The lengths at which the sample's slopes are zero: false position, from 1 upwards."""
    bend = problems.bend(state.point, state.direction, state.problem)
    low, high = torch.zeros_like(state.slope), torch.ones_like(state.slope)
    below, above = state.slope, state.slope + bend(high)
    middle = high
    for _ in range(TRIALS):
        inside = above > 0
        middle = torch.where(inside, (low * above - high * below) / (above - below), 3 * high)
        at = state.slope + bend(middle)
        upper = at > 0
        low, below, high, above = (
            torch.where(inside, torch.where(upper, low, middle), high),
            torch.where(inside, torch.where(upper, below / 2, at), above),  # halved: or one end would never move
            torch.where(inside & ~upper, high, middle),
            torch.where(inside & ~upper, above / 2, at),
        )
    return middle
