"""Simulated studies whose truth is known: the worlds in which every claim of the analysis is tried.

A crowd votes: a vote compares a latent utility with two thresholds; utility and thresholds shift with the dialogue, the
pair and the rater, so that ties as well as preference cluster by all three. Training runs are scored: seeds that are
tame, that differ from system to system, or of which one in ten collapses, all on the same dialogues.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal, TypeVar

import numpy as np
from scipy.special import expit

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
        utility = utility + effect(self.sd_rater, rater) + generator.logistic(size=len(pair))
        habit = effect(self.sd_habit, rater) + effect(0.36 * self.sd_pair, pair)
        threshold = self.threshold * np.exp(habit + effect(0.6 * self.sd_dialogue, dialogue))
        score = np.select([utility > threshold, utility < -threshold], [1.0, -1.0], 0.0)
        return {"score": score, "pair": pair, "dialogue": dialogue, "rater": np.unique(rater, return_inverse=True)[1]}


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
    def median(self) -> np.ndarray:
        """What half of a system's trainings exceed."""
        drawn = deviations(self.law, np.random.default_rng(1), (200_000,))
        return self.truth + np.median(drawn) * self._sds

    @property
    def _sds(self) -> np.ndarray:
        return self.sd * np.where((np.arange(self.systems) == 0) & (self.law == "unequal"), 6.0, 1.0)

    def study(self, generator: np.random.Generator) -> np.ndarray:
        """Scores (systems, seeds, dialogues)."""
        shape = self.systems, self.seeds, self.dialogues
        scores = self.truth[:, None, None] + self.sd_shared * generator.standard_normal(self.dialogues)
        scores = scores + self.sd_system * generator.standard_normal((self.systems, 1, self.dialogues))
        scores = scores + self._sds[:, None, None] * deviations(self.law, generator, shape[:2])[:, :, None]
        return scores + self.sd_run * generator.standard_normal(shape)


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
