"""The difference of two groups beside Welch's, whose formula it generalises."""

import numpy as np
import pytest
from scipy import stats

from seedvote.analysis.stats.disparity import compare_groups


@pytest.mark.parametrize("gap", [0.0, 0.4])
def test_of_items_with_one_vote_each_it_is_welchs_difference_of_means(gap):
    rng = np.random.default_rng(3)
    one, other = rng.normal(gap, 1.0, 80), rng.normal(0.0, 2.0, 300)
    values, inside = np.concatenate([one, other]), np.arange(380) < 80
    found = compare_groups(values, inside, {"item": np.arange(380)})
    welch = stats.ttest_ind(one, other, equal_var=False)
    reach = stats.t.ppf(0.975, 79) * np.sqrt(one.var(ddof=1) / 80 + other.var(ddof=1) / 300)
    assert found.value == pytest.approx(one.mean() - other.mean())
    assert (found.low, found.high) == pytest.approx((found.value - reach, found.value + reach), abs=0.02 * reach)
    assert found.p == pytest.approx(2 * stats.t.sf(abs(welch.statistic), 79), rel=0.1)
    assert (found.p < 0.05) == (found.low > 0 or found.high < 0)


def test_seen_from_the_other_side_it_is_the_same_difference():
    rng = np.random.default_rng(4)
    values, inside = rng.normal(size=60), np.arange(60) % 3 == 0
    by = {"item": np.arange(60) // 2, "rater": np.arange(60) % 6}
    assert compare_groups(values, inside, by).mirrors(compare_groups(values, ~inside, by))
