"""Rank flips: their law, replicates against a slow twin, and re-runs whose truth is known."""

import numpy as np
import pytest
from scipy.stats import f, nct, norm, t

from seedvote.analysis.questions.comparison.answer import between_seeds
from seedvote.analysis.stats.components import RESIDUAL, error_variance, estimate_components, study_sizes, terms_of
from seedvote.analysis.stats.reruns import (
    BOTH,
    EVERYTHING,
    SEEDS,
    Replicates,
    _noncentral_bounds,
    both_levels,
    difference_errors,
    estimate_between,
    noise_between,
    predict_flip,
    predict_flips,
    replicates_of,
)
from seedvote.analysis.votes.long_tables import NESTED
from seedvote.analysis.votes.scores.panel import methods
from tests.analysis.questions.comparison.test_answer import panel as panel_of


def by_seeds(values):
    """The flips of two models whose values (2, seeds) rest on nothing but their seeds."""
    values, seeds = np.ravel(values), len(values[0])
    places = np.arange(2 * seeds).reshape(2, seeds)
    return predict_flips(replicates_of(values, np.arange(2 * seeds), {}), ("a", places[0]), ("b", places[1]))


def flips_of(truth, runs, seeds=3):
    """Predicted and real flips of runs of two models whose true difference is `truth` seed SDs."""
    chances, bounds, real = [], [], []
    for run in range(runs):
        generator = np.random.default_rng(run)
        values = generator.standard_normal((2, 2, seeds)) + np.array([truth, 0.0])[:, None]
        one = by_seeds(values[0])[SEEDS]
        chances.append(one.p)
        bounds.append((one.low, one.high))
        real.append(np.sign(values[1, 0].mean() - values[1, 1].mean()) != np.sign(one.difference))
    return np.array(chances), np.array(bounds), np.array(real)


def test_the_flip_probability_orders_studies_rightly():
    near, _, real_near = flips_of(0.5, 60)
    far, _, real_far = flips_of(4.0, 60)
    assert far.mean() < 0.1 < near.mean() < 0.5
    assert real_far.mean() < real_near.mean()


def test_certain_difference_never_flips():
    one = by_seeds([[1.0, 1.0 + 1e-9, 1.0 + 2e-9], [0.0, 1e-9, 2e-9]])[SEEDS]
    assert one.p < 1e-9
    assert one.low <= one.high < 1e-9
    assert by_seeds([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]) == {SEEDS: None, EVERYTHING: None}


@pytest.mark.slow
@pytest.mark.parametrize("truth", [0.0, 1.0, 2.0, 3.0])
def test_the_interval_of_the_flip_probability_covers_the_real_one(truth):
    chances, bounds, real = flips_of(truth, 1500)
    chance = norm.cdf(-truth / np.sqrt(2 / 3))
    inside = (bounds[:, 0] <= max(chance, 1 - chance)) & (bounds[:, 1] >= min(chance, 1 - chance))
    print(truth, chances.mean(), real.mean(), inside.mean())
    assert inside.mean() > 0.93


def test_the_bounds_of_a_flip_are_those_of_the_noncentral_t_law():
    for ratio, freedom in ((0.3, 2.5), (2.0, 4.0), (9.0, 30.0)):
        low, high = _noncentral_bounds(ratio, freedom)
        assert nct.cdf(ratio, freedom, low) == pytest.approx(0.975, abs=1e-5)
        assert nct.cdf(ratio, freedom, high) == pytest.approx(0.025, abs=1e-5)
    assert all(np.isfinite(_noncentral_bounds(80.0, 2.0)))


@pytest.mark.parametrize("freedom", [1.0, 1.7, 4.0, 30.0, 1e5, np.inf])
def test_chance_of_reversal_lies_in_its_interval(freedom):
    ratios = (0.0, 0.1, 0.7, 2.0, 5.0, 20.0, 99.0, 101.0, 1e4)
    found = [predict_flip(("a", ratio), ("b", 0.0), 1.0, freedom) for ratio in ratios]
    assert found[0].p == pytest.approx(0.5)
    assert all(0 <= one.low <= one.p <= one.high <= 1 for one in found)
    assert all(np.diff([getattr(one, name) for one in found]).max() <= 0 for name in ("low", "p", "high"))
    turned = predict_flip(("a", 0.0), ("b", 2.0), 1.0, freedom)
    assert (turned.p, turned.low, turned.high) == (found[3].p, found[3].low, found[3].high)


