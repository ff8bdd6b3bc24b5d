"""Systems over seeds: the levels of their error against slow twins, ranks, and what one seed does not tell."""

import numpy as np
import pytest
from scipy.stats import t

from seedvote.analysis.stats.seed_levels import ranks_over_seeds, seed_levels
from tests.analysis.claims.seeds import levels_of
from tests.analysis.worlds import Trainings


def test_dialogues_and_seeds_are_taken_apart_as_by_hand():
    scores = Trainings(systems=2, seeds=3, dialogues=20).study(np.random.default_rng(0))
    levels = levels_of(scores)
    assert levels.means == pytest.approx(scores.mean((1, 2)))
    assert levels.own == pytest.approx(scores.mean(2).var(1, ddof=1) / 3)
    pairs = [np.cov(scores[0, one], scores[0, other])[0, 1] for one in range(3) for other in range(one)]
    assert levels.shared[0, 0] == pytest.approx(np.mean(pairs) / 20)
    assert levels.trained[0, 1] == pytest.approx(np.cov(scores[0].mean(0), scores[1].mean(0))[0, 1] / 20)
    wide = t.ppf(0.975, 19) ** 2 * np.maximum(np.diag(levels.shared), 0) + t.ppf(0.975, 2) ** 2 * levels.own
    alone = t.ppf(0.975, 19) * np.sqrt(np.diag(levels.trained))
    assert levels.reach() == pytest.approx(np.maximum(np.sqrt(wide), alone))
    first, second = np.array([0]), np.array([1])
    p = levels.contrast_tail(first, second) + levels.contrast_tail(second, first)
    assert 1 <= p[0] <= 2 and levels.contrast_reach(first, second, p.min() / 2)[0] > 0


def test_seeds_that_happen_to_be_equal_are_no_surer_than_dialogues_alone():
    scores = Trainings(systems=2, seeds=2, dialogues=20).study(np.random.default_rng(5))
    scores -= scores.mean(2)[:, :, None] - np.array([3.0, 0.0])[:, None, None]
    levels, first, second = levels_of(scores), np.array([0]), np.array([1])
    assert levels.own.max() < 1e-20 and levels.reach() == pytest.approx(levels.reach_as_trained())
    assert levels.contrast_tail(first, second) == pytest.approx(t.sf(3 / levels.apart[0, 1], 19), rel=1e-6)


def test_nothing_is_subtracted_so_the_variance_of_the_mean_has_no_bias():
    """Where seeds differ by their noise on dialogues alone, both levels together are that noise."""
    world, generator = Trainings(systems=1, seeds=3, sd=0.0, sd_system=0.0), np.random.default_rng(1)
    levels = [levels_of(world.study(generator)) for _ in range(800)]
    estimates = [float(one.shared[0, 0] + one.own[0]) for one in levels]
    assert np.mean(estimates) == pytest.approx(np.var([one.means[0] for one in levels]), rel=0.15)


def test_an_unstable_system_widens_no_other():
    scores = Trainings(systems=3, seeds=3).study(np.random.default_rng(2))
    wild = scores.copy()
    wild[0] += np.array([-9.0, 0.0, 9.0])[:, None]
    assert levels_of(wild).reach()[1:] == pytest.approx(levels_of(scores).reach()[1:])
    assert levels_of(wild).reach()[0] > 3 * levels_of(scores).reach()[0]


def test_a_system_with_one_seed_is_above_and_below_none():
    scores = Trainings(systems=3, seeds=3, gaps=(0.0, 50.0, 100.0)).study(np.random.default_rng(3)).reshape(9, -1)
    means, kept = scores.mean(1), [0, 1, 2, 3, 6, 7, 8]
    parts = (scores - means[:, None]) / scores.shape[1]
    lone = seed_levels(means[kept], parts[kept], [np.arange(3), np.array([3]), np.arange(4, 7)])
    assert np.isnan(lone.reach()[1]) and np.isfinite(lone.reach()[[0, 2]]).all()
    best, worst = ranks_over_seeds(lone)
    assert (best.tolist(), worst.tolist()) == ([2, 1, 1], [3, 3, 2])


def test_ranks_are_holms_over_every_system_against_every_other():
    generator = np.random.default_rng(4)
    for _ in range(20):
        levels = levels_of(Trainings(systems=4, seeds=5, gaps=(0.0, 1.0, 2.0, 4.0)).study(generator))
        best, worst = ranks_over_seeds(levels)
        assert ((best >= 1) & (best <= worst) & (worst <= 4)).all()
        assert (best - 1).sum() == (4 - worst).sum()  # whoever is above one leaves that one below
    alone = levels_of(Trainings(systems=1, seeds=2).study(generator))
    assert [int(at[0]) for at in ranks_over_seeds(alone)] == [1, 1]
