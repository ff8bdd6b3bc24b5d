"""The SD over seeds with its interval, and ranges of seeds with their exact level."""

import numpy as np
import pytest
from scipy.stats import binom

from seedvote.analysis.stats.spread import range_level, sd_ratio, seed_range, seed_spread, unseen_collapse


def test_three_seeds_give_an_interval_from_half_to_six_times_the_sd():
    found = seed_spread([1.0, 2.0, 3.0])
    assert found.sd == 1.0
    assert (found.low, found.high) == pytest.approx((0.5207, 6.2847), abs=1e-4)
    assert found.few


def test_one_seed_gives_no_spread_rather_than_none_at_all():
    assert np.isnan(seed_spread([4.0]).sd)


def test_the_interval_covers_the_true_sd_as_often_as_it_says():
    random = np.random.default_rng(0)
    samples = random.normal(0, 2.0, (4000, 5))
    covered = [found.low <= 2.0 <= found.high for found in map(seed_spread, samples)]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.012)


@pytest.mark.parametrize("seeds", [(4, 9), (9, 4)])
def test_ratio_of_sds_misses_equally_on_both_sides(seeds):
    random = np.random.default_rng(1)
    found = [
        sd_ratio(seed_spread(random.normal(0, 3.0, seeds[0])), seed_spread(random.normal(0, 1.0, seeds[1])), level=0.6)
        for _ in range(2500)
    ]
    assert np.mean([ratio.low > 3 for ratio in found]) == pytest.approx(0.2, abs=0.02)
    assert np.mean([ratio.high < 3 for ratio in found]) == pytest.approx(0.2, abs=0.02)


def test_a_ratio_turned_round_is_one_over_it_and_one_seed_has_none():
    one, other = seed_spread([1.0, 2.0, 4.0]), seed_spread([1.0, 1.5, 1.0, 2.0])
    there, back = sd_ratio(one, other), sd_ratio(other, one)
    assert there.value == pytest.approx(np.std(one.values, ddof=1) / np.std(other.values, ddof=1))
    assert (1 / back.value, 1 / back.high, 1 / back.low) == pytest.approx((there.value, there.low, there.high))
    assert sd_ratio(one, seed_spread([1.0])) is None and sd_ratio(one, seed_spread([2.0, 2.0])) is None


@pytest.mark.parametrize(("seeds", "level"), [(2, 0.5), (3, 0.75), (4, 0.875), (5, 0.9375)])
def test_few_seeds_have_their_whole_range_with_its_own_level(seeds, level):
    values = np.random.default_rng(seeds).permutation(seeds).astype(float)
    spread = seed_range(values.tolist())
    assert (spread.low, spread.high, spread.level, spread.seeds) == (0, seeds - 1, level, seeds)


@pytest.mark.parametrize(("seeds", "left_out"), [(6, 0), (8, 0), (9, 1), (12, 2), (20, 5)])
def test_more_seeds_leave_out_as_many_as_the_level_allows(seeds, left_out):
    """The ranks of the confidence interval of a median in Conover's Table A3."""
    spread = seed_range(list(range(seeds)))
    assert (spread.low, spread.high) == (left_out, seeds - 1 - left_out)
    assert spread.level == pytest.approx(1 - 2 * binom.cdf(left_out, seeds, 0.5)) and spread.level >= 0.95
    assert range_level(seeds, left_out + 1) < 0.95


def test_one_seed_has_no_range_and_29_seeds_show_a_collapse_of_one_in_ten():
    assert seed_range([1.0]) is None
    assert unseen_collapse(28) > 0.1 >= round(unseen_collapse(29), 3) - 0.002
