"""Agreement against published examples, the krippendorff package, a slow twin, and simulations with known truth."""

import json
from pathlib import Path

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.stats.agreement import coefficients, cohen_kappa, count_table, label_order, landis_koch, two_raters
from analysis.stats.raters import rater_table, rows, split_half
from dialogue.errors import InputError

ROOT = Path(__file__).resolve().parents[2]


def golden(name):
    return json.loads((ROOT / "tests" / "golden" / name).read_text(encoding="utf-8"))


def rate(item, choice, categories, *, values=None, seed=1, **options):
    counts = count_table(np.asarray(item), np.asarray(choice), categories)
    labels = [str(code) for code in range(categories)]
    return coefficients(counts, labels, values=values, generator=np.random.default_rng(seed), **options)


def test_fleiss_1971():
    data = golden("fleiss1971.json")
    ratings = np.array(data["ratings"]) - 1
    found = rate(np.repeat(np.arange(30), 6), ratings.ravel(), 5)
    assert round(found.fleiss_kappa.value, 3) == data["published"]["kappa"]
    assert [round(c.share, 3) for c in found.categories] == data["published"]["share"]
    assert [round(c.kappa, 3) for c in found.categories] == data["published"]["category_kappa"]


def test_krippendorff_2011_with_missing_data_and_gwet_on_the_same_data():
    data = golden("krippendorff2011.json")
    votes = [(u, v - 1) for row in data["ratings"] for u, v in enumerate(row) if v is not None]
    found = rate(*zip(*votes, strict=True), 5, values=[1, 2, 3, 4, 5])
    published = data["published"]
    for level in ("nominal", "ordinal", "interval"):
        assert round(getattr(found, f"alpha_{level}").value, 3) == published[level]
    assert round(found.observed.value, 5) == published["gwet_percent"]
    assert round(found.fleiss_kappa.value, 5) == published["gwet_fleiss"]
    assert round(found.gwet_ac1.value, 5) == published["gwet_ac1"]


def test_landis_and_koch_1977():
    data = golden("landis_koch1977.json")
    for city, kappa in data["published"].items():
        table = np.array(data[city])
        first, second = (np.repeat(axis.ravel(), table.ravel()) for axis in np.indices(table.shape))
        item = np.tile(np.arange(len(first)), 2)
        rater, choice = np.repeat([3, 5], len(first)), np.concatenate([first, second])
        found = two_raters(item, rater, choice, 4, generator=np.random.default_rng(0), sets=500)
        assert round(found.value, 3) == round(float(cohen_kappa(table)), 3) == kappa
        assert found.low < kappa < found.high
        assert two_raters(item, rater + item % 2, choice, 4, generator=np.random.default_rng(0), sets=5) is None
        assert two_raters(item[1:], rater[1:], choice[1:], 4, generator=np.random.default_rng(0), sets=5) is None
    words = {
        -0.01: "poor",
        0: "slight",
        0.2: "slight",
        0.208: "fair",
        0.6: "moderate",
        0.8: "substantial",
        0.81: "almost perfect",
    }
    assert {value: landis_koch(value) for value in words} == words


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_alpha_equals_the_krippendorff_package_on_any_table_with_gaps(seed):
    generator = np.random.default_rng(seed)
    ratings = generator.integers(0, 4, size=(4, 12)).astype(float)
    ratings[generator.random(ratings.shape) < 0.3] = np.nan
    ratings[:2, 0] = 0, 3
    rater, unit = np.nonzero(~np.isnan(ratings))
    values = [1.0, 2.0, 3.5, 7.0]
    found = rate(unit, ratings[rater, unit].astype(int), 4, values=values, sets=2)
    for level in ("nominal", "ordinal", "interval"):
        theirs = np.where(np.isnan(ratings), np.nan, np.take(values, np.nan_to_num(ratings).astype(int)))
        expected = krippendorff.alpha(theirs, level_of_measurement=level, value_domain=values)
        assert getattr(found, f"alpha_{level}").value == pytest.approx(expected, abs=1e-12)


def test_the_item_bootstrap_equals_drawing_items_one_by_one():
    generator = np.random.default_rng(5)
    item, choice = np.repeat(np.arange(60), 3), generator.integers(0, 3, 180)
    choice[:90] = np.repeat(generator.integers(0, 3, 30), 3)
    counts = count_table(item, choice, 3)
    fast = rate(item, choice, 3, sets=20000).fleiss_kappa
    slow = []
    for _ in range(20000):
        drawn = counts[generator.integers(0, 60, 60)]
        agree = ((drawn * (drawn - 1)).sum(1) / 6).mean()
        chance = ((drawn.sum(0) / drawn.sum()) ** 2).sum()
        slow.append((agree - chance) / (1 - chance))
    assert fast.distribution.std() == pytest.approx(np.std(slow), rel=0.06)
    assert (fast.low, fast.high) == pytest.approx(tuple(np.quantile(slow, [0.025, 0.975])), abs=0.012)


