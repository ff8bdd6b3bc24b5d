"""Prediction-powered estimates: equal to the published formulas without clusters, and honest with them."""

from dataclasses import replace

import numpy as np
import pytest

from seedvote.analysis.stats.intervals import mean_interval
from seedvote.analysis.stats.net_preference import net_interval
from seedvote.analysis.stats.powered import (
    Sample,
    as_if_independent,
    correct_share,
    estimate_by_strata,
    estimate_from_people,
    estimate_weighted,
    estimate_with_predictor,
    joined_strata,
    plus_plus,
    tune_weight,
    tuned_by_fold,
)
from tests.analysis.judge_crowd import study, truth


@pytest.fixture(scope="module")
def sample():
    return study(np.random.default_rng(3), pairs=80, raters=20, agreement=0.7, others=300)


def alone(y, f, other):
    """Every vote its own pair, nobody named: what tools without clusters take all data for."""
    places = np.arange(len(y))
    return Sample(y, f, {"pair": places}, places, places, other, len(y) + np.arange(len(other)))


@pytest.mark.parametrize("tie", [False, True])
def test_a_weight_of_zero_is_people_alone_to_the_last_digit(tie):
    sample = study(np.random.default_rng(3), pairs=80, raters=20, agreement=0.7, others=300, tie=tie)
    by_hand = mean_interval(sample.y, by=sample.by, share=True) if tie else net_interval(sample.y, by=sample.by)
    assert estimate_with_predictor(sample, 0.0, tie).interval == by_hand == estimate_from_people(sample, tie)
    assert estimate_with_predictor(sample, 0.0, tie).gain == 1


def test_no_pairs_without_votes_leave_people_alone(sample):
    bare = replace(sample, other=sample.other[:0], other_wide=sample.other_wide[:0])
    for found in (estimate_with_predictor(bare, 1.0), plus_plus(bare, np.random.default_rng(0))):
        assert found.interval == estimate_from_people(bare)
    assert estimate_by_strata(bare, bare.pair * 0, bare.other_wide).interval == estimate_from_people(bare)


def formula(y, f, other, weight):
    """Angelopoulos, Duchi and Zrnic (2023), written out: point and error for independent labels."""
    se = np.sqrt(np.var(y - weight * f) / len(y) + weight**2 * np.var(other) / len(other))
    return np.mean(y - weight * f) + weight * np.mean(other), se


@pytest.mark.parametrize("weight", [0.3, 1.0, None])
def test_without_clusters_it_is_the_published_estimate(weight):
    generator = np.random.default_rng(0)
    f, other = generator.normal(size=120), generator.normal(size=900)
    y = 0.6 * f + generator.normal(size=120)
    found = as_if_independent(y, f, other, weight=weight)
    value, se = formula(y, f, other, found.weight)
    assert found.value == pytest.approx(value, abs=1e-12)
    assert (found.high - found.low) / 2 == pytest.approx(1.959963984540054 * se, abs=1e-12)
    ours = estimate_with_predictor(alone(y, f, other), found.weight)
    assert ours.interval.value == pytest.approx(value, abs=1e-12)
    by_parts = np.var(y - found.weight * f, ddof=1) / 120 + found.weight**2 * np.var(other, ddof=1) / 900
    assert ours.interval.se == pytest.approx(np.sqrt(by_parts), abs=1e-12)  # the jackknife divides by n - 1


def test_it_equals_ppi_py():
    package = pytest.importorskip("ppi_py", reason="ppi-python is not installed; the formula is held above")
    generator = np.random.default_rng(1)
    for _ in range(5):
        f, other = generator.normal(size=150), generator.normal(size=700)
        y = 0.5 * f + generator.normal(size=150)
        found = as_if_independent(y, f, other)
        assert found.value == pytest.approx(package.ppi_mean_pointestimate(y, f, other).item(), abs=1e-9)
        low, high = (end.item() for end in package.ppi_mean_ci(y, f, other, alpha=0.05))
        assert (found.low, found.high) == pytest.approx((low, high), abs=1e-9)


