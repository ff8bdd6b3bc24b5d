"""People less a model on the same questions: paired by question, with an error for dialogues, raters and seeds.

Each answer counts as the person's hit less the model's mean over seeds on that question. Its mean has the error of
votes, crossed by dialogue and rater; to it comes what the spread between training seeds has beyond the noise of the
questions that all seeds share, each with its own t, as in `stats/mean_over_seeds.py`.
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
from analysis.stats.reruns import between

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
    found = mean_interval(hits - model.mean(0), by=by)
    variance, squared = found.se**2, (float(stdtrit(found.df, 0.975)) * found.se) ** 2
    seeds = len(model)
    if seeds > 1 and wide.max() > 0:
        beyond = _beyond(model, wide) / seeds
        variance += beyond
        squared += float(stdtrit(seeds - 1, 0.975)) ** 2 * beyond
    reach = math.sqrt(squared)
    low, high = max(found.value - reach, -1.0), min(found.value + reach, 1.0)
    se = math.sqrt(variance)
    p = 2 * float(stdtr(found.df, -abs(found.value) / se)) if se else float(found.value == 0)
    return PeopleLessModel(found.value, low, high, p, float(hits.mean()), float(model.mean()), int(whole.sum()))


def _beyond(model: Floats, wide: Ints) -> float:
    """The variance between seeds beyond the noise of the dialogues."""
    means = model.mean(1)
    parts = np.stack([np.bincount(wide, row - mean) / model.shape[1] for row, mean in zip(model, means, strict=True)])
    observed, noise = between(replicates_by_dialogue(means, parts), np.arange(len(model)))
    return max(observed - noise, 0.0)
