"""Whether a running study may stop at this look, decided so that looking again and again costs no false alarms.

A look is taken at each comparison of two systems; the formulas are those of stats.sequential. Nothing is decided on one
rater, on raters that nobody named, or on fewer effective clusters than FEWEST_CLUSTERS.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from seedvote.analysis.stats.adaptive import PairPool, Rule, VoteLog, World, estimate_strengths, give_out
from seedvote.analysis.stats.intervals import kish, mean_interval
from seedvote.analysis.stats.net_preference import net_estimate
from seedvote.analysis.stats.power import Assumptions
from seedvote.analysis.stats.sequential import FEWEST_CLUSTERS, Now, bet_on_mean, look_by_mixture, pick_unshared
from seedvote.analysis.votes.clusters import clusters_of
from seedvote.analysis.votes.systems import Contrast
from seedvote.analysis.votes.votes import Votes, design_weights, net_scores
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.formulas.allocation import Aim
from seedvote.dialogue.shell.progress import step

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Verdict = Literal["one rater", "no raters named", "too early", "open", "preferred", "alike"]
STUDIES = 40
LOOKS = 40  # batches of a study as long as it may become
QUANTILES = (0.25, 0.5, 0.8)
MOST_SYSTEMS = 20
PAIR_VOTES = 2  # of each pair that comes up
FARTHEST = 6.0  # SDs of a vote's own noise between two systems


@dataclass(frozen=True, slots=True)
class Bet:
    """The exact bet on votes that share no rater and no dialogue: its evidence, its interval, and where it stops."""

    votes: int
    e: float
    low: float
    high: float
    stop: int | None


@dataclass(frozen=True, slots=True)
class Look:
    """One comparison of a running study at this look; `now` is None where nothing can be decided yet."""

    first: str
    second: str
    votes: int
    clusters: float  # effective number of the rarest kind
    kind: str  # which that is: "rater", "dialogue", ...
    alpha: float  # this comparison's part of the error that all of them share
    unanimous: bool
    bet: Bet | None
    verdict: Verdict
    now: Now | None = None
    taken: str = ""  # the clustering asked for, where it takes votes of one rater or one pair as independent

    @property
    def leader(self) -> str:
        """The system that is ahead."""
        return self.second if self.now is not None and self.now.estimate < 0 else self.first


TOP = 3


@dataclass(frozen=True, slots=True)
class Decision:
    """One question about all systems: its answer once it is known, else the comparisons that keep it open."""

    question: str
    systems: tuple[str, ...]  # the answer; none while it is open
    undecided: tuple[tuple[str, str], ...]


def look(
    contrast: Contrast, *, difference: float, alpha: float, margin: float | None = None, clusters: str = "auto"
) -> Look:
    """Whether a comparison may stop; two systems count as equivalent only within a stated margin (None: not stated)."""
    votes, scores = contrast.votes, net_scores(contrast.votes.choice)
    # Too few votes have too few clusters, whatever was asked for, and need not have what was asked for at all.
    by = clusters_of(votes, clusters if len(votes) >= FEWEST_CLUSTERS else "auto", part=True)
    rarest, kind = min(((kish(codes), name) for name, codes in by.items()), default=(float(len(votes)), "vote"))
    is_unanimous = bool((scores == scores[0]).all())
    start = (
        contrast.first,
        contrast.second,
        len(votes),
        rarest,
        kind,
        alpha,
        is_unanimous,
        _place_bet(votes, scores, alpha),
    )
    if (reason := _find_obstacle(votes, rarest, clusters)) is not None:
        return Look(*start, reason)
    value, se = _estimate_net(votes, scores, by)
    now = look_by_mixture(value, se, clusters=rarest, scale=difference, alpha=alpha)
    taken = "" if clusters == "auto" or "+" in clusters else clusters
    return Look(*start, _reach_verdict(now, margin), now, taken)


def _estimate_net(votes: Votes, scores: Floats, by: Mapping[str, Ints]) -> tuple[float, float]:
    """The net preference and its error; pairs of an adaptive study weigh by how probable they were."""
    weights = design_weights(votes, np.zeros(len(votes), np.int64))
    if weights is None:
        mean = mean_interval(scores, by=by)
        return mean.value, mean.se
    net = net_estimate(scores, by=by, weights=weights)
    return net.value, net.se


def decide_questions(looks: Sequence[Look]) -> tuple[Decision, ...]:
    """Whether the best system, the top three and the whole order are known, of three systems or more.

    Only comparisons that were made and may stop count, so nothing is taken from one to another.
    """
    systems = list(dict.fromkeys(name for look in looks for name in (look.first, look.second)))
    if len(systems) < 3:
        return ()
    beaten = {name: set[str]() for name in systems}
    for look in looks:
        if look.verdict == "preferred":
            beaten[look.leader].add(look.second if look.leader == look.first else look.first)
    order = sorted(systems, key=lambda name: (-len(beaten[name]), sum(name in others for others in beaten.values())))
    decisions = [_decide_top("which system is best", order[:1], order, beaten)]
    if len(systems) > TOP + 1:
        decisions.append(_decide_top("the top three", order[:TOP], order, beaten))
    undecided = [
        (first, second)
        for first, second in combinations(order, 2)
        if second not in beaten[first] and first not in beaten[second]
    ]
    ranked = not undecided and all(second in beaten[first] for first, second in combinations(order, 2))
    decisions.append(Decision("the whole order", tuple(order) if ranked else (), tuple(undecided)))
    return tuple(decisions)


def _decide_top(
    question: str, top: Sequence[str], order: Sequence[str], beaten: Mapping[str, Collection[str]]
) -> Decision:
    others = [name for name in order if name not in top]
    undecided = tuple((first, second) for first in top for second in others if second not in beaten[first])
    return Decision(question, () if undecided else tuple(top), undecided)


def _find_obstacle(votes: Votes, clusters: float, asked_clusters: str) -> Verdict | None:
    """Why nothing can be decided on these votes; a clustering that was asked for by name is taken at its word."""
    if votes.rater is None:
        if asked_clusters == "auto":
            return "no raters named"
    elif (votes.voters or 0) < 2:
        return "one rater"
    return "too early" if clusters < FEWEST_CLUSTERS else None


def _place_bet(votes: Votes, scores: Floats, alpha: float) -> Bet | None:
    """Bet in the order of the file on votes that share nothing, whatever --clusters says; None: raters not named."""
    if votes.rater is None:
        return None
    bets = scores[pick_unshared([*clusters_of(votes).values(), votes.rater])]
    path = bet_on_mean(bets, alpha=alpha)
    return Bet(len(bets), float(path.e[-1]), float(path.low[-1]), float(path.high[-1]), path.stop)


def _reach_verdict(now: Now, margin: float | None) -> Verdict:
    if now.low > 0 or now.high < 0:
        return "preferred"
    return "alike" if margin is not None and -margin < now.low and now.high < margin else "open"


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
    """Votes until it is known which system is best, given out evenly or adaptively, in studies on the same worlds.

    Systems stand at equal distances, each as far above the next as the `difference` planned for. After each batch the
    study stops if the leader is above every other system by the always-valid interval, at an error that all comparisons
    share: so the price of peeking is paid in the votes that are shown. A study may have `most` votes.
    """
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
