"""What it costs to know an architecture's mean with each method: seeds, rater hours, machine hours, money.

The seeds are the fewest for which half the 95 % t interval of the mean is at most `margin` points wide,
t_{.975, n-1} sd / sqrt(n) <= margin, with every seed judged as thoroughly as in the study at hand. Hours are measured,
not guessed: seconds between showing and answering from the votes, seconds of training from the models' logs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from analysis.votes.scores.panel import PEOPLE, Method
from analysis.votes.study import Study

SEEDS_TRIED = 100_000
PAIRS_A_SITTING = 20  # the default of hit.toml


@dataclass(frozen=True, slots=True)
class Cost:
    """For one method: seeds, hours and money; None for what the study does not show."""

    method: Method
    margin: float
    seeds: int | None
    seeds_low: int | None  # with the SD at the ends of its interval
    seeds_high: int | None
    rater_hours: float | None
    machine_hours: float | None
    money: float | None


def seeds_needed(sd: float, margin: float, *, level: float = 0.95) -> int | None:
    """The smallest number of seeds, two or more, whose t interval is narrow enough.

    >>> seeds_needed(1.0, 1.0)
    7
    """
    if not math.isfinite(sd) or margin <= 0:
        return None
    enough = np.flatnonzero(_half_widths(level) * sd <= margin)
    return int(enough[0]) + 2 if len(enough) else None


@cache
def _half_widths(level: float) -> npt.NDArray[np.float64]:
    """Half the t interval of a mean in SDs, for 2, 3, ... seeds."""
    counts = np.arange(2, SEEDS_TRIED)
    return np.asarray(stdtrit(counts - 1, (1 + level) / 2) / np.sqrt(counts))


def seconds_a_vote(study: Study) -> float | None:
    """Median seconds between showing and answering."""
    seconds = None if study.votes is None else study.votes.seconds
    if seconds is None or not np.isfinite(seconds).any():
        return None
    return float(np.nanmedian(seconds))  # the median: a rater who leaves the page open would rule a mean


def pay_of_a_vote(study: Study) -> float | None:
    """What hit.toml pays for a vote on a real pair; None where it names no pay."""
    pay = float(study.hit.get("pay_per_sitting", 0))
    return pay / int(study.hit.get("pairs_per_sitting", PAIRS_A_SITTING)) if pay else None


def training_seconds(folder: Path) -> Mapping[str, float]:
    """Architecture -> mean seconds of training a seed, from models/*/log.jsonl."""
    found: dict[str, list[float]] = {}
    for log in sorted(folder.glob("models/*/log.jsonl")):
        lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines() if line.strip()]
        seconds = sum(line.get("seconds", 0.0) for line in lines)
        found.setdefault(log.parent.name.rpartition("-")[0], []).append(seconds)
    return {model: float(np.mean(values)) for model, values in found.items()}


def cost(method: Method, study: Study, margin: float, *, an_hour: float | None, machine_hour: float | None) -> Cost:
    """What it takes to know this method's mean for this architecture to within `margin` points."""
    over = method.over_seeds
    seeds, low, high = (seeds_needed(sd, margin) for sd in (over.sd, over.low, over.high))
    training = training_seconds(study.folder).get(method.model)
    vote = seconds_a_vote(study)
    raters = machine = None
    if seeds is not None and method.kind == PEOPLE and study.votes is not None and vote is not None:
        raters = len(study.votes) / len(method.seeds) * seeds * vote / 3600
    if seeds is not None and training is not None:
        machine = seeds * training / 3600
    parts = [(raters, an_hour), (machine, machine_hour)]
    priced = [hours * price for hours, price in parts if hours is not None and price is not None]
    return Cost(method, margin, seeds, low, high, raters, machine, sum(priced) if priced else None)
