"""How many votes, raters and seeds a statement needs, before they are paid for.

Votes score +1, -1 or 0 (a tie), so one vote has variance 1 - ties where there is no preference. Votes that share pairs
and raters are worth fewer independent ones: their number is divided by the design effect (Kish 1965).

Seeds differ if their spread s^2 is more than the N that items and raters make: (n - 1) s^2 / N is held against
chi-square with n - 1 degrees of freedom. The true variance is taken to be s^2 - N, so more votes shrink N, more seeds
add degrees of freedom, and either can bring the power to .80. Votes for a difference go by the standard error and the
degrees of freedom of the interval that is shown, so that the plan and the finding agree.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, chi2, nct, norm, t

from analysis.stats.intervals import Interval
from analysis.stats.sequential import mixture_reach
from dialogue.errors import InputError

Floats = NDArray[np.float64]
MOST_SEEDS = 2**13
MOST_TIMES = 100  # more seeds, or times the votes, than this is no advice
POWER = 0.8  # of what is advised after a study; a plan takes its own


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What is assumed about the votes: share of ties, votes per pair and per rater, intraclass correlations."""

    ties: float
    per_pair: float = 1.0
    per_rater: float = 1.0
    pair_icc: float = 0.0
    rater_icc: float = 0.0

    @property
    def design_effect(self) -> float:
        """1 + (votes a pair - 1) ICC of pairs + (votes a rater - 1) ICC of raters."""
        return 1 + (self.per_pair - 1) * self.pair_icc + (self.per_rater - 1) * self.rater_icc

    @property
    def variance(self) -> float:
        """Variance of one vote's score where neither system is preferred."""
        return 1 - self.ties


@dataclass(frozen=True, slots=True)
class Anytime:
    """The same statement when every look may stop the study: the most votes, and the mean number at stopping."""

    most: int
    mean: float
    power: float


@dataclass(frozen=True, slots=True)
class Either:
    """Two ways to show, with power .80, that seeds differ: so many times the votes, or so many seeds in all."""

    power: float  # of the study as it is
    votes: float | None
    seeds: int | None


def se_of_net(votes: float, crowd: Assumptions) -> float:
    """Standard error of the net preference."""
    return float(np.sqrt(crowd.variance * crowd.design_effect / votes))


def reach_of_net(alpha: float) -> float:
    """Half the two-sided interval in standard errors."""
    return float(norm.ppf(1 - alpha / 2))


def votes_for_difference(net: float, crowd: Assumptions, *, alpha: float = 0.05, power: float = 0.8) -> int:
    """Votes that show a net preference of `net` with this power (two-sided, normal)."""
    reach = norm.ppf(1 - alpha / 2) + norm.ppf(power)
    return int(np.ceil(crowd.variance * crowd.design_effect * reach**2 / _positive(net, "difference") ** 2))


