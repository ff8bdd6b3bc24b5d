"""Cluster-robust intervals: against statsmodels, against hand counts, and against a truth that is known."""

import sys
from pathlib import Path

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import expit
from scipy.stats import beta, t
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.sandwich_covariance import cov_cluster

from seedvote.analysis.stats.intervals import cross_codes, error_of_mean, kish, mean_interval, robust_variance
from seedvote.analysis.stats.net_preference import bound_unanimous
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.seeds import child_seed

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))
from sim_shares import RULES, drawn, measured

DESIGNS = [(60, 12, 3), (200, 40, 3), (50, 50, 1), (31, 7, 5)]


def crossed_votes(pairs, raters, each, seed):
    generator = np.random.default_rng(seed)
    pair = np.repeat(np.arange(pairs), each)
    rater = generator.integers(0, raters, pairs * each)
    felt = generator.normal(size=pairs)[pair] + generator.normal(size=raters)[rater]
    return generator.random(len(pair)) < expit(felt - 0.7), pair, np.unique(rater, return_inverse=True)[1]


@pytest.mark.parametrize("design", DESIGNS)
def test_the_error_is_that_of_leaving_out_one_cluster_after_the_other(design):
    values, pair, rater = crossed_votes(*design, seed=3)

    def jackknife(codes):
        left = np.array([values[codes != code].mean() for code in np.unique(codes)])
        return ((left - values.mean()) ** 2).sum() * (1 - 1 / len(left))

    by_pair, by_rater, by_both = (jackknife(codes) for codes in (pair, rater, cross_codes([pair, rater])))
    both = robust_variance(values, by={"pair": pair, "rater": rater})
    assert abs(robust_variance(values, by={"pair": pair}) / by_pair - 1) < 1e-12
    assert abs(robust_variance(values, by={"rater": rater}) / by_rater - 1) < 1e-12
    assert abs(both / (by_pair + by_rater - by_both) - 1) < 1e-12


def test_with_equally_large_clusters_the_error_is_that_of_statsmodels():
    values, pair, _ = crossed_votes(60, 12, 3, seed=3)
    fit = sm.OLS(values.astype(float), np.ones(len(values))).fit()
    theirs = float(cov_cluster(fit, pair)[0, 0])
    assert abs(robust_variance(values, by={"pair": pair}) / theirs - 1) < 1e-12


def test_without_clusters_it_is_the_ordinary_error_and_t_interval():
    values = np.array([1.0, 2.0, 4.0, 9.0])
    interval = mean_interval(values, by={})
    assert abs(interval.se - values.std(ddof=1) / 2) < 1e-15
    assert np.allclose((interval.low, interval.high), t.interval(0.95, 3, 4.0, interval.se))
    assert (interval.unit, interval.design_effect) == ("vote", 1.0)


def test_copies_of_a_vote_add_no_information():
    once = np.array([1.0, 0, 0, 1, 0, 1, 1, 0, 0, 0])
    alone = mean_interval(once, by={})
    copied = mean_interval(np.repeat(once, 7), by={"rater": np.repeat(np.arange(10), 7)})
    assert abs(copied.se / alone.se - 1) < 1e-12
    assert abs(copied.effective_n / 10 - 1) < 0.1  # ten votes, up to the small-sample corrections
    assert (copied.low, copied.high) == pytest.approx((alone.low, alone.high))


def test_three_ways_are_added_and_taken_away_in_turn():
    values, pair, rater = crossed_votes(40, 9, 3, seed=5)
    day = np.resize(np.arange(6), len(values))
    single = [robust_variance(values, by={"x": x}) for x in (pair, rater, day)]
    double = [
        robust_variance(values, by={"x": cross_codes([x, y])}) for x, y in ((pair, rater), (pair, day), (rater, day))
    ]
    triple = robust_variance(values, by={"x": cross_codes([pair, rater, day])})
    whole = robust_variance(values, by={"pair": pair, "rater": rater, "day": day})
    assert abs(whole - (sum(single) - sum(double) + triple)) < 1e-15


