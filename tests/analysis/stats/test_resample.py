"""Resampling of whole clusters: against plain loops, known moments and the bias that is stated."""

import numpy as np
import pytest
from scipy import stats

from seedvote.analysis.stats import resample
from seedvote.analysis.stats.intervals import robust_variance
from seedvote.analysis.stats.resample import Clusters, bootstrap_mean, crossed_bootstrap, narrow_shares, set_shares


def votes(pairs=60, raters=20, each=3, seed=0):
    generator = np.random.default_rng(seed)
    pair = np.repeat(np.arange(pairs), each)
    rater = generator.integers(0, raters, len(pair))
    felt = generator.normal(size=pairs)[pair] + generator.normal(size=raters)[rater]
    return (felt + generator.normal(size=len(pair)) > 0.5).astype(float), pair, rater


def plain_loop(values, codes, sets, generator):
    groups = [values[codes == code] for code in np.unique(codes)]
    return [
        np.concatenate([groups[i] for i in generator.integers(0, len(groups), len(groups))]).mean() for _ in range(sets)
    ]


@pytest.mark.parametrize("unit", ["pair", "rater"])
def test_the_bootstrap_has_the_law_of_the_plain_loop(unit):
    values, pair, rater = votes()
    codes = {"pair": pair, "rater": rater}[unit]
    ours = bootstrap_mean(values, codes, sets=20_000, generator=np.random.default_rng(1))
    loop = plain_loop(values, codes, 4_000, np.random.default_rng(2))
    jitter = np.random.default_rng(3)
    smooth = [x + jitter.uniform(-0.002, 0.002, len(x)) for x in (ours, np.array(loop))]  # the law is on few points
    assert stats.ks_2samp(*smooth).pvalue > 0.001
    assert abs(ours.std() / np.std(loop) - 1) < 0.05


def test_the_bootstrap_by_pair_agrees_with_the_robust_error():
    values, pair, _ = votes(pairs=400)
    drawn = bootstrap_mean(values, pair, sets=50_000, generator=np.random.default_rng(1))
    exact = robust_variance(values, by={"pair": pair}) * 399 / 400
    assert abs(drawn.var() / exact - 1) < 0.03


def test_sets_without_replacement_never_hold_a_cluster_twice():
    clusters = Clusters(np.full(6, 32), 2.0 ** np.arange(6))
    shares = set_shares(clusters, size=96, sets=5_000, replace=False, generator=np.random.default_rng(1))
    sums = np.rint(shares * 96).astype(int)
    assert {number.bit_count() for number in sums.tolist()} == {3}
    assert np.bincount(sums)[[7, 56, 21, 42]].min() > 5_000 / 20 * 0.7  # every subset as likely: 20 of them


def test_full_set_holds_every_cluster():
    clusters = Clusters(np.array([1, 2, 4, 8]), np.array([1.0, 0, 3, 5]))
    whole = set_shares(clusters, size=15, sets=50, replace=False, generator=np.random.default_rng(0))
    assert set(np.rint(whole * 15).tolist()) == {9}
    less = np.rint(14 * set_shares(clusters, size=14, sets=400, replace=False, generator=np.random.default_rng(0)))
    assert set(less.tolist()) == {8, 9}


def test_many_clusters_are_shuffled_in_batches_with_the_same_law(monkeypatch):
    clusters = Clusters(np.arange(1, 31), np.arange(1, 31) // 2.0)
    whole = set_shares(clusters, size=40, sets=20_000, replace=False, generator=np.random.default_rng(1))
    monkeypatch.setattr(resample, "CELLS", 3_000)
    parts = set_shares(clusters, size=40, sets=20_000, replace=False, generator=np.random.default_rng(2))
    assert len(whole) == len(parts) == 20_000
    assert abs(whole.mean() - parts.mean()) < 5 * whole.std() / np.sqrt(10_000)
    assert abs(whole.std() / parts.std() - 1) < 0.04


def test_shares_are_narrowed_and_never_widened():
    drawn = np.random.default_rng(1).beta(4, 6, 2_000)
    narrow = narrow_shares(drawn, around=0.4, sd=0.05)
    assert abs(narrow.std() - 0.05) < 1e-12
    np.testing.assert_allclose((narrow - 0.4) / 0.05, (drawn - 0.4) / drawn.std())
    np.testing.assert_allclose(narrow_shares(drawn, around=0.4, sd=0.5), drawn)
    assert narrow_shares(np.full(5, 0.2), around=0.2, sd=0.1).tolist() == [0.2] * 5


def test_clusters_gather_votes_and_sums_whatever_their_codes():
    clusters = Clusters.of([1, 0, 1, 1], np.array([7, 3, 7, 9]))
    assert clusters.votes.tolist() == [1, 2, 1] and clusters.sums.tolist() == [0, 2, 1]


def test_the_crossed_bootstrap_has_the_law_of_the_plain_loop():
    values, pair, rater = votes()
    ours = crossed_bootstrap(values, pair, rater, sets=20_000, generator=np.random.default_rng(1))
    generator = np.random.default_rng(2)
    loop = []
    for _ in range(3_000):
        kept = (generator.random(60) < 0.5)[pair] & (generator.random(20) < 0.5)[rater]
        loop.append(values[kept].mean())
    assert abs(ours.mean() - np.mean(loop)) < 5 * ours.std() / np.sqrt(3_000)
    assert abs(ours.std() / np.std(loop) - 1) < 0.05


def test_the_crossed_bootstrap_counts_single_votes_three_times_as_stated():
    generator = np.random.default_rng(4)
    values = generator.normal(size=6_000)
    drawn = crossed_bootstrap(
        values, np.repeat(np.arange(2_000), 3), generator.integers(0, 500, 6_000), sets=3_000, generator=generator
    )
    assert abs(drawn.var() / (values.var() / 6_000) - 3) < 0.35


def test_crossed_bootstrap_sees_cluster_variance():
    values, pair, rater = votes(pairs=300, raters=80)
    ours = crossed_bootstrap(values, pair, rater, sets=10_000, generator=np.random.default_rng(1))
    generator = np.random.default_rng(2)
    pigeonhole = []
    for _ in range(2_000):
        left = np.bincount(generator.integers(0, 300, 300), minlength=300)[pair]
        right = np.bincount(generator.integers(0, 80, 80), minlength=80)[rater]
        pigeonhole.append((left * right) @ values / (left @ right))
    assert abs(ours.std() / np.std(pigeonhole) - 1) < 0.08


def test_sets_without_any_vote_are_drawn_again():
    drawn = crossed_bootstrap(
        [1.0, 0.0], np.array([0, 1]), np.array([0, 1]), sets=500, generator=np.random.default_rng(0)
    )
    assert set(drawn.tolist()) == {0.0, 0.5, 1.0}


def test_same_generator_gives_the_same_sets():
    values, pair, rater = votes()
    draw = [
        crossed_bootstrap(values, pair, rater, sets=131, generator=np.random.default_rng(seed)) for seed in (0, 0, 1)
    ]
    assert len(draw[0]) == 131
    assert draw[0].tolist() == draw[1].tolist() != draw[2].tolist()