def smallest_difference(votes: float, crowd: Assumptions, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The net preference that so many votes show with this power."""
    return float((norm.ppf(1 - alpha / 2) + norm.ppf(power)) * se_of_net(votes, crowd))


def votes_for_margin(margin: float, crowd: Assumptions, *, alpha: float = 0.05, power: float = 0.8) -> int:
    """Votes after which two systems without any difference pass TOST at `margin` with this power."""
    # Both one-sided tests must pass, and at no difference each fails equally often: power beta is split in two.
    reach = norm.ppf(1 - alpha) + norm.ppf((1 + power) / 2)
    return int(np.ceil(crowd.variance * crowd.design_effect * reach**2 / _positive(margin, "margin") ** 2))


def smallest_margin(votes: float, crowd: Assumptions, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The smallest margin at which so many votes can call two equal systems alike with this power."""
    return float((norm.ppf(1 - alpha) + norm.ppf((1 + power) / 2)) * se_of_net(votes, crowd))


def power_for_difference(net: float, votes: float, crowd: Assumptions, *, alpha: float = 0.05) -> float:
    """Power of the two-sided test of no preference."""
    ratio, reach = net / se_of_net(votes, crowd), norm.ppf(1 - alpha / 2)
    return float(norm.sf(reach - ratio) + norm.cdf(-reach - ratio))


def power_for_margin(margin: float, votes: float, crowd: Assumptions, *, alpha: float = 0.05) -> float:
    """Power of TOST where there is no difference."""
    return max(0.0, float(2 * norm.cdf(margin / se_of_net(votes, crowd) - norm.ppf(1 - alpha)) - 1))


def power_of_share(share: float, votes: int, *, null: float = 1 / 3, alpha: float = 0.05) -> float:
    """Power of the exact binomial test (equal tails) that a share of ties is not `null`, at the true `share`."""
    # Summed over all counts: the exact test is discrete, and its power does not grow steadily with the votes.
    counts = np.arange(votes + 1)
    tails = np.minimum(binom.cdf(counts, votes, null), binom.sf(counts - 1, votes, null))
    return float(binom.pmf(counts, votes, share)[2 * tails <= alpha].sum())


def seeds_for_difference(difference: float, sd: float, *, alpha: float = 0.05, power: float = 0.8) -> int:
    """Seeds a model so that a t test over seeds shows `difference`; `sd` is that over seeds, in the same unit."""
    effect = abs(_positive(difference, "difference")) / _positive(sd, "SD over seeds")

    def reached(seeds: int) -> bool:
        return power_of_seeds(effect, seeds, alpha=alpha) >= power

    enough = 2
    while not reached(enough):
        enough *= 2
        if enough > MOST_SEEDS:
            raise InputError(f"More than {MOST_SEEDS:,} seeds would be needed for {difference:g} at an SD of {sd:g}.")
    first = enough // 2 + 1
    return first + bisect_left(range(first, enough), True, key=reached)


def power_of_seeds(effect: float, seeds: int, *, alpha: float = 0.05) -> float:
    """Power of the two-sample t test at a difference of `effect` SDs."""
    freedom, centre = 2 * seeds - 2, effect * np.sqrt(seeds / 2)
    reach = t.ppf(1 - alpha / 2, freedom)
    below = np.nan_to_num(nct.cdf(-reach, freedom, centre))  # scipy has no number for what is under 1e-16
    return float(nct.sf(reach, freedom, centre) + below)


def votes_or_seeds(variance: float, noise: float, seeds: int) -> Either:
    """What it takes to show a variance over seeds of `variance` beyond `noise` (both of one seed's value).

    >>> votes_or_seeds(variance=4.0, noise=1.0, seeds=3).seeds
    6
    """

    def power(n: int, more: float) -> float:
        return float(chi2.sf(chi2.ppf(0.95, n - 1) * (noise / more) / (variance + noise / more), n - 1))

    votes = next((k / 10 for k in range(10, 10 * MOST_TIMES) if power(seeds, k / 10) >= POWER), None)
    return Either(power(seeds, 1.0), votes, next((n for n in range(seeds, MOST_TIMES) if power(n, 1.0) >= POWER), None))


def seeds_for_sd(factor: float, *, level: float = 0.95) -> int:
    """Seeds after which the interval of an SD reaches no further than `factor` times the SD.

    >>> seeds_for_sd(2.0)
    9
    """
    return next(n for n in range(2, 1000) if ((n - 1) / chi2.ppf((1 - level) / 2, n - 1)) ** 0.5 <= factor)


def smallest_shown(net: Interval, times: float = 1.0) -> float:
    """The net preference that so many times the votes (and pairs, and raters) show two-sided at .05 with power .80."""
    freedom = max(times * (net.df + 1) - 1, 1.0)
    return float((t.ppf(0.975, freedom) + t.ppf(POWER, freedom)) * net.se / np.sqrt(times))


def votes_to_show(net: Interval, difference: float) -> int | None:
    """More votes until `difference` would be shown; 0 if it already would, None beyond 100 times the votes."""
    times = next((k / 20 for k in range(20, 20 * MOST_TIMES) if smallest_shown(net, k / 20) <= difference), None)
    return None if times is None else round((times - 1) * net.n)


def anytime(
    net: float,
    crowd: Assumptions,
    *,
    generator: np.random.Generator,
    alpha: float = 0.05,
    power: float = 0.8,
    looks: int = 200,
    studies: int = 4000,
) -> Anytime:
    """The price of peeking: votes for the same power when the study may stop at each of `looks` looks.

    Simulates the estimate's path as a Brownian motion in the information, stopped by Robbins' mixture with its scale
    set to `net`; the longest study is found by bisection on the same paths.
    """
    fixed = votes_for_difference(net, crowd, alpha=alpha, power=power)
    steps = generator.standard_normal((studies, looks)).cumsum(1) / np.sqrt(looks)  # Brownian motion at share
    share = np.arange(1, looks + 1) / looks

    def run(most: float) -> tuple[float, float]:
        information = share * most / (crowd.variance * crowd.design_effect)
        z = steps / np.sqrt(share) + net * np.sqrt(information)
        reach = np.array([mixture_reach(net**2 * i, alpha) for i in information])
        crossed = np.abs(z) >= reach
        first = np.where(crossed.any(1), crossed.argmax(1), looks - 1)
        return float(crossed.any(1).mean()), float((share[first] * most).mean())

    low, high = float(fixed), 8.0 * fixed  # peeking never needs fewer votes than one look; 8 times is far beyond
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if run(middle)[0] >= power else (middle, high)
    reached, mean = run(high)
    return Anytime(int(np.ceil(high)), mean, reached)


def _positive(value: float, name: str) -> float:
    if not value > 0:
        raise InputError(f"The {name} must be above 0. Got {value!r}.")
    return value
