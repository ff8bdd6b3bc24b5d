"""Which contrasts and pairs get the next votes of an adaptive study, without numpy: the rating server computes it, too.

Votes are given out in batches, and within a batch nothing depends on what was answered. A contrast's share of a batch
is a floor that all have, and a part by what one more vote on it is expected to gain for the question stated beforehand.

Strengths are normal on the scale of net preferences, with covariance V. A question is about differences of two systems.
The expected opportunity cost of a wrong answer (Chick and Inoue 2001) has the slope phi(d/sqrt v) / (2 sqrt v) in the
variance v of a difference d. A vote on contrast x takes (q'Vx)^2 / (s^2 + x'Vx) from the variance of difference q. So
with W the sum of slope qq' over all differences asked for, the gain is x'VWVx / (s^2 + x'Vx).

A judge's verdicts may say beforehand which systems are far apart. Four models of the strengths are held against the
votes: that of no judge, and strengths in some proportion to the judge's but for a deviation of .05, .1 or .2. Each
gives shares, and counts by how likely it makes the votes. A judge whom the votes contradict is soon not believed.

Pairs of a contrast are taken in a random order, each for as many votes as it must have. Where none is left, pairs that
have these get one more vote, more probably those whose first votes differ. That is fixed by the first votes alone, and
no probability is zero, so further votes can be weighed by how many pairs of either kind they stand for. Pairs that stop
once two raters agree, and are then counted plainly, show preferences that are too large.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import mul
from typing import Any, Literal

AimKind = Literal["best", "ranking", "better", "alike"]
FLOOR = 0.2  # of a batch, shared by all contrasts alike
PRIOR_SD = 0.3  # of strengths, on the scale of net preferences
BELIEVED_SDS = (0.05, 0.1, 0.2)  # of strengths about those of a judge who is believed
JUDGE_SPREAD = 0.01  # of a verdict: all that is asked of a judge is there, so its strengths are hardly drawn together
AGREED_SIZE = 0.2  # how probable a further vote is where raters agree, in proportion to where they differ
BATCHES = 20  # that a study's votes are given out in, unless it says otherwise
SMALLEST_BATCH = 20  # places
LARGEST_BATCH = 200  # places, which are written in the time that a few votes take: others wait meanwhile

Matrix = list[list[float]]


@dataclass(frozen=True, slots=True)
class Aim:
    """The question that votes are given out for; of `better` and `alike`, about which two systems."""

    kind: AimKind
    systems: tuple[int, int] | None = None
    margin: float = 0.0
    """Of `alike`: the net preference within which the two count as equivalent."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What the votes on one contrast say so far."""

    first: int
    second: int
    votes: float = 0.0
    net: float = 0.0
    """Votes for the first less votes for the second."""


@dataclass(frozen=True, slots=True)
class ContrastPool:
    """The pairs of one contrast that may get votes."""

    fresh: Sequence[Any]
    """Those without any, in a random order that was fixed beforehand."""
    complete: Sequence[tuple[Any, bool]] = ()
    """Those that have all the votes they were given out for and may have more, and whether their first ones differ."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A pair of a batch, the votes that it is to get there, and the probability with which it came to be in it."""

    pair: Any
    places: int
    propensity: float


@dataclass(frozen=True, slots=True)
class Strengths:
    """Means and covariances of the systems' strengths."""

    means: list[float] = field(default_factory=list)
    covariance: Matrix = field(default_factory=list)


def batch_places(votes: int) -> int:
    """Places in a batch of a study of so many votes."""
    return min(max(SMALLEST_BATCH, math.ceil(votes / BATCHES)), LARGEST_BATCH)


def share_contrasts(
    tallies: Sequence[Tally],
    systems: int,
    aim: Aim,
    *,
    spread: float,
    floor: float = FLOOR,
    judge: Sequence[float] = (),
) -> list[float]:
    """The share of the next batch that each contrast gets; `spread` is a vote's variance times its design effect.

    `judge` has the strengths of the systems by a judge's verdicts (`judge_strengths`).

    >>> tallies = [Tally(0, 1, 40, 4), Tally(0, 2, 40, 36), Tally(1, 2, 40, 34)]
    >>> [round(share, 2) for share in share_contrasts(tallies, 3, Aim("best"), spread=0.7)]
    [0.6, 0.2, 0.2]
    """
    number = len(tallies)
    if not any(tally.votes for tally in tallies):
        return [1 / number] * number
    shares = [floor / number] * number
    for chance, strengths in weigh_beliefs(tallies, systems, spread, judge):
        gains = expected_gains(tallies, strengths, aim, spread)
        total = math.fsum(gains)
        for k, gain in enumerate(gains):
            shares[k] += chance * (1 - floor) * (gain / total if total > 0 else 1 / number)
    return shares


