"""How many votes a statement needs, before they are paid for.

Votes score +1, -1 or 0 (a tie), so at a net preference d one vote has variance 1 - ties - d^2. Votes that share
dialogues and raters are worth fewer independent ones: their number is divided by the design effect, the ratio of the
interval's clustered variance to that of independent votes (Kish 1965). A plan uses the t quantile and the degrees of
freedom of the interval that will be shown (effective clusters - 1), so that plan and finding agree.

Power is averaged over the law of the error that will be estimated (stats/error_law.py). With one way of clustering that
is noncentral t for a difference, and Owen's Q (1965) for two one-sided tests; statsmodels has the first only, and
tests/analysis/stats/test_power.py holds the two equal.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr  # the laws of scipy.stats, to the bit, in a tenth of their time
from scipy.stats import binom

from seedvote.analysis.stats.error_law import ErrorLaw, Way, one_way, two_ways, unequal_raters
from seedvote.analysis.stats.intervals import Interval
from seedvote.analysis.stats.net_preference import expected_distance, gap_of
from seedvote.analysis.stats.sequential import FEWEST_CLUSTERS, mixture_reach, trusted_error
from seedvote.dialogue.errors import InputError

Floats = NDArray[np.float64]
MOST_VOTES = 10**9
EDGES = 60  # errors of a study for which its test is worked out; the others lie between them
MOST_TIMES = 100  # more than this many times the votes, items or seeds is no advice
COARSE = 8  # of so many looks one is asked first
POWER = 0.8  # of what is advised after a study; a plan takes its own


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What is assumed about the votes: ties, how many share a pair, a dialogue, a rater, and how alike these are.

    `effect` and `largest` are set where votes were measured: the interval's design effect itself, and the votes in the
    cluster of a vote, for the way of clustering that leaves the fewest clusters.
    """

    ties: float
    per_pair: float = 1.0
    per_rater: float = 1.0  # on average
    pair_icc: float = 0.0  # correlation of two votes on one pair
    rater_icc: float = 0.0
    per_dialogue: float = 1.0  # pairs
    dialogue_icc: float = 0.0  # correlation of two votes on different pairs of one dialogue
    rater_cv: float = 0.0  # SD / mean of the votes per rater
    effect: float | None = None
    largest: float | None = None

    @property
    def rater_size(self) -> float:
        """Votes of the rater of a vote, on average (sum n^2 / sum n): busy raters count more often."""
        return self.per_rater * (1 + self.rater_cv**2)

    @property
    def design_effect(self) -> float:
        """1 + (other votes that share a vote's pair, dialogue or rater) x (their correlation with it)."""
        return 1 + sum(self._added) if self.effect is None else self.effect

    @property
    def _added(self) -> tuple[float, float]:
        """What votes that share a dialogue add to the design effect, and what votes of one rater add."""
        on_pair, on_dialogue = self.per_pair - 1, self.per_pair * (self.per_dialogue - 1)
        return on_pair * self.pair_icc + on_dialogue * self.dialogue_icc, (self.rater_size - 1) * self.rater_icc

    @property
    def rater_share(self) -> float:
        """The part of the design effect that raters make."""
        place, rater = self._added
        if self.effect is None or place + rater <= 0:
            return rater / self.design_effect
        return max(self.effect - 1, 0.0) * rater / ((place + rater) * max(self.effect, 1.0))

    def clusters(self, votes: float) -> float:
        """Effective clusters of the rarest kind (Kish) that so many votes have."""
        return votes / (self.largest or max(self.per_pair * self.per_dialogue, self.rater_size))

    @property
    def decisive_largest(self) -> float:
        """Votes for each effective cluster of the rarest kind among the votes that are no ties."""
        largest = 1 / self.clusters(1)
        return largest + (self.ties / (1 - self.ties) if largest > 1 else 0.0)

    def freedom(self, votes: float) -> float:
        """The fewest degrees of freedom that the interval of so many votes will get."""
        return max(votes / self.decisive_largest - 1, 1.0)

    def error_law(self, votes: float) -> ErrorLaw:
        """Estimated over true standard error of so many votes, with their degrees of freedom."""
        return _error_law(self, votes)

    def _make_error_law(self, votes: float) -> ErrorLaw:
        sizes = self.per_pair * self.per_dialogue, self.rater_size
        if max(sizes) <= 1 or self.clusters(votes) == votes:
            return one_way(self.freedom(votes))
        place, rater = self._added
        if self.effect is not None:  # measured as a whole: its parts keep their proportion
            known = place + rater > 0
            excess = self.effect - 1
            place = excess * place / (place + rater) if known else excess * (sizes[0] >= sizes[1])
            rater = excess - place
        numbers = votes / sizes[0], votes / self.per_rater
        added = zip((place, rater), sizes, numbers, strict=True)
        tie_odds = self.ties / (1 - self.ties)
        ways = [Way(adds, size, number, votes / size, votes / (size + tie_odds)) for adds, size, number in added]
        return two_ways(ways) if self.rater_cv == 0 or sizes[1] <= 1 else unequal_raters(*ways)

    def variance(self, net: float = 0.0) -> float:
        """Variance of one vote's score at a net preference of `net`."""
        return max(1 - self.ties - net**2, 1e-9)


