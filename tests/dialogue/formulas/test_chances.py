"""The binomial tail against SciPy's."""

import numpy as np
import pytest
from scipy import stats

from seedvote.dialogue.formulas.chances import binomial_tail


@pytest.mark.parametrize("number, of, p", [(0, 5, 0.03), (3, 7, 0.03), (7, 7, 0.5), (40, 60, 0.3), (900, 2000, 0.4)])
def test_the_chance_of_so_many_successes_is_the_binomial_tail(number, of, p):
    assert binomial_tail(number, of, p) == pytest.approx(stats.binom.sf(number - 1, of, p), rel=1e-9)


def test_a_chance_of_nothing_or_of_certainty_is_no_logarithm():
    assert [binomial_tail(number, 3, p) for number, p in ((0, 0.0), (1, 0.0), (3, 1.0))] == [1.0, 0.0, 1.0]


def test_random_tails():
    rng = np.random.default_rng(0)
    for _ in range(20):
        k, n, p = int(rng.integers(0, 30)), int(rng.integers(30, 50)), float(rng.uniform(0.05, 0.95))
        assert binomial_tail(k, n, p) == pytest.approx(stats.binom.sf(k - 1, n, p))
