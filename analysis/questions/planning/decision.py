"""Votes until it is known which of several systems is best, given out evenly or adaptively, by simulated studies.

Systems stand at equal distances, each as far above the next as the difference planned for. After each batch the study
stops if the leader is above every other system by the always-valid interval of a running study, at an error that all
comparisons share. So the price of peeking is paid in the votes that are shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from seedvote.analysis.stats.adaptive import PairPool, Rule, VoteLog, World, estimate_strengths, give_out
from seedvote.analysis.stats.intervals import kish, mean_interval
from seedvote.analysis.stats.power import Assumptions
from seedvote.analysis.stats.sequential import FEWEST_CLUSTERS, look_by_mixture
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.formulas.allocation import Aim
from seedvote.dialogue.shell.progress import step

Floats = NDArray[np.float64]
STUDIES = 40
LOOKS = 40  # batches of a study as long as it may become
QUANTILES = (0.25, 0.5, 0.8)
MOST_SYSTEMS = 20
PAIR_VOTES = 2  # of each pair that comes up
FARTHEST = 6.0  # SDs of a vote's own noise between two systems


@dataclass(frozen=True, slots=True)
class VotesToDecision:
    """Votes at QUANTILES of the studies; None where so many studies did not stop within `most` votes."""

    design: str
    stopped: float  # share of studies
    wrong: float  # share of studies that named another system
    votes: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class DecisionPlan:
    """Both designs for so many systems."""

    systems: int
    difference: float
    most: int
    studies: int
    designs: tuple[VotesToDecision, ...]


def plan_decision(
    systems: int, crowd: Assumptions, difference: float, most: int, *, alpha: float, generator: np.random.Generator
) -> DecisionPlan:
    """Simulate both designs on the same worlds; `most` is how many votes a study may have."""
    if not 2 <= systems <= MOST_SYSTEMS:
        raise InputError(f"--adaptive is {systems}; it plans for 2 to {MOST_SYSTEMS} systems.")
    world = make_world(systems, crowd, difference, most)
    seeds, designs = generator.integers(2**62, size=STUDIES), []
    for design, aim in (("even", None), ("adaptive", Aim("best"))):
        step(f"simulating {STUDIES} studies, {design} design")
        ends = [_run_study(world, Rule(aim), most, difference, alpha, np.random.default_rng(seed)) for seed in seeds]
        stopped = sorted(votes for votes, _ in ends if votes is not None)
        places = [int(np.ceil(part * STUDIES)) - 1 for part in QUANTILES]
        votes = tuple(stopped[place] if place < len(stopped) else None for place in places)
        wrong = sum(leader != 0 for votes, leader in ends if votes is not None) / STUDIES
        designs.append(VotesToDecision(design, len(stopped) / STUDIES, wrong, votes))
    return DecisionPlan(systems, difference, most, STUDIES, tuple(designs))


def make_world(systems: int, crowd: Assumptions, difference: float, most: int) -> World:
    """A world with the crowd's ties, correlations and work, and neighbours that differ by `difference`."""
    place, rater = (crowd.pair_icc, crowd.rater_icc) if crowd.effect is None else (0.3, 0.1)
    total = 1 / max(1 - place - rater, 0.05)
    dialogues = int(np.ceil(most / PAIR_VOTES / max(systems * (systems - 1) // 2, 1))) + 1
    start = World(
        (0.0, 0.0),
        dialogues=max(dialogues, 20),
        raters=max(int(most / max(crowd.per_rater, 1.0)), 12),
        sd_dialogue=float(np.sqrt(place * total / 2)),
        sd_rater=float(np.sqrt(rater * total / 2)),
        careless=0.0,
        work=float(np.sqrt(np.log1p(crowd.rater_cv**2))),
    )

    def with_values(threshold: float, gap: float, number: int = 2) -> World:
        strengths = tuple((-gap * np.arange(number)).tolist())
        return World(**{**vars(start), "threshold": threshold, "strengths": strengths})

    threshold = _solve(lambda value: with_values(value, 0.0).ties(0.0) - crowd.ties, 20.0)
    first, second = np.array([0]), np.array([1])
    gap = _solve(lambda value: float(with_values(threshold, value).truth(first, second)[0]) - difference, FARTHEST)
    return with_values(threshold, gap, systems)


def _solve(gap: Callable[[float], float], farthest: float) -> float:
    return float(brentq(gap, 1e-9, farthest)) if gap(1e-9) * gap(farthest) < 0 else farthest


def _run_study(
    world: World, rule: Rule, most: int, difference: float, alpha: float, generator: np.random.Generator
) -> tuple[int | None, int]:
    """The votes at which the study stops, and the system that it names."""
    pool = world.pool()
    leader = 0
    for log in give_out(pool, rule, world.crowd(pool, generator), most, generator, places=max(1, most // LOOKS)):
        leader = int(np.argmax(estimate_strengths(pool, log)))
        if _is_best(pool, log, leader, difference, alpha / len(pool.first)):
            return len(log), leader
    return None, leader


def _is_best(pool: PairPool, log: VoteLog, leader: int, difference: float, alpha: float) -> bool:
    """Whether the leader is above every other system, each by its own comparison."""
    contrast = pool.contrast[log.pair]
    for k in np.flatnonzero((pool.first == leader) | (pool.second == leader)):
        rows = contrast == k
        columns = {"dialogue": pool.dialogue[log.pair[rows]], "rater": log.rater[rows]}
        by = {name: np.unique(column, return_inverse=True)[1] for name, column in columns.items()}
        clusters = min((kish(codes) for codes in by.values()), default=0.0) if rows.any() else 0.0
        if clusters < FEWEST_CLUSTERS:
            return False
        net = mean_interval(log.score[rows] * (1 if pool.first[k] == leader else -1), by=by)
        if look_by_mixture(net.value, net.se, clusters=clusters, scale=difference, alpha=alpha).low <= 0:
            return False
    return True
