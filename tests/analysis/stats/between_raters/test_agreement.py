"""Agreement against published examples, the krippendorff package, a slow twin, and simulations with known truth."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.inter_rater import fleiss_kappa as their_fleiss_kappa

from seedvote.analysis.stats.between_raters import coincidences
from seedvote.analysis.stats.between_raters.agreement import (
    cohen_kappa,
    estimate_coefficients,
    label_order,
    landis_koch,
    two_raters,
)
from seedvote.analysis.stats.between_raters.coincidences import count_table
from seedvote.analysis.stats.between_raters.jackknife import LeftOut, jackknife
from seedvote.analysis.stats.between_raters.raters import left_chance, list_raters, rater_table, split_half
from seedvote.dialogue.errors import InputError
from tests.analysis.agreeing import VALUES, agreement_truth, coded
from tests.analysis.worlds import Crowd

ROOT = Path(__file__).resolve().parents[4]


def golden(name):
    return json.loads((ROOT / "tests" / "golden" / name).read_text(encoding="utf-8"))


def rate(item, choice, categories, *, values=None, **clusters):
    """Coefficients with intervals by item, or by the clusters that are named."""
    item = np.asarray(item)
    labels = [str(code) for code in range(categories)]
    return estimate_coefficients(item, np.asarray(choice), labels, values=values, clusters=clusters or {"pair": item})


def alone_again(ratings):
    """A table of raters x items, None where there is no vote, as long votes."""
    votes = [(u, v - 1) for row in ratings for u, v in enumerate(row) if v is not None]
    return tuple(np.array(column) for column in zip(*votes, strict=True))


def test_fleiss_1971():
    data = golden("fleiss1971.json")
    ratings = np.array(data["ratings"]) - 1
    found = rate(np.repeat(np.arange(30), 6), ratings.ravel(), 5)
    assert round(found.fleiss_kappa.value, 3) == data["published"]["kappa"]
    assert [round(c.share, 3) for c in found.categories] == data["published"]["share"]
    assert [round(c.kappa, 3) for c in found.categories] == data["published"]["category_kappa"]
    counts = count_table(np.repeat(np.arange(30), 6), ratings.ravel(), 5)
    assert found.fleiss_kappa.value == pytest.approx(their_fleiss_kappa(counts), abs=1e-12)


def test_krippendorff_2011_with_missing_data():
    data = golden("krippendorff2011.json")
    found = rate(*alone_again(data["ratings"]), 5, values=[1, 2, 3, 4, 5])
    for level in ("nominal", "ordinal", "interval"):
        assert round(getattr(found, f"alpha_{level}").value, 3) == data["published"][level]
    assert round(found.observed.value, 5) == data["published"]["gwet_percent"]


def gwet_2014(item, choice, categories):
    """Fleiss' kappa and AC1 as Gwet's handbook and his irrCAC have them: single votes enter the chance alone."""
    counts = count_table(item, choice, categories)
    size, counts = counts.sum(1), counts[counts.sum(1) > 0]
    size = size[size > 0]
    twice = size > 1
    agree = ((counts * (counts - 1)).sum(1)[twice] / (size * (size - 1))[twice]).mean()
    share = (counts / size[:, None]).mean(0)
    chances = (share**2).sum(), (share * (1 - share)).sum() / (categories - 1)
    return [(agree - chance) / (1 - chance) for chance in chances]


def test_agreement_equals_gwet_with_two_votes():
    data = golden("krippendorff2011.json")
    item, choice = alone_again(data["ratings"])
    published = [data["published"][name] for name in ("gwet_fleiss", "gwet_ac1")]
    assert gwet_2014(item, choice, 5) == pytest.approx(published, abs=5e-6)
    paired = (np.bincount(item) > 1)[item]
    found = rate(item, choice, 5)
    assert [found.fleiss_kappa.value, found.gwet_ac1.value] == pytest.approx(gwet_2014(item[paired], choice[paired], 5))


def test_pairs_with_a_single_vote_change_no_coefficient():
    """By the chance of single votes alone kappa came out as -2.4 where pairs with two votes were few."""
    item, choice = np.array([0, 0, 1, 1, 2, 2, 3, 3]), np.array([0, 1, 1, 0, 0, 0, 1, 1])
    more = np.concatenate([item, 4 + np.arange(200)]), np.concatenate([choice, np.full(200, 2)])
    assert gwet_2014(*more, 3)[0] < -2.4
    few, many = rate(item, choice, 3, values=VALUES), rate(*more, 3, values=VALUES)
    assert many.fleiss_kappa.value == few.fleiss_kappa.value and many.alpha_ordinal.value == few.alpha_ordinal.value
    assert (many.items, many.usable_items, many.votes) == (204, 4, 208)
    assert many.fleiss_kappa.value == 0.0 and many.repeated == few.repeated == 1
    assert np.isnan(many.fleiss_kappa.low) and many.gwet_ac1.low < many.gwet_ac1.value


def test_few_dialogues_with_the_repeated_rare_labels_count_as_few():
    """With 86 % ties and unequal dialogues, the degrees of freedom of all 40 dialogues gave .91 instead of .95."""
    dialogue = np.repeat(np.arange(20), 5)
    item, cluster = np.repeat(np.arange(100), 3), np.repeat(dialogue, 3)
    tied = np.ones((100, 3), np.int64)
    tied[::5, 0] = 0
    few, many = tied.copy(), tied.copy()
    few[np.isin(dialogue, (0, 1, 2))] = 2
    many[1::6] = 2
    narrow, wide = (
        estimate_coefficients(item, rows.ravel(), "abc", values=None, clusters={"dialogue": cluster})
        for rows in (many, few)
    )
    assert wide.fleiss_kappa.df == wide.alpha_nominal.df == pytest.approx(2)
    assert wide.gwet_ac1.df == wide.observed.df == pytest.approx(19)
    assert narrow.fleiss_kappa.df == pytest.approx(16) and narrow.repeated == 17


def test_landis_and_koch_1977_with_the_error_of_statsmodels():
    data = golden("landis_koch1977.json")
    for city, kappa in data["published"].items():
        table = np.array(data[city])
        first, second = (np.repeat(axis.ravel(), table.ravel()) for axis in np.indices(table.shape))
        item = np.tile(np.arange(len(first)), 2)
        rater, choice = np.repeat([3, 5], len(first)), np.concatenate([first, second])
        found, theirs = two_raters(item, rater, choice, 4), cohens_kappa(table)
        assert round(found.value, 3) == round(float(cohen_kappa(table)), 3) == kappa
        n = len(first)
        assert found.value == pytest.approx(theirs.kappa, abs=1e-12)
        assert found.se == pytest.approx(theirs.std_kappa, rel=0.03)  # theirs is the first order of ours
        assert found.low < kappa < found.high
        wide = two_raters(item, rater, choice, 4, cluster=np.tile(np.arange(n) % (n // 10), 2))
        assert wide.value == found.value and wide.df < found.df and wide.df < n / 10 - 1
        assert two_raters(item, rater + item % 2, choice, 4) is None
        assert two_raters(item[1:], rater[1:], choice[1:], 4) is None
    tables = np.array(list(map(data.get, data["published"])))  # many tables at once are each on its own
    assert cohen_kappa(tables).tolist() == [float(cohen_kappa(table)) for table in tables]


def test_two_raters_who_only_ever_say_one_thing_have_no_kappa():
    item, rater = np.tile(np.arange(5), 2), np.repeat([0, 1], 5)
    found = two_raters(item, rater, np.ones(10, int), 3)
    assert found is not None and np.isnan([found.value, found.low, found.se]).all()
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
    import krippendorff

    generator = np.random.default_rng(seed)
    ratings = generator.integers(0, 4, size=(4, 12)).astype(float)
    ratings[generator.random(ratings.shape) < 0.3] = np.nan
    ratings[:2, 0] = 0, 3
    rater, unit = np.nonzero(~np.isnan(ratings))
    values = [1.0, 2.0, 3.5, 7.0]
    found = rate(unit, ratings[rater, unit].astype(int), 4, values=values)
    for level in ("nominal", "ordinal", "interval"):
        theirs = np.where(np.isnan(ratings), np.nan, np.take(values, np.nan_to_num(ratings).astype(int)))
        expected = krippendorff.alpha(theirs, level_of_measurement=level, value_domain=values)
        assert getattr(found, f"alpha_{level}").value == pytest.approx(expected, abs=1e-12)


def plain(pairs, categories):
    """Observed agreement, Fleiss' kappa, AC1 and nominal alpha from a list of pairs of votes, one loop an index."""
    by_item, by_vote = np.zeros((2, categories, categories))
    for _, _, _, first, second, size in pairs:
        by_item[first, second] += 1 / (size * (size - 1))
        by_vote[first, second] += 1 / (size - 1)
    share = by_item.sum(0) / by_item.sum()
    agree = np.trace(by_item) / by_item.sum()
    chance, other = share @ share, (share * (1 - share)).sum() / (categories - 1)
    n = by_vote.sum(0)
    off = 1 - np.eye(categories)
    alpha = 1 - (n.sum() - 1) * (by_vote * off).sum() / (n @ off @ n)
    return np.array([agree, (agree - chance) / (1 - chance), (agree - other) / (1 - other), alpha])


