"""Scores of predictions: true and false positives and misses of every example, which add up to micro-F1.

Counts may be summed over any set of examples; F1 of sums is micro-F1, the mean of F1s is not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from seedvote.dialogue.formulas.counts import micro_f1
from seedvote.dialogue.formulas.uncertainty import sd_interval
from seedvote.probes.tasks.labels import Labels


@dataclass(frozen=True, slots=True)
class Counts:
    """True positives, false positives and misses of each example (n), to be summed over any set of examples."""

    tp: np.ndarray
    fp: np.ndarray
    fn: np.ndarray

    @property
    def example_f1(self) -> np.ndarray:
        """F1 of each example on its own (0 or 1 where there is one label)."""
        return np.asarray(2 * self.tp / np.maximum(2 * self.tp + self.fp + self.fn, 1))

    @property
    def micro_f1(self) -> float:
        """2 tp / (2 tp + fp + fn) of the sums, in [0, 1]; with one label and one answer each it is the accuracy."""
        return float(micro_f1(self.tp.sum(), self.fp.sum(), self.fn.sum()))


def count_hits(predicted: np.ndarray, gold: Labels) -> Counts:
    """Compare predictions (n x labels, boolean) with the labels; one that training does not know is always missed."""
    truth = gold.dense()
    tp = (predicted & truth).sum(1)
    return Counts(tp, predicted.sum(1) - tp, truth.sum(1) + gold.unseen - tp)


@dataclass(frozen=True, slots=True)
class Spread:
    """Scores of several seeds in points: their mean, and their SD (n-1) with an interval (NaN below two seeds).

    The interval is the chi-square interval of a normal sample's SD: with three seeds it reaches from half to six times
    the SD.
    """

    values: tuple[float, ...]
    mean: float
    sd: float
    low: float
    high: float


def seed_spread(values: Sequence[float], *, level: float = 0.95) -> Spread:
    """Mean and SD over seeds, in the unit of the values."""
    return Spread(tuple(values), float(np.mean(values)), *sd_interval(values, level=level))


def mean_interval(values: Sequence[float], *, level: float = 0.95) -> tuple[float, float]:
    """Student's interval of the mean over new seeds; NaN below two.

    >>> [round(end, 2) for end in mean_interval([1.0, 2.0, 3.0])]
    [-0.48, 4.48]
    """
    if len(values) < 2:
        return math.nan, math.nan
    half = float(stats.t.ppf((1 + level) / 2, len(values) - 1)) * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return float(np.mean(values)) - half, float(np.mean(values)) + half
