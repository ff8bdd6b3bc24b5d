"""TOST against statsmodels, its interval, and its error rate at the margin."""

import numpy as np
import pytest
from scipy.stats import binom, norm
from statsmodels.stats.weightstats import DescrStatsW

from analysis.stats.equivalence import smallest_claim, tost
from dialogue.errors import InputError


def test_the_p_value_is_that_of_statsmodels():
    values = np.random.default_rng(0).normal(0.05, 1, 80)
    se = values.std(ddof=1) / np.sqrt(80)
    theirs = DescrStatsW(values).ttost_mean(-0.3, 0.3)[0]
    assert tost(values.mean(), se, 0.3, freedom=79).p == pytest.approx(theirs)


@pytest.mark.parametrize("estimate", [-0.2, 0.0, 0.05, 0.12])
def test_equivalent_means_that_the_ninety_percent_interval_lies_within_the_margin(estimate):
    found = tost(estimate, 0.04, 0.15)
    assert found.equivalent == (found.low > -0.15 and found.high < 0.15)
    assert found.high - found.low == pytest.approx(2 * norm.ppf(0.95) * 0.04)


def test_no_spread_at_all_and_a_margin_of_nothing():
    assert tost(0.0, 0.0, 0.1).p == 0.0  # endless degrees of freedom
    assert tost(0.2, 0.0, 0.1, freedom=50).p == 1.0
    with pytest.raises(InputError, match="margin must be above 0"):
        tost(0.0, 0.1, 0.0)


def test_at_the_margin_itself_the_claim_is_made_in_five_percent_of_studies():
    generator = np.random.default_rng(1)
    made = [tost(0.15 + 0.04 * z, 0.04, 0.15).equivalent for z in generator.normal(size=5_000)]
    assert np.mean(made) == pytest.approx(0.05, abs=0.01)


@pytest.mark.parametrize("value", [-1.0, -0.4, 0.0, 0.05, 1.0])
@pytest.mark.parametrize("clusters", [2, 28, 29, 300])
def test_clusters_that_all_say_the_same_claim_no_more_than_their_number_allows(value, clusters):
    found = tost(value, 0.0, 0.1, freedom=clusters - 1)
    assert -1 <= found.low <= value <= found.high <= 1
    assert found.equivalent == (abs(value) < 0.1 and found.low > -0.1 and found.high < 0.1)
    if abs(value) < 0.1:  # so often none is seen of a share that would put the mean at the margin
        share = (0.1 - abs(value)) / (1 - abs(value))
        assert found.p == pytest.approx(binom.pmf(0, clusters, share))


@pytest.mark.parametrize("estimate", [-0.4, 0.0, 0.05])
@pytest.mark.parametrize(("se", "freedom"), [(0.04, np.inf), (0.1, 12.0), (0.0, 40.0)])
def test_the_smallest_claim_is_where_the_claim_begins(estimate, se, freedom):
    margin = smallest_claim(estimate, se, freedom=freedom)
    assert tost(estimate, se, margin * 1.0001, freedom=freedom).equivalent
    assert not tost(estimate, se, margin * 0.9999, freedom=freedom).equivalent
