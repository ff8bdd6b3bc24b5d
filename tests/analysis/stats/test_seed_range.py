"""Ranges of seeds: their exact level, and which seeds they leave out."""

import numpy as np
import pytest
from scipy.stats import binom

from seedvote.analysis.stats.spread import range_level, seed_range, unseen_collapse


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