def weigh_beliefs(
    tallies: Sequence[Tally], systems: int, spread: float, judge: Sequence[float] = ()
) -> list[tuple[float, Strengths]]:
    """The strengths if no judge is believed, and by each way of believing one; each with its chance.

    >>> tallies = [Tally(0, 1, 400, 200), Tally(0, 2, 400, 380), Tally(1, 2, 400, 180)]
    >>> for judge in ([0.5, 0.0, -0.5], [0.5, -0.5, 0.0]):
    ...     print([round(chance, 2) for chance, _ in weigh_beliefs(tallies, 3, 0.7, judge)])
    [0.03, 0.52, 0.29, 0.15]
    [0.89, 0.0, 0.0, 0.11]
    """
    square = math.fsum(value**2 for value in judge)
    sds = BELIEVED_SDS if square else ()
    beliefs = [_believe(tallies, systems, spread, PRIOR_SD, [0.0] * systems)]
    beliefs += [_believe(tallies, systems, spread, sd, judge) for sd in sds]
    best = max(likelihood for likelihood, _ in beliefs)
    chances = [math.exp(likelihood - best) for likelihood, _ in beliefs]
    total = math.fsum(chances)
    return [(chance / total, strengths) for chance, (_, strengths) in zip(chances, beliefs, strict=True)]


def judge_strengths(tallies: Sequence[Tally], systems: int) -> list[float]:
    """The strengths of the systems by the verdicts of a judge on pairs of each contrast."""
    return fit_strengths(tallies, systems, JUDGE_SPREAD).means


def fit_strengths(tallies: Sequence[Tally], systems: int, spread: float) -> Strengths:
    """Strengths by least squares, drawn towards each other by their prior."""
    return _believe(tallies, systems, spread, PRIOR_SD, [0.0] * systems)[1]


def _believe(
    tallies: Sequence[Tally], systems: int, spread: float, sd: float, judge: Sequence[float]
) -> tuple[float, Strengths]:
    """Strengths that are a multiple of the judge's (normal with SD 1) but for this SD; and how likely the votes are."""
    square = math.fsum(value**2 for value in judge)
    precision = [[-one * other / (sd**2 + square) / sd**2 for other in judge] for one in judge]
    scores = [0.0] * systems
    for k in range(systems):
        precision[k][k] += 1 / sd**2
    for tally in tallies:
        i, j, weight = tally.first, tally.second, tally.votes / spread
        precision[i][i] += weight
        precision[j][j] += weight
        precision[i][j] -= weight
        precision[j][i] -= weight
        scores[i] += tally.net / spread
        scores[j] -= tally.net / spread
    covariance, log_determinant = _invert(precision)
    means = [math.fsum(map(mul, row, scores)) for row in covariance]
    prior = systems * math.log(sd**2) + math.log(1 + square / sd**2)
    return (math.fsum(map(mul, scores, means)) - prior - log_determinant) / 2, Strengths(means, covariance)


def expected_gains(tallies: Sequence[Tally], strengths: Strengths, aim: Aim, spread: float) -> list[float]:
    """What one more vote on each contrast is expected to gain."""
    v = strengths.covariance
    slopes = _weigh_differences(strengths, aim)
    half = _multiply(v, slopes)
    own = [sum(map(mul, row, column)) for row, column in zip(half, v, strict=True)]
    gains = []
    for tally in tallies:
        i, j = tally.first, tally.second
        gain = own[i] + own[j] - 2 * sum(map(mul, half[i], v[j]))
        gains.append(gain / (spread + _quadratic(v, i, j)))
    return gains


