"""The shares of contrasts against numpy's linear algebra, and batches against the probabilities that they state."""

import random
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from seedvote.dialogue.formulas.allocation import (
    BELIEVED_SDS,
    PRIOR_SD,
    Aim,
    ContrastPool,
    Tally,
    VoteSums,
    draw_batch,
    expected_gains,
    fit_strengths,
    invert_matrix,
    round_at_random,
    share_contrasts,
    share_out,
    weigh_beliefs,
)


def some_tallies(systems, generator, most=30):
    return [
        Tally(i, j, (n := int(generator.integers(0, most))), float(generator.integers(-n, n + 1)))
        for i in range(systems)
        for j in range(i + 1, systems)
    ]


def fitted_by_numpy(tallies, systems, spread):
    """Means and covariance of the strengths."""
    precision, right = np.eye(systems) / PRIOR_SD**2, np.zeros(systems)
    for tally in tallies:
        x = np.zeros(systems)
        x[tally.first], x[tally.second] = 1, -1
        precision += tally.votes / spread * np.outer(x, x)
        right += tally.net / spread * x
    v = np.linalg.inv(precision)
    return v @ right, v


@pytest.mark.parametrize("kind", ["best", "ranking", "better", "alike"])
def test_the_gain_is_the_slope_of_the_expected_cost_in_votes(kind):
    generator = np.random.default_rng(3)
    tallies, spread, h = some_tallies(5, generator), 1.7, 1e-4
    aim = Aim(kind, (1, 3) if kind in ("better", "alike") else None, 0.1)
    strengths = fit_strengths(tallies, 5, spread)
    means, v = fitted_by_numpy(tallies, 5, spread)
    assert strengths.means == pytest.approx(means.tolist())
    leader = int(np.argmax(means))
    asked = {
        "best": [(leader, k) for k in range(5) if k != leader],
        "ranking": [(i, j) for i in range(5) for j in range(i)],
    }.get(kind, [(1, 3)])

    def cost(v):
        total = 0.0
        for i, j in asked:
            sd = np.sqrt(v[i, i] + v[j, j] - 2 * v[i, j])
            d = abs(means[i] - means[j])
            d = abs(0.1 - d) if kind == "alike" else d
            total += sd * stats.norm.pdf(d / sd) - d * stats.norm.sf(d / sd)
        return total

    slopes = []
    for tally in tallies:  # a part h of a vote more on this contrast, by Sherman and Morrison
        x = np.zeros(5)
        x[tally.first], x[tally.second] = 1, -1
        more = v - h * np.outer(v @ x, v @ x) / (spread + x @ v @ x)
        slopes.append((cost(v) - cost(more)) / h)
    gains = np.array(expected_gains(tallies, strengths, aim, spread))
    assert gains / gains.sum() == pytest.approx(np.array(slopes) / sum(slopes), rel=1e-3)


def test_the_first_batch_is_even_and_no_contrast_ever_falls_below_the_floor():
    nothing = [Tally(0, 1), Tally(0, 2), Tally(1, 2)]
    assert share_contrasts(nothing, 3, Aim("best"), spread=1.0) == [1 / 3] * 3
    for seed in range(20):
        tallies = some_tallies(6, np.random.default_rng(seed), 200)
        shares = share_contrasts(tallies, 6, Aim("best"), spread=0.8, floor=0.3)
        assert sum(shares) == pytest.approx(1) and min(shares) >= 0.3 / 15 - 1e-12


def test_of_two_systems_alike_the_margin_is_asked_about_and_not_zero():
    def asks(net, kind):
        tallies = [Tally(0, 1, 400, net * 400), Tally(0, 2, 400, 0.0), Tally(1, 2, 400, 0.0)]
        return expected_gains(tallies, fit_strengths(tallies, 3, 0.7), Aim(kind, (0, 1), 0.2), 0.7)[0]

    assert asks(0.3, "alike") > asks(0.0, "alike") and asks(0.0, "better") > asks(0.3, "better")


def test_a_judge_is_believed_by_how_likely_it_makes_the_votes():
    """The means of contrasts are normal: their density under each model, by SciPy."""
    generator, spread = np.random.default_rng(5), 1.3
    tallies = [tally for tally in some_tallies(5, generator) if tally.votes]
    judge = generator.normal(0, 0.3, 5)
    x = np.array([[(k == tally.first) - (k == tally.second) for k in range(5)] for tally in tallies], float)
    means, votes = (np.array(part) for part in zip(*((t.net / t.votes, t.votes) for t in tallies), strict=True))
    likely, posterior = [], []
    for sd, trust in ((PRIOR_SD, 0), *((sd, 1) for sd in BELIEVED_SDS)):
        prior = sd**2 * np.eye(5) + trust * np.outer(judge, judge)
        both = x @ prior @ x.T + np.diag(spread / votes)
        likely.append(stats.multivariate_normal(np.zeros(len(x)), both).logpdf(means))
        posterior.append(prior @ x.T @ np.linalg.solve(both, means))
    chances = np.exp(np.array(likely) - max(likely))
    beliefs = weigh_beliefs(tallies, 5, spread, judge.tolist())
    assert [chance for chance, _ in beliefs] == pytest.approx((chances / chances.sum()).tolist())
    assert [strengths.means for _, strengths in beliefs] == [pytest.approx(part.tolist()) for part in posterior]


def test_a_judge_who_says_nothing_changes_nothing_and_none_takes_the_floor():
    for seed in range(20):
        generator = np.random.default_rng(seed)
        tallies, aim = some_tallies(6, generator, 200), Aim("best")
        alone = share_contrasts(tallies, 6, aim, spread=0.8)
        assert share_contrasts(tallies, 6, aim, spread=0.8, judge=[0.0] * 6) == alone
        shares = share_contrasts(tallies, 6, aim, spread=0.8, floor=0.3, judge=generator.normal(0, 3, 6).tolist())
        assert sum(shares) == pytest.approx(1) and min(shares) >= 0.3 / 15 - 1e-12


