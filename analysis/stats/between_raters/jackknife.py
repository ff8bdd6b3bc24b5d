"""The two-way jackknife: how far an estimate moves when each item (or dialogue), and each rater, is left out in turn.

Tukey (1958) for one way; two crossed ways as Cameron, Gelbach and Miller (2011) combine them, each part by leaving
clusters out (the CV3 of MacKinnon, Nielsen and Webb 2023), which holds for few and for unequal clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, stdtrit

Floats = NDArray[np.float64]
EDGE = 1 - 1e-9  # Fisher's z of 1 is infinite


@dataclass(frozen=True, slots=True)
class LeftOut:
    """One way of clustering: the estimate without each cluster (n,), and the effective number of clusters (Kish)."""

    values: Floats
    effective: float


@dataclass(frozen=True, slots=True)
class Jackknife:
    """Standard error, bias and degrees of freedom of an estimate; NaN where something left out leaves no estimate."""

    se: float
    bias: float
    df: float


def jackknife(value: float, ways: Sequence[LeftOut], crossing: Floats | None = None) -> Jackknife:
    """The error of `value`, allowing for one way of clustering, or for two and their `crossing`.

    A second way adds only what it has beyond the crossing. The variances by way count with their own degrees of
    freedom (Satterthwaite 1946), Kish's effective number of clusters less one. What the second way adds is a difference
    and less certain than a variance of its size, so the larger variance that it is taken from counts once.
    """
    first, *second = ways
    own, bias = _estimate_variance(value, first.values), _estimate_bias(value, first.values)
    total, uncertain = own, own**2 / max(first.effective - 1, 1.0)
    if second and crossing is not None:
        (second_way,) = second
        by_way = _estimate_variance(value, second_way.values)
        beyond = by_way - _estimate_variance(value, crossing)
        beyond = max(beyond, 0.0) if np.isfinite(beyond) else np.nan
        total, uncertain = total + beyond, uncertain + beyond * by_way / max(second_way.effective - 1, 1.0)
        bias += _estimate_bias(value, second_way.values) - _estimate_bias(value, crossing)
    freedom = total**2 / uncertain if uncertain > 0 else min(way.effective for way in ways) - 1  # all alike
    return Jackknife(float(np.sqrt(total)), bias, max(freedom, 1.0))


def _estimate_variance(value: float, left: Floats) -> float:
    moved = left - value
    return float(moved @ moved) * (len(left) - 1) / len(left)


def _estimate_bias(value: float, left: Floats) -> float:
    return (len(left) - 1) * float(left.mean() - value)


def on_fishers_z(value: float, resampled: Jackknife, level: float) -> tuple[float, float]:
    """The t interval of a coefficient between -1 and 1 on the scale of Fisher's z (atanh)."""
    centre = float(np.clip(value, -EDGE, EDGE))
    reach = _find_half_width(resampled, level) / (1 - centre**2)
    return float(np.tanh(np.arctanh(centre) - reach)), float(np.tanh(np.arctanh(centre) + reach))


def on_the_logit(share: float, resampled: Jackknife, level: float) -> tuple[float, float]:
    """The t interval of a share between 0 and 1 on the logit scale."""
    reach = _find_half_width(resampled, level) / (share * (1 - share))
    return float(expit(logit(share) - reach)), float(expit(logit(share) + reach))


def _find_half_width(resampled: Jackknife, level: float) -> float:
    return float(stdtrit(resampled.df, (1 + level) / 2)) * resampled.se
