"""TOST: its interval, unanimous votes, and its error rate at the margin."""

import numpy as np
import pytest
from scipy.stats import binom
from statsmodels.stats.weightstats import DescrStatsW

from seedvote.analysis.stats.net_preference import net_estimate, smallest_claim, tost
from seedvote.dialogue.errors import InputError


def net_of(*counts):
    """The estimate of independent votes: so many for the first, for the second, and ties."""
    return net_estimate(np.repeat([1.0, -1.0, 0.0], counts), by={})


def test_with_many_votes_and_few_ties_the_p_value_is_that_of_statsmodels():
    values = np.repeat([1.0, -1.0, 0.0], (21_000, 20_000, 20_000))
    theirs = DescrStatsW(values).ttost_mean(-0.022, 0.022)[0]
    assert tost(net_estimate(values, by={}), 0.022).p == pytest.approx(theirs, rel=0.03)


@pytest.mark.parametrize("counts", [(40, 60, 100), (50, 50, 100), (55, 45, 100), (3, 0, 300), (0, 9, 80)])
@pytest.mark.parametrize("margin", [0.02, 0.15, 0.3])
def test_equivalence_is_a_90_percent_interval_within_margin(counts, margin):
    net = net_of(*counts)
    answer = tost(net, margin)
    assert answer.equivalent == (answer.low > -margin and answer.high < margin)
    assert (answer.low, answer.high) == net.limits(0.05)


def test_equivalence_refuses_an_empty_margin():
    assert 0.5 < tost(net_of(60, 40, 20), 0.1).p < 1
    assert tost(net_of(100, 0, 0), 0.1).p == 1.0
    with pytest.raises(InputError, match="margin must be above 0"):
        tost(net_of(1, 1, 1), 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("decisive", [0.95, 0.4, 0.06])
def test_equivalence_errs_in_5_percent_at_the_margin(decisive):
    generator = np.random.default_rng(1)
    first = 0.75 * decisive
    drawn = generator.multinomial(500, [first, decisive - first, 1 - decisive], size=2_000)
    claims = [tost(net_of(*counts), 2 * first - decisive).equivalent for counts in drawn]
    assert np.mean(claims) < 0.062


@pytest.mark.parametrize("choice", [-1.0, 0.0, 1.0])
@pytest.mark.parametrize("clusters", [2, 28, 29, 300])
def test_unanimous_votes_claim_what_clusters_allow(choice, clusters):
    net = net_estimate(np.full(2 * clusters, choice), by={"rater": np.arange(2 * clusters) % clusters})
    answer = tost(net, 0.1)
    assert -1 <= answer.low <= choice <= answer.high <= 1
    assert answer.equivalent == (choice == 0 and answer.low > -0.1 and answer.high < 0.1)
    if choice == 0:  # so often none is seen of a share that would put the mean at the margin
        assert answer.p == pytest.approx(binom.pmf(0, clusters, 0.1))


@pytest.mark.parametrize("counts", [(40, 60, 100), (3, 0, 300), (0, 0, 80)])
def test_the_smallest_claim_is_where_the_claim_begins(counts):
    net = net_of(*counts)
    margin = smallest_claim(net)
    assert tost(net, margin * 1.0001).equivalent
    assert not tost(net, margin * 0.9999).equivalent