def test_more_that_is_new_is_never_surer_and_brings_its_own_interval():
    """With more degrees of freedom and hardly more variance, everything new would look surer than items alone."""
    random, surer = np.random.default_rng(11), 0
    for _ in range(200):
        sds = random.choice([0.0, 0.5, 4.0], 2)
        found = replicates(draw(random, random.uniform(-6, 6), sds, 3))
        places = np.arange(3), np.arange(3, 6)
        told = predict_flips(found, ("a", places[0]), ("b", places[1]))
        errors = difference_errors(found, *places)
        means = [("a", found.values[:3].mean()), ("b", found.values[3:].mean())]
        alone = {way: predict_flip(*means, *error) for way, error in errors.items() if way != BOTH}
        worst = max(alone.values(), key=lambda one: one.p)
        assert told[EVERYTHING] == worst and worst.low <= worst.p <= worst.high
        surer += alone[EVERYTHING].p < worst.p
    assert 5 < surer < 195  # both cases were there


def test_replicates_are_means_with_the_covariance_of_a_slow_twin():
    random = np.random.default_rng(2)
    replicate, item, rater = random.integers(0, 3, 200), random.integers(0, 12, 200), random.integers(0, 7, 200)
    score = random.normal(size=200)
    found = replicates_of(score, replicate, {"item": item, "rater": rater})
    means = np.array([score[replicate == k].mean() for k in range(3)])
    assert found.values == pytest.approx(means)

    def slow(codes):
        total = np.zeros((3, 3))
        for code in set(codes):
            adds = [(score - means[k])[(codes == code) & (replicate == k)].sum() / (replicate == k).sum()
                    for k in range(3)]  # fmt: skip
            total += np.outer(adds, adds)
        return total * len(set(codes)) / (len(set(codes)) - 1)

    assert found.covariance["item"] == pytest.approx(slow(item))
    both = slow(item) + slow(rater) - slow(item * 100 + rater)
    assert found.covariance[BOTH] == pytest.approx(both)


def test_what_cannot_be_known_is_none():
    values = np.arange(4.0)
    alone = predict_flips(Replicates(values[:3]), ("a", np.arange(2)), ("b", np.array([2])))
    assert alone == {SEEDS: None, EVERYTHING: None}
    one_item = replicates_of(values, np.arange(4), {"item": np.zeros(4, int)})
    found = predict_flips(one_item, ("a", np.arange(2)), ("b", np.arange(2, 4)))
    assert found["item"] is None and found[EVERYTHING] is None and found[SEEDS] is not None


def test_an_error_that_all_seeds_share_is_no_noise_between_them():
    random = np.random.default_rng(0)
    shared = 10 * random.normal(size=80)
    scores = shared + random.normal(size=(3, 80))
    found = replicates_of(scores.ravel(), np.repeat(np.arange(3), 80), {"item": np.tile(np.arange(80), 3)})
    one_alone = np.sqrt(found.covariance["item"][0, 0])
    assert one_alone > 1.0 > 0.2 > np.sqrt(noise_between(found.covariance, np.arange(3)))


CASES = {  # SDs over seeds of two architectures
    "alike": (0.0, 0.0),
    "the same": (2.0, 2.0),
    "one unstable": (6.0, 1.0),
}
MODEL_ITEM, REST, ITEM, ITEMS = 4.0, 6.0, 8.0, 40


def draw(random, truth, sds, seeds, items=ITEMS):
    """Scores (2, seeds, items) of two architectures on shared items (whole dialogues)."""
    scores = ITEM * random.standard_normal(items) + REST * random.standard_normal((2, seeds, items))
    scores += MODEL_ITEM * random.standard_normal((2, 1, items))
    return (
        scores
        + np.array(sds)[:, None, None] * random.standard_normal((2, seeds, 1))
        + np.array([0.0, truth])[:, None, None]
    )


