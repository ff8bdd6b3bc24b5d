"""The dashboard's interval of ties against a jackknife by hand, scipy and a simulation whose truth is known."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import logit

from seedvote.crowd.watching.share_interval import ClusterCounts, share_interval, t_quantile


def sums_of(labels, ties):
    sums = ClusterCounts()
    for label in np.unique(labels):
        sums.add(int(ties[labels == label].sum()), int((labels == label).sum()))
    return sums


def interval_of(pair, rater, ties):
    by = {"pair": sums_of(pair, ties), "rater": sums_of(rater, ties)}
    return share_interval(int(ties.sum()), len(ties), by, sums_of(np.arange(len(ties)), ties))


def drawn(generator, *, pairs=40, raters=16, spread=1.5):
    """Votes of raters who differ in their love of ties, three on each pair."""
    love = generator.normal(-0.6, spread, raters)
    pair = np.repeat(np.arange(pairs), 3)
    rater = np.concatenate([generator.choice(raters, 3, replace=False) for _ in range(pairs)])
    ties = (generator.random(len(pair)) < 1 / (1 + np.exp(-love[rater]))).astype(int)
    return pair, rater, ties


def test_the_error_is_that_of_leaving_out_one_cluster_after_the_other():
    pair, rater, ties = drawn(np.random.default_rng(3))

    def jackknife(codes):
        left = np.array([ties[codes != code].mean() for code in np.unique(codes)])
        return ((left - ties.mean()) ** 2).sum() * (1 - 1 / len(left))

    by_pair, by_rater, alone = jackknife(pair), jackknife(rater), jackknife(np.arange(len(ties)))
    found = interval_of(pair, rater, ties)
    assert found.se**2 == pytest.approx(max(by_pair + by_rater - alone, max(by_pair, by_rater) / 2))
    kish = [len(ties) ** 2 / (np.bincount(codes) ** 2).sum() for codes in (pair, rater)]
    satterthwaite = found.se**4 / (by_pair**2 / (kish[0] - 1) + by_rater**2 / (kish[1] - 1))
    assert found.df == pytest.approx(max(satterthwaite, min(kish) - 1))
    assert found.unit == "pair+rater"
    assert (logit(found.low) + logit(found.high)) / 2 == pytest.approx(logit(ties.mean()))
    reach = t_quantile(found.df) * found.se / (ties.mean() * (1 - ties.mean()))
    assert (logit(found.high) - logit(found.low)) / 2 == pytest.approx(reach)


@pytest.mark.slow
def test_where_raters_differ_the_interval_holds_what_a_naive_one_misses():
    truth_of = np.random.default_rng(9).normal(-0.6, 1.5, 200_000)
    truth = (1 / (1 + np.exp(-truth_of))).mean()
    ours = naive = 0
    for seed in range(300):
        pair, rater, ties = drawn(np.random.default_rng(seed))
        found = interval_of(pair, rater, ties)
        half = 1.96 * math.sqrt(ties.mean() * (1 - ties.mean()) / len(ties))
        ours += found.low <= truth <= found.high
        naive += abs(ties.mean() - truth) <= half
    assert ours / 300 > 0.9 > 0.8 > naive / 300


def test_no_interval_is_given_for_a_single_vote_and_a_wide_one_for_two():
    assert share_interval(0, 0, {}, ClusterCounts()) is None
    one = np.array([0])
    assert interval_of(one, one, np.array([1])) is None
    two = interval_of(np.array([0, 1]), np.array([0, 0]), np.array([1, 0]))
    assert two.unit == "pair" and two.df == 1 and two.low < 0.001 and two.high > 0.999


@pytest.mark.parametrize("ties", [0, 12])
def test_share_interval_of_equal_votes_is_clopper_pearson(ties):
    sums = ClusterCounts()
    for _ in range(4):
        sums.add(ties // 4, 3)
    found = share_interval(ties, 12, {"pair": sums, "rater": sums}, sums)
    exact = stats.binomtest(ties // 3, 4).proportion_ci(method="exact")
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high))


@pytest.mark.parametrize("df", [1, 1.0001, 1.7, 2, 4, 5, 10, 30, 99.5, 199.9, 200.1, 500, 12_345.6, 1e6])
def test_the_quantile_of_t_is_exact(df):
    assert t_quantile(df) == pytest.approx(stats.t.ppf(0.975, df), rel=1e-11)
