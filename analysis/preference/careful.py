"""The careful answer for few or unequal raters: a Bayesian hierarchical Davidson, beside the default, never instead.

It runs where it is asked for, and by itself where the votes are worth fewer than eight equally busy raters: there the
default's interval rests on a handful of clusters and may say nothing at all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from analysis.preference.ranking import Ranking
from analysis.showing.words import count, number
from analysis.stats.intervals import groups, kish
from analysis.stats.paired.bayes_davidson import AGREED, HierarchicalFit, hierarchical_davidson
from analysis.votes.clusters import ways_within
from analysis.votes.systems import Matches
from dialogue.errors import InputError
from dialogue.progress import step
from dialogue.seeds import child_seed

Floats = NDArray[np.float64]

FEW_RATERS = 8  # below it t has fewer than seven degrees of freedom; at ten even raters both answers cover
MOST_UNASKED = 1_000  # votes: some seconds; beyond it the answer waits until it is asked for
MOST_SYSTEMS = 12  # likewise
MOST_VOTES = 20_000
MOST_EFFECTS = 10_000  # all their draws stand in memory: half a gigabyte at most
MEASURED = 20  # one in so many rounds is timed before the time of the whole is said
MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Credible:
    """Median and central 95 % of a posterior."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class CarefulSystem:
    """One system; `strength` is for the average vote, as in the default, `typical` for one typical rater and pair."""

    system: str
    strength: Credible
    typical: Credible
    rank: int
    default_rank: int | None  # None: the default found no ranking
    ranks: tuple[float, ...]  # chance of being first, second, ...
    below_next: float | None  # chance of being in truth below the next; None for the last

    @property
    def best(self) -> float:
        """Chance of being the best of all."""
        return self.ranks[0]


@dataclass(frozen=True, slots=True)
class CarefulContrast:
    """Two systems before new raters and new pairs."""

    first: str
    second: str
    net: Credible
    ties: Credible
    better: float  # chance that the first is the stronger one


@dataclass(frozen=True, slots=True)
class Careful:
    """The systems from the best down, and how much raters, dialogues and pairs differ (SDs on the log scale)."""

    reason: str
    systems: tuple[CarefulSystem, ...]
    contrasts: tuple[CarefulContrast, ...]
    spreads: Mapping[str, Credible]
    draws: int
    r_hat: float

    @property
    def moved(self) -> tuple[CarefulSystem, ...]:
        """The systems that stand elsewhere than in the default's ranking."""
        return tuple(one for one in self.systems if one.default_rank not in (None, one.rank))


def careful_answer(
    matches: Matches, *, asked: bool | None, clusters: str, ranking: Ranking | None, seed: int
) -> Careful | None:
    """The careful answer, or None where nobody asked and raters are many; `asked` is None where nobody said."""
    votes, shared = matches.votes, ways_within(matches.votes, clusters)
    refusal = _too_large(matches, sum(groups(codes) for codes in shared.values()))
    reason = "it was asked for" if asked else _few(matches)
    if asked is False or reason is None or (refusal and not asked):
        return None
    if refusal:
        raise InputError(refusal)
    found = hierarchical_davidson(
        matches.systems, matches.a, matches.b, votes.choice, votes.left, shared,
        generator=np.random.default_rng(child_seed(seed, "careful")), after_round=Forecast(len(votes)),
    )  # fmt: skip
    return _told(found, reason, {} if ranking is None else {one.system: one.rank for one in ranking.systems}, matches)


