"""What a predictor is worth: nothing for coins and constants, something for people, no more than raters allow."""

from dataclasses import replace

import numpy as np
import pytest

from seedvote.analysis.stats.gain import bound_gain, gain_of, least_correlation, pair_correlation, rater_part
from tests.analysis.judge_crowd import study


def with_predictor(sample, of_pairs, of_others):
    return replace(sample, f=of_pairs[sample.pair], other=of_others)


@pytest.fixture(scope="module")
def sample():
    return study(np.random.default_rng(8), pairs=200, raters=60, agreement=0.7, others=1000)


def test_a_coin_is_worth_nothing_and_the_interval_says_so(sample):
    shown = []
    for seed in range(20):
        generator = np.random.default_rng(seed)
        coin = with_predictor(sample, generator.choice([-1.0, 1.0], 200), generator.choice([-1.0, 1.0], 1000))
        found = gain_of(coin, generator)
        shown.append(found.shown)
        assert found.value < 1.06
        assert found.low <= found.value <= found.high
        assert found.shown or found.low == 1
    assert sum(shown) <= 3


def test_a_constant_has_a_gain_of_exactly_one(sample):
    found = gain_of(with_predictor(sample, np.ones(200), np.ones(1000)), np.random.default_rng(0))
    assert (found.value, found.low, found.high, found.shown) == (1, 1, 1, False)


def test_the_judge_that_knows_what_all_people_would_say_nears_the_ceiling():
    generator = np.random.default_rng(2)
    sample = study(generator, pairs=200, raters=60, agreement=1.0, others=4000)
    found = gain_of(sample, generator)
    most = bound_gain(pair_correlation(sample), rater_part(sample))
    assert found.low > 1.15
    assert 0.8 * most < found.value < 1.1 * most < 1 / rater_part(sample)


def test_a_judge_that_copies_one_rater_is_worth_a_little():
    """One person's opinion of every pair: noisy, and all her own."""
    values = []
    for seed in range(10):
        generator = np.random.default_rng(seed)
        sample = study(generator, pairs=200, raters=60, agreement=0.55, others=1000)
        values.append(gain_of(sample, generator).value)
    assert 1.02 < np.median(values) < 1.25


def test_the_sign_of_the_predictor_does_not_matter(sample):
    one = gain_of(sample, np.random.default_rng(0))
    other = gain_of(replace(sample, f=-sample.f, other=-sample.other), np.random.default_rng(0))
    assert other.value == pytest.approx(one.value)
    assert other.correlation == pytest.approx(-one.correlation)


def test_pairs_without_end_are_worth_more_than_those_there_are(sample):
    generator = np.random.default_rng(0)
    assert gain_of(sample, generator, endless=True).value > gain_of(sample, generator).value


def test_gain_uses_the_error_of_dialogues_and_raters(sample):
    """The votes' variance by both ways (Cameron, Gelbach and Miller 2011), from sums over the crossings one by one."""

    def squares(values, *ways):
        sums = {}
        for value, *codes in zip(values, *ways, strict=True):
            sums[tuple(codes)] = sums.get(tuple(codes), 0.0) + value
        return sum(part**2 for part in sums.values())

    y, f, rater = sample.y - sample.y.mean(), sample.f - sample.f.mean(), sample.by["rater"]
    both = squares(y, sample.wide) + squares(y, rater) - squares(y, sample.wide, rater)
    assert both > 1.1 * max(squares(y, sample.wide), squares(y, rater))
    shared = (squares(y + f, sample.wide) - squares(y - f, sample.wide)) / 4
    found = gain_of(sample, np.random.default_rng(0), endless=True)
    assert found.correlation == pytest.approx(shared / np.sqrt(both * squares(f, sample.wide)))


def test_three_pairs_have_a_correlation_and_two_have_none(sample):
    for pairs, expected in ((3, 1.0), (2, 0.0)):
        few = replace(sample, y=np.arange(pairs, dtype=float), f=2.0 * np.arange(pairs), pair=np.arange(pairs))
        assert pair_correlation(few) == pytest.approx(expected)


def test_raters_set_the_ceiling():
    assert bound_gain(1.0, 0.25) == pytest.approx(4, rel=0.01)
    assert bound_gain(0.0, 0.25) == 1
    assert bound_gain(0.999, 1.0) == 1


def test_the_least_correlation_that_can_help():
    assert least_correlation(429) == pytest.approx(0.0484, abs=1e-4)
    assert least_correlation(3) == 1


def test_votes_saved_follow_from_the_gain(sample):
    found = gain_of(sample, np.random.default_rng(0))
    saved = found.saved(600)
    assert saved[0] == pytest.approx(600 * (1 - 1 / found.value))
    assert saved[1] <= saved[0] <= saved[2]


def test_one_way_of_clustering_is_enough():
    sample = study(np.random.default_rng(1), pairs=40, agreement=0.7, others=100)
    alone = replace(sample, by={"dialogue": sample.by["dialogue"]})
    assert rater_part(alone) == 0
    assert gain_of(alone, np.random.default_rng(0)).value > 1


@pytest.mark.slow
@pytest.mark.parametrize(("agreement", "true", "most"), [(0.0, 0.0, 0.04), (0.4, 0.076, 0.04), (0.7, 0.212, 0.05)])
@pytest.mark.parametrize("pairs", [20, 40, 80])
def test_the_value_is_fair_where_its_square_alone_would_not_be(agreement, true, most, pairs):
    """80 studies; `true` is what studies of 4,000 pairs and 1,000 raters find."""
    worth, plain = [], []
    for seed in range(80):
        generator = np.random.default_rng(seed)
        found = gain_of(
            study(generator, pairs=pairs, raters=20, agreement=agreement, others=10), generator, endless=True
        )
        worth.append(1 - 1 / found.value)
        plain.append(found.correlation**2)
    assert abs(np.mean(worth) - true) < most
    assert abs(np.mean(worth) - true) < abs(np.mean(plain) - true)
    assert np.mean((np.array(worth) - true) ** 2) < 1.03 * np.mean((np.array(plain) - true) ** 2)
