"""Scores of predictions: true and false positives and misses of every example, which add up to micro-F1.

Counts may be summed over any set of examples; F1 of sums is micro-F1, the mean of F1s is not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

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
        return micro_f1(self.tp.sum(), self.fp.sum(), self.fn.sum())


# Twin of analysis/stats/multibootstrap.py, which takes arrays of sums: packages import the leaf alone.
# tests/house/test_twins.py holds the two equal.
def micro_f1(tp: float, fp: float, fn: float) -> float:
    """Micro-F1 of summed counts; 0 where there is neither label nor answer."""
    return float(2 * tp / (2 * tp + fp + fn)) if tp + fp + fn else 0.0


# Twin of generation/metrics/overlap.py, likewise.
def corpus_bleu2(counts: Mapping[str, float], *, smooth: bool) -> float:
    """BLEU-2 from summed counts, 0-100; `smooth`: no bigram match counts as half a one."""
    used = [order for order in (1, 2) if counts[f"total{order}"]]
    if not counts["match1"] or not (smooth or all(counts[f"match{order}"] for order in used)):
        return 0.0
    logs = sum(math.log((counts[f"match{order}"] or 0.5) / counts[f"total{order}"]) for order in used)
    penalty = min(1.0, math.exp(1 - counts["reference"] / counts["length"]))
    return 100 * penalty * math.exp(logs / len(used))


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


# Twin of analysis/stats/spread.py: packages import the leaf alone. tests/house/test_twins.py holds the two equal.
def spread(values: Sequence[float], *, level: float = 0.95) -> Spread:
    """Mean and SD over seeds, in the unit of the values."""
    n, mean = len(values), float(np.mean(values))
    if n < 2:
        return Spread(tuple(values), mean, math.nan, math.nan, math.nan)
    from scipy.special import gammaincinv  # no job of `probes run` needs it

    sd = float(np.std(values, ddof=1))
    # (n - 1) s^2 / sigma^2 follows chi-square with n - 1 degrees of freedom, whose quantiles these are.
    upper, lower = (2 * float(gammaincinv((n - 1) / 2, (1 + sign * level) / 2)) for sign in (1, -1))
    return Spread(tuple(values), mean, sd, sd * math.sqrt((n - 1) / upper), sd * math.sqrt((n - 1) / lower))
