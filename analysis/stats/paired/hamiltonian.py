"""Posterior draws by Hamiltonian steps, for linear predictors that are sums of normal effects of unknown spread.

eta = offset + X (s z): z are independent standard normals, s the standard deviation of each one's factor, known or with
a half-normal prior. The data enter only by the log-likelihood of eta. Every round has four kinds of steps, each of
which leaves the posterior as it is:

    effects and spreads       Hamiltonian Monte Carlo (Neal 2011), scaled by the prior and the expected information
    sums of effects           what moves from a factor to its parent leaves eta alone: drawn exactly from a normal law
    spreads, s z held         Metropolis steps: good where the data say much about an effect
    spreads, z held           Metropolis steps: good where they say little (Yu and Meng 2011 on using both)

All chains are computed at once; step sizes are tuned in the warm-up only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Likelihood = Callable[[Floats], tuple[Floats, Floats]]  # eta (rows, chains) -> log-likelihood (chains,), its slopes
RoundWatcher = Callable[[int, int], None]  # rounds that are done, rounds of the whole; every round costs the same


STEPS = 8  # leapfrog steps of a trajectory
ACCEPTED = 0.8  # share of trajectories that the step size is tuned for
WELL_KNOWN = 2.0  # information on an effect, in prior variances: beyond it a spread and its effects move one at a time
TRIES = 3  # Metropolis steps on a spread with the effects held: they need no likelihood


@dataclass(frozen=True, slots=True)
class Factor:
    """Effects that share a standard deviation: columns first..last-1 of X; `known` is their spread, if it is not asked.

    `scale` is that of the half-normal prior of an unknown spread.
    """

    name: str
    first: int
    last: int
    scale: float
    known: float | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """Columns of one factor that are sums of columns of another; `parents` says which, for each column of the child."""

    parent: int  # place of the factor
    child: int
    parents: Ints  # (columns of the child,) place within the parent factor


@dataclass(frozen=True, eq=False)
class NormalEffects:
    """The model but for its likelihood; `information` (rows,) is that of eta where nothing is known yet."""

    rows: sparse.csr_matrix  # X, (rows, columns)
    offset: Floats  # (rows,)
    factors: tuple[Factor, ...]
    links: tuple[Link, ...]
    information: Floats


@dataclass(frozen=True, eq=False)
class Drawn:
    """`effects` (draws, chains, columns) are s z, `spreads` (draws, chains, factors); `accepted` shares by chain."""

    effects: Floats
    spreads: Floats
    accepted: Floats


class _Chains:
    """The state of all chains and the steps that move it; arrays are (columns or factors, chains).

    `spread` is signed: s and -s with -z are the same effects. So there is no edge at zero where steps would be lost.
    """

    def __init__(self, model: NormalEffects, likelihood: Likelihood, chains: int, generator: np.random.Generator):
        self.model, self.likelihood, self.generator = model, likelihood, generator
        self.across: sparse.csr_matrix = model.rows.T.tocsr()
        self.place = np.repeat(np.arange(len(model.factors)), [f.last - f.first for f in model.factors])
        self.sums = sparse.csr_matrix((np.ones(len(self.place)), (self.place, np.arange(len(self.place)))))
        self.asked = np.array([f.known is None for f in model.factors])
        self.scale = np.array([f.scale for f in model.factors])[:, None]
        known = np.array([f.scale / 2 if f.known is None else f.known for f in model.factors])
        self.spread = np.repeat(known[:, None], chains, 1)
        self.z = 0.1 * generator.standard_normal((model.rows.shape[1], chains))
        self.step = np.full(chains, 0.3)
        self.reach = np.full(self.spread.shape, 0.3)  # of the steps of spreads with z held
        self.weight = np.asarray(self.across.multiply(self.across) @ model.information)[:, None]
        self.fit_to(self.spread**2)
        self.refresh()

    def fit_to(self, square: Floats) -> None:
        """Scale the Hamiltonian moves to spreads of this mean square; where votes say much of effects, spreads rest."""
        explained = (self.sums @ self.weight) / np.asarray(self.sums.sum(1)) * square
        self.moving = self.asked[:, None] & (explained < WELL_KNOWN)
        self.square = square
        unit = 1 / np.sqrt(1 / self.scale**2 + self.sums @ self.weight)
        self.unit_spread = np.where(self.moving, unit, 0.0)

    def refresh(self) -> None:
        """Bring eta, the log-likelihood and the slopes of the log posterior up to date."""
        effects = self.spread[self.place] * self.z
        fit, slopes = self.likelihood(self.model.offset[:, None] + self.model.rows @ effects)
        by_effect = self.across @ slopes
        self.slope = self.spread[self.place] * by_effect - self.z
        self.slope_spread = self.sums @ (self.z * by_effect) - self.spread / self.scale**2
        self.height = fit - 0.5 * (self.z**2).sum(0) - 0.5 * ((self.spread / self.scale) ** 2).sum(0)

    def turn(self, tune: float) -> Floats:
        """One round of all steps; `tune` is how far the step size may still change. Returns the chance of moving."""
        chance = self._hamiltonian(tune)
        for link in self.model.links:
            self._translate(link)
        for place, factor in enumerate(self.model.factors):
            if factor.known is None:
                self._spread_given_effects(place, factor)
        self.refresh()
        for place, factor in enumerate(self.model.factors):
            if factor.known is None:
                self._spread_given_z(place, tune)
        return chance

    def _hamiltonian(self, tune: float) -> Floats:
        draw, z, spread = self.generator.standard_normal, self.z, self.spread
        square = np.where(self.moving, self.square, spread**2)  # of what rests in this move, the scale may be its own
        unit = 1 / np.sqrt(1 + square[self.place] * self.weight)
        step = self.step * self.generator.uniform(0.7, 1.3, len(self.step))  # one length alone may run in circles
        push, push_spread = draw(z.shape), draw(spread.shape) * self.asked[:, None]
        energy = self.height - 0.5 * (push**2).sum(0) - 0.5 * (push_spread**2).sum(0)
        for k in range(STEPS + 1):
            size = step if 0 < k < STEPS else step / 2
            push = push + size * unit * self.slope
            push_spread = push_spread + size * self.unit_spread * self.slope_spread
            if k < STEPS:
                self.z = self.z + step * unit * push
                self.spread = self.spread + step * self.unit_spread * push_spread
                self.refresh()
        change = self.height - 0.5 * (push**2).sum(0) - 0.5 * (push_spread**2).sum(0) - energy
        chance = np.exp(np.minimum(np.nan_to_num(change, nan=-np.inf), 0))
        moved = self.generator.random(len(chance)) < chance
        self.z, self.spread = np.where(moved, self.z, z), np.where(moved, self.spread, spread)
        self.step = self.step * np.exp(tune * (chance - ACCEPTED))
        return np.asarray(chance)

    def _translate(self, link: Link) -> None:
        """Add delta to a parent and take it from its children: eta stays, and delta's law is normal."""
        parent, child = self.model.factors[link.parent], self.model.factors[link.child]
        s_parent, s_child = self.spread[link.parent], self.spread[link.child]
        above, below = slice(parent.first, parent.last), slice(child.first, child.last)
        number = np.bincount(link.parents, minlength=parent.last - parent.first)[:, None]
        total = np.zeros((parent.last - parent.first, len(s_parent)))
        np.add.at(total, link.parents, self.z[below])
        precision = 1 / s_parent**2 + number / s_child**2
        mean = (total / s_child - self.z[above] / s_parent) / precision
        delta = mean + self.generator.standard_normal(mean.shape) / np.sqrt(precision)
        self.z[above] += delta / s_parent
        self.z[below] -= delta[link.parents] / s_child

    def _spread_given_z(self, place: int, tune: float) -> None:
        """A Metropolis step on s with z held."""
        before = self.spread, self.height, self.slope, self.slope_spread
        self.spread = self.spread.copy()
        self.spread[place] += self.reach[place] * self.generator.standard_normal(len(self.step))
        self.refresh()
        chance = np.exp(np.minimum(self.height - before[1], 0))
        moved = self.generator.random(len(chance)) < chance
        self.spread, self.height, self.slope, self.slope_spread = (
            np.where(moved, now, previous)
            for now, previous in zip((self.spread, self.height, self.slope, self.slope_spread), before, strict=True)
        )
        self.reach[place] *= np.exp(tune * (chance - 0.4))

    def _spread_given_effects(self, place: int, factor: Factor) -> None:
        """Metropolis steps on the logarithm of |s| with s z held; they need no likelihood."""
        own, levels = slice(factor.first, factor.last), factor.last - factor.first
        now = self.spread[place].copy()  # not a view: the effects are rescaled by it below
        square = (self.z[own] ** 2).sum(0) * now**2

        def density(log: Floats) -> Floats:
            return np.asarray(
                log * (1 - levels) - 0.5 * square * np.exp(-2 * log) - 0.5 * np.exp(2 * log) / factor.scale**2
            )

        log = np.log(np.abs(now))
        for _ in range(TRIES):
            proposal = log + 2.4 / np.sqrt(2 * levels) * self.generator.standard_normal(len(log))
            log = np.where(np.log(self.generator.random(len(log))) < density(proposal) - density(log), proposal, log)
        self.spread[place] = np.sign(now) * np.exp(log)
        self.z[own] *= now / self.spread[place]


