"""A mean over seeds: its formula by hand, its edges, and what share of its intervals hold the truth."""

import numpy as np
import pytest
from scipy.special import stdtrit

from seedvote.analysis.stats.intervals import mean_interval
from seedvote.analysis.stats.mean_over_seeds import mean_over_seeds, replicates_by_dialogue


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
    assert 0.935 <= np.mean(held) <= 0.99


def turns_that_fail(generator, seeds, sd, dialogues=50, reps=1):
    """Turns of each dialogue (reps, dialogues), and how many of them a perturbation turned from right to wrong.

    Right or wrong, dialogues of unlike length, and what a seed loses differs by this SD.
    """
    turns = generator.integers(4, 13, (reps, dialogues))
    right = generator.beta(4, 3, (reps, 1, dialogues)) + np.zeros((reps, seeds, dialogues))
    lost = 0.15 + sd * generator.normal(size=(reps, seeds, 1)) + 0.1 * generator.normal(size=(reps, 1, dialogues))
    told = np.clip(right - np.clip(lost, -0.4, 0.6), 0, 1)
    still = generator.binomial(turns[:, None, :], told)
    return turns, generator.binomial(turns[:, None, :] - still, np.clip((right - told) / (1 - told + 1e-12), 0, 1))


def by_hand(turns, lost):
    """Drop and half-width of every study, in the plainest arrays."""
    _, seeds, dialogues = lost.shape
    total = turns.sum(1)[:, None]
    drop = lost.sum(2) / total
    part = (lost - drop[:, :, None] * turns[:, None, :]) / total[:, :, None]
    both = np.einsum("rsd,rtd->rst", part, part) * dialogues / (dialogues - 1)
    alone = np.trace(both, axis1=1, axis2=2)
    shared = np.maximum(both.sum((1, 2)) - alone, 0) / (seeds * (seeds - 1))
    own = drop.var(1, ddof=1) / seeds
    wide = stdtrit(dialogues - 1, 0.975) ** 2 * shared + stdtrit(seeds - 1, 0.975) ** 2 * own
    return drop.mean(1), np.sqrt(np.maximum(wide, stdtrit(dialogues - 1, 0.975) ** 2 * both.mean((1, 2))))


def test_the_interval_is_that_by_hand():
    turns, lost = turns_that_fail(np.random.default_rng(0), 4, 0.05, reps=20)
    values, reaches = by_hand(turns, lost)
    for row, (value, reach) in enumerate(zip(values, reaches, strict=True)):
        drop = lost[row].sum(1) / turns[row].sum()
        part = (lost[row] - drop[:, None] * turns[row]) / turns[row].sum()
        found = mean_over_seeds(replicates_by_dialogue(drop, part))
        assert (found.value, found.high - found.value) == (pytest.approx(value), pytest.approx(reach))


@pytest.mark.slow
def test_drops_of_turns_that_are_right_or_wrong_are_held_too():
    """The formula by hand in another world: the SD of what seeds lose is 0, 3 or 10 points, their drop 14.8."""
    generator = np.random.default_rng(1)
    for sd in (0.0, 0.03, 0.1):
        turns, lost = turns_that_fail(generator, 40, sd, dialogues=400, reps=40)
        truth = lost.sum() / (40 * turns.sum())
        for seeds in (3, 5, 10):
            values, reaches = by_hand(*turns_that_fail(generator, seeds, sd, reps=4000))
            held = np.mean(np.abs(values - truth) <= reaches)
            print(f"seeds {seeds}, SD {100 * sd:g} points: {held:.3f}")
            assert 0.925 <= held <= 0.99
