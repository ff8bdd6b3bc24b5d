"""Kendall's tau of systems: by hand, on unbalanced meetings, and where there is nothing to compare."""

import numpy as np
import pytest

from seedvote.analysis.stats.paired.order_agreement import order_agreement


def met(strengths, others, pairs):
    first, second = np.array(pairs).T
    return order_agreement(
        first, second, *(np.array(one)[first] - np.array(one)[second] for one in (strengths, others))
    )


ROUND = [(0, 1), (1, 2), (2, 3), (3, 0)]


def test_the_same_order_the_opposite_one_and_one_exchange():
    assert met([1.0, 2, 3, 4], [5.0, 6, 9, 11], ROUND).tau == pytest.approx(1)
    opposite = met([1.0, 2, 3, 4], [4.0, 3, 2, 1], ROUND)
    assert (opposite.tau, opposite.alike, opposite.compared) == (pytest.approx(-1), 0, 6)
    one = met([1.0, 2, 3, 4], [2.0, 1, 3, 4], ROUND)
    assert (one.tau, one.alike, one.compared) == (pytest.approx(4 / 6), 5, 6)


def test_levels_count_as_in_scipys_tau():
    from scipy.stats import kendalltau

    one, other = [1.0, 1, 2, 3, 4, 4], [2.0, 1, 1, 4, 4, 3]
    every = [(n, m) for n in range(6) for m in range(n)]
    assert met(one, other, every).tau == pytest.approx(kendalltau(one, other).statistic)


def test_who_met_whom_does_not_matter():
    """The strongest one meets only the second strongest, and loses to nobody else's reputation."""
    chain = [(0, 1)] * 9 + [(1, 2), (2, 3), (3, 4)]
    assert met([5.0, 4, 3, 2, 1], [9.0, 8, 2, 1, 0], chain).tau == pytest.approx(1)


def test_fewer_than_four_systems_and_no_difference_at_all():
    assert met([1.0, 2, 3], [1.0, 2, 3], [(0, 1), (1, 2)]) is None
    assert met([1.0, 2, 3, 4], [1.0, 1, 1, 1], ROUND) is None