def test_clusters_of_one_item_are_items_and_larger_clusters_widen_the_interval():
    generator = np.random.default_rng(2)
    truth = np.repeat(generator.integers(0, 3, 40), 5)
    item = np.repeat(np.arange(200), 3)
    choice = np.where(generator.random(600) < 0.6, truth[item], generator.integers(0, 3, 600))
    strong = np.repeat(generator.random(40) < 0.5, 15)
    choice = np.where(strong, truth[item], choice)
    alone = rate(item, choice, 3, cluster=np.arange(200)).fleiss_kappa
    plain = rate(item, choice, 3).fleiss_kappa
    wide = rate(item, choice, 3, cluster=np.arange(200) // 5).fleiss_kappa
    assert alone.distribution.std() == pytest.approx(plain.distribution.std(), rel=0.1)
    assert wide.distribution.std() > 1.4 * plain.distribution.std()


def test_one_category_only_has_no_kappa():
    found = rate([0, 0, 1, 1], [1, 1, 1, 1], 3, values=[0, 1, 2], sets=10)
    assert found.observed.value == 1
    assert np.isnan([found.fleiss_kappa.value, found.alpha_nominal.value, found.fleiss_kappa.low]).all()


def test_labels_are_ordered_as_numbers_as_given_or_not_at_all():
    assert label_order(("1", "2", "10"), "any") == ([0, 1, 2], [1.0, 2.0, 10.0])
    assert label_order(("bad", "good"), "any") == ([0, 1], None)
    assert label_order(("bad", "good", "ok"), "bad, ok, good") == ([0, 2, 1], [0.0, 1.0, 2.0])
    with pytest.raises(InputError, match="the votes hold bad, good"):
        label_order(("bad", "good"), "bad,ugly")


def test_raters_are_compared_with_the_others_on_the_same_items():
    item = np.array([0, 0, 0, 1, 1, 1, 2])
    rater = np.array([0, 1, 2, 0, 1, 2, 2])
    choice = np.array([0, 0, 2, 1, 2, 1, 2])
    table = rater_table(item, rater, choice, 3, tie=2, left=np.array([0, 0, 0, 0, 0, 1, 1]))
    assert table.votes.tolist() == [2, 2, 3]
    assert table.tie_rate.tolist() == pytest.approx([0, 0.5, 2 / 3])
    assert table.left_rate.tolist() == pytest.approx([0.5, 1.0, 1.0])
    assert table.with_rest.tolist() == pytest.approx([0.5, 0.25, 0.25])
    assert [row.rater for row in rows(table, ["x", "y", "z"])] == ["z", "x", "y"]
    unknown = rater_table(item, rater, choice, 3)
    assert np.isnan(unknown.tie_rate).all()
    assert np.isnan(unknown.left_rate).all()


def test_split_half_recovers_the_reliability_of_the_whole():
    generator = np.random.default_rng(3)
    truth = generator.normal(size=4000)
    unit = np.repeat(np.arange(4000), 4)
    found = split_half(unit, truth[unit] + 2 * generator.normal(size=16000), generator=generator, splits=20)
    assert found.value == pytest.approx(0.5, abs=0.03)
    assert found.units == 4000
    assert np.isnan(split_half(np.array([0, 0, 1]), np.ones(3), generator=generator).value)


@pytest.mark.slow
@pytest.mark.parametrize("items", [50, 200, 1000])
def test_the_item_bootstrap_covers_alpha_and_ac1(items):
    """Three fresh votes an item, hidden truth .5/.3/.2, right with chance .7: 95 % intervals cover .90 to .98."""
    prior, right = np.array([0.5, 0.3, 0.2]), 0.7
    given = np.eye(3) * right + (1 - np.eye(3)) * (1 - right) / 2
    agree = float(prior @ (given**2).sum(1))
    share = prior @ given
    alpha = (agree - share @ share) / (1 - share @ share)
    chance = (share * (1 - share)).sum() / 2
    covered = np.zeros(2)
    for seed in range(400):
        generator = np.random.default_rng(seed)
        truth = generator.choice(3, items, p=prior)
        item = np.repeat(np.arange(items), 3)
        off = (truth[item] + generator.integers(1, 3, 3 * items)) % 3
        choice = np.where(generator.random(3 * items) < right, truth[item], off)
        found = rate(item, choice, 3, seed=seed, sets=500)
        for k, (c, true) in enumerate(
            [(found.alpha_nominal, alpha), (found.gwet_ac1, (agree - chance) / (1 - chance))]
        ):
            covered[k] += c.low <= true <= c.high
    print(items, covered / 400)
    assert ((covered / 400 > 0.90) & (covered / 400 < 0.98)).all()


def test_halves_that_mirror_each_other_have_no_reliability():
    found = split_half(np.repeat(np.arange(6), 3), np.tile([-1.0, 0.0, 1.0], 6), generator=np.random.default_rng(0))
    assert found.units == 6 and np.isnan(found.value)