def replicates(scores):
    models, seeds, items = scores.shape
    return replicates_of(
        scores.ravel(),
        np.repeat(np.arange(models * seeds), items),
        {"items": np.tile(np.arange(items), models * seeds)},
    )


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    ("seeds", "studies"),
    [(3, 150), *(pytest.param(seeds, 2000, marks=pytest.mark.slow) for seeds in (2, 3, 5))],
)
def test_new_everything_flips_as_often_as_predicted(case, seeds, studies):
    """Seeds are few, and the truth is known."""
    random, sds = np.random.default_rng(seeds), CASES[case]
    error = np.sqrt((sds[0] ** 2 + sds[1] ** 2) / seeds + 2 * (MODEL_ITEM**2 + REST**2 / seeds) / ITEMS)
    told, chances, inside = [], [], []
    for _ in range(studies):
        truth = error * random.uniform(-4, 4)  # wide and flat, as the prediction assumes
        found = replicates(draw(random, truth, sds, seeds))
        one = predict_flips(found, ("a", np.arange(seeds)), ("b", np.arange(seeds, 2 * seeds)))[EVERYTHING]
        chances.append(norm.cdf(truth * np.sign(one.difference) / error))
        told.append(one.p)
        inside.append(one.low <= chances[-1] <= one.high)
    print(case, seeds, np.mean(told), np.mean(chances), np.mean(inside))
    assert np.mean(inside) > 0.92 - 2 * np.sqrt(0.05 / studies)
    assert np.mean(told) > np.mean(chances) - 0.02  # never surer than it should be


def test_two_levels_widen_by_the_root_of_squares():
    variance, freedom = both_levels((2.0, 39.0), (3.0, 2.0))
    halves = t.ppf(0.975, 39) ** 2 * 2 + t.ppf(0.975, 2) ** 2 * 3
    assert variance == 5 and t.ppf(0.975, freedom) ** 2 * variance == pytest.approx(halves)
    assert both_levels((3.0, 2.0), (2.0, 39.0)) == (variance, pytest.approx(freedom))
    assert both_levels((2.0, 39.0), (0.0, 2.0)) == (2.0, 39.0) and both_levels((0.0, 39.0), (2.0, 2.0)) == (2.0, 2.0)
    assert both_levels((1.0, 7.0), (1.0, 7.0)) == (2.0, pytest.approx(7.0))
    assert both_levels((1.0, np.inf), (1e-30, 2.0))[1] > 1e6 and both_levels((1e-30, 39.0), (1.0, 2.0))[
        1
    ] == pytest.approx(2)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [2, 3, 5, 10])
@pytest.mark.parametrize("items", [10, 40, 200])
@pytest.mark.parametrize("sds", [(0, 0), (1, 1), (3, 3), (3, 1), (3, 0)])
def test_the_error_of_a_difference_holds_the_truth_with_everything_new(seeds, items, sds, studies=2000):
    """SDs in units of what items make of the SE of one architecture."""
    random, held = np.random.default_rng(7), 0
    scale = np.sqrt(MODEL_ITEM**2 * seeds / items + REST**2 / items)
    for _ in range(studies):
        found = replicates(draw(random, 0.0, scale * np.array(sds), seeds, items))
        first, second = np.arange(seeds), np.arange(seeds, 2 * seeds)
        variance, freedom = difference_errors(found, first, second)[EVERYTHING]
        held += abs(found.values[first].mean() - found.values[second].mean()) <= t.ppf(0.975, freedom) * variance**0.5
    print(f"| {seeds} | {items} | {sds[0]}, {sds[1]} | {held / studies:.3f} |")
    least, most = (0.94, 0.99) if seeds == 2 else (0.93, 0.99)
    noise = 2.6 * np.sqrt(0.05 * 0.95 / studies)
    assert least - noise <= held / studies <= most + noise


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seeds", "items", "studies"),
    [(3, 20, 1500), *(pytest.param(s, i, 10_000, marks=pytest.mark.slow) for s in (2, 3, 5) for i in (10, 40, 200))],
)
def test_seeds_that_are_alike_are_rarely_told_apart(seeds, items, studies):
    """The claim of E rho^2: its 95 % interval is above 0. The ring is the SD that such seeds show."""
    from scipy.stats import f

    random, claimed, squares, rings = np.random.default_rng(items), 0, [], []
    limit = f.ppf(0.975, seeds - 1, (seeds - 1) * (items - 1))
    for _ in range(studies):
        scores = 8 * random.standard_normal(items) + 6 * random.standard_normal((1, seeds, items))
        observed, noise = estimate_between(replicates(scores), np.arange(seeds))
        squares.append(observed)
        rings.append(noise)
        claimed += observed / noise > limit
    print(seeds, items, claimed / studies)
    assert abs(claimed / studies - 0.025) < 3.5 * np.sqrt(0.025 / studies)
    assert np.mean(rings) == pytest.approx(36 / items, rel=0.05)
    assert np.mean(squares) == pytest.approx(np.mean(rings), rel=5 / np.sqrt(studies))