@dataclass(frozen=True, slots=True)
class Anytime:
    """The same statement when every look may stop the study: the most votes, and the mean number at stopping."""

    most: int
    mean: float
    power: float


@lru_cache(256)  # a plan asks for the power of the same votes at many differences and margins
def _error_law(crowd: Assumptions, votes: float) -> ErrorLaw:
    return crowd._make_error_law(votes)


def se_of_net(votes: float, crowd: Assumptions, net: float = 0.0) -> float:
    """Standard error of the net preference."""
    return float(np.sqrt(crowd.variance(net) * crowd.design_effect / votes))


def reach_of_net(votes: float, crowd: Assumptions, alpha: float) -> float:
    """Half the two-sided interval in standard errors, on average."""
    law = crowd.error_law(votes)
    return float(law.weights @ law.reach(alpha / 2))


def power_for_difference(net: float, votes: float, crowd: Assumptions, *, alpha: float = 0.05) -> float:
    """Power of the two-sided test of no preference.

    An interval leaves out zero where the net preference that is seen lies beyond `edge`; its own limits, which are not
    at equal distances from it, tell where that is (stats/net_preference.py).
    """
    law = crowd.error_law(votes)
    if law.deviations is None:
        power = _share_beyond(_edges_of_difference(votes, crowd, alpha), net, votes, crowd, law)
    else:
        seen, size_slope = _seen_at(law, net, votes, crowd)
        power = float(
            law.weights @ (_lower_limit(seen, _reach_of_votes(votes, crowd, alpha / 2), crowd, size_slope) > 0)
        )
    return (1 - _all_tied(votes, crowd)) * power


def power_for_margin(margin: float, votes: float, crowd: Assumptions, *, alpha: float = 0.05) -> float:
    """Power of TOST where there is no difference; it is claimed where the net preference seen is less than `edge`."""
    law = crowd.error_law(votes)
    if law.deviations is None:
        reach = _reach_of_votes(votes, crowd, alpha)
        edge = _find_edges(reach, lambda seen, reach: _upper_limit(seen, reach, crowd) - margin, crowd)
        power = 1 - _share_beyond(edge, 0.0, votes, crowd, law)
    else:
        lower, upper = _limits_of_equals(votes, crowd, alpha)
        power = float(law.weights @ ((lower > -margin) & (upper < margin)))
    tied, clusters = _all_tied(votes, crowd), max(crowd.clusters(votes), 2.0)
    return (1 - tied) * power + tied * float(max(1 - margin, 0.0) ** clusters <= alpha)  # as `tost` has it


def _reach_of_votes(votes: float, crowd: Assumptions, tail: float) -> Floats:
    """Half the interval of each study, were the variance of a vote 1."""
    return np.asarray(crowd.error_law(votes).reach(tail) * np.sqrt(crowd.design_effect / votes))


@lru_cache(256)  # they are the same whatever the true difference is
def _edges_of_difference(votes: float, crowd: Assumptions, alpha: float) -> Floats:
    """The net preference at which a study's interval begins to leave out zero."""
    reach = _reach_of_votes(votes, crowd, alpha / 2)
    return _find_edges(reach, lambda seen, reach: _lower_limit(seen, reach, crowd), crowd)


def _share_beyond(edge: Floats, net: float, votes: float, crowd: Assumptions, law: ErrorLaw) -> float:
    """The share of studies that see a net preference, of either sign, beyond the `edge` of their error."""
    se = se_of_net(votes, crowd, net)
    return float(law.weights @ np.minimum(ndtr((net - edge) / se) + ndtr((-edge - net) / se), 1.0))


def _lower_limit(seen: Floats, reach: Floats, crowd: Assumptions, size_slope: Floats | float = 0.0) -> Floats:
    """The lower limits of studies that see these net preferences, of zero or above."""
    return seen - gap_of(expected_distance(seen, crowd.ties, reach, upward=False), size_slope)


