"""Ranks by strengths with a judge's help: votes on some pairs, verdicts on all, dialogues and raters crossed."""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy.special import ndtr

from seedvote.analysis.stats.paired.davidson import count_games, fit_model, weigh_games
from seedvote.analysis.stats.paired.powered_davidson import DrawnStrata, PredictedPairs, fit_with_predictor
from seedvote.analysis.stats.paired.rank_sets import rank_sets
from seedvote.analysis.stats.powered import spread_chances
from seedvote.dialogue.errors import InputError
from tests.analysis.worlds import grid

CUT = 0.45  # of the latent preference, where a tie ends
DIALOGUE, PAIR, RATER, NOISE = 0.4, 0.7, 0.3, 0.8  # standard deviations


@dataclass(frozen=True)
class Judged:
    """Systems on dialogues that favour some of them; a judge that sees part of that, and has favourites of its own."""

    systems: int = 5
    voted: int = 120  # pairs
    others: int = 600
    raters: int = 30
    spread: float = 1.0  # of the strengths
    agreement: float = 0.6  # of the judge with what makes a pair
    an_item: int = 2  # pairs of a dialogue
    work: str = "even"
    drawing: str = "at random"  # or within strata of the judge's doubt, of whole contrasts, or by stated chances

    @property
    def strengths(self):
        return np.linspace(-self.spread / 2, self.spread / 2, self.systems)

    def study(self, generator):
        """Votes (a, b, choice, dialogue, rater) and the judge's view of all pairs; the voted pairs come first.

        Last come the stratum of every pair and the chance of being drawn, None where all had the same.
        """
        every = self.voted + self.others
        dialogue = generator.permutation(np.arange(every) // self.an_item)
        first = generator.integers(0, self.systems, every)
        second = (first + generator.integers(1, self.systems, every)) % self.systems
        a, b = np.minimum(first, second), np.maximum(first, second)
        favours = DIALOGUE * generator.standard_normal((int(dialogue.max()) + 1, self.systems)) / np.sqrt(2)
        own = favours[dialogue, a] - favours[dialogue, b] + PAIR * generator.standard_normal(every)
        taste = 1.5 * np.cos(3 * np.arange(self.systems))  # the judge's favourites are not people's
        seen = self.agreement * own / np.hypot(DIALOGUE, PAIR)
        seen += np.sqrt(1 - self.agreement**2) * generator.standard_normal(every)
        orders = [taste[a] - taste[b] + seen + 0.3 * generator.standard_normal(every) for _ in "ab"]
        value = np.mean([np.sign(order) * (np.abs(order) > 0.1) for order in orders], axis=0)
        order, chosen, stratum, chance = self.draw(a, b, value, generator)
        a, b, dialogue, own, value = (column[order] for column in (a, b, dialogue, own, value))
        busy = np.ones(self.raters) if self.work == "even" else generator.pareto(1.16, self.raters) + 1
        raters = np.argsort(generator.exponential(1, (chosen, self.raters)) / busy, axis=1)[:, :3].ravel()
        habits = RATER * generator.standard_normal((self.raters, self.systems)) / np.sqrt(2)
        pair = np.repeat(np.arange(chosen), 3)
        latent = self.strengths[a[pair]] - self.strengths[b[pair]] + own[pair] + habits[raters, a[pair]]
        latent += NOISE * generator.standard_normal(len(pair)) - habits[raters, b[pair]]
        choice = np.where(latent > CUT, 0, np.where(latent < -CUT, 1, 2))
        rater = np.unique(raters, return_inverse=True)[1]
        return a, b, value, dialogue, pair, choice, rater, stratum, chance

    def draw(self, a, b, value, generator):
        """The pairs in a new order, those for votes first; how many those are; every pair's stratum and chance."""
        every, (way, *ratios) = len(a), self.drawing.split()
        if way == "at":
            return np.arange(every), self.voted, None, None
        doubts = np.abs(np.round(2 * value)).astype(int)  # 0 where the judge is in doubt, 2 where it is sure
        if way == "chances":
            chance = spread_chances(1.0 - np.abs(value) / 2, self.voted, 0.3)
            is_drawn = generator.random(every) < chance
            order = np.argsort(~is_drawn, kind="stable")
            return order, int(is_drawn.sum()), None, chance[order]
        stratum = doubts if way == "doubt" else np.unique(a * self.systems + b, return_inverse=True)[1]
        ratios = np.array([float(ratio) for ratio in ratios])
        size = np.bincount(stratum)
        part = size * ratios[np.arange(len(size)) % len(ratios)]
        number = np.clip(np.round(self.voted * part / part.sum()), np.minimum(size, 2), size).astype(int)
        shuffled = generator.permutation(every)
        by_stratum = shuffled[np.argsort(stratum[shuffled], kind="stable")]
        place = np.arange(every) - np.repeat(np.cumsum(size) - size, size)
        is_drawn = place < number[stratum[by_stratum]]
        order = np.concatenate([by_stratum[is_drawn], by_stratum[~is_drawn]])
        return order, int(is_drawn.sum()), stratum[order], (number / size)[stratum[order]]


@cache
def truth(systems, spread):
    """The strengths of all people on all pairs: Davidson's of what a random person says of random dialogues."""
    strengths = np.linspace(-spread / 2, spread / 2, systems)
    a, b = np.triu_indices(systems, 1)
    gap, deviation = strengths[a] - strengths[b], np.sqrt(DIALOGUE**2 + PAIR**2 + RATER**2 + NOISE**2)
    wins = np.stack([ndtr((gap - CUT) / deviation), ndtr((-gap - CUT) / deviation)], axis=1)
    counts = np.column_stack([wins, 1 - wins.sum(1)])
    played = count_games([f"s{k:02}" for k in range(systems)], *(np.repeat(side, 3) for side in (a, b)),
                         np.tile([0, 1, 2], len(a)), None)  # fmt: skip
    played.counts[:] = counts * 1000
    return fit_model(played).strengths


def helped(world, generator, *, as_drawn=True):
    """The fit with the judge, by the way pairs were drawn or as if at random; None without one."""
    a, b, value, dialogue, pair, choice, rater, stratum, chance = world.study(generator)
    played = count_games([f"s{k:02}" for k in range(world.systems)], a[pair], b[pair], choice, None)
    wide, strata = dialogue[pair], None
    if chance is not None and as_drawn:
        weight = 1 / chance[pair]
        played = weigh_games(played, weight / weight.mean())
    if stratum is not None and as_drawn:
        number = np.bincount(stratum[: pair.max() + 1], minlength=stratum.max() + 1)
        strata = DrawnStrata(stratum[pair], stratum, dialogue, number)
    try:
        alone = fit_model(played)
    except InputError:
        return None
    predicted = PredictedPairs(a, b, value, dialogue, pair)
    return fit_with_predictor(played, alone, {"dialogue": wide, "rater": rater}, wide, predicted, strata)


def what_holds(world, generator):
    """The share of strengths in their intervals, and whether all ranks are in their sets; None without a fit."""
    found = helped(world, generator)
    if found is None:
        return None
    k, true = world.systems, truth(world.systems, world.spread)
    low, high = np.transpose([found.fit.interval(system) for system in range(k)])
    sets = rank_sets(found.fit.strengths, found.fit.covariance[:k, :k], found.fit.apart, found.fit.ways_apart, sets=500,
                     generator=generator)  # fmt: skip
    best = 1 + (true[None, :] > true[:, None] + 1e-9).sum(1)
    worst = (true[None, :] >= true[:, None] - 1e-9).sum(1)
    ranks = (sets.all_low <= best).all() and (worst <= sets.all_high).all()
    return np.mean((low <= true) & (true <= high)), float(ranks)


CELLS = {
    **grid(Judged(), "five", raters=(8, 30), spread=(0.0, 1.0)),
    **grid(Judged(others=60), "five, few others", agreement=(0.0, 0.8)),
    **grid(Judged(work="pareto", raters=60), "five, pareto", agreement=(0.8,)),
    **grid(Judged(12, 300, 1500, an_item=4), "twelve", raters=(12, 40)),
    **grid(Judged(59, 1000, 4000, 60, 3.0, an_item=10), "fifty-nine", agreement=(0.6,)),
}
DRAWN = {
    "even": "doubt 1 1 1",
    "unequal": "doubt 4 2 1",
    "1:10": "doubt 10 1 1",
    "1:10, the sure ones": "doubt 1 1 10",
    "whole contrasts": "contrasts 1 1 4",
    "whole contrasts, 1:10": "contrasts 1 10",
    "chances by doubt": "chances",
}
DRAWN_CELLS = {
    f"{what}, {name}": replace(world, drawing=drawing)
    for what, world in {
        "eight": Judged(8, 300, 1500, an_item=3),
        "eight, few clusters": Judged(8, 300, 1500, raters=12, an_item=90),
        "thirty": Judged(30, 900, 4500, raters=40, spread=2.0, an_item=9),
    }.items()
    for name, drawing in DRAWN.items()
}