def _weigh_differences(strengths: Strengths, aim: Aim) -> Matrix:
    """The sum of slope qq' over the differences that the question is about."""
    means, v = strengths.means, strengths.covariance
    number = len(means)
    sums = [[0.0] * number for _ in range(number)]
    for i, j in _list_differences(means, aim):
        variance = _quadratic(v, i, j)
        distance = abs(means[i] - means[j])
        if aim.kind == "alike":
            distance = abs(aim.margin - distance)
        slope = math.exp(-(distance**2) / (2 * variance)) / math.sqrt(variance)
        sums[i][i] += slope
        sums[j][j] += slope
        sums[i][j] -= slope
        sums[j][i] -= slope
    return sums


def _list_differences(means: Sequence[float], aim: Aim) -> list[tuple[int, int]]:
    number = len(means)
    if aim.systems is not None:
        return [aim.systems]
    if aim.kind == "best":
        leader = max(range(number), key=means.__getitem__)
        return [(leader, rival) for rival in range(number) if rival != leader]
    return [(i, j) for i in range(number) for j in range(i)]


def _quadratic(matrix: Matrix, i: int, j: int) -> float:
    return matrix[i][i] + matrix[j][j] - matrix[i][j] - matrix[j][i]


def _multiply(left: Matrix, right: Matrix) -> Matrix:
    """The product with a symmetric matrix."""
    return [[sum(map(mul, row, column)) for column in right] for row in left]


def invert_matrix(matrix: Matrix) -> Matrix:
    """The inverse of a symmetric positive definite matrix, by Cholesky.

    >>> invert_matrix([[4.0, 0.0], [0.0, 16.0]])
    [[0.25, 0.0], [0.0, 0.0625]]
    """
    return _invert(matrix)[0]


def _invert(matrix: Matrix) -> tuple[Matrix, float]:
    """The inverse, and the logarithm of the determinant."""
    lower, columns = list[list[float]](), list[list[float]]()  # columns of the inverse of `lower`, from their diagonal
    log_determinant = 0.0
    for i, values in enumerate(matrix):
        row = list[float]()
        for j in range(i):
            row.append((values[j] - sum(map(mul, row, lower[j]))) / lower[j][j])
        pivot = values[i] - sum(map(mul, row, row))
        log_determinant += math.log(pivot)
        root = math.sqrt(pivot)
        for j, column in enumerate(columns):
            column.append(-sum(map(mul, row[j:], column)) / root)
        columns.append([1 / root])
        lower.append([*row, root])
    inverse = [[0.0] * len(matrix) for _ in matrix]
    for i, column in enumerate(columns):
        for j in range(i + 1):
            inverse[i][j] = inverse[j][i] = sum(map(mul, columns[j][i - j :], column))
    return inverse, log_determinant