def slow_errors(item, way, rater, choice, categories):
    """Leave out every dialogue, rater, and rater within a dialogue, from the list of all pairs of votes."""
    size = np.bincount(item)
    pairs = [
        (way[v], rater[v], rater[w], choice[v], choice[w], size[item[v]])
        for v in range(len(item)) for w in range(len(item)) if v != w and item[v] == item[w]
    ]  # fmt: skip
    whole = plain(pairs, categories)
    cells = sorted({*zip(way, rater, strict=True)})
    out = {
        "way": [[p for p in pairs if p[0] != g] for g in np.unique(way)],
        "rater": [[p for p in pairs if r not in p[1:3]] for r in np.unique(rater)],
        "both": [[p for p in pairs if p[0] != g or r not in p[1:3]] for g, r in cells],
    }
    moved = {name: np.array([plain(left, categories) for left in lists]) - whole for name, lists in out.items()}
    errors = {name: (len(d) - 1) / len(d) * (d**2).sum(0) for name, d in moved.items()}
    return whole, np.sqrt(errors["way"] + np.maximum(errors["rater"] - errors["both"], 0))


NAMES = ("observed", "fleiss_kappa", "gwet_ac1", "alpha_nominal")


@pytest.mark.parametrize("block", [coincidences.BLOCK, 40])
def test_the_jackknife_equals_leaving_out_by_hand(monkeypatch, block):
    monkeypatch.setattr(coincidences, "BLOCK", block)  # a few clusters at a time make no difference
    generator = np.random.default_rng(4)
    item, rater = np.repeat(np.arange(40), 3), np.concatenate([generator.permutation(7)[:3] for _ in range(40)])
    kept = generator.random(120) < 0.85
    item, rater, choice = item[kept], rater[kept], generator.integers(0, 3, 120)[kept]
    paired = (np.bincount(item) > 1)[item]
    value, se = slow_errors(item[paired], item[paired] // 8, rater[paired], choice[paired], 3)
    found = rate(item, choice, 3, dialogue=item // 8, rater=rater)
    assert found.unit == "dialogue+rater" and found.clusters == {"dialogue": 5, "rater": 7}
    assert [getattr(found, name).value for name in NAMES] == pytest.approx(value, abs=1e-12)
    assert [getattr(found, name).se for name in NAMES] == pytest.approx(se, abs=1e-12)


def test_what_raters_add_is_less_certain_than_a_variance_of_its_size():
    """Satterthwaite's degrees of freedom, where the second variance is a difference of two."""
    dialogues, raters, both = 0.3 + np.array([[-0.04, 0.02, 0.02], [-0.09, 0.03, 0.06], [-0.03, 0.01, 0.02]])
    found = jackknife(0.3, [LeftOut(dialogues, 3.0), LeftOut(raters, 2.5)], both)
    one, other, shared = ((2 / 3) * ((left - 0.3) ** 2).sum() for left in (dialogues, raters, both))
    adds = other - shared
    assert found.se == pytest.approx(np.sqrt(one + adds))
    assert found.df == pytest.approx((one + adds) ** 2 / (one**2 / 2 + adds * other / 1.5))
    assert found.df < (one + adds) ** 2 / (one**2 / 2 + adds**2 / 1.5)
    nothing = jackknife(0.3, [LeftOut(dialogues, 3.0), LeftOut(both, 2.5)], raters)  # raters who add nothing
    assert (nothing.se, nothing.df) == pytest.approx((np.sqrt(one), 2.0))


def of(crowd, seed, *ways):
    """The coefficients of one study of this crowd, with intervals by these ways."""
    votes = crowd.study(np.random.default_rng(seed))
    return rate(votes["pair"], coded(votes), 3, values=VALUES, **{way: votes[way] for way in ways})


def test_dialogues_that_differ_and_raters_that_differ_widen_the_interval():
    dialogues = Crowd(48, pairs_each=5, raters=60, sd_dialogue=2.0, sd_pair=0.3)
    by_pair, by_dialogue = (of(dialogues, 2, way).fleiss_kappa for way in ("pair", "dialogue"))
    assert by_dialogue.value == by_pair.value and by_dialogue.se > 1.4 * by_pair.se
    raters = Crowd(240, raters=60, work="pareto", sd_habit=1.0, threshold=1.6)
    by_pair, both = of(raters, 2, "pair").gwet_ac1, of(raters, 2, "pair", "rater").gwet_ac1
    assert both.se > 1.4 * by_pair.se and both.df < by_pair.df


def test_raters_who_are_in_every_pair_of_votes_cannot_be_drawn_anew():
    generator = np.random.default_rng(1)
    item, choice = np.repeat(np.arange(30), 2), generator.integers(0, 3, 60)
    two = rate(item, choice, 3, pair=item, rater=np.tile([0, 1], 30))
    assert (two.unit, two.raters_held, two.clusters) == ("pair", True, {"pair": 30})
    assert two.fleiss_kappa == rate(item, choice, 3).fleiss_kappa
    star = rate(item, choice, 3, pair=item, rater=np.stack([np.zeros(30, int), 1 + np.arange(30) % 4], 1).ravel())
    assert (star.unit, star.raters_held) == ("pair", True)
    three = rate(np.repeat(np.arange(20), 3), choice, 3, pair=np.repeat(np.arange(20), 3), rater=np.tile([0, 1, 2], 20))
    assert (three.unit, three.raters_held) == ("pair+rater", False)


def test_one_pair_or_raters_alone_have_no_interval():
    one = rate([0] * 9, [0, 1, 2] * 3, 3, pair=np.zeros(9, int), rater=np.arange(9))
    assert (one.unit, one.raters_held) == ("", False) and np.isfinite(one.fleiss_kappa.value)
    assert np.isnan([one.fleiss_kappa.low, one.observed.high, one.fleiss_kappa.se]).all()
    single = rate([0, 1, 2], [0, 1, 2], 3, values=VALUES, pair=np.arange(3), rater=np.arange(3))
    assert single.usable_items == 0 and np.isnan([single.observed.value, single.alpha_ordinal.value]).all()


def test_single_category_has_no_kappa():
    found = rate(np.repeat(np.arange(20), 2), [1] * 40, 3, values=[0, 1, 2])
    assert found.observed.value == found.observed.high == 1
    assert found.observed.low == pytest.approx(0.025 ** (1 / 20))
    assert np.isnan([found.fleiss_kappa.value, found.alpha_nominal.value, found.fleiss_kappa.low]).all()
    mixed = rate(np.repeat(np.arange(20), 2), np.repeat(np.arange(20) % 3, 2), 3)
    assert mixed.fleiss_kappa.value == pytest.approx(1) and np.isnan(mixed.fleiss_kappa.low)
    never = rate(np.repeat(np.arange(20), 3), np.tile([0, 1, 2], 20), 3, values=VALUES)
    assert (never.observed.value, never.observed.low) == (0, 0) and 0.1 < never.observed.high < 0.2
    assert never.fleiss_kappa.value == pytest.approx(-0.5) and np.isnan(never.fleiss_kappa.low)
    assert np.isnan(never.alpha_interval.low)


def test_label_of_one_pair_leaves_kappa_without_interval():
    """Without that pair there is one label, hence no kappa; rounding must not make one up."""
    item, choice = np.repeat(np.arange(50), 3), np.zeros(150, int)
    choice[:2] = 2
    found = rate(item, choice, 3)
    assert np.isfinite(found.fleiss_kappa.value) and np.isnan(found.fleiss_kappa.low)
    assert found.observed.low < found.observed.value < found.observed.high < 1


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
    assert [row.rater for row in list_raters(table, ["x", "y", "z"])] == ["z", "x", "y"]
    assert [row.spam for row in list_raters(table, ["x", "y", "z"], np.array([0.1, 0.2, 0.3]))] == [0.3, 0.1, 0.2]
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


def coverage(crowd, studies, seed):
    """How often the 95 % intervals of so many studies hold the truth, by clusters and by pairs alone; in per cent.

    Studies whose votes give no interval, as the program says, do not count.
    """
    true, _ = agreement_truth(crowd)
    shared = "dialogue" if crowd.pairs_each > 1 else "pair"
    shares = []
    for ways in ((shared, "rater"), ("pair",)):
        answers = [of(crowd, [seed, study], *ways) for study in range(studies)]
        intervals = {name: [getattr(answer, name) for answer in answers] for name in true}
        shares.append(
            {
                name: 100 * np.mean([one.low <= true[name] <= one.high for one in known if np.isfinite(one.low)])
                for name, known in intervals.items()
            }
        )
    return shares


@pytest.mark.slow
def test_intervals_cover_other_raters_and_those_of_pairs_alone_do_not():
    """Raters who differ in when they say tie, and unequal work: AC1 over other raters is easily missed."""
    both, pairs = coverage(Crowd(80, raters=20, work="pareto", sd_habit=0.8, threshold=1.8), 150, 11)
    assert all(88 <= share <= 100 for share in both.values())
    assert pairs["gwet_ac1"] < 75


@pytest.mark.slow
@pytest.mark.parametrize(("raters", "studies"), [(10, 1000), (30, 800), (100, 500)])
@pytest.mark.parametrize("work", ["even", "pareto"])
@pytest.mark.parametrize(
    ("threshold", "pairs_each", "sd"), [(0.22, 1, 0.0), (1.0, 1, 0.0), (1.6, 1, 0.0), (0.9, 5, 0.5), (0.7, 5, 1.0)]
)
def test_the_coverage_of_agreement_that_the_docs_show(threshold, pairs_each, sd, work, raters, studies):
    """Twelve votes a rater, three a pair."""
    crowd = Crowd(4 * raters // pairs_each, pairs_each, raters=raters, work=work, sd_dialogue=sd, threshold=threshold)
    by_clusters, by_pairs = coverage(crowd, studies, 7)
    cells = " | ".join(" ".join(f"{share:.1f}" for share in shares.values()) for shares in (by_clusters, by_pairs))
    print(f"\n| {agreement_truth(crowd)[1]:.0%} | {pairs_each} ({sd:g}) | {raters} {work} | {cells} |")
    least, most = (92, 98) if raters == 10 else (93, 97)
    noise = 100 * 2.6 * np.sqrt(0.05 * 0.95 / studies)
    assert all(least - noise <= share <= most + noise for share in by_clusters.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("crowd", "studies"),
    [
        (Crowd(40, raters=3, threshold=1.0), 500),
        (Crowd(40, raters=5, threshold=1.0), 500),
        (Crowd(60, raters=10, votes_each=2, threshold=1.0), 500),
        (Crowd(200, raters=20, votes_each=5, work="log-normal", threshold=1.0), 300),
        (Crowd(20, 20, raters=50, sd_dialogue=1.0, threshold=0.7), 300),
    ],
)
def test_other_designs_that_the_docs_name(crowd, studies):
    ways = coverage(crowd, studies, 5)
    print(f"\n{crowd}", *(f"{min(shares.values()):.1f} to {max(shares.values()):.1f}" for shares in ways), sep=" | ")
    assert all(90 <= share <= 99.7 for share in ways[0].values())


def test_left_p_is_the_exact_binomial_test():
    lefts = np.array([0, 3, 5, 10, 7, 0, 12])
    decisive = np.array([1, 12, 10, 10, 9, 0, 25])
    expected = [binomtest(k, n).pvalue if n else np.nan for k, n in zip(lefts.tolist(), decisive.tolist(), strict=True)]
    assert left_chance(lefts, decisive) == pytest.approx(expected, nan_ok=True)


def test_halves_that_mirror_each_other_have_no_reliability():
    found = split_half(np.repeat(np.arange(6), 3), np.tile([-1.0, 0.0, 1.0], 6), generator=np.random.default_rng(0))
    assert found.units == 6 and np.isnan(found.value)
