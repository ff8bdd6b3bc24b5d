"""Scores of a corpus from counts that may be summed: BLEU and micro-F1.

BLEU is that of Papineni et al. 2002, 0 to 100, with the brevity penalty exp(1 - r/c) for c < r. An order without a
match counts as nothing (`smooth="none"`), or as half a match, the next such as a quarter, and so on (`"exp"`,
sacrebleu's default). With `effective`, orders for which no response is long enough are left out; else the
score is then 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Smooth = Literal["exp", "none"]


def corpus_bleu(counts: Mapping[str, float], orders: Sequence[int], *, smooth: Smooth, effective: bool) -> float:
    """BLEU from summed counts: match1, total1 and so on for these orders, length and reference."""
    used = [order for order in orders if counts[f"total{order}"] > 0]
    if not counts["match1"] or not (effective or len(used) == len(orders)):
        return 0.0
    if smooth == "none" and not all(counts[f"match{order}"] for order in used):
        return 0.0
    logs, missed = 0.0, 0
    for order in used:
        missed += not counts[f"match{order}"]
        logs += math.log((counts[f"match{order}"] or 0.5**missed) / counts[f"total{order}"])
    length, reference = counts["length"], counts["reference"]
    penalty = 1.0 if length >= reference else math.exp(1 - reference / length)
    return 100 * penalty * math.exp(logs / len(used))


def corpus_bleus(
    matches: Floats, totals: Floats, length: Floats, reference: Floats, *, smooth: Smooth, effective: bool
) -> Floats:
    """The same for arrays of sums: matches and totals `(..., orders)`, length and reference `(...)`."""
    used = totals > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        missed = 0.5 ** np.cumsum(matches == 0, axis=-1) if smooth == "exp" else 0.0
        logs = np.log(np.where(matches > 0, matches, missed) / totals)
        mean = np.where(used, logs, 0.0).sum(-1) / used.sum(-1)
        score = 100 * np.minimum(1.0, np.exp(1 - reference / length)) * np.exp(mean)
    scored = (matches[..., 0] > 0) & (used.any(-1) if effective else used.all(-1))
    return np.where(scored, score, 0.0)


def micro_f1(tp: ArrayLike, fp: ArrayLike, fn: ArrayLike) -> Floats:
    """2 tp / (2 tp + fp + fn), 0 to 1, of summed counts; 0 where there is neither label nor answer."""
    hits, strays, misses = (np.asarray(count, np.float64) for count in (tp, fp, fn))
    return np.asarray(2 * hits / np.maximum(2 * hits + strays + misses, 1e-300))