def _upper_limit(seen: Floats, reach: Floats, crowd: Assumptions, size_slope: Floats | float = 0.0) -> Floats:
    """Their upper limits."""
    return seen + gap_of(expected_distance(seen, crowd.ties, reach, upward=True), -np.asarray(size_slope))


@lru_cache(64)  # they are the same at every margin
def _limits_of_equals(votes: float, crowd: Assumptions, alpha: float) -> tuple[Floats, Floats]:
    """The limits at every deviation of the law where there is no difference."""
    reach = _reach_of_votes(votes, crowd, alpha)
    seen, size_slope = _seen_at(crowd.error_law(votes), 0.0, votes, crowd)
    return _lower_limit(seen, reach, crowd, size_slope), _upper_limit(seen, reach, crowd, size_slope)


def _seen_at(law: ErrorLaw, net: float, votes: float, crowd: Assumptions) -> tuple[Floats, Floats]:
    """What is seen at every deviation of the law, turned so that it is above zero, and the slope of its variance."""
    assert law.deviations is not None and law.slopes is not None
    se = se_of_net(votes, crowd, net)
    observed_nets = net + se * law.deviations
    seen = np.minimum(np.abs(observed_nets), (1 - crowd.ties) * (1 - 1e-9))
    return np.asarray(seen), np.asarray(np.sign(observed_nets) * law.slopes / se)


def _find_edges(reach: Floats, beyond: Callable[[Floats, Floats], Floats], crowd: Assumptions) -> Floats:
    """The net preference at which `beyond`, which rises with it, is zero, for each `reach`; 0 where it always is above.

    Found for a few values of `reach`, which the others lie between, by cutting what is left into sixteen parts.
    """
    few = np.geomspace(max(reach.min(), 1e-9), max(reach.max(), 2e-9), EDGES)
    low, width, cuts = np.zeros(EDGES), 1 - crowd.ties, np.arange(1, 16)[:, None]
    for _ in range(6):  # to 6e-8
        width /= 16
        below = beyond(low + width * cuts, few) <= 0
        low = low + width * below.sum(0)
    return np.asarray(np.interp(reach, few, low))


def _all_tied(votes: float, crowd: Assumptions) -> float:
    """The chance that all votes are ties, which leaves no error to test with."""
    return float(crowd.ties ** (votes / crowd.design_effect))


def t_power(ratio: float, freedom: float, *, alpha: float = 0.05) -> float:
    """Power of a two-sided t test at a true value of `ratio` standard errors."""
    law = one_way(freedom)
    reach = law.reach(alpha / 2)
    return float(law.weights @ (ndtr(ratio - reach) + ndtr(-reach - ratio)))


@lru_cache(1024)  # a plan asks for the same number in several of its tables
def votes_for_difference(net: float, crowd: Assumptions, *, alpha: float = 0.05, power: float = 0.8) -> int:
    """Votes that show a net preference of `net` with this power (two-sided)."""
    if _require_positive(net, "difference") >= 1 - crowd.ties:
        raise InputError(
            f"No net preference reaches {net:g} where {crowd.ties:.0%} of the votes are ties: the most is "
            f"{1 - crowd.ties:g}. Ask for a smaller --difference."
        )
    return _find_fewest_votes(lambda votes: power_for_difference(net, votes, crowd, alpha=alpha) >= power, crowd)


@lru_cache(1024)  # a plan asks for the same number in several of its tables
def votes_for_margin(margin: float, crowd: Assumptions, *, alpha: float = 0.05, power: float = 0.8) -> int:
    """Votes after which two systems without any difference pass TOST at `margin` with this power."""
    _require_positive(margin, "margin")
    return _find_fewest_votes(lambda votes: power_for_margin(margin, votes, crowd, alpha=alpha) >= power, crowd)