def test_the_tuned_weight_makes_the_error_smallest(sample):
    best = tune_weight(sample)
    errors = [estimate_with_predictor(sample, best + step).interval.se for step in (-0.15, 0.0, 0.15)]
    assert errors[1] < errors[0]
    assert errors[1] < errors[2]


def test_a_constant_has_no_weight_and_a_gain_of_one(sample):
    constant = replace(sample, f=np.ones(len(sample.f)), other=np.ones(len(sample.other)))
    assert tune_weight(constant) == 0
    assert plus_plus(constant, np.random.default_rng(0)).gain == 1
    assert plus_plus(constant, np.random.default_rng(0)).interval == estimate_from_people(constant)


def test_shifting_or_turning_the_predictor_changes_nothing_but_the_weight(sample):
    plain = estimate_with_predictor(sample, tune_weight(sample)).interval
    other = replace(sample, f=5 - 3 * sample.f, other=5 - 3 * sample.other)
    turned = estimate_with_predictor(other, tune_weight(other))
    assert (turned.interval.value, turned.interval.se) == pytest.approx((plain.value, plain.se), abs=1e-10)
    assert turned.weight == pytest.approx(-tune_weight(sample) / 3)


def test_weights_of_folds_never_use_their_own_votes(sample):
    each = tuned_by_fold(sample, np.random.default_rng(0))
    assert len(np.unique(each)) == 5
    for one in np.unique(sample.wide):
        assert len(np.unique(each[sample.wide == one])) == 1
    spoiled = sample.y.copy()
    inside = each == each[0]
    spoiled[inside] = 99.0
    again = tuned_by_fold(replace(sample, y=spoiled), np.random.default_rng(0))
    assert again[0] == each[0]


def test_a_dialogue_with_pairs_of_both_sorts_counts_in_both(sample):
    """The same numbers with every pair in a dialogue of its own have another error."""
    apart = replace(sample, other_wide=sample.wide.max() + 1 + np.arange(len(sample.other)))
    assert estimate_with_predictor(sample, 0.5).interval.se != estimate_with_predictor(apart, 0.5).interval.se


def test_strata_of_one_kind_are_the_tuned_estimate(sample):
    one = estimate_by_strata(sample, np.zeros(len(sample.y), int), np.zeros(len(sample.other), int))
    plain = estimate_with_predictor(sample, tune_weight(sample))
    assert one.interval.value == pytest.approx(plain.interval.value)
    assert one.interval.se == pytest.approx(plain.interval.se)


def test_small_strata_are_joined_until_none_is_small():
    stratum, pair = np.array([0, 0, 1, 2, 2, 2, 2, 2, 2]), np.arange(9)
    own, others, joined = joined_strata(stratum, pair, np.array([0, 1, 2, 3]))
    assert joined
    assert set(others) <= set(own)
    assert min(np.unique(own, return_counts=True)[1]) >= 5 or len(set(own)) == 1


def test_equal_chances_are_the_estimate_over_all_pairs(sample):
    found = estimate_weighted(sample, np.full(len(sample.y), 0.2), 0.4)
    again = estimate_weighted(sample, np.full(len(sample.y), 0.9), 0.4)
    assert (found.interval.value, found.interval.se) == pytest.approx((again.interval.value, again.interval.se))
    _, first = np.unique(sample.pair, return_index=True)
    every = np.concatenate([sample.f[first], sample.other])
    assert found.interval.value == pytest.approx(np.mean(sample.y - 0.4 * sample.f) + 0.4 * every.mean())