def test_the_variance_is_never_smaller_than_that_of_one_way():
    values, pair, rater = crossed_votes(30, 30, 2, seed=8)
    largest = max(robust_variance(values, by={"x": x}) for x in (pair, rater))
    assert robust_variance(values, by={"pair": pair, "rater": rater}, at_least_one_way=True) >= largest


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("share", [False, True])
def test_the_error_goes_by_both_ways_and_a_share_has_the_lower_floor(design, share):
    """Written out: the difference of variances, its floor, and Satterthwaite's degrees of freedom."""
    for seed in range(20):
        values, pair, rater = crossed_votes(*design, seed=seed)
        by = {"pair": pair, "rater": rater}
        ways = np.array([robust_variance(values, by={"x": codes}) for codes in by.values()])
        free = np.array([kish(codes) - 1 for codes in by.values()])
        several = free.min() >= 4
        variance = max(robust_variance(values, by=by), ways.max() / (2 if share and several else 1))
        df = free.min() if share and not several else max(variance**2 / (ways**2 / free).sum(), free.min())
        assert error_of_mean(values, by=by, share=share) == pytest.approx((np.sqrt(variance), df))
        assert free.min() <= error_of_mean(values, by=by, share=True)[1]


def test_one_way_and_none_have_the_same_error_as_a_share_and_as_a_mean():
    values, pair, _ = crossed_votes(60, 12, 3, seed=3)
    for by in ({"pair": pair}, {}):
        assert error_of_mean(values, by=by, share=True) == error_of_mean(values, by=by)


def test_equal_raters_leave_degrees_of_freedom_to_pairs():
    """Ten raters of equal habits tell as much as the pairs; ten who differ tell as much as ten raters."""
    generator = np.random.default_rng(4)
    pair, rater = np.repeat(np.arange(200), 3), np.tile(np.arange(10), 60)
    by = {"pair": pair, "rater": rater}
    alike = error_of_mean((generator.random(200) < 0.3)[pair], by=by, share=True)[1]
    apart = error_of_mean(generator.random(600) < np.linspace(0, 1, 10)[rater], by=by, share=True)[1]
    assert 9 <= apart < 11 < 40 < alike


def test_docs_simulation_errs_like_the_analysis():
    generator = np.random.default_rng(2)
    score, dialogue, rater = drawn(generator, 4, 20, 12)
    ties = (score == 0).astype(float)
    variance, freedom = RULES["half, Satterthwaite"](measured(ties, dialogue, rater))
    for row in range(4):
        by = {"dialogue": dialogue[row], "rater": rater[row]}
        expected = error_of_mean(ties[row], by=by, share=True)
        assert (np.sqrt(variance[row]), freedom[row]) == pytest.approx(expected)


def test_a_share_by_fewer_than_five_raters_is_no_less_careful_than_a_mean():
    for seed in range(10):
        values, pair, rater = crossed_votes(60, 4, 3, seed=seed)
        by = {"pair": pair, "rater": rater}
        (se, df), (of_mean, free) = (error_of_mean(values, by=by, share=share) for share in (True, False))
        assert se == of_mean and df == kish(rater) - 1 <= free


@pytest.mark.parametrize("clusters", [2, 7.3, 20, 400])
def test_unanimous_share_has_the_clopper_pearson_edge(clusters):
    """Our own two lines, because statsmodels takes longer to import than `ties` to run: so held equal."""
    values, codes = np.ones(800), np.arange(800) % int(clusters)
    if clusters == int(clusters):
        interval = mean_interval(values, by={"rater": codes}, share=True)
        ends = proportion_confint(clusters, clusters, method="beta")
        assert (interval.low, interval.high) == pytest.approx(ends)
    low, high = bound_unanimous(1.0, clusters, 0.025)
    edge = proportion_confint(clusters, clusters, method="beta")[0]
    assert (low, high) == pytest.approx((2 * edge - 1, 1.0)), "a net preference is twice a share less one"


@pytest.mark.parametrize("mean", [0.0, 1.0])
def test_when_all_votes_agree_the_clusters_decide_how_sure_that_is(mean):
    interval = mean_interval(np.full(60, mean), by={"rater": np.repeat(np.arange(20), 3)}, share=True)
    edge = beta.ppf(0.025, 20, 1)
    assert (interval.low, interval.high) == pytest.approx((edge, 1.0) if mean else (0.0, 1 - edge))


def test_a_share_keeps_its_interval_between_0_and_1():
    values = np.zeros(40)
    values[:2] = 1
    interval = mean_interval(values, by={"rater": np.repeat(np.arange(10), 4)}, share=True)
    assert 0 < interval.low < 0.05 < interval.high < 1