def _find_fewest_votes(enough: Callable[[int], bool], crowd: Assumptions) -> int:
    """The first number of votes, from two, that is enough: the power grows with the votes.

    Where raters do unequal work, their law is drawn: then one of 128 steps between two powers of two is enough, which
    the searches for other differences and margins ask for too.
    """
    most = 2
    while not enough(most):
        most *= 2
        if most > MOST_VOTES:
            raise InputError(f"More than {MOST_VOTES:,} votes would be needed; ask for a larger difference or margin.")
    tried = range(most // 2, most, max(most // 256, 1) if crowd.rater_cv else 1)[1:]
    first = bisect_left(tried, True, key=enough)
    return tried[first] if first < len(tried) else most


def smallest_difference(votes: float, crowd: Assumptions, *, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """The net preference that so many votes show with this power; None if they show none that this crowd can have."""

    def compare_power(net: float) -> float:
        return power_for_difference(net, votes, crowd, alpha=alpha) - power

    most = 1 - crowd.ties
    return float(brentq(compare_power, 0, most)) if compare_power(0) < 0 < compare_power(most) else None


def smallest_margin(votes: float, crowd: Assumptions, *, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """The smallest margin at which so many votes call two equal systems alike with this power; None: none below 1."""

    def compare_power(margin: float) -> float:
        return power_for_margin(margin, votes, crowd, alpha=alpha) - power

    return float(brentq(compare_power, 0, 1)) if compare_power(1) > 0 else None


def power_of_share(share: float, votes: int, *, null: float = 1 / 3, alpha: float = 0.05) -> float:
    """Power of the exact binomial test (equal tails) that a share of ties is not `null`, at the true `share`."""
    # Summed over all counts: the exact test is discrete, and its power does not grow steadily with the votes.
    counts = np.arange(votes + 1)
    tails = np.minimum(binom.cdf(counts, votes, null), binom.sf(counts - 1, votes, null))
    return float(binom.pmf(counts, votes, share)[2 * tails <= alpha].sum())


def smallest_shown(net: Interval, times: float = 1.0) -> float:
    """The net preference that so many times the votes (and pairs, and raters) show two-sided at .05 with power .80."""
    freedom = max(times * (net.df + 1) - 1, 1.0)
    ratio = brentq(
        lambda ratio_tried: t_power(ratio_tried, freedom) - POWER, 0, 100
    )  # 17 at one degree of freedom, 2.8 at many
    return float(ratio * net.se / np.sqrt(times))


def votes_to_show(net: Interval, difference: float) -> int | None:
    """More votes until `difference` would be shown; 0 if it already would, None beyond 100 times the votes."""
    tried = range(20, 20 * MOST_TIMES)
    first_enough = bisect_left(tried, True, key=lambda k: smallest_shown(net, k / 20) <= difference)
    return None if first_enough == len(tried) else round((tried[first_enough] / 20 - 1) * net.n)


def plan_anytime(
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

    Simulates the estimate's path as a Brownian motion in the information and stops it by the rule of
    analysis/questions/planning/stopping.py, planned for `net`; bisection on the same paths finds the longest study.
    """
    share = np.arange(1, looks + 1) / looks
    walk = generator.standard_normal((studies, looks))
    np.cumsum(walk, axis=1, out=walk)
    coarse = np.ascontiguousarray(walk[:, ::-COARSE])  # the last looks first: most that stop do so at one of these

    def find_crossings(most: float) -> tuple[Floats, Floats]:
        """Where a walk stops: from the first number up, or from the second down, at each look."""
        votes, clusters = share * most, share * crowd.clusters(most)
        error = np.sqrt(crowd.variance(net) * crowd.design_effect / votes)
        trusted = trusted_error(error, clusters)
        reach = np.where(
            clusters < FEWEST_CLUSTERS, np.inf, mixture_reach(net**2 / trusted**2, np.maximum(clusters - 1, 1), alpha)
        )
        # |walk / sqrt(look) x error + net| >= reach x trusted, solved for the walk: of its numbers there are 800,000.
        unit = np.sqrt(share * looks) / error
        return (reach * trusted - net) * unit, (-reach * trusted - net) * unit

    def count_stopped(most: float) -> float:
        """The share of studies that stop. Those that stop at one of a few looks are not asked at the others."""
        up, down = find_crossings(most)
        going = np.flatnonzero(~_is_beyond(coarse, up[::-COARSE], down[::-COARSE]).any(1))
        stop_between = int(_is_beyond(walk[going], up, down).any(1).sum())
        return (studies - len(going) + stop_between) / studies

    low, high = 2.0, 2.0 * votes_for_difference(net, crowd, alpha=alpha, power=power)
    while count_stopped(high) < power:
        low, high = high, 2 * high
    for _ in range(14):  # to one part in 10,000
        middle = (low + high) / 2
        low, high = (low, middle) if count_stopped(middle) >= power else (middle, high)
    crossed = _is_beyond(walk, *find_crossings(high))
    first = np.where(crossed.any(1), crossed.argmax(1), looks - 1)
    return Anytime(int(np.ceil(high)), float((share[first] * high).mean()), float(crossed.any(1).mean()))


def _is_beyond(walk: Floats, up: Floats, down: Floats) -> NDArray[np.bool_]:
    """Where walks (studies, looks) are at `up` or above, or at `down` or below."""
    return (walk >= up) | (walk <= down)


def _require_positive(value: float, name: str) -> float:
    if not value > 0:
        raise InputError(f"The {name} must be above 0. Got {value!r}.")
    return value
