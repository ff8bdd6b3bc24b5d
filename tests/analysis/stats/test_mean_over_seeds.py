"""A mean over seeds: its formula by hand, its edges, and what share of its intervals hold the truth."""

import numpy as np
import pytest
from scipy.special import stdtrit

from analysis.stats.intervals import mean_interval
from analysis.stats.mean_over_seeds import mean_over_seeds, replicates_by_dialogue


def from_scores(scores):
    """From scores (seeds, dialogues)."""
    values = scores.mean(1)
    return replicates_by_dialogue(values, (scores - values[:, None]) / scores.shape[1])


def test_one_seed_is_the_t_interval_over_dialogues():
    scores = np.random.default_rng(0).normal(3, 1, (1, 30))
    found = mean_over_seeds(from_scores(scores))
    plain = mean_interval(scores[0], by={})
    assert (found.value, found.se, found.seeds) == (pytest.approx(plain.value), pytest.approx(plain.se), 1)
    assert (found.low, found.high) == (pytest.approx(plain.low), pytest.approx(plain.high))


def test_seeds_that_differ_widen_it_and_seeds_that_do_not_leave_it():
    noise = np.random.default_rng(1).normal(0, 1, 50)
    alike = mean_over_seeds(from_scores(np.stack([noise, noise, noise])))
    apart = mean_over_seeds(from_scores(np.stack([noise - 2, noise, noise + 2])))
    assert alike.se == pytest.approx(mean_over_seeds(from_scores(noise[None])).se)
    expected = alike.se**2 + 4 / 3  # the seeds' variance is 4, and their dialogues' noise is shared
    assert apart.se == pytest.approx(expected**0.5)
    assert apart.high - apart.value == pytest.approx(float(stdtrit(apart.freedom, 0.975)) * apart.se)
    assert 2 <= apart.freedom < alike.freedom == pytest.approx(49)
    halves = stdtrit(49, 0.975) ** 2 * alike.se**2 + stdtrit(2, 0.975) ** 2 * 4 / 3
    assert apart.high - apart.value == pytest.approx(halves**0.5)


def test_nothing_moved_is_exactly_nothing_and_one_dialogue_tells_no_error():
    found = mean_over_seeds(replicates_by_dialogue(np.zeros(3), np.zeros((3, 5))))
    assert (found.value, found.se, found.low, found.high, found.p) == (0, 0, 0, 0, 1)
    sure = mean_over_seeds(replicates_by_dialogue(np.ones(2), np.zeros((2, 5))))
    assert (sure.low, sure.high, sure.p) == (1, 1, 0)
    assert np.isnan(mean_over_seeds(replicates_by_dialogue(np.ones(2), np.zeros((2, 1)))).se)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [3, 5, 10])
@pytest.mark.parametrize("between", [0.0, 1.0, 3.0])
def test_intervals_of_drops_hold_the_truth(seeds, between):
    """SD between seeds in units of the standard error by 60 dialogues."""
    generator = np.random.default_rng(seeds)
    held = []
    for _ in range(2000):
        shared = generator.normal(0, 0.8, 60)
        scores = 2 + shared + generator.normal(0, 0.6, (seeds, 60))
        scores += generator.normal(0, between / 60**0.5, (seeds, 1))
        found = mean_over_seeds(from_scores(scores))
        held.append(found.low <= 2 <= found.high)
    print(f"seeds {seeds}, between {between:g}: {np.mean(held):.3f}")
    assert 0.935 <= np.mean(held) <= 0.98