def test_chosen_pairs_are_weighted_by_their_chances():
    """Votes on ties of the judge above all: alone they are wrong, by chances they are right."""
    generator, plain, put_right = np.random.default_rng(5), [], []
    want = truth().tie
    for _ in range(40):
        whole = study(generator, pairs=600, raters=80, agreement=0.9, others=2, tie=True)
        chance = np.where(whole.f > 0.2, 0.6, 0.1)
        first = np.unique(whole.pair, return_index=True)[1]
        asked = generator.random(600) < chance[first]
        inside = asked[whole.pair]
        sample = Sample(
            whole.y[inside], whole.f[inside], {name: codes[inside] for name, codes in whole.by.items()},
            np.unique(whole.pair[inside], return_inverse=True)[1], whole.wide[inside],
            whole.f[first][~asked], whole.wide[first][~asked],
        )  # fmt: skip
        plain.append(estimate_from_people(sample).value)
        put_right.append(estimate_weighted(sample, chance[inside], tune_weight(sample)).interval.value)
    assert np.mean(plain) - want > 0.015
    assert abs(np.mean(put_right) - want) < 0.01


GRID = [(n, raters, agreement) for n in (20, 60, 200) for raters in (12, 30, 60) for agreement in (0.0, 0.4, 0.7)]


@pytest.mark.slow
@pytest.mark.parametrize("tie", [False, True])
@pytest.mark.parametrize(("pairs", "raters", "agreement"), GRID)
def test_the_interval_holds_the_truth(pairs, raters, agreement, tie):
    """1,000 studies leave an error of .007."""
    generator, inside = np.random.default_rng(1), 0
    want = truth().tie if tie else truth().net
    for _ in range(1000):
        sample = study(generator, pairs=pairs, raters=raters, agreement=agreement, others=5 * pairs, tie=tie)
        found = plus_plus(sample, generator, tie).interval
        inside += found.low <= want <= found.high
    assert 0.93 <= inside / 1000 <= 0.97


def yes_or_no(generator, *, pairs=4000, others=8000, share=0.3, hit=0.8, alarm=0.1):
    """Votes of one a pair that say yes in `share`, and a judge with this sensitivity and one less this specificity."""
    truth = generator.random(pairs + others) < share
    says = np.where(truth, generator.random(pairs + others) < hit, generator.random(pairs + others) < alarm)
    pair, f = np.arange(pairs), says.astype(float)
    return Sample(truth[:pairs].astype(float), f[:pairs], {}, pair, pair, f[pairs:], np.arange(pairs, pairs + others))


def test_a_share_is_corrected_by_sensitivity_and_specificity_as_published():
    sample = yes_or_no(np.random.default_rng(0))
    found = correct_share(sample)
    naive, hit, alarm = (float(part) for part in (np.concatenate([sample.f, sample.other]).mean(),
                         sample.f[sample.y == 1].mean(), sample.f[sample.y == 0].mean()))  # fmt: skip
    assert (found.naive, found.sensitivity, found.specificity) == pytest.approx((naive, hit, 1 - alarm))
    assert found.corrected.value == pytest.approx((naive - alarm) / (hit - alarm))
    assert naive > 0.3 and found.corrected.low < 0.3 < found.corrected.high


def test_its_error_is_that_of_many_studies():
    found = [correct_share(yes_or_no(np.random.default_rng(seed), pairs=400, others=800)) for seed in range(120)]
    values = [one.corrected.value for one in found]
    assert np.mean([one.corrected.se for one in found]) == pytest.approx(np.std(values, ddof=1), rel=0.2)
    assert np.mean([one.corrected.low <= 0.3 <= one.corrected.high for one in found]) >= 0.9


def test_a_judge_that_says_yes_at_random_corrects_nothing():
    coin = correct_share(yes_or_no(np.random.default_rng(1), pairs=200, hit=0.4, alarm=0.4))
    assert coin.corrected is None and coin.naive == pytest.approx(0.4, abs=0.05)
    assert correct_share(yes_or_no(np.random.default_rng(1), pairs=50, share=0.0)) is None
