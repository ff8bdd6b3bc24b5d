"""Strengths with a judge's help: against a slow jackknife of the whole procedure, and judges whose worth is known."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from seedvote.analysis.stats.paired import powered_davidson
from seedvote.analysis.stats.paired.davidson import count_games, fit_model, weigh_games
from seedvote.analysis.stats.paired.davidson_errors import cluster_errors
from seedvote.analysis.stats.paired.powered_davidson import DrawnStrata, PredictedPairs, fit_with_predictor
from tests.analysis.stats.paired.helped_crowd import CELLS, Judged, what_holds

WORLD = Judged(systems=4, voted=90, others=300, raters=12, agreement=0.8)


def drawn(world=WORLD, seed=0, value=None, keep=None):
    """One study: the games, the fit of the votes, their clusters and the predictor; `keep` says which pairs remain."""
    a, b, verdict, dialogue, pair, choice, rater, _, _ = world.study(np.random.default_rng(seed))
    verdict = verdict if value is None else value(a, b, verdict, pair, choice)
    rows, kept = np.ones(len(pair), bool), np.ones(len(a), bool)
    if keep is not None:
        kept = keep(dialogue)
        rows = kept[pair]
    place = np.cumsum(kept) - 1
    pair, choice, rater = place[pair[rows]], choice[rows], rater[rows]
    a, b, verdict, dialogue = a[kept], b[kept], verdict[kept], dialogue[kept]
    played = count_games([f"s{k}" for k in range(world.systems)], a[pair], b[pair], choice, None)
    by = {"dialogue": dialogue[pair], "rater": rater}
    return played, fit_model(played), by, PredictedPairs(a, b, verdict, dialogue, pair)


def powered(world=WORLD, **more):
    played, alone, by, predicted = drawn(world, **more)
    return fit_with_predictor(played, alone, by, by["dialogue"], predicted)


def test_without_weight_it_is_the_fit_of_the_votes_to_the_last_digit():
    for world in (replace(WORLD, others=0), replace(WORLD, voted=20)):
        played, alone, by, predicted = drawn(world)
        found = fit_with_predictor(played, alone, by, by["dialogue"], predicted)
        assert (found.weight, found.gain.value) == (0, 1)
        assert found.fit.strengths == pytest.approx(alone.strengths, abs=0)
        assert found.fit.covariance == pytest.approx(cluster_errors(played, alone, by).covariance, abs=1e-12)


def test_what_the_judge_says_of_the_systems_alone_moves_nothing():
    favourites = np.array([3.0, -1.0, 0.5, 2.0])
    found = powered(value=lambda a, b, *_: favourites[a] - favourites[b])
    assert found.weight == 0
    plain, biased = powered(), powered(value=lambda a, b, verdict, *_: verdict + favourites[a] - favourites[b])
    assert biased.weight == pytest.approx(plain.weight)
    assert biased.fit.parameters == pytest.approx(plain.fit.parameters)


def test_a_judge_that_copies_people_gains_more_and_a_coin_nothing():
    everybody = powered(replace(WORLD, voted=4000, others=1, raters=400), seed=3)

    def copy(a, b, verdict, pair, choice):
        votes = np.array([1.0, -1.0, 0.0])[choice]
        means = np.bincount(pair, votes, len(a)) / np.maximum(np.bincount(pair, minlength=len(a)), 1)
        return np.where(np.bincount(pair, minlength=len(a)) > 0, means, verdict)

    assert everybody.gain.value == pytest.approx(1, abs=0.01)  # one pair without votes
    assert powered(value=copy).gain.value > powered().gain.value > 1
    coin = powered(value=lambda a, *_: np.random.default_rng(9).choice([-1.0, 0.0, 1.0], len(a)))
    assert not coin.gain.shown and abs(coin.weight) < 0.3


def test_the_covariance_is_that_of_leaving_each_dialogue_out(monkeypatch):
    """The slow twin leaves a dialogue out and does everything anew: votes, strengths, and the judge's own strengths."""
    played, alone, by, predicted = drawn()
    found = fit_with_predictor(played, alone, {"dialogue": by["dialogue"]}, by["dialogue"], predicted)
    monkeypatch.setattr(powered_davidson._Sums, "tune", lambda sums: found.weight)
    moved = []
    for left_out in np.unique(predicted.wide):
        rows = drawn(keep=lambda dialogue, left_out=left_out: dialogue != left_out)
        moved.append(fit_with_predictor(*rows[:2], {"dialogue": rows[2]["dialogue"]}, rows[2]["dialogue"], rows[3])
                     .fit.strengths)  # fmt: skip
    moved = np.array(moved)
    slow = ((moved - moved.mean(0)) ** 2).sum(0) * (1 - 1 / len(moved))
    assert np.sqrt(np.diag(found.fit.covariance)[:4]) == pytest.approx(np.sqrt(slow), rel=0.04)


def drawn_within(strata, dialogue, pair):
    """The weights of votes whose pairs were drawn at random within strata, and the strata."""
    voted = np.unique(pair)
    number = np.bincount(strata[voted], minlength=strata.max() + 1)
    weight = (np.bincount(strata) / np.maximum(number, 1))[strata[pair]]
    return weight, DrawnStrata(strata[pair], strata, dialogue, number)