def test_an_inverse_is_numpys():
    root = np.random.default_rng(0).normal(size=(9, 9))
    matrix = root @ root.T + np.eye(9)
    assert np.array(invert_matrix(matrix.tolist())) == pytest.approx(np.linalg.inv(matrix))


def test_parts_add_up_keep_their_limits_and_their_proportions():
    parts = share_out([5.0, 1.0, 1.0, 0.0], 10, [4, 100, 100, 100])
    assert parts == pytest.approx([4, 3, 3, 0])
    assert share_out([1.0, 1.0], 10, [2, 3]) == [2.0, 3.0] and share_out([0.0], 5, [5]) == [0.0]


def test_rounding_keeps_every_mean_and_the_sum():
    expected, generator = [0.25, 2.5, 1.0, 0.25, 3.0], random.Random(1)
    draws = [round_at_random(expected, generator) for _ in range(4000)]
    assert {sum(draw) for draw in draws} == {7}
    assert np.mean(draws, axis=0) == pytest.approx(expected, abs=0.03)
    assert {draw[1] for draw in draws} == {2, 3} and {draw[2] for draw in draws} == {1}


def test_pairs_come_into_a_batch_as_often_as_their_propensity_says():
    pools = [
        ContrastPool([f"x{k}" for k in range(10)]),
        ContrastPool([], [(f"y{k}", k < 3) for k in range(8)]),
        ContrastPool([], []),
    ]
    generator, times, weights, sizes = random.Random(5), Counter(), Counter(), set()
    for _ in range(3000):
        generator.shuffle(order := [f"x{k}" for k in range(10)])  # the study's own random order
        drawn = draw_batch([0.5, 0.3, 0.2], [ContrastPool(order), *pools[1:]], 12, fewest=2, generator=generator)
        sizes.add(sum(part.places for part in drawn))
        for part in drawn:
            times[part.pair] += 1
            weights[part.pair] += 1 / part.propensity
            assert part.places == (2 if part.pair[0] == "x" else 1)
    assert sizes == {12}
    assert len(weights) == 18 and all(weight / 3000 == pytest.approx(1, abs=0.15) for weight in weights.values())
    assert times["y0"] / 3000 == pytest.approx(1.0, abs=0.2) and times["y7"] < times["y0"]


def test_a_batch_is_never_larger_than_what_is_left_and_empty_only_where_no_pair_fits():
    generator = random.Random(0)
    for _ in range(300):
        fewest, places, number = generator.choice([1, 2, 3, 7]), generator.randint(1, 60), generator.randint(1, 15)
        fresh = [[(k, n) for n in range(generator.choice([0, 1, 9]))] for k in range(number)]
        complete = [[((k, -n), n > 2) for n in range(1, 1 + generator.choice([0, 4]))] for k in range(number)]
        pools = list(map(ContrastPool, fresh, complete))
        shares = [generator.random() for _ in pools]
        drawn = draw_batch(shares, pools, places, fewest=fewest, generator=generator)
        assert sum(part.places for part in drawn) <= places
        assert all(0 < part.propensity <= 1 for part in drawn) and len({part.pair for part in drawn}) == len(drawn)
        if places >= fewest:
            assert bool(drawn) == any(pool.fresh or pool.complete for pool in pools)


def test_a_batch_takes_what_is_left_where_less_is_left():
    drawn = draw_batch([0.5, 0.5], [ContrastPool(["x"]), ContrastPool([], [("y", True)])], 50, fewest=2,
                       generator=random.Random(0))  # fmt: skip
    assert {(part.pair, part.places, part.propensity) for part in drawn} == {("x", 2, 1.0), ("y", 1, 1.0)}
    assert draw_batch([1.0], [ContrastPool([])], 9, fewest=2, generator=random.Random(0)) == []


def spread_of_votes(groups, scores, ways):
    sums = VoteSums(max(groups, default=0) + 1, len(ways))
    for group, score, *clusters in zip(groups, scores, *ways, strict=True):
        sums.add(group, score, clusters)
    return sums.spread()


def test_the_spread_is_the_variance_times_what_shared_raters_and_dialogues_add():
    assert spread_of_votes([], [], []) == 1.0
    generator = np.random.default_rng(4)
    scores = generator.choice([-1, 1], 400).tolist()
    alone = spread_of_votes([0] * 400, scores, [list(range(400))])
    assert alone == pytest.approx(1.0, abs=0.01)
    by_rater = [k // 4 for k in range(400)]
    same = [scores[k] for k in by_rater]
    assert spread_of_votes([0] * 400, same, [by_rater]) == pytest.approx(4.0, rel=0.02)
    assert spread_of_votes([0] * 400, same, [by_rater, list(range(400))]) == pytest.approx(4.0, rel=0.02)


def test_votes_that_are_taken_back_leave_no_trace():
    draw = random.Random(2)
    votes = [(draw.randrange(5), draw.randrange(-1, 2), (draw.randrange(8), draw.randrange(30))) for _ in range(400)]
    sums, fewer = VoteSums(5, 2), VoteSums(5, 2)
    for vote in votes:
        sums.add(*vote)
    for vote in draw.sample(votes[::2], 200):
        sums.add(*vote, -1)
    for vote in reversed(votes[1::2]):
        fewer.add(*vote)
    assert vars(sums) == vars(fewer) and sums.spread() == fewer.spread() > 0
    for vote in votes[1::2]:
        sums.add(*vote, -1)
    assert vars(sums) == vars(VoteSums(5, 2))
