"""Simulated studies whose truth is known: dialogues, pairs and raters that differ, and raters who work unequally.

A vote compares a latent utility with two thresholds; utility and thresholds shift with the dialogue, the pair and the
rater, so that ties as well as preference cluster by all three.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit


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
    threshold: float = 0.6

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

    def study(self, generator: np.random.Generator) -> dict[str, np.ndarray]:
        """One study: `score` (+1, -1, 0), and the codes of `pair`, `dialogue` and `rater`, one entry a vote."""
        pairs, votes = self.dialogues * self.pairs_each, min(self.votes_each, self.raters)
        share = {"even": lambda n: np.ones(n), "pareto": lambda n: generator.pareto(1.16, n) + 1,
                 "log-normal": lambda n: generator.lognormal(0, 1.2, n)}[self.work](self.raters)  # fmt: skip
        keys = np.log(share)[None] + generator.gumbel(size=(pairs, self.raters))
        rater = np.argpartition(-keys, votes - 1, axis=1)[:, :votes].ravel()  # nobody judges a pair twice
        pair = np.repeat(np.arange(pairs), votes)
        dialogue = pair // self.pairs_each

        def effect(sd: float, codes: np.ndarray) -> np.ndarray:
            return sd * generator.standard_normal(int(codes.max()) + 1)[codes]

        utility = self.centre + effect(self.sd_dialogue, dialogue) + effect(self.sd_pair, pair)
        utility = utility + effect(self.sd_rater, rater) + generator.logistic(size=len(pair))
        habit = effect(self.sd_habit, rater) + effect(0.36 * self.sd_pair, pair)
        threshold = self.threshold * np.exp(habit + effect(0.6 * self.sd_dialogue, dialogue))
        score = np.select([utility > threshold, utility < -threshold], [1.0, -1.0], 0.0)
        return {"score": score, "pair": pair, "dialogue": dialogue, "rater": np.unique(rater, return_inverse=True)[1]}