def test_with_strata_too_the_covariance_is_that_of_leaving_each_dialogue_out(monkeypatch):
    """The slow twin counts anew, too, how many pairs of each stratum there are, and how many of them have votes."""
    world = Judged(4, 240, 300, 12, 1.0, 0.8, 3, drawing="doubt 4 2 1")
    a, b, verdict, dialogue, pair, choice, _, strata, _ = world.study(np.random.default_rng(3))

    def fit(kept):
        place = np.cumsum(kept) - 1
        rows = kept[pair]
        its = place[pair[rows]]
        wide = np.unique(dialogue[kept], return_inverse=True)[1]
        weight, drawn = drawn_within(strata[kept], wide, its)
        played = count_games(list("wxyz"), a[pair[rows]], b[pair[rows]], choice[rows], None)
        played = weigh_games(played, weight / weight.mean())
        predicted = PredictedPairs(a[kept], b[kept], verdict[kept], wide, its)
        return fit_with_predictor(played, fit_model(played), {"dialogue": wide[its]}, wide[its], predicted, drawn)

    whole = fit(np.ones(len(a), bool))
    assert whole.weight > 0.1
    monkeypatch.setattr(powered_davidson._Sums, "tune", lambda sums: whole.weight)
    left_out = [fit(dialogue != code) for code in np.unique(dialogue)]
    for answer, name in ((whole.fit, "fit"), (whole.people, "people")):
        moved = np.array([getattr(part, name).strengths for part in left_out])
        slow = ((moved - moved.mean(0)) ** 2).sum(0) * (1 - 1 / len(moved))
        assert np.sqrt(np.diag(answer.covariance)[:4]) == pytest.approx(np.sqrt(slow), rel=0.05)


def test_a_vote_that_counts_twice_is_two_votes():
    a, b, verdict, dialogue, pair, choice, _, _, _ = WORLD.study(np.random.default_rng(5))
    twice = np.random.default_rng(6).random(WORLD.voted) < 0.4
    times = np.where(twice[pair], 2, 1)

    def fit(rows, weight):
        its = pair[rows]
        played = count_games(list("wxyz"), a[its], b[its], choice[rows], None)
        played = weigh_games(played, weight)
        by = {"dialogue": dialogue[its]}
        return fit_with_predictor(
            played, fit_model(played), by, by["dialogue"], PredictedPairs(a, b, verdict, dialogue, its)
        )

    weighed, repeated = fit(np.arange(len(pair)), times.astype(float)), fit(np.repeat(np.arange(len(pair)), times), 1.0)
    assert weighed.weight == pytest.approx(repeated.weight) and weighed.weight > 0
    for name in ("fit", "people"):
        first, second = getattr(weighed, name), getattr(repeated, name)
        assert first.parameters == pytest.approx(second.parameters)
        assert first.covariance == pytest.approx(second.covariance)


def test_the_gain_has_the_jackknife_of_its_correlation(monkeypatch):
    played, alone, by, predicted = drawn()
    seen = []
    monkeypatch.setattr(powered_davidson._Sums, "tune", lambda sums: seen.append(sums) or 0.5)
    gain = fit_with_predictor(played, alone, by, by["dialogue"], predicted).gain
    (sums,) = seen

    def z(kept, pairs=None):
        part = replace(sums, wide=sums.wide[kept], rater=sums.rater[kept], y=sums.y[kept], f=sums.f[kept],
                       f_pairs=sums.f_pairs if pairs is None else pairs)  # fmt: skip
        y, f = part._sum_by_wide()
        people = np.array([part.y[part.rater == code].sum(0) for code in range(12)])
        wide, rater, single = ((rows**2).sum() for rows in (y, people, part.y))
        return np.arctanh((y * f).sum() / np.sqrt(max(wide + rater - single, wide, rater) * (f**2).sum()))

    def jackknife(values):
        return (len(values) - 1) / len(values) * ((values - np.mean(values)) ** 2).sum()

    every = np.ones(len(sums.wide), bool)
    by_wide = [z(sums.wide != code, np.where((np.arange(len(sums.f_pairs)) == code)[:, None], 0, sums.f_pairs))
               for code in range(len(sums.f_pairs))]  # fmt: skip
    by_rater = [z(sums.rater != code) for code in range(12)]
    by_both = [z(np.arange(len(every)) != row) for row in range(len(every))]
    wide, rater, both = (jackknife(np.array(values)) for values in (by_wide, by_rater, by_both))
    assert np.tanh(z(every)) == pytest.approx(gain.correlation)
    se = np.sqrt(max(wide + rater - both, wide, rater))
    free = (np.arctanh(gain.correlation_high) - np.arctanh(gain.correlation_low)) / 2 / se
    assert 2.0 < free < 2.4  # t with some ten degrees of freedom


def test_public_votes_gain_by_public_judges(shared):
    folder = shared / "data"
    if not (folder / "pandalm").exists():
        pytest.skip("public data is not here")
    sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "benchmarks"))
    from ranks_with_a_judge import measure, pandalm

    _, pairs, judges = pandalm(folder / "pandalm")
    ratio, gains, _ = measure(pairs, judges["gpt-3.5-turbo"], 0.3, 12)
    assert 1.15 < np.median(gains) < 1.4 and ratio > 1.1


@pytest.mark.slow
@pytest.mark.parametrize("cell", CELLS)
def test_strengths_and_ranks_hold(cell):
    world = CELLS[cell]
    generator = np.random.default_rng(0)
    studies = [what_holds(world, generator) for _ in range({5: 200, 12: 400, 59: 100}[world.systems])]
    strengths, ranks = np.mean([one for one in studies if one is not None], axis=0)
    print(f"{cell}: {strengths:.3f}, ranks {ranks:.3f}")
    assert strengths >= 0.93 and ranks >= 0.9