def test_one_rater_who_gave_nearly_all_votes_leaves_next_to_nothing_known():
    rater = np.array([0] * 997 + [1, 2, 3])
    values = np.resize([1.0, 0.0, 0.0], 1000)
    interval = mean_interval(values, by={"rater": rater}, share=True)
    assert interval.df == 1.0 and 0 <= interval.low < values.mean() < interval.high <= 1


def test_votes_are_never_worth_more_than_their_number():
    values = np.tile([1.0, 0.0, 0.0], 20)
    interval = mean_interval(values, by={"pair": np.repeat(np.arange(20), 3)})
    assert abs(interval.design_effect - 1) < 1e-12 and interval.effective_n == 60
    close = mean_interval(values, by={"pair": np.repeat(np.arange(20), [3] * 18 + [2, 4])})
    assert close.design_effect < 0.1 and close.effective_n == 60


@pytest.mark.parametrize(("raters", "least", "most"), [(3, 20, 35), (8, 60, 100), (120, 119, 120)])
def test_votes_are_worth_as_many_as_have_an_interval_as_wide(raters, least, most):
    """Three raters who agree no more than chance do not tell what 120 people would, though the error is as small."""
    values = np.random.default_rng(3).permutation(np.resize([1.0, 0.0, 0.0], 120))
    found = mean_interval(values, by={"rater": np.arange(120) % raters})
    assert least <= found.worth <= most and found.worth <= found.effective_n
    as_wide = t.ppf(0.975, found.worth - 1) / np.sqrt(found.worth)
    assert as_wide == pytest.approx(t.ppf(0.975, found.df) / np.sqrt(found.effective_n), rel=1e-6)


def test_the_effective_number_of_raters_counts_equally_busy_ones():
    assert kish(np.repeat(np.arange(8), 5)) == 8
    assert kish(np.array([0] * 90 + list(range(1, 11)))) == 100**2 / (90**2 + 10)


def test_too_few_votes_or_clusters_are_refused():
    with pytest.raises(InputError, match="One vote has no interval"):
        mean_interval([1.0], by={})
    with pytest.raises(InputError, match="by rater needs two raters or more; the votes have one"):
        mean_interval([1.0, 0.0], by={"rater": np.zeros(2, dtype=int)})


def coverage(pairs, raters, pair_sd, rater_sd, *, sets, load=0.7, centre=-0.75, seed=0):
    """Shares of intervals, by pair and rater and by vote, that hold the true share of ties of new pairs and raters."""
    generator = np.random.default_rng(child_seed(seed, "coverage", pairs, raters, pair_sd, rater_sd))
    truth = expit(centre + np.hypot(pair_sd, rater_sd) * generator.normal(size=2_000_000)).mean()
    pair = np.tile(np.arange(pairs), 3)
    held = np.zeros(2)
    for _ in range(sets):
        busy = generator.lognormal(0, load, raters)
        rater = generator.choice(raters, 3 * pairs, p=busy / busy.sum())
        felt = centre + generator.normal(0, pair_sd, pairs)[pair] + generator.normal(0, rater_sd, raters)[rater]
        ties = generator.random(3 * pairs) < expit(felt)
        rater = np.unique(rater, return_inverse=True)[1]
        for i, by in enumerate(({"pair": pair, "rater": rater}, {})):
            interval = mean_interval(ties, by=by, share=True)
            held[i] += interval.low < truth < interval.high
    return held / sets


def test_the_default_interval_covers_where_the_vote_level_one_does_not():
    robust, naive = coverage(600, 60, 0.6, 1.0, sets=300)
    assert robust > 0.91 and naive < 0.65


@pytest.mark.slow
@pytest.mark.parametrize(("pair_sd", "rater_sd"), [(0.6, 1.0), (0.6, 1.5), (0.6, 0.0), (0.0, 0.0)])
@pytest.mark.parametrize("raters", [60, 120, 250, 500])
def test_coverage_of_the_default_interval_is_near_95_percent(raters, pair_sd, rater_sd):
    robust, naive = coverage(2000, raters, pair_sd, rater_sd, sets=2000)
    print(f"| {raters} | {pair_sd} | {rater_sd} | {robust:.3f} | {naive:.3f} |")
    assert 0.93 <= robust <= 0.97
    if raters == 60 and rater_sd:
        assert naive < 0.4
