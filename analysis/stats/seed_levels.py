"""Systems by their means over training seeds: what dialogues and what seeds add to the error, each system by itself.

All seeds are scored on the same dialogues. The sample variance over a system's seeds holds all that a seed has for
itself, its noise on these dialogues too; so the level of the dialogues is what two different seeds share. Nothing is
subtracted from a variance over seeds and nothing pooled: one unstable system must not lend its spread to the others,
nor borrow theirs. A system with one seed has no variance over seeds; it is known as it was trained, and no further.

Every level has a variance and degrees of freedom of its own. The half-width is the root of the sum of the squared
half-widths that the levels would have alone, each with its own t: whatever the variances of normal levels are, such an
interval holds the truth at least as often as it says (Banerjee 1961). Levels stand along the last axis.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

_LEAST = 1e-9  # the smallest p that is looked for
_HALVINGS = 48


def levels_reach(variance: Floats, freedom: Floats, tail: float | Floats) -> Floats:
    """How far an interval with this probability beyond its one end reaches."""
    reaches = stdtrit(freedom, 1 - np.asarray(tail)[..., None])
    return np.asarray(np.sqrt((reaches**2 * variance).sum(-1)))


def levels_tail(difference: Floats, variance: Floats, freedom: Floats) -> Floats:
    """The one-sided p at which the reach is the difference; 1 where that is not above zero, or not known."""
    low, high = np.full(difference.shape, math.log(_LEAST)), np.full(difference.shape, math.log(0.5))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        beyond = levels_reach(variance, freedom, np.exp(middle)) > difference
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
    return np.where((difference > 0) & np.isfinite(variance).all(-1), np.exp(high), 1.0)


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class SeedLevels:
    """Means (systems,) with the covariance of what dialogues do to them, and each mean's variance by its own seeds.

    `trained` is the covariance of the means of these very models over new dialogues. `shared` is that of what different
    seeds have in common. `own` is NaN for one seed.
    """

    means: Floats
    trained: Floats  # (systems, systems)
    shared: Floats  # (systems, systems)
    own: Floats  # (systems,)
    seeds: Ints  # (systems,)
    dialogues: int

    @property
    def apart(self) -> Floats:
        """Standard errors (systems, systems) of differences of these very models over new dialogues."""
        variance = np.diag(self.trained)
        return np.sqrt(np.maximum(variance[:, None] + variance - 2 * self.trained, 0.0))

    def reach_as_trained(self, tail: float = 0.025) -> Floats:
        """Half-widths (systems,) of intervals over new dialogues alone."""
        return float(stdtrit(self.dialogues - 1.0, 1 - tail)) * np.sqrt(np.diag(self.trained))

    def reach(self, tail: float = 0.025) -> Floats:
        """The same (systems,) over new seeds too, none below that over dialogues alone; NaN for one seed."""
        variance = np.stack([np.maximum(np.diag(self.shared), 0.0), self.own], -1)
        freedom = np.stack([np.full(len(self.own), self.dialogues - 1.0), self._freedom], -1)
        return np.maximum(levels_reach(variance, freedom, tail), self.reach_as_trained(tail))

    def contrast_reach(self, first: Ints, second: Ints, tail: float = 0.025) -> Floats:
        """The same of differences (contrasts,) of two systems each."""
        alone = float(stdtrit(self.dialogues - 1.0, 1 - tail)) * self.apart[first, second]
        return np.maximum(levels_reach(*self._contrast(first, second), tail), alone)

    def contrast_tail(self, first: Ints, second: Ints) -> Floats:
        """One-sided p (contrasts,) of the first above the second; 1 where that is not known."""
        gap, errors = self.means[first] - self.means[second], self.apart[first, second]
        alone = levels_tail(gap, errors[:, None] ** 2, np.full((len(gap), 1), self.dialogues - 1.0))
        return np.maximum(levels_tail(gap, *self._contrast(first, second)), alone)

    def _contrast(self, first: Ints, second: Ints) -> tuple[Floats, Floats]:
        """Variance and degrees of freedom (contrasts, 3) by dialogues, the first's seeds and the second's."""
        by_dialogue = self.shared[first, first] + self.shared[second, second] - 2 * self.shared[first, second]
        variance = np.stack([np.maximum(by_dialogue, 0.0), self.own[first], self.own[second]], -1)
        most = np.full(len(first), self.dialogues - 1.0)
        return variance, np.stack([most, self._freedom[first], self._freedom[second]], -1)

    @property
    def _freedom(self) -> Floats:
        return np.asarray(np.maximum(self.seeds - 1.0, 1.0), np.float64)


def seed_levels(values: Floats, parts: Floats, places: Sequence[Ints]) -> SeedLevels:
    """From values (models,), what each dialogue adds to their errors (models, dialogues), and each system's models."""
    dialogues = parts.shape[1]
    covariance = parts @ parts.T * dialogues / (dialogues - 1)
    average = np.zeros((len(places), len(values)))
    for row, at in enumerate(places):
        average[row, at] = 1 / len(at)
    trained = average @ covariance @ average.T
    shared = trained.copy()
    for row, at in enumerate(places):
        if (n := len(at)) > 1:
            block = covariance[np.ix_(at, at)]
            shared[row, row] = (block.sum() - np.trace(block)) / (n * (n - 1))
    own = np.array([values[at].var(ddof=1) / len(at) if len(at) > 1 else np.nan for at in places])
    return SeedLevels(average @ values, trained, shared, own, np.array([len(at) for at in places]), dialogues)


def ranks_over_seeds(levels: SeedLevels, *, level: float = 0.95) -> tuple[Ints, Ints]:
    """The best and the worst rank (systems,) of every system over new seeds and dialogues; all hold at once.

    Every system is held against every other from both sides, all errors together at most 1 - level (Holm 1979): those
    that are sure leave more of it to the others. A system with one seed is above or below none.
    """
    systems = len(levels.means)
    first, second = (np.asarray(at, np.int64) for at in np.nonzero(~np.eye(systems, dtype=bool)))
    gap = levels.means[first] - levels.means[second]
    sure = np.zeros(len(gap), bool)
    while not sure.all():
        is_separate = gap > levels.contrast_reach(first, second, (1 - level) / np.count_nonzero(~sure))
        if not (is_separate & ~sure).any():
            break
        sure |= is_separate
    above = np.zeros((systems, systems), bool)
    above[first[sure], second[sure]] = True
    return 1 + above.sum(0), systems - above.sum(1)
