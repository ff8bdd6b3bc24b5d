"""The numbers of a discrimination against plain twins, and its intervals where the truth is known."""

import numpy as np
import pytest

from seedvote.evaluators.detection.rates import (
    curve_with_band,
    mean_over_both,
    precision_recall,
    roc_curve,
    share_told,
    told_beyond,
    told_right,
)


@pytest.fixture
def chances():
    """Rounded, so that there are ties."""
    rng = np.random.default_rng(0)
    human = rng.random(400) < 0.5
    return human, np.round(np.clip(rng.normal(0.45 + 0.15 * human, 0.2, (3, 400)), 0, 1), 2)


def test_areas_equal_those_of_another_library(chances):
    from sklearn.metrics import average_precision_score, roc_auc_score

    human, found = chances
    labels, flat = np.tile(human, 3), found.ravel()
    dialogue = np.arange(400) // 4
    for rule, theirs in ((roc_curve, roc_auc_score), (precision_recall, average_precision_score)):
        curve = curve_with_band(rule, human, found, dialogue, seed=0, folds=1)
        assert curve.area.value == pytest.approx(theirs(labels, flat), abs=1e-12)
        assert curve.area.low < curve.area.value < curve.area.high
        assert (curve.low <= curve.y + 1e-12).all()
        assert (curve.y <= curve.high + 1e-12).all()


def test_one_seed_gives_the_clustered_variance_by_hand():
    values, dialogue = np.array([[1.0, 0, 1, 1, 0, 0]]), np.array([0, 0, 1, 1, 2, 2])
    mean, variance, df = mean_over_both(values, dialogue)
    sums = np.array([0.0, 1.0, -1.0])  # of each dialogue, from the mean of a half
    assert (mean, df) == (0.5, 2)
    assert variance == pytest.approx((sums**2).sum() / 36 * 3 / 2)


def test_rates_differing_seeds_widen_the_interval():
    rng = np.random.default_rng(1)
    dialogue = np.arange(300) // 3
    alike = np.tile((rng.random(300) < 0.7).astype(float), (3, 1))
    apart = np.stack([(rng.random(300) < p).astype(float) for p in (0.6, 0.7, 0.8)])
    (_, narrow, many), (_, wide, few) = mean_over_both(alike, dialogue), mean_over_both(apart, dialogue)
    assert wide > narrow
    assert few < 5 < 90 < many


def test_areas_without_a_miss_leave_as_much_room_as_a_share():
    human, dialogue = np.arange(120) % 2 == 0, np.arange(120) // 2
    for rule in (roc_curve, precision_recall):
        area = curve_with_band(rule, human, np.tile(human * 1.0, (3, 1)), dialogue, seed=0, folds=1).area
        assert area.value == area.high == 1
        assert 0.9 < area.low < 1 - 1 / 60


@pytest.mark.parametrize(("value", "edge"), [(1.0, "high"), (0.0, "low")])
def test_a_share_at_its_end_keeps_an_interval(value, edge):
    found = share_told(np.full((3, 100), value), np.arange(100) // 2)
    assert getattr(found, edge) == found.value == value
    assert 0.02 < found.high - found.low < 0.12


def test_exactly_a_half_is_half_right():
    assert told_right(np.array([[0.5, 0.6, 0.4]]), np.array([True, True, True])).tolist() == [[0.5, 1, 0]]


@pytest.mark.parametrize(("dialogues", "seeds", "spread"), [(60, 1, 0), (60, 5, 0.01), (200, 5, 0.03), (200, 3, 0.03)])
def test_intervals_hold_the_truth_over_dialogues_and_seeds(dialogues, seeds, spread):
    """Replies of a dialogue hang together, seeds are good or bad, and the truth is the mean over both."""
    rng, inside, beyond, studies = np.random.default_rng(dialogues + seeds), 0, 0, 600
    dialogue = np.repeat(np.arange(dialogues), 6)
    for _ in range(studies):
        of_dialogue = np.repeat(rng.normal(0, 0.10, dialogues), 6)
        p = 0.65 + of_dialogue + rng.normal(0, spread, (seeds, 1))
        own = rng.random((seeds, len(dialogue)))
        # Seeds agree about most replies, as those of one architecture do.
        right = (np.where(own < 0.6, rng.random(len(dialogue)), rng.random(own.shape)) < p).astype(float)
        other = np.tile((rng.random(len(dialogue)) < 0.6 + of_dialogue).astype(float), (seeds, 1))
        found, more = share_told(right, dialogue), told_beyond(right, other, dialogue)
        inside += found.low <= 0.65 <= found.high
        beyond += more.low <= 0.05 <= more.high
    assert 0.92 <= inside / studies <= 0.995
    assert 0.92 <= beyond / studies <= 0.995