def ignore_round(_done: int, _rounds: int) -> None:
    """Nobody asks how far it is."""


def hamiltonian_draws(
    model: NormalEffects,
    likelihood: Likelihood,
    *,
    generator: np.random.Generator,
    chains: int = 16,
    warm_up: int = 150,
    draws: int = 125,
    after_round: RoundWatcher = ignore_round,
) -> Drawn:
    """`draws` states of each chain after `warm_up` rounds that are thrown away."""
    with np.errstate(over="ignore", invalid="ignore"):  # a step far too large is refused, not an error
        return _draw_posterior(_Chains(model, likelihood, chains, generator), warm_up, draws, after_round)


def _draw_posterior(state: _Chains, warm_up: int, draws: int, after_round: RoundWatcher) -> Drawn:
    _tune_steps(state, warm_up, lambda done: after_round(done, warm_up + draws))
    columns, chains = state.z.shape
    effects, spreads = np.empty((draws, chains, columns)), np.empty((draws, chains, len(state.spread)))
    accepted = np.zeros(chains)
    for k in range(draws):
        accepted += state.turn(0.0) / draws
        effects[k], spreads[k] = (state.spread[state.place] * state.z).T, np.abs(state.spread).T
        after_round(warm_up + k + 1, warm_up + draws)
    return Drawn(effects, spreads, accepted)


def _tune_steps(state: _Chains, warm_up: int, after_round: Callable[[int], None]) -> None:
    """Walk to where the posterior is, and fit the sizes of the steps to it."""
    steps, square = [], np.zeros_like(state.spread)
    for k in range(warm_up):
        state.turn(2 / np.sqrt(k + 4))
        after_round(k + 1)
        steps.append(np.log(state.step))
        square += state.spread**2
        if k + 1 in (warm_up // 4, warm_up // 2):  # what came before was the way there
            state.fit_to(square / (warm_up // 4))
            square, steps = np.zeros_like(square), []
    state.step = np.exp(np.mean(steps, axis=0))  # the last one alone would be as noisy as its last move


def split_r_hat(draws: Floats) -> float:
    """Potential scale reduction of (draws, chains) of one number, each chain split in half (Gelman et al. 2013)."""
    half = len(draws) // 2
    parts = np.concatenate([draws[:half], draws[half : 2 * half]], axis=1)
    within = float(parts.var(0, ddof=1).mean())
    between = float(parts.mean(0).var(ddof=1))
    return float(np.sqrt((half - 1) / half + between / within)) if within > 0 else 1.0
