"""How often 95 % intervals of a share of ties hold the truth, by six ways of making them from the same votes.

The grid of docs/judge.md (people alone): three votes a pair, two pairs a dialogue, raters who differ and of whom some
give more votes. Prints a line for each number of pairs and raters, and one for the net
preference of the same votes by the way in use.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, stdtrit

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.analysis.judge_crowd import CUT, DIALOGUE, NOISE, PAIR, RATER, SHIFT, truth

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
PER_PAIR, OTHERS = 3, 5  # votes a pair; pairs without votes, whose dialogues some of the others share


@dataclass(frozen=True)
class Studies:
    """What the intervals go by, one entry a study."""

    mean: Floats
    alone: Floats  # the variance of as many independent votes
    dialogue: Floats  # variances of the mean by dialogue, by rater, and by both together
    rater: Floats
    both: Floats
    free_dialogue: Floats  # effective clusters less one
    free_rater: Floats

    @property
    def total(self) -> Floats:
        """The two-way variance."""
        return self.dialogue + self.rater - self.both

    @property
    def larger(self) -> Floats:
        """The larger variance by one way."""
        return np.maximum(self.dialogue, self.rater)

    @property
    def fewest(self) -> Floats:
        """The fewer degrees of freedom."""
        return np.minimum(self.free_dialogue, self.free_rater)

    def satterthwaite(self, variance: Floats) -> Floats:
        """Degrees of freedom of a sum of both variances, no fewer than the fewest."""
        parts = self.dialogue**2 / self.free_dialogue + self.rater**2 / self.free_rater
        return np.maximum(variance**2 / parts, self.fewest)


def drawn(generator: np.random.Generator, studies: int, pairs: int, raters: int) -> tuple[Floats, Ints, Ints]:
    """Net scores of votes, their dialogues and their raters, a row a study; as tests/analysis/judge_crowd.py draws."""
    every = (1 + OTHERS) * pairs
    dialogue = np.argsort(generator.random((studies, every)), 1)[:, :pairs] // 2
    of_dialogue = DIALOGUE * generator.standard_normal((studies, every // 2))
    latent = SHIFT + np.take_along_axis(of_dialogue, dialogue, 1) + PAIR * generator.standard_normal((studies, pairs))
    busy = generator.lognormal(0, 0.6, (studies, raters))
    race = generator.exponential(1, (studies, pairs, raters)) / busy[:, None, :]
    rater = np.argpartition(race, PER_PAIR - 1, axis=2)[:, :, :PER_PAIR].reshape(studies, -1)
    habit = RATER * generator.standard_normal((studies, raters))
    felt = np.repeat(latent, PER_PAIR, 1) + np.take_along_axis(habit, rater, 1)
    felt = felt + NOISE * generator.standard_normal(rater.shape)
    return (felt > CUT).astype(float) - (felt < -CUT), np.repeat(dialogue, PER_PAIR, 1), rater


def measured(values: Floats, dialogue: Ints, rater: Ints) -> Studies:
    """The variances of each row's mean, as analysis/stats/intervals.py computes them one study at a time."""
    mean, size = values.mean(1), int(rater.max()) + 1
    off = values - mean[:, None]
    by_dialogue, by_rater = _one_way(off, dialogue), _one_way(off, rater)
    alone = values.var(1, ddof=1) / values.shape[1]
    both = _one_way(off, dialogue * size + rater)[0]
    return Studies(mean, alone, by_dialogue[0], by_rater[0], both, by_dialogue[1], by_rater[1])


def _one_way(off: Floats, codes: Ints) -> tuple[Floats, Floats]:
    rows, votes = off.shape
    size = int(codes.max()) + 1
    place = (np.arange(rows)[:, None] * size + codes).ravel()
    counts = np.bincount(place, minlength=rows * size).reshape(rows, size)
    sums = np.bincount(place, weights=off.ravel(), minlength=rows * size).reshape(rows, size)
    variance = ((sums / (votes - counts)) ** 2).sum(1) * (1 - 1 / (counts > 0).sum(1))
    return variance, np.maximum(votes**2 / (counts.astype(float) ** 2).sum(1) - 1, 1.0)


def _as_agreement(s: Studies) -> tuple[Floats, Floats]:
    beyond = np.maximum(s.rater - s.both, 0)
    whole = s.dialogue + beyond
    return whole, whole**2 / (s.dialogue**2 / s.free_dialogue + beyond * s.rater / s.free_rater)


def _with_floor(s: Studies, floor: Floats, *, free: bool) -> tuple[Floats, Floats]:
    variance = np.maximum(s.total, floor)
    return variance, s.satterthwaite(variance) if free else s.fewest


RULES: dict[str, Callable[[Studies], tuple[Floats, Floats]]] = {
    "larger, fewest": lambda s: _with_floor(s, s.larger, free=False),
    "larger, Satterthwaite": lambda s: _with_floor(s, s.larger, free=True),
    "as agreement": _as_agreement,
    "half, fewest": lambda s: _with_floor(s, s.larger / 2, free=False),
    "none, Satterthwaite": lambda s: _with_floor(s, s.larger / 1000, free=True),
    "half, Satterthwaite": lambda s: _with_floor(s, s.larger / 2, free=True),
}


def held(s: Studies, rule: Callable[[Studies], tuple[Floats, Floats]], want: float, *, share: bool) -> float:
    """How often the interval of this rule holds the truth; studies without any tie, or of ties alone, are left out."""
    variance, freedom = rule(s)
    variance = np.where(variance > 1e-12 * s.alone, variance, s.alone)
    reach = stdtrit(np.maximum(freedom, 1.0), 0.975) * np.sqrt(variance)
    if not share:
        return float(np.mean(np.abs(s.mean - want) <= reach))
    seen = (s.mean > 0) & (s.mean < 1)
    mean, reach = s.mean[seen], reach[seen]
    half = reach / (mean * (1 - mean))
    return float(np.mean((expit(logit(mean) - half) <= want) & (want <= expit(logit(mean) + half))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=3000, help="studies a line (default 3,000: an error of .004)")
    parser.add_argument("--seed", type=int, default=5)
    args = parser.parse_args()
    generator, want = np.random.default_rng(args.seed), truth()
    print(f"| pairs | raters | {' | '.join(RULES)} | preference |")
    for pairs in (20, 60, 200):
        for raters in (12, 30, 60):
            batch = min(args.studies, 600_000 // (pairs * raters))
            made = [drawn(generator, batch, pairs, raters) for _ in range(0, args.studies, batch)]
            score, dialogue, rater = (np.concatenate(parts) for parts in zip(*made, strict=True))
            ties = measured((score == 0).astype(float), dialogue, rater)
            cells = [f"{held(ties, rule, want.tie, share=True):.3f}" for rule in RULES.values()]
            net = held(measured(score, dialogue, rater), RULES["larger, fewest"], want.net, share=False)
            print(f"| {pairs} | {raters} | {' | '.join(cells)} | {net:.3f} |", flush=True)


if __name__ == "__main__":
    main()
