"""The interval of a net preference: against the mean's t interval, Newcombe's method, its own p, and a slow twin."""

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import t

from seedvote.analysis.stats.intervals import cross_codes, error_of_mean, kish, mean_interval
from seedvote.analysis.stats.net_preference import gap_of, net_estimate, net_interval
from tests.analysis.worlds import Crowd


def study(seed, **crowd):
    made = Crowd(**{"dialogues": 60, "raters": 12, **crowd}).study(np.random.default_rng(seed))
    return made["score"], {"pair": made["pair"], "rater": made["rater"]}


def test_with_few_ties_and_many_votes_it_is_the_t_interval_of_the_mean():
    values, by = study(0, dialogues=3000, raters=300, threshold=0.3)
    net, mean = net_interval(values, by=by), mean_interval(values, by=by)
    assert (net.low, net.high) == pytest.approx((mean.low, mean.high), abs=0.001)
    assert (net.value, net.se, net.n, net.unit) == (mean.value, mean.se, mean.n, mean.unit)


def test_limits_combine_squared_distances_with_correlation():
    """Zou and Donner 2008, written out for one study, with the variance half way to a limit."""
    values, by = study(3)
    first, second = (values > 0).astype(float), (values < 0).astype(float)
    errors = [error_of_mean(share, by=by)[0] for share in (first, second)]
    se = error_of_mean(values, by=by)[0]
    net = net_estimate(values, by=by)
    reach = t.ppf(0.975, net.df)
    (low, high), (below, above) = (
        expit(logit(share.mean()) + np.array([-1, 1]) * reach * error / (share.mean() * (1 - share.mean())))
        for share, error in zip((first, second), errors, strict=True)
    )
    shared = (errors[0] ** 2 + errors[1] ** 2 - se**2) / 2 / errors[0] / errors[1]
    down, up = first.mean() - low, above - second.mean()
    distance = np.sqrt(down**2 + up**2 - 2 * shared * down * up)
    assert values.mean() - net.limits(0.025)[0] == pytest.approx(gap_of(distance, net.size_slope))
    down, up = high - first.mean(), second.mean() - below
    distance = np.sqrt(down**2 + up**2 - 2 * shared * down * up)
    assert net.limits(0.025)[1] - values.mean() == pytest.approx(gap_of(distance, -net.size_slope))


def test_net_variance_grows_as_the_formula_says():
    values, by = study(3, work="pareto")
    rater = by["rater"]
    net = net_estimate(values, by={"rater": rater})
    sizes, sums = np.bincount(rater), np.bincount(rater, values)
    gap = 0.13

    def variance(null):
        return (1 - 1 / len(sizes)) * (((sums - sizes * null) / (len(values) - sizes)) ** 2).sum()

    alone = (1 - 1 / len(sizes)) * ((sizes * gap / (len(values) - sizes)) ** 2).sum()
    expected = net.se**2 * (1 + 2 * gap * net.size_slope)  # the score test's, at the whole gap
    assert variance(net.value - gap) - alone == pytest.approx(expected)
    even = net_estimate(values[:480], by={"rater": np.arange(len(values[:480])) % 12})
    assert abs(even.size_slope) < 1e-9


@pytest.mark.parametrize("slope", [-3.0, 0.0, 0.5, 40.0])
def test_a_distance_by_the_variance_about_the_limit_has_its_inverse(slope):
    distance = np.array([1e-6, 0.01, 0.3, 2.0])
    gap = gap_of(distance, slope)
    assert gap_of(gap, -slope) == pytest.approx(distance)
    assert (np.diff(gap) > 0).all()
    if slope >= 0:
        assert gap**2 == pytest.approx(distance**2 * (1 + slope * gap))


def test_net_degrees_of_freedom_are_satterthwaites():
    values, by = study(5)
    decisive = values != 0
    freedom = np.array([min(kish(codes[decisive]), kish(codes)) - 1 for codes in by.values()])
    ways = np.array([error_of_mean(values, by={"x": codes})[0] ** 2 for codes in by.values()])
    net = net_estimate(values, by=by)
    assert net.df == pytest.approx(max(net.se**4 / (ways**2 / freedom).sum(), freedom.min()))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("threshold", [0.1, 1.0, 4.0])
def test_p_is_below_a_level_exactly_where_its_interval_leaves_out_zero(seed, threshold):
    values, by = study(seed, threshold=threshold, centre=0.8)
    net = net_estimate(values, by=by)
    low, high = net.limits(net.p / 2)
    assert min(abs(low), abs(high)) < 1e-6
    (low, high), (more, less) = net.limits(net.p / 1.9), net.limits(net.p / 2.1)
    assert low * high > 0 > more * less


def test_the_other_system_first_is_the_same_estimate_from_the_other_side():
    values, by = study(1, threshold=2.0, centre=1.0)
    one, other = net_estimate(values, by=by), net_estimate(-values, by=by)
    assert one.p == pytest.approx(other.p) and one.df == pytest.approx(other.df)
    low, high = one.limits(0.025)
    assert other.limits(0.025) == pytest.approx((-high, -low))


def test_unchosen_system_has_a_limit_by_votes():
    """Eight raters who gave thirty votes to one system and none to the other, the rest ties, do prefer it."""
    values, rater = np.zeros(600), np.arange(600) % 8
    values[:30] = 1
    net = net_estimate(np.random.default_rng(0).permutation(values), by={"rater": rater})
    low, high = net.limits(0.025)
    assert 0 < low < 0.05 < high < 0.12 and net.p < 0.01


def test_weights_count_votes_as_copies_would_count_but_for_what_is_known():
    values, by = study(2)
    once, twice = np.ones(len(values)), np.full(len(values), 2.0)
    assert net_estimate(values, by=by, weights=once) == net_estimate(values, by=by)
    assert net_estimate(values, by=by, weights=twice).limits(0.025) == pytest.approx(
        net_estimate(values, by=by).limits(0.025)
    )


def test_equal_raters_give_the_mean_of_rater_means():
    values, by = study(4, work="pareto", raters=20)
    rater = by["rater"]
    weights = 1 / np.bincount(rater)[rater]
    net = net_estimate(values, by={"rater": rater}, weights=weights)
    means = np.array([values[rater == one].mean() for one in np.unique(rater)])
    assert net.value == pytest.approx(means.mean())
    assert net.se == pytest.approx(means.std(ddof=1) / np.sqrt(len(means)))


def test_three_raters_who_agree_leave_the_degrees_of_freedom_to_the_pairs():
    generator = np.random.default_rng(0)
    pair, rater = np.repeat(np.arange(200), 3), np.tile(np.arange(3), 200)
    said = generator.choice([1.0, 0.0, -1.0], 200, p=[0.45, 0.2, 0.35])[pair]
    noise = np.where(generator.random(600) < 0.05, generator.choice([1.0, 0.0, -1.0], 600), said)
    assert net_estimate(noise, by={"pair": pair, "rater": rater}).df > 50
    leaning = np.where(generator.random(600) < 0.6, np.array([1.0, 0.0, -1.0])[rater], said)
    assert net_estimate(leaning, by={"pair": pair, "rater": rater}).df < 3
    assert len(np.unique(cross_codes([pair, rater]))) == 600
