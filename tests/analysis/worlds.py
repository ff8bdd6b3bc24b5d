"""Simulated studies whose truth is known: the worlds in which every claim of the analysis is tried.

A crowd votes: a vote compares a latent utility with two thresholds; utility and thresholds shift with the dialogue, the
pair and the rater, so that ties as well as preference cluster by all three. Training runs are scored: seeds that are
tame, that differ from system to system, or of which one in ten collapses, all on the same dialogues. Raters rank
several systems at once, all of them or some.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any, Literal, TypeVar

import numpy as np
from scipy.special import expit
from scipy.stats import rankdata

from seedvote.analysis.stats.rivals import MeasuredModel

World = TypeVar("World")


def grid(world: World, what: str = "", **values: Iterable[Any]) -> Mapping[str, World]:
    """The world with every combination of these values: name -> world, the name as `raters 3, work even`."""
    cells = [dict(zip(values, row, strict=True)) for row in product(*values.values())]
    return {
        ", ".join([*filter(None, [what]), *(f"{name.replace('_', ' ')} {value}" for name, value in cell.items())]):
        replace(world, **cell)
        for cell in cells
    }  # fmt: skip


@dataclass(frozen=True)
class Crowd:
    """A population of studies; `sd_dialogue` is that of the utility, on the logit scale."""

    dialogues: int
    pairs_each: int = 1
    votes_each: int = 3
    raters: int = 100
    work: str = "even"  # even, pareto (a fifth does four fifths) or log-normal
    sd_dialogue: float = 0.0
    sd_pair: float = 0.7
    sd_rater: float = 0.4
    sd_habit: float = 0.42  # of the raters' log thresholds: how they love ties
    centre: float = 0.2
    threshold: float = 0.6  # .07 gives 10 % ties, .6 a third, 2.2 nine in ten, 2.9 nineteen in twenty
    sizes: str = "even"  # pairs of a dialogue: even, or zipf (the k-th dialogue has 1/k as many as the first)
    nested: bool = False  # every rater judges the pairs of one part of the dialogues alone

    def truth(self, size: int = 1_000_000) -> tuple[float, float]:
        """Share of ties and net preference over all dialogues, pairs and raters."""
        generator = np.random.default_rng(1)
        utility = self.centre + np.sqrt(self.sd_dialogue**2 + self.sd_pair**2 + self.sd_rater**2) * (
            generator.standard_normal(size)
        )
        spread = np.sqrt(self.sd_habit**2 + (0.36 * self.sd_pair) ** 2 + (0.6 * self.sd_dialogue) ** 2)
        threshold = self.threshold * np.exp(spread * generator.standard_normal(size))
        a, b = 1 - expit(threshold - utility), expit(-threshold - utility)
        return float((1 - a - b).mean()), float((a - b).mean())

    def _dialogues(self, pairs: int) -> np.ndarray:
        """The dialogue of every pair."""
        if self.sizes == "even":
            return np.arange(pairs) // self.pairs_each
        share = np.cumsum(1 / np.arange(1, self.dialogues + 1))
        rest = np.diff(np.round((pairs - self.dialogues) * share / share[-1]), prepend=0)
        return np.repeat(np.arange(self.dialogues), 1 + rest.astype(np.int64))

    def study(self, generator: np.random.Generator) -> dict[str, np.ndarray]:
        """One study: `score` (+1, -1, 0), and the codes of `pair`, `dialogue` and `rater`, one entry a vote."""
        pairs, votes = self.dialogues * self.pairs_each, min(self.votes_each, self.raters)
        share = {"even": lambda n: np.ones(n), "pareto": lambda n: generator.pareto(1.16, n) + 1,
                 "log-normal": lambda n: generator.lognormal(0, 1.2, n)}[self.work](self.raters)  # fmt: skip
        keys = np.log(share)[None] + generator.gumbel(size=(pairs, self.raters))
        of_pair = self._dialogues(pairs)
        if self.nested:  # as many raters a part as a pair has votes
            parts = self.raters // votes
            keys[of_pair[:, None] % parts != np.arange(self.raters)[None] % parts] = -np.inf
        rater = np.argpartition(-keys, votes - 1, axis=1)[:, :votes].ravel()  # nobody judges a pair twice
        pair = np.repeat(np.arange(pairs), votes)
        dialogue = of_pair[pair]

        def effect(sd: float, codes: np.ndarray) -> np.ndarray:
            return sd * generator.standard_normal(int(codes.max()) + 1)[codes]

        utility = self.centre + effect(self.sd_dialogue, dialogue) + effect(self.sd_pair, pair)
        utility = utility + self.leans(generator, rater.max() + 1)[rater] + generator.logistic(size=len(pair))
        habit = self.habits(generator, rater.max() + 1)[rater] + effect(0.36 * self.sd_pair, pair)
        threshold = self.threshold * np.exp(habit + effect(0.6 * self.sd_dialogue, dialogue))
        score = np.select([utility > threshold, utility < -threshold], [1.0, -1.0], 0.0)
        return {"score": score, "pair": pair, "dialogue": dialogue, "rater": np.unique(rater, return_inverse=True)[1]}

    def leans(self, generator: np.random.Generator, raters: int) -> np.ndarray:
        """How far each rater leans to the first system."""
        return self.sd_rater * generator.standard_normal(raters)

    def habits(self, generator: np.random.Generator, raters: int) -> np.ndarray:
        """How each rater loves ties: added to the log threshold."""
        return self.sd_habit * generator.standard_normal(raters)


@dataclass(frozen=True)
class Arrivals:
    """A population of studies whose pairs get their k-th votes in round k, by raters who come and go.

    `work`: `blocks` (one rater after the other), `window` (each stays for a third of the study), `mixed` (all, all the
    time), `pareto` (the same, a fifth does four fifths) or `lists` (each rater has as many pairs in every round).
    """

    work: str = "mixed"
    raters: int = 30
    pairs: int = 200
    rounds: int = 3
    centre: float = -0.7  # logit of a tie
    sd_habit: float = 0.6  # of raters, on the logit
    sd_pair: float = 0.7
    drift: float = 0.0  # of every rater, from the first round to the last, on the logit
    sd_drift: float = 0.0  # of raters about it

    def study(self, generator: np.random.Generator) -> dict[str, np.ndarray]:
        """`tie` (0 or 1), and the codes of `pair`, `round` and `rater`, one entry a vote."""
        pair = np.concatenate([generator.permutation(self.pairs) for _ in range(self.rounds)])
        round = np.repeat(np.arange(self.rounds), self.pairs)
        rater = self._raters(generator)
        slope = self.drift + self.sd_drift * generator.standard_normal(self.raters)
        latent = self.centre + self.sd_habit * generator.standard_normal(self.raters)[rater]
        latent = latent + self.sd_pair * generator.standard_normal(self.pairs)[pair]
        latent = latent + slope[rater] * (round / (self.rounds - 1) - 0.5)
        return {"tie": generator.random(len(pair)) < expit(latent), "pair": pair, "round": round, "rater": rater}

    def _raters(self, generator: np.random.Generator) -> np.ndarray:
        votes, at = self.pairs * self.rounds, np.arange(self.pairs * self.rounds)
        if self.work == "blocks":
            return at * self.raters // votes
        if self.work == "lists":
            return (at % self.pairs * self.raters // self.pairs + at // self.pairs * 7) % self.raters
        if self.work == "window":
            middle = 0.7 * generator.random(self.raters) + 0.15
            keys = -2 * ((at[:, None] / votes - middle) / 0.3) ** 2 + generator.gumbel(size=(votes, self.raters))
            return keys.argmax(1)
        share = generator.pareto(1.16, self.raters) + 1 if self.work == "pareto" else np.ones(self.raters)
        return generator.choice(self.raters, votes, p=share / share.sum())


@dataclass(frozen=True)
class Anchored:
    """A population of studies whose raters judge real pairs, clearly different ones, and one system against itself."""

    raters: int = 30
    sd_habit: float = 0.5  # of raters, on the logit of a tie
    sd_pair: float = 0.7
    pairs: tuple[int, int, int] = (160, 30, 30)
    centres: tuple[float, float, float] = (-0.3, -2.0, 1.2)

    def truth(self) -> float:
        """Where the tie share of real pairs lies between the other two."""
        effects = np.hypot(self.sd_habit, self.sd_pair) * np.random.default_rng(1).standard_normal(1_000_000)
        real, different, same = (float(expit(centre + effects).mean()) for centre in self.centres)
        return (real - different) / (same - different)

    def study(self, generator: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """`tie` and the codes of `pair` and `rater` of real, different and same pairs, three votes a pair."""
        habit = self.sd_habit * generator.standard_normal(self.raters)
        parts = []
        for pairs, centre in zip(self.pairs, self.centres, strict=True):
            rater = np.argsort(generator.random((pairs, self.raters)), 1)[:, :3]
            latent = centre + habit[rater] + self.sd_pair * generator.standard_normal((pairs, 1))
            tie = generator.random(rater.shape) < expit(latent)
            parts.append((tie.ravel(), np.repeat(np.arange(pairs), 3), rater.ravel()))
        return parts


Law = Literal["tame", "unequal", "collapsing", "log-normal"]


@dataclass(frozen=True)
class Trainings:
    """A population of studies in which systems are trained under several seeds and scored on shared dialogues.

    `truth` is every system's mean over all seeds and dialogues. A dialogue's score has an SD of 4, of which 3 is shared
    by all systems; the first system of an `unequal` study has six times the others' SD over seeds.
    """

    systems: int = 5
    seeds: int = 3
    dialogues: int = 60
    law: Law = "tame"
    sd: float = 0.5  # over seeds
    gaps: tuple[float, ...] = (0.0,)  # of the systems' means, repeated to as many as there are
    sd_shared: float = 3.0  # of a dialogue, for all systems
    sd_system: float = 1.0  # of a dialogue, for one system
    sd_run: float = 2.5  # of a dialogue, for one training

    @property
    def truth(self) -> np.ndarray:
        """Mean of every system."""
        return np.resize(np.array(self.gaps, float), self.systems)

    @property
    def spreads(self) -> np.ndarray:
        """SD over seeds of every system."""
        return self.sd * np.where((np.arange(self.systems) == 0) & (self.law == "unequal"), 6.0, 1.0)

    def study(self, generator: np.random.Generator) -> np.ndarray:
        """Scores (systems, seeds, dialogues)."""
        return self.trained_study(generator)[0]

    def trained_study(self, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """The same, and the mean of these very trainings of every system over all dialogues."""
        shape = self.systems, self.seeds, self.dialogues
        scores = self.truth[:, None, None] + self.sd_shared * generator.standard_normal(self.dialogues)
        scores = scores + self.sd_system * generator.standard_normal((self.systems, 1, self.dialogues))
        luck = self.spreads[:, None] * deviations(self.law, generator, shape[:2])
        return scores + luck[:, :, None] + self.sd_run * generator.standard_normal(shape), self.truth + luck.mean(1)


def deviations(law: Law, generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """How far trainings lie from their mean, in SDs of those that went well.

    `collapsing`: one in ten lies 10 SDs below. `log-normal`: the tail is below the mean and the SD is 1.
    """
    normal = generator.standard_normal(shape)
    if law == "collapsing":
        return normal + 1.0 - 10.0 * (generator.random(shape) < 0.1)
    if law == "log-normal":
        return (np.exp(0.5) - np.exp(normal)) / np.sqrt((np.e - 1) * np.e)
    return normal


@cache
def median_of(law: Law) -> float:
    """What half of all trainings exceed."""
    return float(np.median(deviations(law, np.random.default_rng(1), (400_000,))))


@dataclass(frozen=True)
class Rivalry:
    """A population of studies in which trained encoders and rivals without seeds are probed on the same dialogues.

    Checkpoints of an architecture share the luck of their seeds. So many rivals (`equal`) are as good as the encoders,
    by the median training or the mean; the others are 10 points worse. The first architecture is better by `gain`.
    `trained` centres every cell's seeds, so that the encoders as trained are as good as the rivals.
    """

    architectures: int = 5
    checkpoints: int = 2
    seeds: int = 3
    dialogues: int = 100
    law: Law = "tame"
    sd: float = 2.0  # over seeds, in points; of an unequal study that of the first architecture is six times as large
    sd_dialogue: float = 10.0
    sd_run: float = 5.0  # of a seed on a dialogue
    rivals: int = 6
    equal: int = 1
    gain: float = 0.0
    middle: Literal["median", "mean", "trained"] = "median"

    def study(self, generator: np.random.Generator) -> tuple[list[MeasuredModel], list[MeasuredModel]]:
        """Cells and rivals."""
        half = median_of(self.law)
        hard = generator.normal(0, self.sd_dialogue * 0.7, self.dialogues)
        cells, rivals = [], []
        for number in range(self.architectures):
            sd = self.sd * (6.0 if self.law == "unequal" and not number else 1.0)
            luck = sd * (deviations(self.law, generator, (self.seeds,)) - half * (self.middle == "median"))
            for checkpoint in range(self.checkpoints):
                apart = generator.normal(0, 0.5 * sd * (self.law == "tame"), self.seeds)
                effect = luck + apart - (luck + apart).mean() * (self.middle == "trained") + self.gain * (not number)
                own = generator.normal(0, self.sd_dialogue * 0.7, self.dialogues)
                run = generator.normal(0, self.sd_run, (self.seeds, self.dialogues))
                cells.append(_measured(f"{number} {checkpoint}", str(number), 50 + effect[:, None] + hard + own + run))
        for number in range(self.rivals):
            level = 50 if number < self.equal else 40
            own = generator.normal(0, self.sd_dialogue * 0.7, self.dialogues)
            rivals.append(_measured(f"rival {number}", "", (level + hard + own)[None]))
        return cells, rivals


def _measured(name: str, architecture: str, scores: np.ndarray) -> MeasuredModel:
    values = scores.mean(1)
    seeds = tuple(range(len(values))) if architecture else (None,)
    return MeasuredModel(name, architecture, seeds, values, (scores - values[:, None]) / scores.shape[1])


@dataclass(frozen=True)
class Rankers:
    """A population of studies in which raters rank some of the systems, or all of them.

    A utility is the system's worth, plus what item and rater add to it, plus noise of Gumbel's law; `grain` rounds it,
    so that equals arise. Systems at even places are worth the same; the others are better or worse by up to `spread`.
    """

    systems: int = 5
    size: int = 5  # systems in one ranking
    raters: int = 30
    items: int = 60
    rankings_each: int = 3  # of an item
    sd_item: float = 0.7
    sd_rater: float = 0.5
    grain: float = 0.0  # 1 gives a fifth of equals, 3.5 a half, 12 nineteen in twenty
    spread: float = 1.5
    nested: bool = False  # every item has one rater, and that rater alone

    @property
    def worth(self) -> np.ndarray:
        """The mean utility of every system."""
        worth = np.linspace(-self.spread, self.spread, self.systems)
        return np.where((np.arange(self.systems) % 2 == 0) | (self.systems == 2), 0.0, worth)

    def study(self, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Ranks (rankings, systems), NaN where a ranking leaves a system out, then the items and raters."""
        of_item = self.sd_item * generator.standard_normal((self.items, self.systems))
        of_rater = self.sd_rater * generator.standard_normal((self.raters, self.systems))
        each = 1 if self.nested else min(self.rankings_each, self.raters)
        item = np.repeat(np.arange(self.items), each)
        shuffled = generator.permuted(np.tile(np.arange(self.raters), (self.items, 1)), axis=1)[:, :each].ravel()
        rater = item % self.raters if self.nested else shuffled
        utility = self.worth + of_item[item] + of_rater[rater] + generator.gumbel(size=(len(item), self.systems))
        utility = np.floor(utility / self.grain + generator.random()) if self.grain else utility
        left_out = generator.random(utility.shape).argsort(1).argsort(1) >= self.size
        return rankdata(np.where(left_out, np.nan, -utility), axis=1, nan_policy="omit"), item, rater


