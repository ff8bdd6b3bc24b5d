"""Stopping at any time: Ville's bound in simulation, martingales by hand, known formulas."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from analysis.stats.intervals import mean_interval
from analysis.stats.sequential import betting, mixture, mixture_reach
from dialogue.errors import InputError


def ternary(generator, count, net=0.0, ties=0.35):
    return generator.choice([1.0, -1.0, 0.0], count, p=[(1 - ties + net) / 2, (1 - ties - net) / 2, ties])


def test_the_mixture_is_the_likelihood_ratio_averaged_over_a_normal_prior():
    estimate, se, scale = 0.11, 0.05, 0.16
    ratio = quad(
        lambda d: norm.pdf(estimate, d, se) / norm.pdf(estimate, 0, se) * norm.pdf(d, 0, scale), -2, 2, points=[0.1]
    )[0]
    assert mixture(estimate, se, scale=scale).e == pytest.approx(ratio)


def test_the_interval_holds_exactly_the_values_that_are_not_ruled_out():
    now = mixture(0.1, 0.05, scale=0.16)
    for edge in (now.low, now.high):
        assert mixture(0.1 - edge, 0.05, scale=0.16).e == pytest.approx(20)
    assert mixture_reach(1.0, 0.05) > norm.ppf(0.975)


def test_capital_is_a_martingale_under_a_fair_game():
    """One step from any history: the mean over the outcomes of the new e is the old e."""
    history = [1.0, 0.0, -1.0, 1.0, 1.0]
    for steps in range(1, 5):
        before = betting(np.array(history[:steps])).e[-1]
        after = [betting(np.array([*history[:steps], x])).e[-1] for x in (1.0, -1.0, 0.0)]
        assert 0.3 * after[0] + 0.3 * after[1] + 0.4 * after[2] == pytest.approx(before)


def test_peeking_after_every_observation_errs_in_at_most_five_percent_of_studies():
    generator = np.random.default_rng(0)
    paths = [betting(ternary(generator, 400), grid=41) for _ in range(300)]
    assert np.mean([path.stop is not None for path in paths]) <= 0.05
    assert np.mean([(path.low > 0).any() or (path.high < 0).any() for path in paths]) <= 0.05


def test_a_real_preference_is_found_and_the_interval_closes_on_it():
    path = betting(ternary(np.random.default_rng(1), 3000, net=0.2))
    assert path.stop is not None
    assert path.low[-1] < 0.2 < path.high[-1]
    assert path.high[-1] - path.low[-1] < 0.15
    assert path.low[0] == -1
    assert path.high[0] == 1


def test_betting_in_blocks_is_betting_at_once(monkeypatch):
    values = ternary(np.random.default_rng(3), 500, net=0.1)
    whole = betting(values)
    monkeypatch.setattr("analysis.stats.sequential.BETTING_BLOCK", 7)
    parts = betting(values)
    for name in ("e", "low", "high"):
        assert getattr(parts, name) == pytest.approx(getattr(whole, name))


def test_what_cannot_be_bet_on_is_refused():
    with pytest.raises(InputError, match="all between -1 and 1"):
        betting(np.array([0.0, 2.0]))
    with pytest.raises(InputError, match="without any spread"):
        mixture(0.0, 0.0, scale=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("net", [0.0, 0.1])
def test_the_betting_interval_covers_at_all_times(net):
    generator = np.random.default_rng(2)
    missed = 0
    for _ in range(2000):
        path = betting(ternary(generator, 1000, net=net), grid=201)
        missed += bool(((path.low > net) | (path.high < net)).any())
    print(net, missed / 2000)
    assert missed / 2000 <= 0.05


def looks_at_a_crowd(seed, *, clustered, votes=1200, rater_sd=0.35, pair_sd=0.3, every=40, first=120):
    """Whether any look at a growing study of 60 raters without any preference calls one."""
    generator = np.random.default_rng(seed)
    pair = np.repeat(np.arange(votes // 3), 3)
    rater = np.concatenate([generator.choice(60, 3, replace=False) for _ in range(votes // 3)])
    lean = generator.normal(0, rater_sd, 60)[rater] + generator.normal(0, pair_sd, votes // 3)[pair]
    u = generator.random(votes)
    score = np.where(u < 0.35, 0.0, np.where(u < 0.35 + 0.65 * np.clip(0.5 + lean / 1.3, 0, 1), 1.0, -1.0))
    for n in range(first, votes + 1, every):
        by = {"pair": pair[:n], "rater": rater[:n]} if clustered else {}
        now = mean_interval(score[:n], by=by)
        if mixture(now.value, now.se, scale=0.16).e >= 20:
            return True
    return False


@pytest.mark.slow
def test_peeking_at_a_crowd_errs_in_at_most_five_percent_of_studies_once_its_clusters_are_allowed_for():
    rates = [
        np.mean([looks_at_a_crowd(seed, clustered=clustered) for seed in range(1000)]) for clustered in (True, False)
    ]
    print(rates)
    assert rates[0] <= 0.05 + 0.015
    assert rates[1] > 0.05
