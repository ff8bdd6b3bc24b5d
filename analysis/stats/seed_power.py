"""How many seeds and items a statement about architectures needs.

All seeds of an architecture are judged on the same items. So the error of a difference of two architectures has a part
that more seeds shrink (their own variance, with each seed's own noise of items) and a part that they share: only more
items shrink that one.

Seeds differ if their spread s^2 is more than the N that items and raters make: (n - 1) s^2 / N is held against
chi-square with n - 1 degrees of freedom. The true variance is taken to be s^2 - N, so more votes shrink N, more seeds
add degrees of freedom, and either can bring the power to .80.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass

from scipy.special import chdtrc

from seedvote.analysis.stats.power import MOST_TIMES, POWER, t_power
from seedvote.analysis.stats.spread import chi_square
from seedvote.dialogue.errors import InputError

MOST_SEEDS = 2**13
FEWEST_ERRORS = 2.8  # a difference of fewer is shown with a power below .80 even where its error is known


@dataclass(frozen=True, slots=True)
class Either:
    """Two ways to show, with power .80, that seeds differ: so many times the votes, or so many seeds in all."""

    power: float  # of the study as it is
    votes: float | None
    seeds: int | None


@dataclass(frozen=True, slots=True)
class DifferenceError:
    """The variance of a difference of two architectures, taken apart by what shrinks it."""

    seeds: float  # variance over seeds beyond items and raters, of both architectures: per seed
    own: float  # noise of items and raters that each seed has for itself, of both: per seed
    shared: float  # noise of items and raters that all seeds of an architecture share
    freedom: float  # of the shared part: clusters - 1

    def variance(self, seeds: int, items: float = 1.0) -> float:
        """With so many seeds each, on so many times the items."""
        return (self.seeds + self.own / items) / seeds + self.shared / items

    def degrees(self, seeds: int, items: float = 1.0) -> float:
        """Degrees of freedom of that variance (Satterthwaite 1946)."""
        own_part, shared = (self.seeds + self.own / items) / seeds, self.shared / items
        spread = own_part**2 / (2 * (seeds - 1)) + shared**2 / max(items * (self.freedom + 1) - 1, 1.0)
        return (own_part + shared) ** 2 / spread if spread > 0 else math.inf


def power_of_order(difference: float, error: DifferenceError, seeds: int, items: float = 1.0) -> float:
    """Power to show a difference of two architectures with so many seeds each, on so many times the items."""
    variance = error.variance(seeds, items)
    if variance <= 0:
        return 1.0
    return t_power(difference / math.sqrt(variance), min(error.degrees(seeds, items), 1e9))


def seeds_for_order(difference: float, error: DifferenceError, seeds: int) -> int | None:
    """Seeds of each architecture, from `seeds` on, that show the difference on the items as they are; None: none do."""
    most = MOST_TIMES * seeds
    if power_of_order(difference, error, most) < POWER:
        return None
    return seeds + bisect_left(range(seeds, most), True, key=lambda n: power_of_order(difference, error, n) >= POWER)


def items_for_order(difference: float, error: DifferenceError, seeds: int) -> float | None:
    """How many times the items show the difference with the seeds as they are; None beyond 100 times."""
    tried = (k / 10 for k in range(10, 10 * MOST_TIMES))
    # Where not even an error that is known would do, one that is estimated need not be tried.
    hopeful = (items for items in tried if difference**2 >= FEWEST_ERRORS**2 * error.variance(seeds, items))
    return next((items for items in hopeful if power_of_order(difference, error, seeds, items) >= POWER), None)


def seeds_for_difference(difference: float, sd: float, *, alpha: float = 0.05, power: float = 0.8) -> int:
    """Seeds a model so that a t test over seeds shows `difference`; `sd` is that over seeds, in the same unit.

    Items are taken to be so many that what the seeds share of them adds no error.
    """
    for value, name in ((difference, "difference"), (sd, "SD over seeds")):
        if not value > 0:
            raise InputError(f"The {name} must be above 0. Got {value!r}.")

    def reaches_power(seeds: int) -> bool:
        return power_of_seeds(difference / sd, seeds, alpha=alpha) >= power

    enough = 2
    while not reaches_power(enough):
        enough *= 2
        if enough > MOST_SEEDS:
            raise InputError(f"More than {MOST_SEEDS:,} seeds would be needed for {difference:g} at an SD of {sd:g}.")
    first = enough // 2 + 1
    return first + bisect_left(range(first, enough), True, key=reaches_power)


def power_of_seeds(effect: float, seeds: int, *, alpha: float = 0.05) -> float:
    """Power of the two-sample t test at a difference of `effect` SDs."""
    return t_power(effect * math.sqrt(seeds / 2), 2 * seeds - 2, alpha=alpha)


def votes_or_seeds(variance: float, noise: float, seeds: int) -> Either:
    """What it takes to show a variance over seeds of `variance` beyond `noise` (both of one seed's value).

    >>> votes_or_seeds(variance=4.0, noise=1.0, seeds=3).seeds
    6
    """

    def compute_power(n: int, more: float) -> float:
        return float(chdtrc(n - 1, chi_square(0.95, n - 1) * (noise / more) / (variance + noise / more)))

    votes = next((k / 10 for k in range(10, 10 * MOST_TIMES) if compute_power(seeds, k / 10) >= POWER), None)
    return Either(
        compute_power(seeds, 1.0),
        votes,
        next((n for n in range(seeds, MOST_TIMES) if compute_power(n, 1.0) >= POWER), None),
    )


def seeds_for_sd(factor: float, *, level: float = 0.95) -> int:
    """Seeds after which the interval of an SD reaches no further than `factor` times the SD.

    >>> seeds_for_sd(2.0)
    9
    """
    return next(n for n in range(2, 1000) if ((n - 1) / chi_square((1 - level) / 2, n - 1)) ** 0.5 <= factor)