class Forecast:
    """Says how long the careful answer takes, from the first rounds of its chains; `clock` gives seconds."""

    def __init__(self, votes: int, clock: Callable[[], float] = time.monotonic, say: Callable[[str], None] = step):
        self.what = f"careful answer of {count(votes, 'vote')}"
        self.clock, self.say, self.begun = clock, say, clock()
        say(f"{self.what}: timing its first rounds")

    def __call__(self, done: int, rounds: int) -> None:
        """`done` of so many rounds are over; chains that disagree are drawn again, in more rounds."""
        if done == max(rounds // MEASURED, 1):
            self.say(f"{self.what}: {time_needed((self.clock() - self.begun) / done * rounds)}")
        if done == rounds:
            self.begun = self.clock()


def time_needed(seconds: float) -> str:
    """How long it takes, and what to do if that is too long."""
    if seconds <= MINUTE:
        return f"about {count(max(round(seconds), 1), 'second')}"
    return f"about {count(round(seconds / MINUTE + 0.5), 'minute')}; --no-careful leaves it out"


def disagreeing(found: Careful | None) -> list[str]:
    """The caution that the draws are not to be trusted, where that is so."""
    if found is None or found.r_hat < AGREED:
        return []
    return [
        f"The chains of the careful answer disagree (R-hat {number(found.r_hat, 2)}), so do not rely on it; another "
        "--seed or more votes may help."
    ]


def _too_large(matches: Matches, levels: int) -> str:
    """Why the model takes no votes like these, or nothing."""
    votes, systems = len(matches.votes), len(matches.systems)
    effects = levels * (1 + (1 if systems == 2 else systems))
    if votes > MOST_VOTES:
        return (
            f"--careful takes up to {MOST_VOTES:,} votes, and these are {votes:,}. It is made for few votes or few "
            "raters; leave it out, or give it a part of the votes."
        )
    if effects > MOST_EFFECTS:
        return (
            f"--careful would ask these votes for {effects:,} effects of raters, dialogues and pairs on {systems} "
            f"systems, and takes up to {MOST_EFFECTS:,}; leave it out, or compare fewer systems."
        )
    return ""


def _few(matches: Matches) -> str | None:
    """Why the careful answer is needed, or None where it is not, or would take long."""
    votes = matches.votes
    people = votes.given().rater
    if people is None or groups(people) < 2:
        return None  # nothing can be said about people other than this one, by any model
    worth = kish(people)
    if worth >= FEW_RATERS or len(votes) > MOST_UNASKED or len(matches.systems) > MOST_SYSTEMS:
        return None
    return f"the votes of {count(groups(people), 'rater')} are worth {number(worth, 1)} equally busy ones"


def _told(found: HierarchicalFit, reason: str, before: Mapping[str, int], matches: Matches) -> Careful:
    averaged = found.averaged
    order = np.argsort(-np.median(averaged, axis=0), kind="stable")
    shares = np.stack([(found.ranks == place).mean(0) for place in range(1, len(order) + 1)], axis=1)
    below = [float((averaged[:, i] < averaged[:, j]).mean()) for i, j in pairwise(order)]
    systems = tuple(
        CarefulSystem(found.systems[k], _credible(averaged[:, k]), _credible(found.strengths[:, k]), place,
                      before.get(found.systems[k]), tuple(shares[k].tolist()), p)
        for place, (k, p) in enumerate(zip(order, [*below, None], strict=True), 1)
    )  # fmt: skip
    met = np.unique(np.sort(np.stack([matches.a, matches.b]), axis=0), axis=1).T
    contrasts = tuple(_contrast(found, int(one), int(other)) for one, other in met)
    spreads = {name: _credible(part) for name, part in found.spreads.items()}
    return Careful(reason, systems, contrasts, spreads, len(averaged), found.r_hat)


def _contrast(found: HierarchicalFit, one: int, other: int) -> CarefulContrast:
    chances = found.outcome(one, other)
    net, better = chances[:, 0] - chances[:, 1], float((chances[:, 0] > chances[:, 1]).mean())
    return CarefulContrast(found.systems[one], found.systems[other], _credible(net), _credible(chances[:, 2]), better)


def _credible(draws: Floats) -> Credible:
    low, value, high = np.quantile(draws, [0.025, 0.5, 0.975])
    return Credible(float(value), float(low), float(high))
