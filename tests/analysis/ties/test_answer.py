"""The share of ties against pure chance: one verdict with the interval, and a level that holds under clustering."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from analysis.stats.intervals import mean_interval, share_test
from analysis.stats.laws import CHANCE
from analysis.ties.answer import answer
from analysis.ties.text import document, sentences
from analysis.votes.clusters import clusters_of
from analysis.votes.votes import votes_from_columns
from tests.analysis.worlds import Crowd


def excluded(interval, share=CHANCE):
    return not interval.low <= share <= interval.high


@settings(max_examples=300, deadline=None)
@given(st.integers(2, 40), st.integers(1, 7), st.integers(1, 7), st.floats(0, 1), st.integers(0, 10**6))
def test_p_is_below_five_percent_exactly_where_the_interval_leaves_out_a_third(votes, pairs, raters, share, seed):
    generator = np.random.default_rng(seed)
    ties = generator.random(votes) < share
    by = {"pair": generator.integers(0, pairs, votes), "rater": generator.integers(0, raters, votes)}
    by = {name: codes for name, codes in by.items() if len(set(codes.tolist())) > 1}
    interval = mean_interval(ties, by=by, share=True)
    t, p = share_test(interval, CHANCE)
    assert 0 <= p <= 1 and (p < 0.05) == excluded(interval)
    assert (t is None) == (interval.value in (0, 1))


@pytest.mark.parametrize(("choice", "chance"), [("tie", CHANCE), ("a", 1 - CHANCE)])
@pytest.mark.parametrize("raters", [2, 3, 5, 9, 10, 40])
def test_where_all_votes_are_alike_p_is_the_chance_that_all_clusters_agree(choice, chance, raters):
    votes = {"pair": np.arange(2 * raters), "rater": np.arange(2 * raters) % raters, "choice": [choice] * (2 * raters)}
    pooled = answer(votes_from_columns(votes), size=1).pooled
    assert pooled.chance.p == pytest.approx(min(1.0, 2 * chance**raters))
    assert pooled.chance.told_apart == excluded(pooled.interval)
    assert pooled.interval.effective_n == pytest.approx(raters)  # not the number of votes


def test_clusters_that_are_all_alike_leave_an_interval_with_a_width_and_no_certainty():
    """Sixteen votes, four raters, half of each one's votes ties: no spread between them, and hardly any knowledge."""
    table = {"pair": np.repeat(np.arange(4), 4), "rater": np.tile(np.arange(4), 4)}
    votes = votes_from_columns({**table, "choice": np.where((table["pair"] + table["rater"]) % 2, "tie", "a")})
    pooled = answer(votes, size=1).pooled
    assert pooled.share == 0.5 and pooled.interval.high - pooled.interval.low > 0.4
    assert pooled.chance.p > 0.05 and not pooled.chance.told_apart
    json.dumps(document(answer(votes, size=1)), allow_nan=False)


def test_a_wide_interval_stands_beside_few_votes_that_would_say_as_much():
    table = {"pair": np.repeat(np.arange(40), 3), "rater": np.tile(np.arange(3), 40)}
    choice = np.random.default_rng(0).choice(["a", "b", "tie"], 120)
    found = answer(votes_from_columns({**table, "choice": choice}), size=10)
    assert found.pooled.interval.worth < 40
    assert f"({found.pooled.interval.worth:.0f} independent votes would be as informative)" in sentences(found)[0]


@pytest.mark.parametrize("choice", ["tie", "a"])
def test_votes_that_are_all_the_same_have_sets_that_are(choice):
    table = {"pair": np.arange(30), "rater": np.arange(30) % 5, "choice": [choice] * 30}
    said = " ".join(sentences(answer(votes_from_columns(table), size=20)))
    assert "all sets of them are too" in said and "SD" not in said


def test_a_p_next_to_nothing_is_not_called_zero():
    table = {"pair": np.arange(3000), "rater": np.arange(3000) % 500}
    found = answer(votes_from_columns({**table, "choice": np.where(np.arange(3000) % 10, "tie", "a")}), size=100)
    assert found.pooled.chance.p < 1e-20
    assert any(
        sentence.endswith("differs from that of random clicking (33.3 %; p < .0001).") for sentence in sentences(found)
    )


def at_chance(crowd):
    """The same crowd with thresholds at which a third of all votes are ties."""
    return replace(
        crowd, threshold=brentq(lambda at: replace(crowd, threshold=at).truth(200_000)[0] - CHANCE, 0.05, 5, xtol=1e-4)
    )


def rejected(crowd, studies, seed=3):
    """Shares of studies whose p against a third is below .05: by the logit, by the share, by vote."""
    generator, crowd, found = np.random.default_rng(seed), at_chance(crowd), np.zeros(3)
    for _ in range(studies):
        study = crowd.study(generator)
        names = {name: study[name].astype(str) for name in ("pair", "dialogue", "rater")}
        votes = votes_from_columns({**names, "choice": np.where(study["score"] == 0, "tie", "a")})
        interval = mean_interval(votes.tie, by=clusters_of(votes), share=True)
        plain, alone = (mean_interval(votes.tie, by=by) for by in (clusters_of(votes), {}))
        found += share_test(interval, CHANCE)[1] < 0.05, excluded(plain), excluded(alone)
    return found / studies


@pytest.mark.slow
def test_a_true_third_is_seldom_rejected_though_dialogues_and_raters_differ():
    by_logit, _, by_vote = rejected(Crowd(30, 5, work="pareto", raters=40, sd_dialogue=1.0, sd_habit=1.0), 300)
    assert by_logit < 0.09 and by_vote > 0.3


NULLS = [
    Crowd(dialogues, each, raters=raters, work=work, sd_dialogue=sd, sd_habit=0.8)
    for raters, work in ((10, "even"), (10, "pareto"), (40, "pareto"), (100, "log-normal"), (500, "pareto"))
    for dialogues, each, sd in ((200, 1, 0.0), (100, 5, 0.5), (25, 20, 1.0))
]


@pytest.mark.slow
@pytest.mark.parametrize("crowd", NULLS, ids=str)
def test_the_level_of_p_against_a_third(crowd):
    by_logit, by_share, by_vote = rejected(crowd, 1500)
    c = crowd
    print(f"\n| {c.raters}, {c.work} | {c.dialogues} x {c.pairs_each} | {c.sd_dialogue:g} | {by_logit:.3f} | "
          f"{by_share:.3f} | {by_vote:.3f} |")  # fmt: skip
    assert by_logit <= (0.08 if crowd.raters <= 10 else 0.07) + 2 * np.sqrt(0.05 * 0.95 / 1500)