@pytest.mark.parametrize("rings", [0.0, 1.0, 3.0])
@pytest.mark.parametrize(
    ("seeds", "studies"), [(3, 600), *(pytest.param(s, 4000, marks=pytest.mark.slow) for s in (3, 5, 10))]
)
def test_what_is_printed_of_seeds_covers_what_it_says(rings, seeds, studies):
    """E rho^2 the share of the seed; the SD's interval the SD of values as they come, which is not the seed's alone."""
    random, items = np.random.default_rng(seeds), 40
    own = rings * 6 / np.sqrt(items)
    whole, share = np.hypot(own, 6 / np.sqrt(items)), rings**2 / (1 + rings**2)
    held = np.zeros(4)
    for _ in range(studies):
        seed = own * random.standard_normal((seeds, 1))
        scores = 8 * random.standard_normal(items) + seed + 6 * random.standard_normal((seeds, items))
        panel = panel_of(scores[None])
        spread, found = methods(panel)[0].over_seeds, between_seeds(panel, "m0")
        inside = spread.low <= whole <= spread.high, spread.low <= own <= spread.high
        held += found.low <= share <= found.high, *inside, found.low > 0
    covered, spread, alone, claimed = held / studies
    print(seeds, rings, covered, spread, alone, claimed)
    far = 3.5 * np.sqrt(0.05 * 0.95 / studies)
    assert spread == pytest.approx(0.95, abs=far)
    above, below = seeds - 1, (seeds - 1) * (items - 1)
    # seeds nearer to each other than F's law allows are "not known", all of 0 to 1, which holds the truth
    unknown = f.cdf(f.ppf(0.025, above, below) / (1 + rings**2), above, below)
    assert covered == pytest.approx(0.95 + unknown, abs=far)
    assert alone < 0.9 if rings == 1 else claimed < 0.025 + far if not rings else claimed > 0.6


@pytest.mark.slow
def test_pooled_components_are_too_sure_of_an_unstable_one():
    """Why no spread is pooled: the twin by variance components against the same studies, five architectures."""
    random, seeds, sds = np.random.default_rng(0), 3, np.array([6.0, 1.0, 1.0, 1.0, 1.0])
    error = np.sqrt((sds[0] ** 2 + sds[1] ** 2) / seeds + 2 * (MODEL_ITEM**2 + REST**2 / seeds) / ITEMS)
    inside = []
    for _ in range(400):
        truth = error * random.uniform(-4, 4)
        scores = ITEM * random.standard_normal(ITEMS) + REST * random.standard_normal((5, seeds, ITEMS))
        scores += MODEL_ITEM * random.standard_normal((5, 1, ITEMS))
        scores += sds[:, None, None] * random.standard_normal((5, seeds, 1))
        scores[1] += truth
        means = scores.mean((1, 2))
        ours = predict_flips(replicates(scores[:2]), ("a", np.arange(seeds)), ("b", np.arange(seeds, 2 * seeds)))[
            EVERYTHING
        ]
        theirs = pooled(scores, means, random)
        chance = norm.cdf(truth * np.sign(ours.difference) / error)
        inside.append([one.low <= chance <= one.high for one in (ours, theirs)])
    own, together = np.mean(inside, 0)
    print(own, together)
    assert own > 0.91 and together < 0.8


def pooled(scores, means, random):
    """The flip by variance components of all architectures, as `variance` once gave it."""
    factors = dict(zip(("model", "seed", "item"), (part.ravel() for part in np.indices(scores.shape)), strict=True))
    found = estimate_components(scores.ravel(), factors, terms_of(factors, NESTED), generator=random, sets=100)
    study = study_sizes(factors, found, "model")
    errors = sum(2 * np.maximum(part.draws, 0) / study.counts[part.name]
                 for part in found.parts if part.name in ("model:seed", "model:item", RESIDUAL))  # fmt: skip
    variance = 2 * error_variance(found, study)
    return predict_flip(("a", means[0]), ("b", means[1]), variance, 2 * variance**2 / errors.var(ddof=1))
