"""People less a model on the same questions: paired by question, with an error for dialogues, raters and seeds.

Each answer counts as the person's hit less the model's mean over seeds on that question. Its mean has the error of
votes, crossed by dialogue and rater, and the whole variance between training seeds over their number, taken together
as in `stats/mean_over_seeds.py`. Interval and p are of one t distribution, so they never disagree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from analysis.stats.intervals import mean_interval
from analysis.stats.mean_over_seeds import replicates_by_dialogue
from analysis.stats.reruns import between, both_levels, wider

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PeopleLessModel:
    """A difference of shares, people's less the model's, with its 95 % interval."""

    value: float
    low: float
    high: float
    p: float
    people: float
    model: float
    answers: int


def people_less_model(hits: Floats, model: Floats, ways: Mapping[str, Ints], wide: Ints) -> PeopleLessModel | None:
    """From people's hits (answers,) and the model's (seeds, answers); `wide` is the dialogue of each answer."""
    whole = ~np.isnan(model).any(0)
    if whole.sum() < 2:
        return None
    hits, model, wide = hits[whole], model[:, whole], np.unique(wide[whole], return_inverse=True)[1]
    by = {name: np.unique(codes[whole], return_inverse=True)[1] for name, codes in ways.items()}
    by = {name: codes for name, codes in by.items() if codes.max() > 0}
    difference = mean_interval(hits - model.mean(0), by=by)
    value, seeds = difference.value, len(model)
    variance, freedom = difference.se**2, difference.df
    if seeds > 1 and wide.max() > 0:
        observed, noise = _variance_between_seeds(model, wide)
        shared = max(variance - noise / seeds, 0.0)  # what the dialogues do to each seed alone is in `observed`
        with_seeds = both_levels((shared, freedom), (observed / seeds, seeds - 1.0))
        variance, freedom = wider((variance, freedom), with_seeds)
    se = math.sqrt(variance)
    reach = float(stdtrit(freedom, 0.975)) * se if se else 0.0
    low, high = max(value - reach, -1.0), min(value + reach, 1.0)
    p = 2 * float(stdtr(freedom, -abs(value) / se)) if se else float(value == 0)
    return PeopleLessModel(value, low, high, p, float(hits.mean()), float(model.mean()), int(whole.sum()))


def _variance_between_seeds(model: Floats, wide: Ints) -> tuple[float, float]:
    """The sample variance of the seeds' means, and what of it the dialogues would make if all seeds were alike."""
    means = model.mean(1)
    parts = np.stack([np.bincount(wide, row - mean) / model.shape[1] for row, mean in zip(model, means, strict=True)])
    return between(replicates_by_dialogue(means, parts), np.arange(len(model)))
