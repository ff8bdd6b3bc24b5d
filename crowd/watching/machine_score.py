"""One score for what may point to a program or a language model: how far a rater stands from the others, in three ways.

Each way gives at most 2 points, -log10 of a probability that is never taken below .01: how long answers take, what the
answers are, and what happens to the page. 4 points stand out, so no single way is enough: people who dictate or use a
screen reader leave the page and paste into it. Who takes longer than the median gets no point for time: people who use
a switch answer slowly and at an even pace.

A rater is compared with the median of all, in units of their spread (median absolute deviation, and t with 3 degrees of
freedom, whose tails are wide). So the score needs several raters, follows no fixed reading speed, and still holds where
some of them are programs. `benchmarks/sim_machines.py` states how often people stand out.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

STANDS_OUT = 4.0
LEAST = 0.01  # the probability below which nothing counts more
FEWEST_RATERS = 8  # below which nobody is compared
MAD_TO_SD = 1.4826


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What is known of one rater; None where there is too little, or where the study does not count it."""

    pace: float | None
    """Median seconds for 100 characters."""
    with_length: float | None
    """Rank correlation of time and length of text."""
    spread: float | None
    """Standard deviation of the logarithms of the times."""
    bits: float
    """Entropy of the buttons."""
    likeness: float | None
    """Probability of the most similar other rater's answers, among all that were compared."""
    answers: int
    left: float | None = None
    """Shares of pairs on which the page was left, copied from and pasted into."""
    copied: float | None = None
    pasted: float | None = None


@dataclass(frozen=True, slots=True)
class MachineScore:
    """Points of one rater; each way has 0 to 2."""

    time: float
    answers: float
    page: float

    @property
    def points(self) -> float:
        """All of them, 0 to 6."""
        return self.time + self.answers + self.page

    @property
    def stands_out(self) -> bool:
        """Whether somebody should look at this rater."""
        return self.points >= STANDS_OUT


def machine_scores(raters: Mapping[str, Behaviour]) -> dict[str, MachineScore]:
    """The score of every rater; nobody's where there are too few to compare."""
    if len(raters) < FEWEST_RATERS:
        return {}
    everybody = list(raters.values())
    most_answers = max(rater.answers for rater in everybody)
    pace = _Spread([_log(rater.pace) for rater in everybody], least=0.3)
    length = _Spread([_fisher(rater.with_length) for rater in everybody], least=1 / math.sqrt(max(1, most_answers - 3)))
    spread = _Spread([_log(rater.spread) for rater in everybody], least=0.25)
    bits = _Spread([rater.bits for rater in everybody], least=0.15)
    page = [
        _Spread([_angle(share) for share in shares], least=0.2) for shares in zip(*map(_shares, everybody), strict=True)
    ]

    def score(rater: Behaviour) -> MachineScore:
        time = [
            pace.below(_log(rater.pace)),
            length.below(_fisher(rater.with_length)),
            spread.below(_log(rater.spread)),
        ]
        if (time[0] or 0.0) >= 0.5:
            time = []  # who takes longer than most is no program that hurries: a switch is slow and even
        answers = [bits.below(rater.bits), rater.likeness]
        happened = [known.above(_angle(share)) for known, share in zip(page, _shares(rater), strict=True)]
        return MachineScore(_score_points(time), _score_points(answers), _score_points(happened))

    return {name: score(rater) for name, rater in raters.items()}


def _score_points(probabilities: Sequence[float | None]) -> float:
    """-log10 of the smallest, times their number as Bonferroni has it."""
    known = [p for p in probabilities if p is not None]
    return -math.log10(min(1.0, max(LEAST, len(known) * min(known)))) if known else 0.0


class _Spread:
    """Where all raters stand, robustly: half of them may be anything."""

    def __init__(self, values: Sequence[float | None], *, least: float) -> None:
        known = [value for value in values if value is not None]
        self.middle = statistics.median(known) if known else 0.0
        deviations = [abs(value - self.middle) for value in known]
        self.unit = max(least, MAD_TO_SD * statistics.median(deviations)) if known else least

    def below(self, value: float | None) -> float | None:
        """The probability of a value so small or smaller."""
        return None if value is None else _student(value, self.middle, self.unit)

    def above(self, value: float | None) -> float | None:
        """The probability of a value so large or larger."""
        return None if value is None else _student(-value, -self.middle, self.unit)


def _student(value: float, middle: float, unit: float) -> float:
    """The distribution function of t with 3 degrees of freedom, in closed form.

    >>> round(_student(-3.182, 0, 1), 4), _student(2, 2, 1)
    (0.025, 0.5)
    """
    t = (value - middle) / unit / math.sqrt(3)
    return 0.5 + (t / (1 + t * t) + math.atan(t)) / math.pi


def _log(value: float | None) -> float | None:
    return None if value is None else math.log(max(value, 1e-3))


def _fisher(correlation: float | None) -> float | None:
    return None if correlation is None else math.atanh(max(-0.999, min(0.999, correlation)))


def _angle(share: float | None) -> float | None:
    return None if share is None else math.asin(math.sqrt(min(1.0, share)))


def _shares(rater: Behaviour) -> tuple[float | None, float | None, float | None]:
    return rater.left, rater.copied, rater.pasted