def draw_batch(
    shares: Sequence[float],
    pools: Sequence[ContrastPool],
    places: int,
    *,
    fewest: int,
    generator: random.Random,
) -> list[Drawn]:
    """The pairs of a batch of so many places, never more; a fresh pair gets `fewest` of them, any other pair one.

    What a contrast has no pairs for goes to the others. It is less than was asked for when few pairs are left, or
    when fresh pairs do not fill the places to the last.
    """
    room = [fewest * len(pool.fresh) if pool.fresh else len(pool.complete) for pool in pools]
    expected = share_out(shares, min(places, sum(room)), room)
    pairs = [mean / fewest if pool.fresh else 0.0 for pool, mean in zip(pools, expected, strict=True)]
    if (total := math.fsum(pairs)) > (most := places // fewest):
        pairs = [mean * most / total for mean in pairs]
    drawn = []
    for pool, number, mean in zip(pools, round_at_random(pairs, generator), pairs, strict=True):
        drawn += [Drawn(pair, fewest, mean / len(pool.fresh)) for pair in pool.fresh[:number]]
    complete = [0 if pool.fresh else len(pool.complete) for pool in pools]
    rest = min(places - fewest * len(drawn), sum(complete))
    return drawn + _draw_complete(pools, share_out(shares, rest, complete), generator)


def _draw_complete(pools: Sequence[ContrastPool], means: Sequence[float], generator: random.Random) -> list[Drawn]:
    """Pairs that get one more vote: so many of each contrast on average, more probably those whose raters differ."""
    order, chances = [], []
    for pool, mean in zip(pools, means, strict=True):
        if mean > 0:
            ones = generator.sample(list(pool.complete), len(pool.complete))
            order += [pair for pair, _ in ones]
            chances += share_out([1.0 if differ else AGREED_SIZE for _, differ in ones], mean, [1.0] * len(ones))
    numbers = round_at_random(chances, generator)
    return [Drawn(pair, 1, chance) for pair, chance, number in zip(order, chances, numbers, strict=True) if number]


def share_out(weights: Sequence[float], total: float, most: Sequence[float]) -> list[float]:
    """`total` in proportion to the weights, and none above its most.

    >>> share_out([1, 1, 2], 8, [1, 9, 9])
    [1.0, 2.3333333333333335, 4.666666666666667]
    """
    parts = [0.0] * len(weights)
    left = [k for k, weight in enumerate(weights) if weight > 0 and most[k] > 0]
    while left and total > 0:
        factor = total / math.fsum(weights[k] for k in left)
        full = [k for k in left if weights[k] * factor >= most[k]]
        if not full:
            for k in left:
                parts[k] = weights[k] * factor
            return parts
        for k in full:
            parts[k] = float(most[k])
            total -= most[k]
        gone = set(full)
        left = [k for k in left if k not in gone]
    return parts


def round_at_random(expected: Sequence[float], generator: random.Random) -> list[int]:
    """Whole numbers next to the expected ones, whose means they are, and whose sum is next to theirs (systematic)."""
    at = generator.random()
    numbers = []
    for value in expected:
        nearest = round(value)
        if abs(value - nearest) < 1e-9:  # a sum of rounded parts must not miss a whole number
            numbers.append(nearest)
            continue
        before, at = math.floor(at), at + value
        numbers.append(math.floor(at) - before)
    return numbers


class VoteSums:
    """The votes on each contrast as sums of whole numbers, the same in whatever order votes come and are taken back."""

    def __init__(self, contrasts: int, ways: int) -> None:
        """`ways`: in how many ways votes hang together, say by rater and by dialogue."""
        self.votes, self.net = [0] * contrasts, [0] * contrasts
        self._squares = [0] * contrasts
        self._clusters: list[dict[tuple[int, Any], tuple[int, int]]] = [{} for _ in range(ways)]
        # of each way and contrast, over its clusters: the sums of votes^2, votes * net and net^2
        self._products = [[(0, 0, 0)] * contrasts for _ in range(ways)]

    def add(self, contrast: int, score: int, clusters: Sequence[Any], times: int = 1) -> None:
        """Add a vote for the first system (1), for the second (-1) or a tie (0); with `times` -1 take it back."""
        self.votes[contrast] += times
        self.net[contrast] += times * score
        self._squares[contrast] += times * score**2
        for sums, products, cluster in zip(self._clusters, self._products, clusters, strict=True):
            votes, net = sums.get((contrast, cluster), (0, 0))
            more, further = sums[contrast, cluster] = votes + times, net + times * score
            if not more:
                del sums[contrast, cluster]
            a, b, c = products[contrast]
            products[contrast] = a + more**2 - votes**2, b + more * further - votes * net, c + further**2 - net**2

    def spread(self) -> float:
        """A vote's variance within its contrast times the design effect of what the votes of a contrast share.

        Squares of sums of residuals over clusters, divided by the sum of their squares, are the design effect of a way;
        each is one at least. Before there are votes it is 1.
        """
        rows = [k for k, votes in enumerate(self.votes) if votes]
        if not rows:
            return 1.0
        square = math.fsum((self.votes[k] * self._squares[k] - self.net[k] ** 2) / self.votes[k] for k in rows)
        freedom = sum(self.votes) - len(rows)
        variance = (square + 1.0) / (freedom + 1.0)  # drawn towards 1, the largest there is, while votes are few
        effect = 1.0
        for products in self._products if square > 0 else ():
            effect += max(0.0, math.fsum(self._square_sums(k, *products[k]) for k in rows) / square - 1)
        return min(variance, 1.0) * effect

    def _square_sums(self, k: int, a: int, b: int, c: int) -> float:
        """The sum over the clusters of a contrast of (net - votes * mean)^2."""
        votes, net = self.votes[k], self.net[k]
        return (c * votes**2 - 2 * b * net * votes + a * net**2) / votes**2