@dataclass(frozen=True)
class Panels:
    """A population of studies in which people rate one response at a time; all systems are equally good.

    A rating is what rater and item add, what each of them adds to one system, and noise, all normal; `steps` cuts it
    into a scale. `own` raters rate one system each, as many a system; otherwise anybody may rate anything.
    """

    systems: int = 3
    raters: int = 30
    items: int = 40
    ratings_each: int = 2  # of a response
    own: bool = True
    steps: int = 0  # 0: a number, as of a slider
    sd_rater: float = 0.6
    sd_taste: float = 0.3  # of a rater for one system
    sd_item: float = 0.5
    sd_response: float = 0.4
    sd_noise: float = 1.0
    work: str = "even"  # or pareto

    def study(self, generator: np.random.Generator) -> dict[str, np.ndarray]:
        """`score`, and the codes of `system`, `item` and `rater`, one entry a rating."""
        item, system = (codes.ravel() for codes in np.indices((self.items, self.systems)))
        share = np.ones(self.raters) if self.work == "even" else generator.pareto(1.16, self.raters) + 1
        keys = np.log(share) + generator.gumbel(size=(len(item), self.raters))
        if self.own:
            keys[system[:, None] != np.arange(self.raters)[None] % self.systems] = -np.inf
        each = min(self.ratings_each, self.raters // (self.systems if self.own else 1))
        rater = np.argpartition(-keys, each - 1, axis=1)[:, :each].ravel()
        item, system = np.repeat(item, each), np.repeat(system, each)

        def effect(sd: float, *shape: int) -> np.ndarray:
            return sd * generator.standard_normal(shape)

        score = effect(self.sd_rater, self.raters)[rater] + effect(self.sd_item, self.items)[item]
        score = score + effect(self.sd_taste, self.raters, self.systems)[rater, system]
        score = score + effect(self.sd_response, self.items, self.systems)[item, system]
        score = score + effect(self.sd_noise, len(item))
        if self.steps:
            score = np.clip(np.round(score + (self.steps + 1) / 2), 1, self.steps)
        return {"score": score, "system": system, "item": item, "rater": rater}


@dataclass(frozen=True)
class Arenas:
    """A population of studies in which each system meets the next ones of a ring, votes with ties (Davidson's model).

    Strengths are evenly spaced over `spread`; dialogues and raters favour systems of their own, raters like ties more
    or less. In a panel all raters vote on every pair.
    """

    systems: int = 5
    opponents: int = 2  # on either side of the ring
    votes_each: int = 40  # of two systems
    raters: int = 30
    dialogues: int = 60
    spread: float = 0.0
    work: str = "even"  # or pareto
    sd_rater: float = 0.4
    sd_dialogue: float = 0.5
    sizes: str = "even"  # of dialogues, or zipf
    ties: float = 0.6  # Davidson's nu of the typical rater
    panel: bool = False
    divided: int = 0  # systems on which raters differ; 0: all

    @property
    def strengths(self) -> np.ndarray:
        """The strengths, the best first."""
        return np.linspace(self.spread, 0, self.systems)

    def study(self, generator: np.random.Generator) -> dict[str, np.ndarray]:
        """`a`, `b`, `choice` (0, 1, 2 a tie), and the codes of `rater` and `dialogue`, one entry a vote."""
        pairs = {tuple(sorted((one, (one + step) % self.systems)))
                 for step in range(1, self.opponents + 1) for one in range(self.systems)}  # fmt: skip
        a, b = np.repeat(np.array(sorted(pairs)), self.votes_each, axis=0).T
        share = np.ones(self.raters) if self.work == "even" else generator.pareto(1.16, self.raters) + 1
        rater = generator.choice(self.raters, len(a), p=share / share.sum())
        if self.sizes == "even":
            dialogue = generator.integers(0, self.dialogues, len(a))
        else:
            weight = 1 / np.arange(1, self.dialogues + 1)
            dialogue = generator.choice(self.dialogues, len(a), p=weight / weight.sum())
        if self.panel:  # the votes of one pair follow each other
            rater = np.arange(len(a)) % self.raters
            dialogue = dialogue[np.arange(len(a)) // self.raters * self.raters]
        taste = self.sd_rater * generator.standard_normal((self.raters, self.systems))
        taste[:, self.divided or self.systems :] = 0
        lean = self.sd_dialogue * generator.standard_normal((self.dialogues, self.systems))
        worth = self.strengths + taste[rater] + lean[dialogue]
        apart = worth[np.arange(len(a)), a] - worth[np.arange(len(a)), b]
        tie = np.log(self.ties) + 0.6 * generator.standard_normal(self.raters)[rater]
        level = np.stack([apart / 2, -apart / 2, tie], axis=1)
        choice = (level + generator.gumbel(size=level.shape)).argmax(1)
        return {"a": a, "b": b, "choice": choice, "rater": rater, "dialogue": dialogue}


@dataclass(frozen=True)
class Drawn(Arenas):
    """Arenas whose systems are of any strength between -spread and spread, another one in every study."""

    known: tuple[float, ...] = ()

    @property
    def strengths(self) -> np.ndarray:
        """The strengths that were drawn."""
        return np.array(self.known)

    def drawn(self, generator: np.random.Generator) -> Drawn:
        """The world of one study."""
        return replace(self, known=tuple(generator.uniform(-self.spread, self.spread, self.systems).tolist()))
