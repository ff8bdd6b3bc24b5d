"""Studies whose votes are given out by an adaptive rule, simulated or replayed, and what an even design would have got.

The rule is that of the rating server (dialogue/formulas/allocation.py). Whoever asks supplies the answers: a world with
a known truth, or the votes of a finished study. A judge may have ruled on the pairs: its verdicts help to share out the
votes, and to estimate strengths from them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from seedvote.dialogue.formulas.allocation import (
    BELIEVED_SDS,
    FLOOR,
    JUDGE_SPREAD,
    PRIOR_SD,
    Aim,
    ContrastPool,
    batch_places,
    draw_batch,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Ask = Callable[[Ints], tuple[Floats, Ints]]  # pairs, one entry a vote -> their scores and raters
FEWEST, MOST = 2, 7  # votes of a pair


@dataclass(frozen=True, eq=False)
class PairPool:
    """The pairs that a study may give out."""

    systems: int
    first: Ints  # (contrasts,)
    second: Ints
    contrast: Ints  # (pairs,)
    dialogue: Ints  # (pairs,)
    most: Ints | None = None  # (pairs,) votes that there can be of each; None: no limit but the rule's
    verdict: Floats | None = None  # (pairs,) a judge's for the first system, from -1 to 1; NaN where it did not rule

    def select(self, pairs: Ints, dialogue: Ints) -> PairPool:
        """These of its pairs, some of them more than once, with other dialogues."""
        most = None if self.most is None else self.most[pairs]
        verdict = None if self.verdict is None else self.verdict[pairs]
        return replace(self, contrast=self.contrast[pairs], dialogue=dialogue, most=most, verdict=verdict)

    def judge_strengths(self) -> Floats:
        """(systems,) strengths by the verdicts; zeros without any."""
        if self.verdict is None:
            return np.zeros(self.systems)
        rows = ~np.isnan(self.verdict)
        votes, net = self.sum_by_contrast(self.contrast[rows], self.verdict[rows])
        return _believe(self, votes, net, JUDGE_SPREAD, PRIOR_SD, np.zeros(self.systems))[1]

    def sum_by_contrast(self, contrast: Ints, score: Floats) -> tuple[Floats, Floats]:
        """(contrasts,) how many scores there are of each, and their sums."""
        return self.sum_values(contrast, np.ones(len(contrast))), self.sum_values(contrast, score)

    def sum_values(self, contrast: Ints, values: Floats) -> Floats:
        """(contrasts,) their sums."""
        return np.asarray(np.bincount(contrast, values, len(self.first)), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Rule:
    """How votes are given out; without an aim evenly over the contrasts, and over the pairs of each."""

    aim: Aim | None
    floor: float = FLOOR
    fewest: int = FEWEST
    most: int = MOST


@dataclass(frozen=True, eq=False)
class VoteLog:
    """Votes in the order of their batches."""

    pair: Ints
    score: Floats  # +1 for the contrast's first system, -1, 0
    rater: Ints
    batch: Ints
    propensity: Floats

    def __len__(self) -> int:
        return len(self.pair)


NO_CODES, NO_NUMBERS = np.zeros(0, np.int64), np.zeros(0)
NOTHING = VoteLog(NO_CODES, NO_NUMBERS, NO_CODES, NO_CODES, NO_NUMBERS)


def give_out(
    pool: PairPool, rule: Rule, ask: Ask, budget: int, generator: np.random.Generator, *, places: int | None = None
) -> Iterator[VoteLog]:
    """The votes after each batch, until the budget or the pairs are used up."""
    places = batch_places(budget) if places is None else places
    draw = random.Random(int(generator.integers(2**62)))
    order = np.lexsort([generator.random(len(pool.contrast)), pool.contrast])
    number = len(pool.first)
    starts = np.searchsorted(pool.contrast[order], np.arange(number + 1))
    used, log, batch, judge = np.zeros(number, np.int64), NOTHING, 0, pool.judge_strengths()
    differ = np.zeros(len(pool.contrast), bool)  # whether the first votes of a pair do
    while len(log) < budget:
        batch += 1
        pools = [
            ContrastPool(
                order[starts[k] + used[k] : starts[k + 1]].tolist() if used[k] < starts[k + 1] - starts[k] else ()
            )
            for k in range(number)
        ]
        if any(not len(each.fresh) for each in pools):
            pools = _add_complete(pool, rule, log, pools, differ)
        shares = _share(pool, rule, log, judge)
        drawn = draw_batch(shares, pools, min(places, budget - len(log)), fewest=rule.fewest, generator=draw)
        if not drawn:
            return
        pairs = np.array([part.pair for part in drawn])
        fresh = np.array([bool(len(pools[k].fresh)) for k in pool.contrast[pairs]])
        np.add.at(used, pool.contrast[pairs[fresh]], 1)
        times = np.array([part.places for part in drawn])
        chances = np.array([part.propensity for part in drawn])
        asked_pairs = np.repeat(pairs, times)
        scores, raters = ask(asked_pairs)
        first_votes = scores[np.repeat(fresh, times)].reshape(-1, rule.fewest)
        differ[pairs[fresh]] = first_votes.max(1, initial=-2) > first_votes.min(1, initial=2)
        log = VoteLog(
            np.concatenate([log.pair, asked_pairs]),
            np.concatenate([log.score, scores]),
            np.concatenate([log.rater, raters]),
            np.concatenate([log.batch, np.full(len(asked_pairs), batch)]),
            np.concatenate([log.propensity, np.repeat(chances, times)]),
        )
        yield log


def _add_complete(
    pool: PairPool, rule: Rule, log: VoteLog, pools: list[ContrastPool], differ: NDArray[np.bool_]
) -> list[ContrastPool]:
    """Pairs that may get one more vote, of the contrasts that have no fresh ones."""
    votes = np.bincount(log.pair, minlength=len(pool.contrast))
    differ = differ & (rule.aim is not None)
    most = rule.most if pool.most is None else np.minimum(rule.most, pool.most)
    may = (votes >= rule.fewest) & (votes < most)
    if rule.aim is None:  # nobody's turn comes twice before everybody's has come
        fewest = np.full(len(pools), np.inf)
        np.minimum.at(fewest, pool.contrast[may], votes[may])
        may &= votes == fewest[pool.contrast]
    complete: list[list[tuple[int, bool]]] = [[] for _ in pools]
    for pair in np.flatnonzero(may).tolist():
        complete[pool.contrast[pair]].append((pair, bool(differ[pair])))
    return [
        each if len(each.fresh) else replace(each, complete=more) for each, more in zip(pools, complete, strict=True)
    ]


def _share(pool: PairPool, rule: Rule, log: VoteLog, judge: Floats) -> list[float]:
    number = len(pool.first)
    if rule.aim is None or not len(log):
        return [1 / number] * number
    contrast = pool.contrast[log.pair]
    votes, net = pool.sum_by_contrast(contrast, log.score)
    spread = measure_spread(contrast, log.score, [log.rater, pool.dialogue[log.pair]])
    return list(share_votes(pool, votes, net, rule.aim, spread=spread, floor=rule.floor, judge=judge).tolist())


def share_votes(
    pool: PairPool, votes: Floats, net: Floats, aim: Aim, *, spread: float, floor: float, judge: Floats
) -> Floats:
    """`share_contrasts` of the rating server, in numpy: simulations of many systems ask it thousands of times."""
    sds = BELIEVED_SDS if judge.any() else ()
    beliefs = [_believe(pool, votes, net, spread, PRIOR_SD, np.zeros(pool.systems))]
    beliefs += [_believe(pool, votes, net, spread, sd, judge) for sd in sds]
    chances = np.exp(np.array([likelihood for likelihood, _, _ in beliefs]) - max(part[0] for part in beliefs))
    shares = np.full(len(votes), floor / len(votes))
    for chance, (_, means, covariance) in zip(chances / chances.sum(), beliefs, strict=True):
        gains = _expect_gains(pool, means, covariance, aim, spread)
        shares += chance * (1 - floor) * (gains / gains.sum() if gains.sum() > 0 else 1 / len(votes))
    return shares


def _believe(
    pool: PairPool, votes: Floats, net: Floats, spread: float, sd: float, judge: Floats
) -> tuple[float, Floats, Floats]:
    """How likely the votes are, and means and covariance of the strengths."""
    covariance = sd**2 * np.eye(pool.systems) + np.outer(judge, judge)
    normal, right = _normal_equations(pool, votes / spread, net / spread)
    precision = np.linalg.inv(covariance) + normal
    posterior: Floats = np.asarray(np.linalg.inv(precision), dtype=np.float64)
    means = posterior @ right
    determinants = np.linalg.slogdet(covariance)[1] + np.linalg.slogdet(precision)[1]
    return float(right @ means - determinants) / 2, np.asarray(means), posterior


def _normal_equations(pool: PairPool, votes: Floats, net: Floats) -> tuple[Floats, Floats]:
    """(systems, systems) and (systems,) of the least squares of strengths."""
    normal, right = np.zeros((pool.systems, pool.systems)), np.zeros(pool.systems)
    np.add.at(normal, (pool.first, pool.first), votes)
    np.add.at(normal, (pool.second, pool.second), votes)
    np.add.at(normal, (pool.first, pool.second), -votes)
    np.add.at(normal, (pool.second, pool.first), -votes)
    np.add.at(right, pool.first, net)
    np.add.at(right, pool.second, -net)
    return normal, right


def _expect_gains(pool: PairPool, means: Floats, covariance: Floats, aim: Aim, spread: float) -> Floats:
    """What one more vote on each contrast is expected to gain."""
    first, second = np.triu_indices(pool.systems, 1)
    if aim.systems is not None:
        first, second = (np.array([system]) for system in aim.systems)
    elif aim.kind == "best":
        leader = int(np.argmax(means))
        second = np.delete(np.arange(pool.systems), leader)
        first = np.full_like(second, leader)
    variance = _of_difference(covariance, first, second)
    distance = np.abs(means[first] - means[second])
    distance = np.abs(aim.margin - distance) if aim.kind == "alike" else distance
    slopes = np.exp(-(distance**2) / (2 * variance)) / np.sqrt(variance)
    weights, _ = _normal_equations(replace(pool, first=first, second=second), slopes, slopes)
    product = covariance @ weights @ covariance
    own = _of_difference(covariance, pool.first, pool.second)
    return np.asarray(_of_difference(product, pool.first, pool.second) / (spread + own))


def _of_difference(matrix: Floats, first: Ints, second: Ints) -> Floats:
    own = np.diag(matrix)
    return np.asarray(own[first] + own[second] - matrix[first, second] - matrix[second, first])


def measure_spread(group: Ints, score: Floats, ways: Sequence[Ints]) -> float:
    """`VoteSums.spread` of the rating server, in numpy: simulations ask it thousands of times."""
    if not len(score):
        return 1.0
    codes = np.unique(group, return_inverse=True)[1]
    residual = score - (np.bincount(codes, weights=score) / np.bincount(codes))[codes]
    square = float(residual @ residual)
    variance = min((square + 1.0) / (len(score) - int(codes.max())), 1.0)
    effect = 1.0
    for way in ways:
        if square > 0:
            sums = np.bincount(np.unique(codes * (int(way.max()) + 1) + way, return_inverse=True)[1], weights=residual)
            effect += max(0.0, float(sums @ sums) / square - 1)
    return variance * effect


def weigh_votes(contrast: Ints, pair: Ints, batch: Ints, answer: NDArray[Any]) -> Floats:
    """What each vote counts, one on average: further votes by how many pairs they stand for.

    Further votes of a pair are those of later batches than its first. They go more often to pairs whose first votes
    differ, so within a contrast those of either kind of pairs weigh together what such pairs are among all.

    >>> weigh_votes(np.zeros(9, int), np.array([0, 0, 1, 1, 2, 2, 0, 0, 1]), np.array([1] * 6 + [2] * 3),
    ...             np.array([1, -1, 1, 1, 1, 1, 1, 1, 1])).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.5, 0.5, 2.0]
    """
    weights = np.ones(len(pair))
    if not len(pair):
        return weights
    codes, values = np.unique(pair, return_inverse=True)[1], np.unique(answer, return_inverse=True)[1]
    number = int(codes.max()) + 1
    start, least, most = np.full(number, np.iinfo(np.int64).max), np.full(number, len(pair)), np.full(number, -1)
    np.minimum.at(start, codes, batch)
    further = batch > start[codes]
    if not further.any():
        return weights
    np.minimum.at(least, codes[~further], values[~further])
    np.maximum.at(most, codes[~further], values[~further])
    _, place, of_vote = np.unique(contrast, return_index=True, return_inverse=True)
    kind = 2 * of_vote + (most > least)[codes]
    of_pair = np.zeros(number, np.int64)
    of_pair[codes] = kind
    pairs = np.bincount(of_pair, minlength=2 * len(place)).astype(float)
    votes = np.bincount(kind[further], minlength=2 * len(place)).astype(float)
    pairs = np.where(votes > 0, pairs, 0.0).reshape(-1, 2)  # a kind without further votes has nothing to weigh
    votes = votes.reshape(-1, 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        each = pairs / pairs.sum(1, keepdims=True) * votes.sum(1, keepdims=True) / votes
    weights[further] = each.ravel()[kind[further]]
    return weights


def estimate_strengths(pool: PairPool, log: VoteLog, *, with_verdicts: bool = False) -> Floats:
    """(systems,) least squares of all votes by their weights, hardly drawn towards each other.

    With verdicts each vote is freed of what the judge says of its pair beyond all pairs of the contrast, as far as
    votes follow it (prediction-powered inference): where chance gave out pairs that favour a system, verdicts say so.
    """
    contrast = pool.contrast[log.pair]
    weights = weigh_votes(contrast, log.pair, log.batch, log.score)
    score = log.score
    if with_verdicts and pool.verdict is not None:
        score = score - _explain_votes(pool, log, weights)
    votes, net = (pool.sum_values(contrast, values) for values in (weights, weights * score))
    normal, right = _normal_equations(pool, votes, net)
    return np.asarray(np.linalg.solve(normal + np.eye(pool.systems) * 1e-3, right))


def _explain_votes(pool: PairPool, log: VoteLog, weights: Floats) -> Floats:
    """(votes,) by how much more a vote is expected to favour the first system than votes on all of its contrast."""
    verdict = np.asarray(pool.verdict)
    known, contrast = ~np.isnan(verdict), pool.contrast[log.pair]
    number, means = pool.sum_by_contrast(pool.contrast[known], verdict[known])
    means = means / np.maximum(number, 1)
    beyond = np.where(known, verdict - means[pool.contrast], 0.0)[log.pair]
    total = np.maximum(pool.sum_values(contrast, weights), 1e-150)
    x, y = (values - (pool.sum_values(contrast, weights * values) / total)[contrast] for values in (beyond, log.score))
    square = float(weights @ x**2)
    return beyond * (float(weights @ (x * y)) / square if square > 1e-9 else 0.0)


@dataclass(frozen=True)
class World:
    """Systems of known strengths before a crowd: a vote compares a latent difference with a rater's threshold for ties.

    Raters differ in taste, in their threshold, in how much they vote and in care; responses differ by dialogue. Units
    are the SD of a vote's own noise.
    """

    strengths: tuple[float, ...]
    dialogues: int = 100
    raters: int = 60
    sd_dialogue: float = 0.5
    sd_rater: float = 0.25
    sd_habit: float = 0.4
    threshold: float = 0.6
    careless: float = 0.1
    work: float = 1.0  # SD of the log of how much raters vote

    def ties(self, gap: float) -> float:
        """The share of ties between two systems that are so far apart."""
        points, weights = np.polynomial.hermite_e.hermegauss(21)
        thresholds = self.threshold * np.exp(self.sd_habit * points)
        scale = np.sqrt(1 + 2 * self.sd_dialogue**2 + 2 * self.sd_rater**2)
        share = ndtr((thresholds - gap) / scale) - ndtr((-thresholds - gap) / scale)
        return float((1 - self.careless) * (share @ (weights / weights.sum())) + self.careless / 3)

    def truth(self, first: Ints, second: Ints) -> Floats:
        """The net preference of these contrasts over all dialogues and raters."""
        points, weights = np.polynomial.hermite_e.hermegauss(21)
        thresholds = self.threshold * np.exp(self.sd_habit * points)
        scale = np.sqrt(1 + 2 * self.sd_dialogue**2 + 2 * self.sd_rater**2)
        strengths = np.array(self.strengths)
        gap = (strengths[first] - strengths[second])[:, None]
        net = ndtr((gap - thresholds) / scale) - ndtr((-gap - thresholds) / scale)
        return np.asarray((1 - self.careless) * (net @ (weights / weights.sum())))

    def pool(self) -> PairPool:
        """Every dialogue with every two systems."""
        first, second = np.triu_indices(len(self.strengths), 1)
        number = len(first)
        return PairPool(
            len(self.strengths),
            first,
            second,
            np.tile(np.arange(number), self.dialogues),
            np.repeat(np.arange(self.dialogues), number),
        )

    def respond(self, generator: np.random.Generator) -> Floats:
        """(dialogues, systems) how much better than its strength each system does in each dialogue."""
        return self.sd_dialogue * generator.standard_normal((self.dialogues, len(self.strengths)))

    def judge(
        self, pool: PairPool, responses: Floats, accuracy: float, shared: float, generator: np.random.Generator
    ) -> Floats:
        """(pairs,) verdicts on these responses, the mean of both orders, right in this share of pairs.

        `shared` is the part of the variance of its errors that it makes about systems, the rest it makes about pairs.
        A judge below .5 prefers the worse response.
        """
        first, second = pool.first[pool.contrast], pool.second[pool.contrast]
        quality = np.array(self.strengths) + responses
        gap = quality[pool.dialogue, first] - quality[pool.dialogue, second]
        gap *= np.sign(accuracy - 0.5)
        taste, errors = generator.standard_normal(len(self.strengths)), generator.standard_normal(len(gap))
        errors = np.sqrt(shared / 2) * (taste[first] - taste[second]) + np.sqrt(1 - shared) * errors
        low, high = 0.0, 1e3
        for _ in range(50):  # the size of the errors
            size = (low + high) / 2
            is_better = ((gap + size * errors > 0) == (gap > 0)).mean() > max(accuracy, 1 - accuracy)
            low, high = (size, high) if is_better else (low, size)
        latent = errors if accuracy == 0.5 else gap + low * errors
        orders = latent + 0.4 * latent.std() * generator.standard_normal((2, len(latent)))
        return np.asarray(np.sign(orders).mean(0))

    def crowd(self, pool: PairPool, generator: np.random.Generator, responses: Floats | None = None) -> Ask:
        """One crowd and one set of responses, who answer whatever is asked."""
        systems, strengths = len(self.strengths), np.array(self.strengths)
        responses = self.respond(generator) if responses is None else responses
        tastes = self.sd_rater * generator.standard_normal((self.raters, systems))
        thresholds = self.threshold * np.exp(self.sd_habit * generator.standard_normal(self.raters))
        careless = generator.random(self.raters) < self.careless
        work = np.exp(self.work * generator.standard_normal(self.raters))
        work /= work.sum()
        seen: dict[int, set[int]] = {}

        def ask(pairs: Ints) -> tuple[Floats, Ints]:
            raters = generator.choice(self.raters, len(pairs), p=work)
            for place, pair in enumerate(pairs.tolist()):  # a rater judges a pair once
                who = seen.setdefault(pair, set())
                while int(raters[place]) in who:
                    raters[place] = generator.choice(self.raters, p=work)
                who.add(int(raters[place]))
            first, second = pool.first[pool.contrast[pairs]], pool.second[pool.contrast[pairs]]
            quality = strengths + responses[pool.dialogue[pairs]] + tastes[raters]
            rows = np.arange(len(pairs))
            latent = quality[rows, first] - quality[rows, second] + generator.standard_normal(len(pairs))
            scores = np.where(np.abs(latent) < thresholds[raters], 0.0, np.sign(latent))
            guesses = generator.integers(-1, 2, len(pairs)).astype(float)
            return np.where(careless[raters], guesses, scores), raters

        return ask
